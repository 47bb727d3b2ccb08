"""Names of uploads (SECURITY-BAR D7, CASES C61 and C63). Pure."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces_app.files.names import MAX_BYTES, numbered, plain_name, split_suffix


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a.txt", "a.txt"),
        ("/etc/cron.d/x", "x"),
        ("..\\..\\x", "x"),
        ("../../x", "x"),
        ("C:\\Users\\me\\b.pdf", "b.pdf"),
        ("a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"),
        ("safe\u202etxt.exe", "safetxt.exe"),
        ("  spaced.txt ", "spaced.txt"),
        (".env", ".env"),
        ("-rf", "-rf"),
        ("Abscha\u0308tzung.pdf", "Absch\u00e4tzung.pdf"),
        ("", None),
        (".", None),
        ("..", None),
        ("a/", None),
        ("\x00", None),
    ],
)
def test_C63_a_name_is_the_last_segment_and_nothing_else(said, name):
    assert plain_name(said) == name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.txt", ("a", ".txt")),
        ("a.tar.gz", ("a", ".tar.gz")),
        (".env", (".env", "")),
        ("README", ("README", "")),
        ("a.", ("a.", "")),
        ("a." + "x" * 40, ("a." + "x" * 40, "")),
    ],
)
def test_a_suffix_is_what_tells_the_type(name, parts):
    assert split_suffix(name) == parts


@pytest.mark.parametrize(
    ("name", "number", "free"),
    [("a.txt", 0, "a.txt"), ("a.txt", 1, "a (1).txt"), ("a.tar.gz", 2, "a (2).tar.gz"), (".env", 1, ".env (1)")],
)
def test_a_number_stands_before_the_suffix(name, number, free):
    assert numbered(name, number) == free


@given(st.text(max_size=400), st.integers(0, 999))
def test_D7_any_name_becomes_one_that_fits_and_stays_in_its_folder(said, number):
    name = plain_name(said)
    if name is None:
        return
    for one in (name, numbered(name, number)):
        assert 0 < len(one.encode()) <= MAX_BYTES
        assert "/" not in one
        assert one not in (".", "..")
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in one)


def test_a_long_name_is_cut_before_its_suffix_at_a_whole_character():
    name = plain_name("文" * 200 + ".pdf")
    assert name is not None
    assert name.endswith("文.pdf")
    assert 250 < len(name.encode()) <= 255
    longer = numbered(name, 12)
    assert longer.endswith(" (12).pdf")
    assert len(longer.encode()) <= 255
    assert unicodedata.is_normalized("NFC", longer)
