"""Cases from the field, group 3 and the money cases, through the real sender."""

import pytest

from agents_app.providers.contract import ErrorKind

from .conftest import Vendor, assistant, user
from .streams import (
    ARGS,
    CALLS,
    DONE,
    STOP,
    TWO,
    call,
    chunk,
    data,
    end,
    events_of,
    frame,
    named,
    reasoning_item,
    response,
    said,
    start,
    text_block,
    usage,
    words,
)  # fmt: skip

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def raw(stream: bytes) -> str:
    return stream.decode("utf-8", "surrogateescape")


async def test_C28_text_cut_inside_characters_arrives_whole(vendor: Vendor):
    vendor.server.will(text="你好世界 🌍", split=1)
    assert (await vendor.ask()).text == "你好世界 🌍"


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])
async def test_C29_line_ends_in_chunks_of_their_own(vendor: Vendor, line_end: str):
    vendor.server.will(text="one two", tool_calls=[{"name": "grep", "arguments": {"a": 1}}], split=1, line_end=line_end)
    said = await vendor.ask()
    assert (said.text, said.calls[0]["input"]) == ("one two", {"a": 1})


async def test_C29_comments_blank_data_and_no_space(chat: Vendor):
    stream = (
        b": OPENROUTER PROCESSING\n\n"
        + data(said("Hel")).replace(b"data: ", b"data:")
        + b": keepalive\r\n\r\ndata:\n\n"
        b"event: ping\n\n" + data(said("lo")).replace(b"\n", b"\r") + data(STOP) + b"data:[DONE]\n\n"
    )
    chat.server.will(raw=raw(stream))
    assert (await chat.ask()).text == "Hello"


