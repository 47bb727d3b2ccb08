"""SECURITY-BAR T7 and L5: whatever a vendor does, a call ends as an error of the right kind, soon, and shows no key."""

import asyncio
import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_app.providers.contract import ErrorKind
from agents_app.providers.http import Limits
from tests.fakes.bedrock_wire import chunk as frame
from tests.fakes.bedrock_wire import exception
from tests.fakes.bedrock_wire import frame as plain_frame

from .conftest import FAMILIES, KEY, Vendor
from .streams import DONE, STOP, data, message_item, named, play, response, said, start, words

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.FATAL), (401, ErrorKind.ACCOUNT), (402, ErrorKind.ACCOUNT), (403, ErrorKind.ACCOUNT),
        (404, ErrorKind.FATAL), (408, ErrorKind.SERVER), (413, ErrorKind.OVERFLOW), (429, ErrorKind.THROTTLE),
        (500, ErrorKind.SERVER), (502, ErrorKind.SERVER), (503, ErrorKind.SERVER), (504, ErrorKind.SERVER),
        (529, ErrorKind.SERVER),
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [None, "<html>gateway</html>", ""], ids=["json", "html", "empty"])
async def test_T7_every_status_has_its_kind(vendor: Vendor, status: int, kind: ErrorKind, body: str | None):
    vendor.server.will(status=status, error=body)
    answer = await vendor.ask()
    assert (answer.error.kind, answer.error.status) == (kind, status)
    assert str(status) in str(answer.error)


async def test_T7_the_wait_a_vendor_asks_for_is_handed_on(vendor: Vendor, no_rest: None):
    vendor.server.will(status=429, retry_after="0.3")
    assert (await vendor.ask()).error.retry_after == 0.3
    vendor.server.will(status=529, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert (await vendor.ask()).error.retry_after == 0.0
    vendor.server.will(status=503, retry_after="soon")
    assert (await vendor.ask()).error.retry_after is None
    vendor.server.will(status=429)
    assert (await vendor.ask()).error.retry_after is None


async def test_T7_an_error_answer_leaves_the_connection_usable(vendor: Vendor, no_rest: None):
    for status in (429, 500, 400):
        vendor.server.will(status=status)
        assert (await vendor.ask()).error is not None
    assert (await vendor.ask()).error is None
    assert vendor.server.connections == 1


async def test_T7_nobody_listens(vendor: Vendor):
    await vendor.server.__aexit__(None, None, None)
    answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.NETWORK
    assert "connection refused" in str(answer.error)
    await vendor.server.__aenter__()


async def test_T7_an_unknown_host(vendor: Vendor):
    answer = await vendor.ask(endpoint="http://no-such-host.invalid/v1")
    assert answer.error.kind is ErrorKind.NETWORK


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "ftp://127.0.0.1/x", "http://", "http://[::1", "http://127.0.0.1:99999/"]
)
async def test_an_endpoint_that_is_no_address(vendor: Vendor, endpoint: str):
    answer = await vendor.ask(endpoint=endpoint)
    assert answer.error.kind in (ErrorKind.FATAL, ErrorKind.NETWORK)


@pytest.mark.parametrize("hang", ["headers", "stream"])
async def test_T7_silence_ends_at_the_idle_limit(vendor: Vendor, hang: str):
    vendor.limits = Limits(idle=1.0, total=600)
    vendor.server.will(text="one two three", hang=hang, after=2)
    began = time.monotonic()
    async with asyncio.timeout(60):
        answer = await vendor.ask()
    assert time.monotonic() - began > 0.9
    assert answer.error.kind is ErrorKind.NETWORK
    assert answer.joined("text") == ("" if hang == "headers" else "one two ")
    [entry] = await vendor.server.wait_for(1, done=True)
    assert entry["outcome"] == "aborted"


