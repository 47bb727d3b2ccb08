"""Ranges, encodings, versions, `Content-Disposition`: decisions without a file."""

import codecs
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.errors import BadRequest, UnsupportedMedia
from workspaces_app.files.download import disposition
from workspaces_app.files.ranges import Part, Unsatisfiable, part_of
from workspaces_app.files.text import ENCODINGS, detect, to_bytes, to_text
from workspaces_app.files.version import same_mtime, tags_of


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("", None),
        ("bytes=0-9", Part(0, 10)),
        ("bytes=5-", Part(5, 95)),
        ("bytes=-10", Part(90, 10)),
        ("bytes=-1000", Part(0, 100)),
        ("bytes=90-1000", Part(90, 10)),
        ("bytes=0-99999999999999999999999", Part(0, 100)),
        ("Bytes = 1 - 2", Part(1, 2)),
        ("bytes=-", None),
        ("bytes=0-1,5-6", None),
        ("lines=0-9", None),
        ("bytes=a-b", None),
        ("bytes=٣-٤", None),
    ],
)
def test_a_range_is_one_part_cut_at_the_end(header, part):
    assert part_of(header, 100) == part


@pytest.mark.parametrize("header", ["bytes=9-5", "bytes=100-", "bytes=100-200", "bytes=-0", "bytes=999-5"])
def test_a_range_without_bytes_is_unsatisfiable(header):
    with pytest.raises(Unsatisfiable):
        part_of(header, 100)


@given(st.integers(0, 10**6), st.text("0123456789-, =bytes", max_size=30))
def test_no_range_asks_for_more_than_there_is(size, rest):
    try:
        part = part_of(f"bytes={rest}", size)
    except Unsatisfiable:
        return
    if part is not None:
        assert 0 <= part.start < size
        assert 0 < part.length <= size - part.start


@pytest.mark.parametrize(
    ("data", "encoding", "content"),
    [
        (b"", "utf-8", ""),
        ("grün 文".encode(), "utf-8", "grün 文"),
        (codecs.BOM_UTF8 + b"x", "utf-8-bom", "x"),
        ("中文".encode("gb18030"), "gb18030", "中文"),
        (codecs.BOM_UTF16_LE + "a中".encode("utf-16-le"), "utf-16le", "a中"),
        (codecs.BOM_UTF16_BE + "a中".encode("utf-16-be"), "utf-16be", "a中"),
        ("café au lait".encode("latin-1"), "latin-1", "café au lait"),
    ],
)
def test_a_text_is_read_in_its_encoding_and_an_unchanged_save_writes_the_same_bytes(data, encoding, content):
    text = to_text(data)
    assert (text.encoding, text.content) == (encoding, content)
    assert to_bytes(text.content, text.encoding) == data


@given(st.binary(max_size=200))
def test_whatever_counts_as_text_comes_back_byte_for_byte(data):
    if detect(data) is None:
        with pytest.raises(UnsupportedMedia):
            to_text(data)
        return
    text = to_text(data)
    assert to_bytes(text.content, text.encoding) == data


def test_a_save_says_what_an_encoding_lacks():
    with pytest.raises(BadRequest, match="latin-1 has no character '中'"):
        to_bytes("a中", "latin-1")
    with pytest.raises(BadRequest, match="encoding must be one of"):
        to_bytes("a", "rot13")
    with pytest.raises(BadRequest, match="not utf-8 text"):
        to_text(b"\xff\xff", "utf-8")
    assert set(ENCODINGS) >= {"utf-8", "gb18030"}


@pytest.mark.parametrize(
    ("disk", "expected", "same"),
    [
        (1700000000123.456, 1700000000123, True),
        (1700000000123.6, 1700000000124, True),
        (1700000000123.6, 1700000000123, False),
        (1700000000123.5, 1700000000124, True),
        (1700000000000, 1700000000, False),
    ],
)
def test_times_are_equal_to_the_millisecond(disk, expected, same):
    assert same_mtime(disk, expected) is same


@pytest.mark.parametrize(
    ("header", "tags"),
    [(None, ()), ('"abc"', ("abc",)), ('W/"abc", "d"', ("abc", "d")), ("*", ("*",)), ("abc", ())],
)
def test_if_match_names_versions(header, tags):
    assert tags_of(header) == tags


# Nothing but this: no quote inside the quotes, no line break, so no second parameter and no second header.
HEADER = re.compile(r"""(inline|attachment); filename="([ !#-\[\]-~]*)"; filename\*=UTF-8''([\w.~%-]+)""", re.ASCII)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=255), st.booleans())
def test_D6_any_name_comes_back_from_the_header(name, inline):
    kind, plain, exact = HEADER.fullmatch(disposition(name, inline=inline)).groups()
    assert kind == ("inline" if inline else "attachment")
    assert len(plain) == len(name)
    assert unquote(exact, errors="strict") == name
