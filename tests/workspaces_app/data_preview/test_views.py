"""Sorting, filtering, encodings and csv export of data previews (spec previews 7, files-git-terminal "beyond")."""

import asyncio
import csv
import io
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.streams import Shrunk
from tests.accounts import logged_in, owner
from workspaces_app.data_preview import delimited, run, view
from workspaces_app.data_preview import sqlite as sqlite_reader
from workspaces_app.data_preview.page import Ask, Unreadable
from workspaces_app.data_preview.text_lines import encoding_of
from workspaces_app.models import Workspace

from .test_routes import make_workbook

ROWS = [["Rome", 12, "late"], ["oslo", 9, ""], ["Bern", 100, "50% off"], ["Oslo", 9, "a_b"], ["Lima", -1, "x"]]


@pytest.fixture
def folder(tmp_path, db) -> Path:
    """The same table in every format."""
    place = tmp_path / "work"
    place.mkdir()
    Workspace.objects.create(path=str(place), name="work")
    with (place / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["city", "n", "note"], *ROWS])
    (place / "a.jsonl").write_text(
        "".join(json.dumps(dict(zip(("city", "n", "note"), row, strict=True))) + "\n" for row in ROWS)
    )
    make_workbook(place / "a.xlsx", {"One": [["city", "n", "note"], *ROWS]})
    with closing(sqlite3.connect(place / "a.db")) as made:
        made.execute("CREATE TABLE t (city TEXT, n INT, note TEXT)")
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
        made.execute("CREATE VIEW cheap AS SELECT * FROM t WHERE n < 10")
        made.commit()
    database = duckdb.connect()
    database.execute("CREATE TABLE t (city VARCHAR, n INTEGER, note VARCHAR)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    database.execute(f"COPY t TO '{place / 'a.parquet'}' (FORMAT parquet)")
    return place


@pytest.fixture
def ask(folder):
    browser = logged_in(owner())

    def get(kind: str, path: str, **query):
        return browser.get(f"/api/data-preview/{kind}", {"projectId": str(folder), "path": path, **query})

    return get


FORMATS = [
    ("csv", "a.csv"),
    ("jsonl", "a.jsonl"),
    ("xlsx", "a.xlsx"),
    ("parquet", "a.parquet"),
    ("sqlite/rows", "a.db"),
]


@pytest.mark.parametrize(("kind", "path"), FORMATS, ids=[kind for kind, _ in FORMATS])
@pytest.mark.parametrize(
    ("query", "cities"),
    [
        ({"sort": "n"}, ["Lima", "oslo", "Oslo", "Rome", "Bern"]),
        ({"sort": "-n"}, ["Bern", "Rome", "oslo", "Oslo", "Lima"]),
        ({"sort": "-n", "offset": "1", "limit": "2"}, ["Rome", "oslo"]),
        ({"filter": ["n>=10"]}, ["Rome", "Bern"]),
        ({"filter": ["n<10", "city~OS"]}, ["oslo", "Oslo"]),
        ({"filter": ["city=Oslo"]}, ["Oslo"]),
        ({"filter": ["n=9.0"]}, ["oslo", "Oslo"]),
        ({"filter": ["n!=9"], "sort": "city"}, ["Bern", "Lima", "Rome"]),
        ({"filter": ["note="]}, ["oslo"]),
        ({"filter": ["~%"]}, ["Bern"]),
        ({"filter": ["a_"]}, ["Oslo"]),
        ({"filter": ["note~nothing"]}, []),
    ],
    ids=str,
)
def test_a_table_is_sorted_and_filtered_alike_in_every_format(folder, ask, kind, path, query, cities):
    answer = ask(kind, path, table="t", **query)
    body = answer.json()
    assert answer.status_code == 200, body
    assert [row[0] for row in body["rows"]] == cities
    if "offset" not in query:
        assert body["totalRows"] == len(cities)


@pytest.mark.parametrize(
    ("kind", "path"), FORMATS[:1] + FORMATS[2:], ids=[kind for kind, _ in FORMATS if kind != "jsonl"]
)
def test_L4_an_unknown_column_is_named_and_never_executed(folder, ask, kind, path):
    for query in ({"sort": 'x" DESC; DROP TABLE t --'}, {"filter": ['x" OR 1=1 --=1']}, {"filter": ["#4=1"]}):
        answer = ask(kind, path, table="t", **query)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("Column not found: ")


def test_a_column_may_be_named_by_its_number(folder, ask):
    (folder / "twice.csv").write_text("x,x,\n1,6,\n2,5,z\n")
    assert ask("csv", "twice.csv", sort="#2").json()["rows"] == [["2", "5", "z"], ["1", "6", ""]]
    assert ask("csv", "twice.csv", filter="#3=z").json()["rows"] == [["2", "5", "z"]]
    assert ask("csv", "twice.csv", sort="x").json() == {"error": "2 columns are called x; write #1 or #2"}


def test_too_much_of_a_view_is_refused(folder, ask):
    for query in ({"filter": ["a=1"] * 11}, {"sort": "x" * 1001}, {"sort": "-"}):
        assert ask("csv", "a.csv", **query).status_code == 400


cells = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=5), st.booleans(), st.just("9" * 5000))