async def test_T7_a_stream_without_end_stops_at_the_total_limit(vendor: Vendor):
    vendor.limits = Limits(idle=60, total=0.4)
    vendor.server.will(tokens=10_000, delay=60)  # ten minutes
    async with asyncio.timeout(60):
        answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.NETWORK
    assert "Model request timed out" in str(answer.error)


async def test_T7_a_reset_after_text_keeps_the_text_and_is_worth_a_retry(vendor: Vendor):
    """The bytes before the reset have arrived: the vendor pauses, then resets."""
    vendor.server.will(text="one two three", tokens=3, delay=60, reset=100_000)
    assert (await vendor.ask()).error is None  # a reset beyond the end is none
    vendor.server.will(tokens=50, delay=5, reset=6_000)
    answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.NETWORK
    assert answer.joined("text").startswith("t000 ")


async def test_T7_an_answer_larger_than_the_limit_is_given_up(vendor: Vendor):
    vendor.limits = Limits(idle=5, total=30, size=20_000)
    vendor.server.will(tokens=5_000)
    answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.FATAL
    assert "larger than" in str(answer.error)


async def test_T7_a_line_larger_than_a_mebibyte_is_given_up(chat: Vendor):
    chat.server.will(raw=data(said("x" * 1_100_000)).decode())
    answer = await chat.ask()
    assert answer.error.kind is ErrorKind.FATAL


@pytest.mark.parametrize(
    "stream",
    [b"data: {broken\n\n", b"data: {\"choices\": 5}\n\n", b'data: {"choices":[{"delta":"x"}]}\n\n', b"\x00\xff\xfe\n\n",
     b"data: " + b"[" * 3000 + b"\n\n", b'data: {"type":"content_block_delta","index":3,"delta":{}}\n\n',
     b'data: {"type":"message_start"}\n\n', b'data: {"choices":[{"delta":{"tool_calls":[5]}}]}\n\n'],
)  # fmt: skip
async def test_T7_malformed_streams_end_as_errors(vendor: Vendor, stream: bytes):
    vendor.server.will(raw=stream.decode("utf-8", "surrogateescape"))
    answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.NETWORK


@pytest.mark.parametrize("body", ["<html>login</html>", "[]", '{"a"', "{}", "hello", ""])
async def test_T7_a_200_that_is_no_answer(vendor: Vendor, body: str):
    vendor.server.will(raw=body, content_type="text/html")
    answer = await vendor.ask()
    assert answer.error.kind in (ErrorKind.FATAL, ErrorKind.NETWORK, ErrorKind.EMPTY)


async def test_T7_words_before_a_failure_in_the_same_packet_are_shown(chat: Vendor):
    chat.server.will(raw=data(said("first "), b"{broken").decode())
    answer = await chat.ask()
    assert answer.joined("text") == "first "
    assert answer.error.kind is ErrorKind.NETWORK


async def test_T7_a_vendor_that_does_not_hang_up_after_its_last_word_costs_no_time(chat: Vendor):
    stream = data(said("all"), STOP, DONE)
    chat.limits = Limits(idle=600, total=600)
    chat.server.will(raw=stream.decode() + ": still here\n\n", split=len(stream), hang="stream")
    async with asyncio.timeout(60):
        assert (await chat.ask()).text == "all"


