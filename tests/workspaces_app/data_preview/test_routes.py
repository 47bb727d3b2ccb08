"""Data previews over HTTP: real files, a real child process (spec previews 4 to 6; SECURITY-BAR D10, L6)."""

import asyncio
import datetime
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import zipfile
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tests.accounts import logged_in, owner
from workspaces_app.data_preview import child, parquet, run
from workspaces_app.data_preview import sqlite as sqlite_reader
from workspaces_app.data_preview.cells import fold
from workspaces_app.data_preview.page import Ask, Unreadable
from workspaces_app.jail import Version
from workspaces_app.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    Workspace.objects.create(path=str(place), name="work")
    return place


@pytest.fixture
def ask(folder):
    browser = logged_in(owner())

    def get(kind: str, path: str, **query):
        return browser.get(f"/api/data-preview/{kind}", {"projectId": str(folder), "path": path, **query})

    return get


def make_parquet(path: Path, select: str) -> None:
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def make_workbook(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    """The smallest xlsx there is: inline texts and numbers."""
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(
            "[Content_Types].xml",
            f'{head}<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        made.writestr(
            "_rels/.rels",
            f'{head}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="rId{i}"/>' for i, n in enumerate(names, 1))
        made.writestr(
            "xl/workbook.xml", f'{head}<workbook xmlns="{main}" xmlns:r="{links}"><sheets>{listed}</sheets></workbook>'
        )
        targets = "".join(
            f'<Relationship Id="rId{i}" Type="{links}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(names) + 1)
        )
        made.writestr(
            "xl/_rels/workbook.xml.rels",
            f'{head}<Relationships xmlns="{package}/relationships">{targets}</Relationships>',
        )
        for number, rows in enumerate(sheets.values(), 1):
            body = ""
            for y, row in enumerate(rows, 1):
                body += f'<row r="{y}">'
                for x, value in enumerate(row):
                    place = f"{letters(x)}{y}"
                    if isinstance(value, str):
                        body += f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>' if value else ""
                    else:
                        body += f'<c r="{place}"><v>{value}</v></c>'
                body += "</row>"
            made.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f'{head}<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
            )


def letters(index: int) -> str:
    return ("A" if index >= 26 else "") + chr(ord("A") + index % 26)


# ---- what is refused, and in which words


@pytest.mark.parametrize(
    ("kind", "path", "query", "status", "error"),
    [
        ("csv", "", {}, 400, "path and projectId are required"),
        ("csv", "a.csv", {"projectId": ""}, 400, "path and projectId are required"),
        ("csv", "a.csv", {"projectId": "/no/such"}, 404, "Project not found"),
        ("csv", "../a.csv", {}, 403, "Path traversal not allowed"),
        ("csv", "inner", {}, 400, "Path is a directory"),
        ("csv", "none.csv", {}, 404, "File not found"),
        ("sqlite/rows", "text.db", {}, 400, "table is required"),
        ("sqlite/rows", "text.db", {"table": "x"}, 400, "File is not a SQLite database"),
        ("sqlite/tables", "text.db", {}, 400, "File is not a SQLite database"),
        ("sqlite/tables", "empty", {}, 400, "File is not a SQLite database"),
        ("parquet", "text.db", {}, 400, "Not a readable Parquet file"),
        ("parquet", "empty", {}, 400, "Not a readable Parquet file"),
        ("xlsx", "text.db", {}, 400, "Not a readable workbook"),
        ("xlsx", "empty", {}, 400, "Not a readable workbook"),
        ("jsonl", "text.db", {}, 400, "Record 1 is not JSON"),
    ],
)
def test_a_refusal_says_why(folder, ask, kind, path, query, status, error):
    (folder / "inner").mkdir()
    (folder / "text.db").write_text("just words, and more than a hundred bytes of them\n" * 10)
    (folder / "empty").touch()
    answer = ask(kind, path, **query)
    assert (answer.status_code, answer.json()["error"][: len(error)]) == (status, error)