async def test_C31_odd_chunks_are_tolerated_and_usage_is_counted_once(chat: Vendor):
    stream = data(
        {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        said("fine"),
        {"choices": [{"index": 0, "finish_reason": "stop"}]},
        usage(30, 5),
        {"choices": [{"index": 0, "delta": None, "usage": {"prompt_tokens": 30, "completion_tokens": 5}}]},
        DONE,
    )
    chat.server.will(raw=raw(stream))
    answer = await chat.ask()
    assert answer.text == "fine"
    assert (answer.reply.usage.input_tokens, answer.reply.usage.output_tokens) == (30, 5)


FRAGMENTS = {
    "a-index": [call(0, "c1", "grep", ""), call(0, None, None, ARGS[0]), call(1, "c2", "file_read", ""),
                call(1, None, None, ARGS[1][:4]), call(1, None, None, ARGS[1][4:])],
    "b-no-index": [call(None, "c1", "grep", ""), call(None, None, None, ARGS[0]), call(None, "c2", "file_read", ""),
                   call(None, None, None, ARGS[1][:4]), call(None, None, None, ARGS[1][4:])],
    "c-first-fragment-opens": [call(0, "c1", "grep", "{"), call(0, None, None, ARGS[0][1:]),
                               call(1, "c2", "file_read", "{"), call(1, None, None, ARGS[1][1:])],
    "d-repeated-ids": [call(0, "c1", "grep", ARGS[0][:4]), call(0, "c1", None, ARGS[0][4:]),
                       call(1, "c2", "file_read", ARGS[1][:4]), call(1, "c2", "file_read", ARGS[1][4:])],
}  # fmt: skip


@pytest.mark.parametrize("variant", FRAGMENTS)
async def test_C32_fragments_find_their_call(chat: Vendor, variant: str):
    chat.server.will(raw=raw(data(*FRAGMENTS[variant], CALLS, DONE)))
    answer = await chat.ask()
    assert tuple((one["name"], one["input"]) for one in answer.calls) == TWO
    assert [one["id"] for one in answer.calls] == ["c1", "c2"]
    assert [answer.joined("tool_args")] == ["".join(ARGS)]


async def test_C34_a_an_overload_after_partial_text_can_be_tried_again(messages: Vendor):
    messages.server.will(text="Partial answer that goes on", sse_error=OVERLOADED, after=2)
    answer = await messages.ask()
    assert answer.joined("text") == "Partial answer "
    assert (answer.error.kind, answer.error.status) == (ErrorKind.SERVER, 529)
    assert "Overloaded" in str(answer.error)


async def test_C34_b_a_used_up_quota_is_not_tried_again(chat: Vendor):
    chat.server.will(raw=raw(data({"error": {"message": "quota exceeded"}}, DONE)))
    answer = await chat.ask()
    assert answer.error.kind is ErrorKind.ACCOUNT
    assert "quota exceeded" in str(answer.error)


async def test_C34_c_an_error_beside_empty_choices_is_an_error(chat: Vendor):
    chat.server.will(raw=raw(data(said("Part"), {"choices": [], "error": {"message": "the model fell over"}}, DONE)))
    answer = await chat.ask()
    assert answer.joined("text") == "Part"
    assert "the model fell over" in str(answer.error)


@pytest.mark.parametrize("fault", ["cut", "close", "reset"])
async def test_C35_a_stream_that_just_ends_is_no_answer(vendor: Vendor, fault: str):
    vendor.server.will(tokens=200, **{fault: 9_000})
    answer = await vendor.ask()
    assert answer.error.kind is ErrorKind.NETWORK
    if fault == "cut":
        assert answer.joined("text").startswith("t000 t001 ")


@pytest.mark.parametrize("fault", ["cut", "close", "reset"])
async def test_C35_a_stream_that_ends_inside_tool_arguments_gives_no_tool(vendor: Vendor, fault: str):
    vendor.server.will(tool_calls=[{"name": "grep", "arguments": {"pattern": "x" * 400}}], **{fault: 1_500})
    answer = await vendor.ask()
    assert answer.reply is None
    assert answer.error.kind is ErrorKind.NETWORK


async def test_C42_an_empty_answer_at_the_limit_is_an_overflow(chat: Vendor, messages: Vendor):
    chat.server.will(
        raw=raw(data(chunk({"role": "assistant", "content": ""}), chunk({}, "length"), usage(9000, 0), DONE))
    )
    assert (await chat.ask()).error.kind is ErrorKind.OVERFLOW
    events = [start(input_tokens=9000, output_tokens=0), *end("max_tokens", output_tokens=0)]
    messages.server.will(raw=raw(named(*events)))
    assert (await messages.ask()).error.kind is ErrorKind.OVERFLOW


async def test_C42_an_empty_answer_is_never_an_answer(chat: Vendor, messages: Vendor):
    chat.server.will(raw=raw(data(chunk({"role": "assistant", "content": ""}), STOP, DONE)))
    assert (await chat.ask()).error.kind is ErrorKind.EMPTY
    chat.server.will(raw=raw(data(chunk({"reasoning_content": "only thoughts"}), STOP, DONE)))
    assert (await chat.ask()).error.kind is ErrorKind.EMPTY
    messages.server.will(raw=raw(named(start(), *end())))
    assert (await messages.ask()).error.kind is ErrorKind.EMPTY
    messages.server.will(raw=raw(named(start(), *text_block(0, ""), *end())))
    assert (await messages.ask()).error.kind is ErrorKind.EMPTY


async def test_a_limit_that_went_into_thinking_is_a_cut_answer(chat: Vendor):
    chat.server.will(
        raw=raw(data(chunk({"reasoning_content": "long thoughts"}), chunk({}, "length"), usage(9, 99), DONE))
    )
    assert (await chat.ask()).reply.stop_reason == "max_tokens"


async def test_a_refusal_without_words_tells_the_person(messages: Vendor):
    messages.server.will(raw=raw(named(start(), *end("refusal"))))
    answer = await messages.ask()
    assert answer.reply.stop_reason == "end_turn"
    assert answer.reply.notes == ["The vendor declined to answer."]


async def test_C45_counters_of_one_call_replace_each_other(messages: Vendor, chat: Vendor):
    events = [start(input_tokens=27, cache_read_input_tokens=10_000), *text_block(0, "x")]
    events += [
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 27, "output_tokens": 20}},
        *end(input_tokens=27, output_tokens=47, cache_read_input_tokens=10_000),
    ]
    messages.server.will(raw=raw(named(*events)))
    used = (await messages.ask()).reply.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens) == (27, 47, 10_000)
    cumulative = [{**said("x"), "usage": {"prompt_tokens": 27, "completion_tokens": n}} for n in (1, 20)]
    chat.server.will(raw=raw(data(*cumulative, STOP, usage(27, 47), DONE)))
    used = (await chat.ask()).reply.usage
    assert (used.input_tokens, used.output_tokens) == (27, 47)


async def test_C34_errors_inside_a_200_of_the_other_families(responses: Vendor, bedrock: Vendor):
    responses.server.will(text="Partial answer that goes on", after=2, sse_error={
        "type": "error", "code": "server_error", "message": "The server had an error"})  # fmt: skip
    answer = await responses.ask()
    assert answer.joined("text") == "Partial answer "
    assert (answer.error.kind, answer.error.status) == (ErrorKind.SERVER, 500)
    bedrock.server.will(text="Partial answer that goes on", after=2, sse_error={
        "type": "throttlingException", "message": "Too many requests"})  # fmt: skip
    answer = await bedrock.ask()
    assert answer.joined("text") == "Partial answer "
    assert (answer.error.kind, answer.error.status) == (ErrorKind.THROTTLE, 429)
    failed = response("failed", error={"code": "insufficient_quota", "message": "You exceeded your current quota"})
    responses.server.will(raw=raw(named(*words("Part"), failed)))
    assert (await responses.ask()).error.kind is ErrorKind.ACCOUNT