@given(st.lists(st.tuples(cells, st.integers()), max_size=30), st.booleans(), st.integers(0, 8), st.integers(1, 8))
def test_pages_of_a_sorted_table_together_are_the_table(rows, descending, offset, limit):
    names, sort = ["a", "b"], view.Sort("a", descending)
    pick = view.by_place(names, sort, [])
    whole = list(view.viewed(rows, sort, [], pick))
    found, total, more = view.page(rows, Ask("csv", offset=offset, limit=limit), sort, [], pick)
    assert (found, total, more) == (whole[offset : offset + limit], len(rows), False)
    assert sorted(map(repr, whole)) == sorted(map(repr, rows))


@given(st.text(max_size=20), cells)
def test_D10_any_filter_on_any_cell_is_answered(text, cell):
    assert view.condition(text).fits(cell) in (True, False)


def test_D10_a_view_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(view, "PATIENCE", 0.0)
    data = io.BytesIO(b"n\n" + b"1\n" * 5000)
    with pytest.raises(Unreadable, match="rows could be looked at"):
        delimited.read(data, Ask("csv", name="a.csv", filters=("n=2",)))


# ---- SQLite far down


def database_of(place: Path, keys) -> Path:
    with closing(sqlite3.connect(place)) as made:
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)")
        made.executemany("INSERT INTO t VALUES (?, 'w')", ((key,) for key in keys))
        made.commit()
    return place


@pytest.mark.parametrize(
    "keys",
    [range(120_000), range(-60_000, 60_000), [*range(0, 240_000, 2)], [-(2**63), *range(119_998), 2**63 - 1]],
    ids=["dense", "negative", "gaps", "edges"],
)
def test_a_page_far_down_is_the_same_page_from_wherever_it_is_reached(tmp_path, keys):
    place, keys = database_of(tmp_path / "t.db", keys), list(keys)
    marks: dict[int, int] = {}
    total = None
    for offset in (110_000, 110_010, 50_000, 119_995, 0, 120_000, 2**53):
        row = max((row for row in marks if row <= offset), default=0)
        mark = (row, marks[row]) if row else (0, 0)
        with place.open("rb") as file:
            answer = sqlite_reader.rows(file, Ask("x", part="t", offset=offset, limit=10, mark=mark, total=total))
        assert [int(row[0]) for row in answer.body["rows"]] == keys[offset : offset + 10]
        assert answer.body["totalRows"] == 120_000
        marks.update(answer.marks)
        total = answer.total


def test_the_rows_of_a_settled_table_are_counted_once(folder, ask, monkeypatch):
    asked, start = [], run._run

    async def noted(handle, question):
        asked.append(question.total)
        return await start(handle, question)

    monkeypatch.setattr(run, "_run", noted)
    for offset in (0, 2):
        assert ask("sqlite/rows", "a.db", table="t", offset=offset, filter="n<100").json()["totalRows"] == 4
    assert asked == [None, 4]