def test_a_link_out_of_the_workspace_is_refused(folder, ask, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert ask("csv", "link.csv").status_code == 403


def test_D3_a_pipe_is_refused_at_once(folder, ask):
    os.mkfifo(folder / "pipe.csv")
    assert ask("csv", "pipe.csv").status_code == 400


@pytest.mark.parametrize(
    ("given", "window"),
    [
        ({}, (0, 100)),
        ({"offset": "7", "limit": "3"}, (7, 3)),
        ({"offset": "-1", "limit": "-1"}, (0, 1)),
        ({"offset": "NaN", "limit": "1e400"}, (0, 100)),
        ({"offset": "", "limit": "[]"}, (0, 100)),
        ({"offset": str(2**63), "limit": str(2**63)}, (2**53 - 1, 1000)),
        ({"offset": "9" * 5000, "limit": "١٢"}, (0, 100)),
    ],
)
def test_L6_nonsense_in_numbers_is_clamped_or_ignored(folder, ask, given, window):
    (folder / "a.csv").write_text("n\n1\n")
    body = ask("csv", "a.csv", **given).json()
    assert (body["offset"], body["limit"]) == window


# ---- parquet


def test_parquet_is_paged_and_typed(folder, ask):
    make_parquet(
        folder / "a.parquet",
        "SELECT range AS n, 'x' || range AS s, 9007199254740993 AS big, blob 'abcde' AS b, date '2024-05-06' AS d, "
        "timestamp '2024-05-06 07:08:09' AS t, [1, 2] AS l, {'k': 'v'} AS g, 1.25::decimal(9,2) AS m, NULL::int AS z, "
        "'nan'::double AS f FROM range(300)",
    )
    body = ask("parquet", "a.parquet", offset=298).json()
    assert body["rows"] == [
        [
            n,
            f"x{n}",
            "9007199254740993",
            "<blob 5 bytes>",
            "2024-05-06",
            "2024-05-06T07:08:09",
            "[1,2]",
            '{"k":"v"}',
            "1.25",
            None,
            "nan",
        ]
        for n in (298, 299)
    ]
    assert body["totalRows"] == 300
    kinds = {column["name"]: column["type"] for column in body["columns"]}
    assert kinds["s"] == "UTF8" or kinds["s"] == "STRING"
    assert (kinds["l"], kinds["g"]) == ("GROUP", "GROUP")
    assert kinds["f"] == "DOUBLE"
    assert kinds["t"].startswith("TIMESTAMP")


def test_D10_a_cut_parquet_file_is_refused(folder, ask):
    make_parquet(folder / "a.parquet", "SELECT range AS n FROM range(100000)")
    whole = (folder / "a.parquet").read_bytes()
    for size in (len(whole) // 2, len(whole) - 1, 12):
        (folder / "cut.parquet").write_bytes(whole[:size])
        assert ask("parquet", "cut.parquet").status_code == 400
    (folder / "cut.parquet").write_bytes(whole[:4] + os.urandom(len(whole) - 12) + whole[-8:])
    assert ask("parquet", "cut.parquet").status_code == 400


# ---- workbooks


def test_a_workbook_has_sheets_and_typed_rows(folder, ask):
    header = [""] * 27
    header[0] = "name"
    make_workbook(folder / "a.xlsx", {"One": [header, ["x", *range(26)]], "Two": [["only"], [1.5]]})
    body = ask("xlsx", "a.xlsx").json()
    assert (body["sheets"], body["sheet"]) == (["One", "Two"], "One")
    assert [column["name"] for column in body["columns"]][-2:] == ["Z", "AA"]
    assert body["rows"] == [["x", *range(26)]]
    assert [column["type"] for column in body["columns"]][:2] == ["text", "number"]
    assert ask("xlsx", "a.xlsx", sheet="Two").json()["rows"] == [[1.5]]
    assert ask("xlsx", "a.xlsx", sheet="None").json() == {"error": "Sheet not found: None"}


def test_D10_a_workbook_that_unpacks_to_gigabytes_is_refused_with_little_memory(folder, ask):
    with zipfile.ZipFile(folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as made:
        make_workbook(folder / "plain.xlsx", {"One": [["a"]]})
        with zipfile.ZipFile(folder / "plain.xlsx") as plain:
            for name in plain.namelist():
                if "sheet1" not in name:
                    made.writestr(name, plain.read(name))
        cell = b'<row><c t="inlineStr"><is><t>' + b"a" * 1000 + b"</t></is></c></row>"
        with made.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')
            for _ in range(1000):
                sheet.write(cell * 1000)
            sheet.write(b"</sheetData></worksheet>")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = ask("xlsx", "bomb.xlsx")
    assert answer.status_code == 400, answer.content
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 700 * 1024


# ---- SQLite


@pytest.fixture
def database(folder):
    made = sqlite3.connect(folder / "a.db")
    made.executescript(
        """CREATE TABLE orders (id INTEGER PRIMARY KEY, big INT, data BLOB, note TEXT);
        CREATE TABLE "a""b" (x); CREATE VIEW seen AS SELECT 1; CREATE VIRTUAL TABLE words USING fts5(t);"""
    )
    made.execute("INSERT INTO orders (big, data, note) VALUES (9007199254740993, x'0102030405', CAST(x'ff' AS TEXT))")
    made.commit()
    yield made
    made.close()


def test_ordinary_tables_are_listed_with_their_rows_then_views(database, ask):
    assert ask("sqlite/tables", "a.db").json() == {
        "tables": [
            {"name": 'a"b', "rowCount": 0},
            {"name": "orders", "rowCount": 1},
            {"name": "seen", "rowCount": None, "view": True},
        ]
    }


def test_rows_keep_what_a_browser_cannot_hold(database, ask):
    body = ask("sqlite/rows", "a.db", table="orders").json()
    assert body["rows"] == [[1, "9007199254740993", "<blob 5 bytes>", "\ufffd"]]
    assert body["columns"] == [
        {"name": "id", "type": "INTEGER"},
        {"name": "big", "type": "INT"},
        {"name": "data", "type": "BLOB"},
        {"name": "note", "type": "TEXT"},
    ]
    assert (body["table"], body["totalRows"]) == ("orders", 1)


@pytest.mark.parametrize("name", ["x; drop table orders", "sqlite_schema", "words", 'a"b" --', "__class__"])
def test_L4_a_name_that_is_not_in_the_list_is_never_executed(database, ask, name):
    answer = ask("sqlite/rows", "a.db", table=name)
    assert (answer.status_code, answer.json()) == (400, {"error": f"Table not found: {name}"})
    assert database.execute("SELECT count(*) FROM orders").fetchone() == (1,)


def test_a_name_with_a_quote_is_a_name(database, ask):
    assert ask("sqlite/rows", "a.db", table='a"b').json()["columns"] == [{"name": "x", "type": ""}]


def test_a_live_database_is_read_and_its_writer_is_never_held_up(database, folder, ask):
    database.execute("PRAGMA journal_mode=WAL")
    stop, refused = threading.Event(), []

    def write() -> None:
        with closing(sqlite3.connect(folder / "a.db", timeout=0)) as own:  # a lock would be an error at once
            while not stop.is_set():
                try:
                    own.execute("INSERT INTO orders (note) VALUES ('more')")
                    own.commit()
                except sqlite3.Error as error:
                    refused.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        totals = [ask("sqlite/rows", "a.db", table="orders").json()["totalRows"] for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    assert totals == sorted(totals)
    assert totals[-1] > 1
    assert refused == []


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_looking_at_a_database_leaves_nothing_behind(folder, ask, journal):
    made = sqlite3.connect(folder / "b.db")
    made.execute(f"PRAGMA journal_mode={journal}")
    made.execute("CREATE TABLE t (x)")
    made.close()
    before = sorted(os.listdir(folder)), (folder / "b.db").read_bytes()
    assert ask("sqlite/tables", "b.db").json() == {"tables": [{"name": "t", "rowCount": 0}]}
    assert (sorted(os.listdir(folder)), (folder / "b.db").read_bytes()) == before


def test_D2_a_log_that_is_a_link_to_elsewhere_is_not_followed(folder, ask, tmp_path):
    outside = sqlite3.connect(tmp_path / "secret.db")
    outside.executescript("PRAGMA journal_mode=WAL; CREATE TABLE secret (x); INSERT INTO secret VALUES ('hidden')")
    made = sqlite3.connect(folder / "c.db")
    made.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (x)")
    made.close()
    (folder / "c.db-wal").symlink_to(tmp_path / "secret.db-wal")
    answer = ask("sqlite/tables", "c.db")
    outside.close()
    assert (answer.status_code, answer.json()) == (400, {"error": "SQLite: unable to open database file"})


def test_D2_what_sqlite_opened_must_be_the_file_that_passed_the_jail(folder, tmp_path):
    (folder / "a.db").write_bytes(b"1")
    (tmp_path / "other.db").write_bytes(b"2")
    with (folder / "a.db").open("rb") as jailed:
        before = sqlite_reader.open_handles()
        with (folder / "a.db").open("rb"):
            sqlite_reader.check_opened(jailed.fileno(), str(folder / "a.db"), before)
        with (tmp_path / "other.db").open("rb"), pytest.raises(Unreadable, match="changed while"):
            sqlite_reader.check_opened(jailed.fileno(), str(folder / "a.db"), before)


def test_D2_a_name_that_leads_elsewhere_when_sqlite_opens_it_gives_nothing(folder, tmp_path, monkeypatch):
    for place in (folder / "a.db", tmp_path / "secret.db"):
        with closing(sqlite3.connect(place)) as made:
            made.execute("CREATE TABLE secret (x)")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: connect(tmp_path / "secret.db", isolation_level=None))
    with (folder / "a.db").open("rb") as jailed, pytest.raises(Unreadable, match="changed while"):
        sqlite_reader.tables(jailed, Ask(format="sqlite-tables"))


def test_D10_a_damaged_database_is_refused(database, folder, ask):
    database.executemany("INSERT INTO orders (note) VALUES (?)", [("x" * 500,)] * 500)
    database.commit()
    whole = bytearray((folder / "a.db").read_bytes())
    for place in range(4096, len(whole), 7):
        whole[place] = (whole[place] + place) % 256
    (folder / "bad.db").write_bytes(whole)
    for kind in ("sqlite/tables", "sqlite/rows"):
        answer = ask(kind, "bad.db", table="orders")
        assert answer.status_code in (200, 400)
        assert answer.status_code == 200 or answer.json()["error"]


# ---- the child


def test_D10_the_child_has_no_network_and_little_of_everything(folder, ask, monkeypatch):
    probe = folder / "probe.py"
    probe.write_text(
        "import os, resource, socket, sys\n"
        f"sys.path.insert(0, {str(run.ROOT)!r})\n"
        "from workspaces_app.data_preview import child\n"
        "child.limit()\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[1], resource.getrlimit(resource.RLIMIT_CPU)[1])\n"
        "print([name for _, name in socket.if_nameindex()])\n"
        "try:\n    bytearray(1 << 30)\n    print('no limit')\n"
        "except MemoryError:\n    print('limited')\n"
    )
    lines = subprocess.run([sys.executable, str(probe)], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == f"{512 * 1024 * 1024} 10"
    assert lines[1] == "['lo']"
    assert lines[2] == "limited"


def test_D10_a_parquet_file_cannot_make_duckdb_read_another_file(folder):
    make_parquet(folder / "a.parquet", "SELECT 1 AS n")
    with (folder / "a.parquet").open("rb") as file:
        database = parquet.locked(f"/proc/self/fd/{file.fileno()}")
        for statement in ("SELECT * FROM read_text('/etc/hostname')", "SET enable_external_access=true", "LOAD httpfs"):
            with pytest.raises(duckdb.Error):
                database.execute(statement)


def test_D10_a_file_that_takes_too_long_is_given_up(folder, ask, monkeypatch):
    (folder / "long.csv").write_bytes(b"n\n" + b"1\n" * 20_000_000)
    monkeypatch.setattr(run, "SECONDS", 0.5)
    answer = ask("csv", "long.csv", offset=19_999_999)
    assert (answer.status_code, answer.json()) == (400, {"error": "Reading this file took longer than 0.5 s"})


def test_D10_an_answer_that_would_be_too_large_is_refused(folder, ask):
    (folder / "wide.csv").write_bytes(b"n\n" + (b"x" * 900_000 + b"\n") * 60)
    assert ask("csv", "wide.csv").json() == {"error": "These rows hold more than 32 MB; ask for fewer rows"}
    assert len(ask("csv", "wide.csv", limit=10).json()["rows"]) == 10


def test_a_deep_page_is_read_from_a_known_place_the_second_time(folder, ask, monkeypatch):
    with (folder / "deep.csv").open("w") as file:
        file.write("n,word\n")
        file.writelines(f"{n},word {n}\n" for n in range(400_000))
    begun, start = [], run._run

    async def noted(handle, question):
        begun.append(question.mark[0])
        return await start(handle, question)

    monkeypatch.setattr(run, "_run", noted)
    first = ask("csv", "deep.csv", offset=399_000).json()
    (key,) = [key for key in run._known if key[0] == "csv" and key[-1].size == (folder / "deep.csv").stat().st_size]
    assert run._known[key].marks[399_000] > 0
    assert ask("csv", "deep.csv", offset=399_000).json() == first
    assert begun == [0, 399_000]
    assert first["rows"][0] == ["399000", "word 399000"]
    (folder / "deep.csv").write_text("n,word\n1,other\n")
    assert ask("csv", "deep.csv", offset=0).json()["rows"] == [["1", "other"]]


def test_cells_of_every_kind_become_scalars():
    assert fold(Decimal("1.10")) == "1.10"
    assert fold(datetime.time(1, 2)) == "01:02:00"
    assert fold({"a": {1}, 2: b"xy"}) == '{"a":[1],"2":"<blob 2 bytes>"}'
    assert fold(-(2**53)) == "-9007199254740992"
    assert fold(2**53 - 1) == 2**53 - 1
    assert fold(True) is True


def test_every_reader_is_there():
    for name in child.READERS:
        assert callable(child.reader(name))


async def test_a_request_that_is_given_up_ends_its_child(tmp_path, monkeypatch):
    place = tmp_path / "long.csv"
    place.write_bytes(b"n\n" + b"1\n" * 20_000_000)
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def noted(*args, **options):
        started.append(await start(*args, **options))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    with place.open("rb") as file:
        asked = Ask(format="csv", offset=19_999_999)
        task = asyncio.create_task(run.page_of(file.fileno(), Version.of(os.fstat(file.fileno())), asked))
        while not started:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert started[0].returncode == -9