async def test_C42_empty_answers_of_the_other_families(responses: Vendor, bedrock: Vendor):
    responses.server.will(raw=raw(named(response("completed"))))
    assert (await responses.ask()).error.kind is ErrorKind.EMPTY
    responses.server.will(raw=raw(named(response("completed", reasoning_item("only thoughts")))))
    assert (await responses.ask()).error.kind is ErrorKind.EMPTY
    cut = {"incomplete_details": {"reason": "max_output_tokens"}}
    responses.server.will(
        raw=raw(named(response("incomplete", usage={"input_tokens": 9000, "output_tokens": 0}, **cut)))
    )
    assert (await responses.ask()).error.kind is ErrorKind.OVERFLOW
    responses.server.will(raw=raw(named(response("incomplete", reasoning_item("long thoughts"), **cut))))
    assert (await responses.ask()).reply.stop_reason == "max_tokens"
    frames = b"".join(frame(event.data) for event in events_of("messages", named(start(), *end())))
    bedrock.server.will(raw=raw(frames))
    assert (await bedrock.ask()).error.kind is ErrorKind.EMPTY


async def test_C45_usage_of_the_other_families_is_in_the_same_form(responses: Vendor, bedrock: Vendor):
    for vendor in (responses, bedrock):
        vendor.server.will(text="x", usage={"input": 27, "output": 47, "cache_read": 10_000})
        used = (await vendor.ask()).reply.usage
        assert (used.input_tokens, used.output_tokens, used.cache_read_tokens) == (27, 47, 10_000)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ('{"pattern": "x', "not valid JSON"),
        ("[1, 2]", "must be a JSON object"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": 1e999}', "not valid JSON"),
        ("[" * 5000, "nested too deeply"),
        ('{"a":' * 150 + "1" + "}" * 150, "nested too deeply"),
    ],
    ids=["cut", "list", "NaN", "infinity", "5000 deep", "150 deep"],
)
async def test_bad_arguments_are_told_to_the_model_and_never_run(vendor: Vendor, arguments: str, complaint: str):
    vendor.server.will(tool_calls=[{"name": "grep", "arguments": arguments, "id": "c9"}])
    answer = await vendor.ask()
    assert answer.calls[0]["input"] == {}
    assert complaint in answer.reply.bad_arguments["c9"]


async def test_half_a_call_at_the_output_limit_is_never_a_call(vendor: Vendor):
    vendor.server.will(
        text="I will search.", tool_calls=[{"name": "grep", "arguments": '{"pattern": "x'}],
        stop={"chat": "length", "responses": "max_output_tokens"}.get(vendor.family, "max_tokens"),
    )  # fmt: skip
    answer = await vendor.ask()
    assert answer.reply.stop_reason == "max_tokens"
    assert answer.calls == []
    assert not answer.reply.bad_arguments


async def test_reasoning_goes_back_to_the_vendor_it_came_from(chat: Vendor):
    chat.server.will(thinking="step one", tool_calls=[{"name": "grep", "arguments": {}, "id": "c1"}])
    first = await chat.ask(user("go"), thinking=True)
    result = user({"type": "tool_result", "tool_use_id": "c1", "content": "found"})
    await chat.ask(user("go"), assistant(*first.reply.blocks), result)
    assert chat.last_body["messages"][2]["reasoning_content"] == "step one"


async def test_signed_thinking_goes_back_while_thinking_is_on(messages: Vendor):
    messages.server.will(thinking="step one", tool_calls=[{"name": "grep", "arguments": {}, "id": "c1"}])
    first = await messages.ask(user("go"), thinking=True)
    history = [
        user("go"),
        assistant(*first.reply.blocks),
        user({"type": "tool_result", "tool_use_id": "c1", "content": "x"}),
    ]
    await messages.ask(*history, thinking=True)
    assert messages.last_body["messages"][1]["content"][0]["signature"] == "sig-1"
    await messages.ask(*history, thinking=False)
    assert [block["type"] for block in messages.last_body["messages"][1]["content"]] == ["tool_use"]


async def test_a_turn_that_began_without_thinking_ends_without_it(messages: Vendor):
    """After a change of vendor in the middle of a turn the calls carry no thinking that could go back."""
    call_ = {"type": "tool_use", "id": "c1", "name": "grep", "input": {}}
    foreign = {"type": "thinking", "thinking": "elsewhere", "provider": "kimi"}
    result = user({"type": "tool_result", "tool_use_id": "c1", "content": "x"})
    manual = {"thinking": True, "thinking_mode": "manual"}
    answer = await messages.ask(user("go"), assistant(foreign, call_), result, **manual)
    assert answer.error is None, answer.error
    assert "thinking" not in messages.last_body
    await messages.ask(user("go"), assistant(foreign, call_), result, thinking=True)
    assert messages.last_body["thinking"]["type"] == "adaptive"  # adaptive thinking may have been skipped: no rule
    history = [user("go"), assistant(call_), result, assistant({"type": "text", "text": "found"}), user("more")]
    assert (await messages.ask(*history, **manual)).error is None
    assert messages.last_body["thinking"]["type"] == "enabled"
