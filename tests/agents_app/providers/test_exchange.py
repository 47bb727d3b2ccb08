"""Every family against the strict fake: a call, its tools, its usage."""

import asyncio
from typing import Any

import pytest

from agents_app.providers.http import Limits
from tests.fakes.model_server import FakeModelServer

from .conftest import KEY, Vendor, assistant, user

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def said_last(vendor: Vendor) -> dict[str, Any]:
    """The newest message the vendor got."""
    body = vendor.last_body
    return (body.get("messages") or body["input"])[-1]


async def test_an_answer_arrives_in_pieces_and_as_a_whole(vendor: Vendor):
    vendor.server.will(thinking="let me see", text="Hello there, 你好 🌍", usage={"input": 30, "output": 7})
    said = await vendor.ask()
    assert said.text == "Hello there, 你好 🌍"
    assert said.joined("thinking") == "let me see"
    assert len(said.deltas) > 5
    assert said.reply.stop_reason == "end_turn"
    assert (said.reply.usage.input_tokens, said.reply.usage.output_tokens) == (30, 7)
    assert 0 <= said.reply.ttft_ms <= said.reply.duration_ms


async def test_the_key_and_the_fields_are_where_the_vendor_expects_them(vendor: Vendor):
    await vendor.ask(user("hello"))
    assert vendor.server.requests[0]["key"] == KEY
    body = vendor.last_body
    limit = "max_output_tokens" if vendor.family == "responses" else "max_tokens"
    assert (body[limit], len(body["tools"])) == (4096, 2)
    if vendor.family == "bedrock":  # both are said by the address
        assert "model" not in body
        assert vendor.server.requests[0]["path"] == "/model/m-1/invoke-with-response-stream"
    else:
        assert (body["model"], body["stream"]) == ("m-1", True)


@pytest.mark.parametrize("family", ["chat", "messages", "responses"])
async def test_no_key_no_header(server: FakeModelServer, family: str):
    await Vendor(family, server).ask(secrets={})
    assert server.requests[0]["key"] == ""


async def test_tool_calls_come_back_whole_and_their_results_are_accepted(vendor: Vendor):
    vendor.server.will(
        thinking="hm",
        tool_calls=[{"name": "grep", "arguments": {"pattern": "TODO 你"}}, {"name": "file_read", "arguments": {}}],
    )
    first = await vendor.ask(user("look"))
    assert first.reply.stop_reason == "tool_use"
    assert [(call["name"], call["input"]) for call in first.calls] == [
        ("grep", {"pattern": "TODO 你"}),
        ("file_read", {}),
    ]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": ""} for call in first.calls]
    vendor.server.will(text="done")
    second = await vendor.ask(
        user("look"), assistant(*first.reply.blocks), user("and hurry", *results), thinking=True, vision=True
    )
    assert second.text == "done"


async def test_tool_arguments_show_up_as_deltas_with_the_id_of_the_call(vendor: Vendor):
    vendor.server.will(tool_calls=[{"name": "grep", "arguments": {"pattern": "x" * 100}, "id": "call_77"}])
    said = await vendor.ask()
    assert said.joined("tool_args") == '{"pattern": "' + "x" * 100 + '"}'
    assert {delta.tool_use_id for delta in said.deltas} == {"call_77"}
    assert said.reply.ttft_ms is not None  # measured from the arguments when nothing else came


async def test_images_go_with_a_model_that_sees_and_become_a_sentence_for_one_that_does_not(vendor: Vendor):
    await vendor.ask(user("what is this?", IMAGE), vision=True)
    content = said_last(vendor)["content"]
    kinds = [part["type"] for part in content]
    assert kinds in (["image", "text"], ["image_url", "text"], ["input_image", "input_text"])
    await vendor.ask(user("what is this?", IMAGE), vision=False)
    assert "1 image was left out" in str(said_last(vendor))
    assert PNG not in str(vendor.last_body)


