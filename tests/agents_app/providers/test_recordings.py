"""Every recording: what comes out of it whole, cut at every byte, split at every byte, with every line end."""

import pytest

from agents_app.providers.contract import ErrorKind

from .streams import RECORDINGS, SSE, Played, Recording, events_of, play


def matches(played: Played, wanted: Recording) -> bool:
    if played.answer is None:
        return False
    said = (played.of("text", "text"), played.of("thinking", "thinking"), played.calls)
    return said == (wanted.text, wanted.thinking, wanted.calls) and (played.answer.stop_reason, played.usage) == (
        wanted.stop,
        wanted.usage,
    )


def test_there_are_a_hundred_recordings_of_different_names():
    assert len({str(recording) for recording in RECORDINGS}) == len(RECORDINGS) >= 150
    assert len(SSE) >= 100


@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_a_recording_gives_what_its_vendor_said(recording: Recording):
    played = play(recording.family, recording.stream)
    if recording.error is not None:
        assert played.error is not None
        assert played.error.kind is recording.error
        return
    assert played.error is None
    assert played.of("text", "text") == recording.text == played.joined("text")
    assert played.of("thinking", "thinking") == recording.thinking == played.joined("thinking")
    assert played.calls == recording.calls
    assert played.answer.stop_reason == recording.stop
    assert played.usage == recording.usage
    assert not played.answer.bad_arguments


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
@pytest.mark.parametrize("recording", SSE, ids=str)
def test_C28_C29_any_cut_and_line_end_gives_the_same_events(recording: Recording, end: bytes):
    events = events_of(recording.family, recording.stream)
    stream = recording.stream.replace(b"\n", end)
    for cut in range(len(stream) + 1):
        assert events_of(recording.family, stream[:cut], stream[cut:]) == events, cut
    assert events_of(recording.family, *(stream[at : at + 1] for at in range(len(stream)))) == events


@pytest.mark.parametrize("recording", [one for one in RECORDINGS if one.family == "bedrock"], ids=str)
def test_C28_any_cut_of_frames_gives_the_same_events(recording: Recording):
    stream = recording.stream
    events = events_of(recording.family, stream)
    for cut in range(len(stream) + 1):
        assert events_of(recording.family, stream[:cut], stream[cut:]) == events, cut
    assert events_of(recording.family, *(stream[at : at + 1] for at in range(len(stream)))) == events


@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_C28_an_answer_does_not_depend_on_where_the_network_cut_it(recording: Recording):
    """The events are the same for every cut (above); here the whole way is walked for some."""
    whole = play(recording.family, recording.stream)
    for size in (1, 2, 7, 64, 1_400):
        pieces = (recording.stream[at : at + size] for at in range(0, len(recording.stream), size))
        played = play(recording.family, *pieces)
        assert played.deltas == whole.deltas or played.joined("text") == whole.joined("text")
        assert (played.error and str(played.error)) == (whole.error and str(whole.error))
        assert played.answer is None or matches(played, recording)


@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_C35_a_stream_cut_at_any_byte_is_an_error_or_the_whole_answer(recording: Recording):
    """Never a part of an answer taken for the answer, never half a tool call."""
    whole = play(recording.family, recording.stream)
    cut_off = 0
    step = 1 if len(recording.stream) < 900 else 3 if recording.family != "bedrock" else 11
    for cut in range(0, len(recording.stream), step):
        played = play(recording.family, recording.stream[:cut])
        assert whole.joined("text").startswith(played.joined("text")) or played.joined("text").endswith("\ufffd")
        if played.error is not None:
            cut_off += 1
            assert played.error.kind in (ErrorKind.NETWORK, recording.error)
            continue
        assert recording.error is None
        assert played.answer.stop_reason in (recording.stop, "end_turn")
        if "done-early" in recording.name and played.of("text", "text") == "Hel":
            continue  # the vendor said that this was all
        assert played.of("text", "text") == recording.text
        assert played.calls == recording.calls
    assert cut_off > len(recording.stream) // (3 * step)