def test_a_table_whose_rows_are_being_written_is_counted_again(tmp_path):
    place = database_of(tmp_path / "t.db", range(10))
    with closing(sqlite3.connect(place)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("INSERT INTO t VALUES (10, 'w')")
        made.commit()
        with place.open("rb") as file:
            answer = sqlite_reader.rows(file, Ask("x", part="t", limit=5))
    assert (answer.body["totalRows"], answer.total, answer.marks) == (11, None, [])


def test_without_a_count_a_page_says_whether_there_is_more(tmp_path):
    place = database_of(tmp_path / "t.db", range(10))
    for offset, more in ((0, True), (5, False)):
        with place.open("rb") as file:
            body = sqlite_reader.rows(file, Ask("x", part="t", offset=offset, limit=5, total=-1)).body
        assert (len(body["rows"]), body["hasMore"], body["totalRows"]) == (5, more, offset + 5 + more)


def test_a_view_is_shown_and_an_endless_one_is_given_up(folder, ask, monkeypatch):
    assert len(ask("sqlite/rows", "a.db", table="cheap").json()["rows"]) == 3
    place = database_of(folder / "endless.db", [1])
    with closing(sqlite3.connect(place)) as made:
        made.execute(
            "CREATE VIEW e AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
            "SELECT n FROM r WHERE n < 0"
        )
        made.execute("CREATE VIEW broken AS SELECT * FROM nowhere")
    monkeypatch.setattr(sqlite_reader, "PATIENCE", 0.2)
    monkeypatch.setattr(sqlite_reader, "COUNT_SECONDS", 0.2)
    with place.open("rb") as file, pytest.raises(Unreadable, match="The query timed out"):
        sqlite_reader.rows(file, Ask("x", part="e"))
    answer = ask("sqlite/rows", "endless.db", table="broken")
    assert (answer.status_code, answer.json()) == (400, {"error": "SQLite: no such table: main.nowhere"})


# ---- encodings


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"plain", "utf-8"),
        ("naïve, 名".encode(), "utf-8"),
        ("naïve, 名称, 数量, ".encode() * 9 + b"\xff", "utf-8"),
        ("名称,数量".encode("utf-16"), "utf-16"),
        ("名称,数量\n苹果,3".encode("gb18030"), "gb18030"),
        ("name,city\nMüller,Zürich\nNoël,Besançon".encode("latin-1"), "windows-1252"),
        ("price\n5 €\n“7”".encode("cp1252"), "windows-1252"),
        (b"\x00\xff\x01a\xffb", "utf-8"),
    ],
    ids=ascii,
)
def test_an_encoding_is_recognised(data, wanted):
    assert encoding_of(data)[0] == wanted


@pytest.mark.parametrize(
    ("given", "python"),
    [("utf-16le", "utf-16-le"), ("UTF-16BE", "utf-16-be"), ("big5", "big5"), ("shift_jis", "shift_jis")],
)
def test_an_encoding_may_be_told(folder, ask, given, python):
    (folder / "e.csv").write_bytes("名,n\n日本,1\n".encode(python))
    body = ask("csv", "e.csv", encoding=given).json()
    assert (body["rows"], body["columns"][0]["name"], body["encoding"]) == ([["日本", "1"]], "名", given.lower())


def test_what_was_told_wins_over_what_was_recognised(folder, ask):
    (folder / "e.csv").write_bytes("name\nMüller\n".encode("latin-1"))
    assert ask("csv", "e.csv").json()["rows"] == [["Müller"]]
    assert ask("csv", "e.csv", encoding="utf-8").json()["rows"] == [["M\ufffdller"]]
    answer = ask("csv", "e.csv", encoding="klingon")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("encoding must be one of: utf-8, ")


@given(st.binary(max_size=300), st.sampled_from(["", "utf-16", "utf-16be", "gb18030", "big5", "euc-kr", "latin-1"]))
def test_D10_any_bytes_in_any_encoding_are_a_table_or_a_sentence(data, encoding):
    with suppress(Unreadable):
        json.dumps(delimited.read(io.BytesIO(data), Ask("csv", name="x", encoding=encoding)).body)


