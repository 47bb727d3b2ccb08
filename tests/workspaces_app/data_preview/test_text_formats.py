"""Delimited text and JSON lines (spec previews 4, CSV rules; 6.1 to 6.6). Pure readers on real files."""

import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces_app.data_preview import delimited, json_lines
from workspaces_app.data_preview.page import Ask, Unreadable
from workspaces_app.data_preview.text_lines import CHUNK, Marks


def csv_page(data: bytes | str, name: str = "a.csv", **ask):
    raw = data.encode() if isinstance(data, str) else data
    return delimited.read(io.BytesIO(raw), Ask(format="csv", name=name, **ask)).body


def names(body) -> list[str]:
    return [column["name"] for column in body["columns"]]


@pytest.mark.parametrize(
    ("head", "name", "wanted"),
    [
        ("a,b,c\n", "a.csv", ","),
        ("a;b;c\n", "a.csv", ";"),
        ("a\tb\tc\n", "a.csv", "\t"),
        ("a,b;c\n", "a.csv", ","),  # a comma wins ties
        ("a;b\tc\n", "a.csv", ";"),  # a semicolon wins over as many tabs
        ('"a;b;c",d\n', "a.csv", ","),  # not inside quotes
        ("a,b\n;;;;;\n", "a.csv", ","),  # the first line alone
        ("a,b,c\td\n", "A.TSV", "\t"),
        ("one\n", "a.csv", ","),
    ],
)
def test_the_delimiter_is_what_the_first_line_has_most_of(head, name, wanted):
    assert delimited.delimiter(head, name) == wanted


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("h\n1\r\n2\r3\n", [["1"], ["2"], ["3"]]),
        ('h\n"a""b"\n', [['a"b']]),
        ('h\n"a"b\n', [["ab"]]),  # text after a closing quote belongs to the field
        ('h\na"b\n', [['a"b']]),  # a quote inside an unquoted field is one
        ('h\n"open\n', [["open\n"]]),  # ends with the file
        ('h,i\n"x\ny",2\n', [["x\ny", "2"]]),
        ("h\n\n\n1\n\n", [["1"]]),
        (b"\xef\xbb\xbfh\n\xff\n", [["\ufffd"]]),
        ("名,数\n" + "甲,1\n", [["甲", "1"]]),
    ],
)
def test_rows_are_read_with_tolerance(data, rows):
    assert csv_page(data)["rows"] == rows


def test_a_mark_of_the_encoding_is_not_part_of_the_first_name():
    assert names(csv_page(b"\xef\xbb\xbfa,b\n1,2\n")) == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-16", "gb18030"])
def test_other_encodings_are_recognised(encoding):
    body = csv_page("名称,数量\n苹果,3\n".encode(encoding))
    assert (names(body), body["rows"]) == (["名称", "数量"], [["苹果", "3"]])


def test_ragged_rows_are_padded_to_the_widest():
    body = csv_page("a\n1,2\n3\n")
    assert names(body) == ["a", ""]
    assert body["rows"] == [["1", "2"], ["3", ""]]


def test_250_rows_from_200_are_50_and_the_total_is_exact():
    body = csv_page("n\n" + "".join(f"{n}\n" for n in range(250)), offset=200)
    assert (len(body["rows"]), body["totalRows"], body["hasMore"]) == (50, 250, False)


def test_more_rows_make_the_total_a_lower_bound():
    body = csv_page("n\n" + "".join(f"{n}\n" for n in range(250)))
    assert (len(body["rows"]), body["totalRows"], body["hasMore"]) == (100, 101, True)


@pytest.mark.parametrize("data", ["", "\n\n", "only,a,header\n"])
def test_a_file_without_rows_has_none(data):
    body = csv_page(data)
    assert (body["rows"], body["totalRows"], body["hasMore"]) == ([], 0, False)


@pytest.mark.parametrize("data", ["," * 2_000_000, 'h\n"' + "x\n" * 1_000_000, "h\n" + "x" * 1_000_001 + "\n"])
def test_D10_a_row_of_more_than_a_million_characters_is_refused(data):
    with pytest.raises(Unreadable, match="Row exceeds 1MB"):
        csv_page(data)


