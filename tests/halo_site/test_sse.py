"""The reader of server-sent events, against a slow and obvious second opinion."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_site.lib.sse import LineTooLong, SseEvent, SseReader


def read(*chunks: bytes, limit: int = 1024 * 1024) -> list[SseEvent]:
    reader = SseReader(limit)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def obvious(data: bytes) -> list[SseEvent]:
    """The standard, line by line, over the whole stream at once."""
    events, name, lines = [], b"", []
    for line in [*re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if not line:
            if b"\n".join(lines):
                events.append(SseEvent(name, b"\n".join(lines)))
            name, lines = b"", []
        elif field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value
    return events


def datas(*chunks: bytes) -> list[bytes]:
    return [event.data for event in read(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_every_line_end_at_every_cut_gives_the_same_events(end: bytes):
    lines = [b": hello", b"event: a", b"data: one", b"data:two", b"", b"data:", b"", b"data: {}", b"", b"id: 3", b""]
    stream = end.join(lines) + end
    wanted = [SseEvent(b"a", b"one\ntwo"), SseEvent(b"", b"{}")]
    for cut in range(len(stream) + 1):
        assert read(stream[:cut], stream[cut:]) == wanted
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == wanted


def test_a_last_event_without_its_blank_line_is_read():
    assert datas(b"data: a\n\ndata: b") == [b"a", b"b"]
    assert datas(b"data: a\n\ndata: b\n") == [b"a", b"b"]


def test_a_byte_order_mark_is_dropped_even_when_it_is_cut():
    assert datas(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]
    assert datas(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == [b"a"]


def test_done_is_passed_on_like_any_data():
    assert datas(b"data: [DONE]\n\ndata: a\n\n") == [b"[DONE]", b"a"]


def test_comments_and_empty_data_are_no_events():
    assert datas(b": keepalive\n\n:\n\ndata:\n\ndata: \n\nevent: ping\n\nretry: 3\n\n") == []


def test_only_one_space_after_the_colon_belongs_to_the_field():
    assert datas(b"data:  a \n\n") == [b" a "]


def test_a_name_belongs_to_one_event_only():
    assert read(b"event: a\ndata: 1\n\ndata: 2\n\n") == [SseEvent(b"a", b"1"), SseEvent(b"", b"2")]
    assert read(b"event: a\n\ndata: 2\n\n") == [SseEvent(b"", b"2")]


def test_a_line_of_one_mebibyte_is_read_and_a_longer_one_is_not():
    line = b"data: " + b"x" * (1024 * 1024 - 6)
    assert len(datas(line + b"\n\n")[0]) == 1024 * 1024 - 6
    for chunks in ([line + b"x\n\n"], [line, b"x"], [line + b"xx"]):
        with pytest.raises(LineTooLong):
            read(*chunks)


def test_many_long_lines_in_one_event_are_within_the_limit():
    assert datas(b"data: 123456789\n" * 5 + b"\n") == [b"\n".join([b"123456789"] * 5)]
    assert [event.data for event in read(b"data: 1234\n" * 9 + b"\n", limit=12)] == [b"\n".join([b"1234"] * 9)]


LINES = st.sampled_from(
    [b"", b"", b"data: a", b"data:b", b"data", b"data:", b"event: x", b"event:y", b"event", b": c", b":", b"x"]
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(LINES | st.binary(max_size=6), ENDS), max_size=25),
    st.booleans(),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_any_stream_cut_anywhere_reads_as_the_standard_says(
    lines: list[tuple[bytes, bytes]], mark: bool, cuts: list[int]
):
    stream = (b"\xef\xbb\xbf" if mark else b"") + b"".join(line + end for line, end in lines)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert read(*chunks) == obvious(stream)
