"""One function makes text storable on both databases (SECURITY-BAR L5)."""

import json

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.text import clean, clean_json, cut, decode
from workspaces_app.models import AuditEvent


@given(st.text(st.characters(codec=None, categories=None), max_size=200))
def test_L5_cleaned_text_is_always_utf8_without_nul(text: str):
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    assert clean(cleaned) == cleaned


def test_L5_ordinary_text_is_left_alone():
    for text in ("plain", "ünïcode", "表情 😀", ""):
        assert clean(text) is text


def test_L5_a_surrogate_pair_becomes_its_character_and_half_of_one_a_mark():
    assert clean(json.loads('"\\ud83d\\ude00"')) == "😀"
    assert clean("a\ud83d") == "a\ufffd"
    assert clean("\ude00b") == "\ufffdb"


def test_L5_bad_bytes_become_marks_and_a_byte_order_mark_goes():
    assert decode(b"\xef\xbb\xbfok \xff\xfe") == "ok \ufffd\ufffd"


def test_L5_keys_and_nested_values_of_json_are_cleaned_too():
    assert clean_json({"a\0": ["\0", {"b": ("\ud800", 1, None)}]}) == {
        "a\ufffd": ["\ufffd", {"b": ["\ufffd", 1, None]}]
    }


@pytest.mark.django_db
def test_L5_the_database_takes_every_cleaned_text():
    nasty = clean("nul \0, half \ud83d, bidi \u202e, private \ue000")
    row = AuditEvent.objects.create(action="test", target=nasty, detail=clean_json({"k\0": [nasty]}))
    row.refresh_from_db()
    assert row.target == nasty
    assert row.detail == {"k\ufffd": [nasty]}
    assert not User.objects.filter(username=nasty).exists()


def test_a_cut_never_keeps_half_a_line_end():
    assert cut("ab\r\ncd", 3) == "ab"
    assert cut("abc", 3) == "abc"