async def test_an_image_in_a_tool_result_reaches_a_model_that_sees(vendor: Vendor):
    call = {"type": "tool_use", "id": "c1", "name": "view_image", "input": {"path": "a.png"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Image loaded"}, IMAGE]}
    said = await vendor.ask(user("look"), assistant(call), user(result), vision=True)
    assert said.error is None
    assert PNG in str(vendor.last_body)
    said = await vendor.ask(user("look"), assistant(call), user(result), vision=False)
    assert said.error is None
    assert PNG not in str(vendor.last_body)


async def test_odd_history_is_still_a_valid_request(vendor: Vendor):
    """Blank texts, two messages of one role, ids and names of another vendor, thinking of unknown origin."""
    history = [
        user("   ", "one"), user("two"),
        assistant({"type": "thinking", "thinking": "foreign", "signature": "other-vendor", "provider": "elsewhere"}),
        user("three"),
        assistant(
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "text", "text": ""},
            {"type": "tool_use", "id": "functions.grep:0" + "x" * 60, "name": "functions.grep", "input": {}},
        ),
        user({"type": "tool_result", "tool_use_id": "functions.grep:0" + "x" * 60, "content": []}),
    ]  # fmt: skip
    said = await vendor.ask(*history, thinking=True)
    assert said.error is None, said.error


async def test_lone_surrogates_and_huge_numbers_in_the_history_do_not_break_the_request(vendor: Vendor):
    call = {"type": "tool_use", "id": "c1", "name": "grep", "input": {"n": 10**30, "text": "a\ud800b"}}
    said = await vendor.ask(
        user("x\udfff"), assistant(call), user({"type": "tool_result", "tool_use_id": "c1", "content": "ok"})
    )
    assert said.error is None, said.error


async def test_connections_are_used_again(vendor: Vendor):
    for _ in range(5):
        assert (await vendor.ask()).error is None
    assert vendor.server.connections == 1


async def test_cancelling_closes_the_connection_at_once(vendor: Vendor):
    vendor.limits = Limits(idle=600, total=600)  # neither of them ends it
    vendor.server.will(text="one two three", hang="stream", after=2)
    seen = asyncio.Event()

    async def consume() -> None:
        from .conftest import request

        async for _ in vendor.provider().stream(request(vendor.family, vendor.endpoint)):
            seen.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(seen.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [entry] = await vendor.server.wait_for(1, done=True)
    assert entry["outcome"] == "aborted"


async def test_cancelling_before_the_answer_closes_the_connection_at_once(vendor: Vendor):
    vendor.limits = Limits(idle=600, total=600)
    vendor.server.will(hang="headers")
    task = asyncio.create_task(vendor.ask())
    await vendor.server.wait_for(1)
    task.cancel()
    [entry] = await vendor.server.wait_for(1, done=True)
    assert entry["outcome"] == "aborted"
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_delta_leaves_before_the_next_one_exists(vendor: Vendor):
    """Nothing is gathered: the first words are here while the vendor is still silent about the rest."""
    vendor.server.will(text="first second", hang="stream", after=1)
    from .conftest import request

    stream = vendor.provider().stream(request(vendor.family, vendor.endpoint))
    item = await asyncio.wait_for(anext(stream), 60)
    assert item.text == "first "
    await stream.aclose()
    [entry] = await vendor.server.wait_for(1, done=True)
    assert entry["outcome"] == "aborted"


async def test_a_server_that_does_not_stream_is_understood(vendor: Vendor):
    vendor.server.will(text="plain answer", tool_calls=[{"name": "grep", "arguments": {"a": 1}}], json=True)
    said = await vendor.ask()
    assert said.text == "plain answer"
    assert said.calls[0]["input"] == {"a": 1}
    assert said.reply.stop_reason == "tool_use"
    assert said.reply.ttft_ms is None


async def test_a_stream_under_a_wrong_content_type_is_understood(vendor: Vendor):
    vendor.server.will(text="still a stream", content_type="text/plain")
    assert (await vendor.ask()).text == "still a stream"


async def test_a_vendor_that_uses_an_id_again_gets_a_new_one(vendor: Vendor):
    """Some servers number the calls of every answer from 0."""
    vendor.server.will(tool_calls=[{"name": "grep", "arguments": {"a": 1}, "id": "call_0"}])
    first = await vendor.ask(user("go"))
    result = user({"type": "tool_result", "tool_use_id": "call_0", "content": "x"})
    vendor.server.will(tool_calls=[{"name": "grep", "arguments": {"b": 2}, "id": "call_0"}])
    second = await vendor.ask(user("go"), assistant(*first.calls), result)
    assert first.calls[0]["id"] == "call_0"
    assert second.calls[0]["id"] != "call_0"
    assert second.calls[0]["input"] == {"b": 2}
    assert {delta.tool_use_id for delta in second.deltas} == {second.calls[0]["id"]}


async def test_a_connection_that_the_vendor_closed_while_idle_costs_no_failure(vendor: Vendor):
    assert (await vendor.ask()).error is None
    await vendor.server.hang_up()
    assert (await vendor.ask()).error is None
    assert vendor.server.connections == 2