# ---- export


async def exported(place: Path, **question) -> bytes:
    with place.open("rb") as file:
        sent = await run.export_of(file.fileno(), Ask(**{"export": "all", "name": place.name, **question}))
    return b"".join([piece async for piece in sent])


@pytest.mark.parametrize("format", ["csv", "jsonl", "xlsx", "parquet", "sqlite-rows"])
async def test_every_format_goes_out_as_the_same_csv(folder, format):
    path = dict(zip(["csv", "jsonl", "xlsx", "parquet", "sqlite-rows"], FORMATS, strict=True))[format][1]
    part = "t" if format == "sqlite-rows" else ""
    found = list(csv.reader(io.StringIO((await exported(folder / path, format=format, part=part)).decode())))
    assert found == [["city", "n", "note"], *([str(cell) for cell in row] for row in ROWS)]
    some = await exported(folder / path, format=format, part=part, filters=("n=9",), sort="-city")
    assert some == b"city,n,note\r\noslo,9,\r\nOslo,9,a_b\r\n"


def test_a_page_is_exported_under_the_name_of_its_file(folder, ask):
    answer = ask("export", "a.csv", format="csv", scope="page", offset="1", limit="2")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert 'filename="a.csv"' in answer["Content-Disposition"]
    assert answer.content == b"city,n,note\r\noslo,9,\r\nBern,100,50% off\r\n"


@pytest.mark.django_db(transaction=True)
async def test_all_rows_go_out_while_they_are_read(folder):
    browser = AsyncClient()
    browser.cookies = (await sync_to_async(lambda: logged_in(owner()))()).cookies
    query = {
        "projectId": str(folder),
        "path": "a.db",
        "format": "sqlite",
        "table": "t",
        "filter": ["n>=12"],
        "sort": "n",
    }
    answer = await browser.get("/api/data-preview/export", query)
    assert (answer.status_code, answer.streaming) == (200, True)
    assert 'filename="a-t.csv"' in answer["Content-Disposition"]
    pieces = b"".join([piece async for piece in answer.streaming_content])
    assert pieces == b"city,n,note\r\nRome,12,late\r\nBern,100,50% off\r\n"


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("a.csv", {"format": "parquet"}, 400),
        ("a.db", {"format": "sqlite"}, 400),
        ("a.db", {"format": "sqlite", "table": "none"}, 400),
        ("a.csv", {"format": "csv", "sort": "none"}, 400),
        ("none.csv", {"format": "csv"}, 404),
        ("../a.csv", {"format": "csv"}, 403),
    ],
)
def test_an_export_that_cannot_begin_is_refused_in_words(folder, ask, path, query, status):
    answer = ask("export", path, **query)
    assert answer.status_code == status
    assert answer.json()["error"]


async def test_a_large_file_is_streamed_whole(tmp_path):
    place = tmp_path / "large.csv"
    place.write_bytes(b"n\r\n" + b"0123456789\r\n" * 400_000)
    assert await exported(place, format="csv") == place.read_bytes()


async def test_D10_an_export_that_breaks_on_the_way_does_not_end_like_a_whole_one(tmp_path):
    place = tmp_path / "broken.csv"
    place.write_bytes(b"n\n" + b"0123456789\n" * 100_000 + b"x" * 3_000_000)
    with pytest.raises(Shrunk):
        await exported(place, format="csv")


async def test_a_client_that_hangs_up_ends_the_export_and_makes_room(tmp_path):
    place = tmp_path / "large.csv"
    place.write_bytes(b"n\n" + b"0123456789\n" * 3_000_000)
    with place.open("rb") as file:
        sent = await run.export_of(file.fileno(), Ask("csv", name="large.csv", export="all"))
        assert await anext(aiter(sent))
        sent.close()
        await asyncio.wait_for(sent._process.wait(), 30)
        again = await run.export_of(file.fileno(), Ask("csv", name="large.csv", export="page", limit=1))
        assert b"".join([piece async for piece in again]) == b"n\r\n0123456789\r\n"