def test_a_row_of_a_million_characters_is_shown():
    assert len(csv_page("h\n" + "x" * 1_000_000 + "\r\n")["rows"][0][0]) == 1_000_000


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("shift", range(-3, 4))
def test_a_row_end_or_a_quoted_newline_may_lie_across_two_reads(end, shift):
    before = CHUNK - 4 + shift
    data = "h" + end + "y" * before + end + f'"a{end}b"' + end + "z" + end
    assert csv_page(data)["rows"] == [["y" * before], [f"a{end}b"], ["z"]]


def test_columns_are_typed_by_what_the_page_holds():
    body = csv_page("n,d,b,t,e\n1,2024-05-06,true,x,\n-2.5e3,2024-05-06T10:00:00Z,FALSE,1,\n")
    assert [column["type"] for column in body["columns"]] == ["number", "date", "boolean", "text", "text"]


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(
    st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=20), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_what_was_written_quoted_is_read_back(table, end):
    text = end.join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [["a", "b"], *table])
    width = max(2, *map(len, table))
    assert csv_page(text)["rows"] == [row + [""] * (width - len(row)) for row in table]


@given(st.binary(max_size=400))
def test_D10_any_bytes_are_a_table_or_a_sentence(data):
    for read, format in ((delimited.read, "csv"), (json_lines.read, "jsonl")):
        with suppress(Unreadable):
            json.dumps(read(io.BytesIO(data), Ask(format=format, name="x")).body)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("offset", [0, 999, 1000, 1500, 2500])
def test_a_page_read_from_a_known_place_is_the_same_page(end, offset):
    data = ("é,n" + end + "".join(f'"ü{end}{n}",{n}{end}' for n in range(3000))).encode()
    whole = delimited.read(io.BytesIO(data), Ask(format="csv", offset=2900))
    known = max((mark for mark in whole.marks if mark[0] <= offset), default=(0, 0))
    again = delimited.read(io.BytesIO(data), Ask(format="csv", offset=offset, mark=known))
    assert again.body == delimited.read(io.BytesIO(data), Ask(format="csv", offset=offset)).body
    assert [row for row, _ in whole.marks] == [1000, 2000, 3000]


def test_a_page_too_far_down_is_reached_by_asking_again(monkeypatch):
    data = b"n\n" + b"".join(b"%d\n" % n for n in range(5000))
    monkeypatch.setattr(Marks.__init__, "__defaults__", (0.0,))
    mark, tries = (0, 0), 0
    while tries < 10:
        try:
            found = delimited.read(io.BytesIO(data), Ask(format="csv", offset=4500, limit=1, mark=mark))
            break
        except Unreadable as error:
            mark, tries = error.marks[-1], tries + 1
    assert (found.body["rows"], tries) == ([["4500"]], 4)


# ---- JSON lines


def lines_page(text: str, **ask):
    return json_lines.read(io.BytesIO(text.encode()), Ask(format="jsonl", **ask)).body


def test_columns_are_the_keys_of_the_page_in_their_order():
    body = lines_page('{"a":1,"b":[1,{"c":9007199254740993}]}\n\n{"d":null,"a":2}\n5\n')
    assert names(body) == ["a", "b", "d", "value"]
    assert [column["type"] for column in body["columns"]] == ["number", "list", "", "number"]
    assert body["rows"][0] == [1, '[1,{"c":"9007199254740993"}]', None, None]
    assert body["rows"][2] == [None, None, None, 5]


def test_a_line_that_is_no_json_is_named():
    with pytest.raises(Unreadable, match="Record 2 is not JSON"):
        lines_page('{"a":1}\n{"a":\n')


def test_lines_before_and_after_the_page_are_not_parsed():
    body = lines_page("broken\n1\nbroken\n", offset=1, limit=1)
    assert (body["rows"], body["totalRows"], body["hasMore"]) == ([[1]], 3, True)