async def test_T7_stop_works_during_every_kind_of_silence(vendor: Vendor):
    vendor.limits = Limits(idle=600, total=600)
    for fault in ({"hang": "headers"}, {"hang": "stream", "after": 1}, {"ttft": 600_000}):
        vendor.server.will(text="one two", **fault)
        task = asyncio.create_task(vendor.ask())
        await vendor.server.wait_for(len(vendor.server.requests) + 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await vendor.server.wait_for(len(vendor.server.requests), done=True)


# Keys

DISGUISES = {
    "plain": KEY,
    "hex": KEY.encode().hex(),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "inside base64": base64.b64encode(b'{"k":"' + KEY.encode() + b'"}').decode(),
    "quoted": KEY.replace("-", "%2D"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
async def test_L1_an_echoed_key_is_not_shown(vendor: Vendor, disguise: str):
    echoed = DISGUISES[disguise]
    vendor.server.will(status=401, error={"error": {"message": f"bad key {echoed} given", "type": "x"}})
    in_json = str((await vendor.ask()).error)
    vendor.server.will(status=500, error=f"<b>bad key {echoed} given</b>")
    in_html = str((await vendor.ask()).error)
    for shown in (in_json, in_html):
        assert KEY not in shown
        if disguise != "quoted":
            assert DISGUISES[disguise] not in shown
            assert KEY.encode().hex() not in shown
        assert "given" in shown


@pytest.mark.parametrize("key", ["sk-ä-secret", "sk-line\nbreak", "sk-nul\x00", "sk-🌍"])
async def test_L1_a_key_that_cannot_be_sent_is_an_account_error_without_the_key(vendor: Vendor, key: str):
    answer = await vendor.ask(secrets={"api_key": key})
    assert answer.error.kind is ErrorKind.ACCOUNT
    assert key not in str(answer.error)
    assert answer.error.__cause__ is None
    assert vendor.server.requests == []


async def test_an_unset_placeholder_is_sent_as_it_is_and_fails_visibly(vendor: Vendor):
    vendor.server.key = "right"
    answer = await vendor.ask(secrets={"api_key": "<<MISSING>>"})
    assert vendor.server.requests[0]["key"] == "<<MISSING>>"
    assert answer.error.kind is ErrorKind.ACCOUNT


# Anything at all

PIECES = st.sampled_from(
    [b"data: ", b"event: error\n", b"\n", b"\n\n", b"{", b"}", b'"choices":[', b'{"delta":{"content":"x"}}', b"]",
     b'"type":"message_stop"', b"[DONE]", b"\x00", b"\xff", b"null", b'"', data(said("hi")), data(STOP), data(DONE),
     named(start()), named({"type": "message_stop"}),
     b'data: {"choices":[{"delta":{"tool_calls":[{"index":[]}]}}]}\n\n',
     b'data: {"type":"content_block_start","index":{},"content_block":{"type":"text"}}\n\n',
     b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":7}}\n\n',
     b'data: {"usage":{"prompt_tokens":-5,"completion_tokens":1e300}}\n\n',
     named(*words("hi")), named(response("completed", message_item("hi"))), named(response("completed", 5)),
     named(response("completed", {"type": "function_call"})), named(response("completed", message_item(7))),
     named(response("incomplete", incomplete_details=[], usage=[])),
     b'data: {"type":"response.output_item.done","output_index":"x","item":{}}\n\n',
     b'data: {"type":"response.function_call_arguments.delta","output_index":[],"delta":"x"}\n\n',
     frame(b"{}"), frame(b'{"type":"message_stop"}'), frame(b'"x"'), frame(b"\xff"), frame(b"")[:-1],
     exception("throttlingException", "slow"), exception("", "\x00"), plain_frame({":message-type": "event"}, b"x"),
     plain_frame({":message-type": "event", ":event-type": "chunk"}, b'{"bytes":5}')]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(FAMILIES), st.lists(PIECES | st.binary(max_size=12), max_size=20))
def test_L5_no_bytes_at_all_break_the_fold(family: str, pieces: list[bytes]):
    """An answer or a ProviderError, never another exception; everything that comes out can be stored."""
    played = play(family, *pieces)
    assert (played.answer is None) != (played.error is None)
    for text in [delta.text for delta in played.deltas] + ([str(played.error)] if played.error else []):
        assert "\x00" not in text
        text.encode("utf-8")
    if played.answer is not None:
        assert min(played.usage) >= 0
        text, shown = played.of("text", "text"), played.joined("text")
        # Where the vendor contradicts what it streamed, its last word counts.
        assert text == shown or (family == "responses" and not text.startswith(shown))
