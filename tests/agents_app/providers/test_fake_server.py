"""The fake vendor itself: strict, steerable, honest about what it saw. It is trusted by many other tests."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from agents_app.providers.contract import ErrorKind
from tests.fakes.bedrock_wire import check_bedrock, check_signature
from tests.fakes.model_rules import Refused, check_chat, check_messages
from tests.fakes.model_server import FakeModelServer
from tests.fakes.responses_wire import check_responses

from .conftest import Vendor, assistant, user

# ruff: noqa: E501 - a sin reads best as one line
ROOT = Path(__file__).resolve().parents[3]
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
NAMED = {"name": "grep", "description": "x"}
CHAT_TOOL = {"type": "function", "function": NAMED | {"parameters": {"type": "object"}}}
MESSAGES_TOOL = NAMED | {"input_schema": {"type": "object"}}
RESPONSES_TOOL = {"type": "function", **NAMED, "parameters": {"type": "object"}}
TOOL_USE = {"type": "tool_use", "id": "t1", "name": "grep", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
THOUGHT = {"type": "thinking", "thinking": "x", "signature": "made-up"}


def chat_body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def messages_body(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": r, "content": c} for r, c in messages], **more}


def said(role: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


CHAT_SINS = {
    "no model": {"messages": [said("user")]},
    "unknown field": chat_body(said("user"), provider="x"),
    "no messages": chat_body(),
    "empty content": chat_body(said("user", " ")),
    "empty tools": chat_body(said("user"), tools=[]),
    "choice without tools": chat_body(said("user"), tool_choice="none"),
    "choice of another family": chat_body(said("user"), tools=[CHAT_TOOL], tool_choice={"type": "none"}),
    "two users": chat_body(said("user"), said("user")),
    "ends with assistant": chat_body(said("user"), said("assistant")),
    "empty assistant": chat_body(said("user"), said("assistant", None), said("user")),
    "unanswered call": chat_body(said("user"), said("assistant", None, tool_calls=[TOOL_CALL]), said("user")),
    "call at the end": chat_body(said("user"), said("assistant", None, tool_calls=[TOOL_CALL])),
    "orphan result": chat_body(said("user"), said("tool", tool_call_id="c9")),
    "result twice": chat_body(said("user"), said("assistant", None, tool_calls=[TOOL_CALL]),
                              said("tool", tool_call_id="c1"), said("tool", tool_call_id="c1")),
    "bad arguments": chat_body(said("user"), said("assistant", None, tool_calls=[
        {**TOOL_CALL, "function": {"name": "grep", "arguments": "{"}}]), said("tool", tool_call_id="c1")),
    "foreign block": chat_body(said("user", [{"type": "tool_result", "tool_use_id": "c1"}])),
    "late system": chat_body(said("user"), said("system"), said("user")),
    "text as image": chat_body(said("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}])),
}  # fmt: skip

MESSAGES_SINS = {
    "no max_tokens": {"model": "m", "messages": [said("user")]},
    "unknown field": messages_body(("user", "x"), stream_options={}),
    "starts with assistant": messages_body(("assistant", "x"), ("user", "x")),
    "ends with assistant": messages_body(("user", "x"), ("assistant", "x")),
    "blank text": messages_body(("user", [{"type": "text", "text": "  "}])),
    "unanswered call": messages_body(("user", "x"), ("assistant", [TOOL_USE]), ("user", "y")),
    "orphan result": messages_body(("user", [RESULT])),
    "result after text": messages_body(("user", "x"), ("assistant", [TOOL_USE]), ("user", [{"type": "text", "text": "a"}, RESULT])),
    "two results": messages_body(("user", "x"), ("assistant", [TOOL_USE]), ("user", [RESULT, RESULT])),
    "same id twice": messages_body(("user", "x"), ("assistant", [TOOL_USE, TOOL_USE]), ("user", [RESULT])),
    "bad id": messages_body(("user", "x"), ("assistant", [{**TOOL_USE, "id": "f.g:0"}]), ("user", [RESULT])),
    "list as input": messages_body(("user", "x"), ("assistant", [{**TOOL_USE, "input": []}]), ("user", [RESULT])),
    "foreign signature": messages_body(("user", "x"), ("assistant", [THOUGHT, TOOL_USE]), ("user", [RESULT])),
    "extra key": messages_body(("user", [{"type": "text", "text": "x", "provider": "y"}])),
    "choice without tools": messages_body(("user", "x"), tool_choice={"type": "none"}),
    "choice of another family": messages_body(("user", "x"), tools=[MESSAGES_TOOL], tool_choice="none"),
    "small budget": messages_body(("user", "x"), thinking={"type": "enabled", "budget_tokens": 5}),
    "five marks": messages_body(("user", [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5)),
    "image for the assistant": messages_body(("user", "x"), ("assistant", [{"type": "image", "source": {}}]), ("user", "x")),
}  # fmt: skip


def responses_body(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items), **more}


FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}
RESPONSES_SINS = {
    "no model": {"input": [said("user")]},
    "no input": responses_body(),
    "unknown field": responses_body(said("user"), messages=[]),
    "blank text": responses_body(said("user", " ")),
    "system in the middle": responses_body(said("user"), said("developer"), said("user")),
    "ends with assistant": responses_body(said("user"), said("assistant")),
    "unanswered call": responses_body(said("user"), FUNCTION_CALL, said("user")),
    "call at the end": responses_body(said("user"), FUNCTION_CALL),
    "orphan output": responses_body(said("user"), OUTPUT),
    "output twice": responses_body(said("user"), FUNCTION_CALL, OUTPUT, OUTPUT),
    "call twice": responses_body(said("user"), FUNCTION_CALL, FUNCTION_CALL, OUTPUT),
    "bad arguments": responses_body(said("user"), {**FUNCTION_CALL, "arguments": "{"}, OUTPUT),
    "empty output": responses_body(said("user"), FUNCTION_CALL, {**OUTPUT, "output": ""}),
    "block of another family": responses_body(said("user", [{"type": "text", "text": "x"}])),
    "text as image": responses_body(said("user", [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}])),
    "unknown effort": responses_body(said("user"), reasoning={"effort": "wild"}),
    "choice without tools": responses_body(said("user"), tool_choice="none"),
    "choice of another family": responses_body(said("user"), tools=[RESPONSES_TOOL], tool_choice={"type": "none"}),
    "small limit": responses_body(said("user"), max_output_tokens=3),
}

BEDROCK = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [said("user")]}
BEDROCK_SINS = {
    "no version": {**BEDROCK, "anthropic_version": "2023-06-01"},
    "model in the body": {**BEDROCK, "model": "m"},
    "stream in the body": {**BEDROCK, "stream": True},
    "ends with assistant": {**BEDROCK, "messages": [said("user"), said("assistant")]},
}


@pytest.mark.parametrize("name", RESPONSES_SINS)
def test_responses_sins_are_refused(name: str):
    with pytest.raises(Refused):
        check_responses(RESPONSES_SINS[name])


@pytest.mark.parametrize("name", BEDROCK_SINS)
def test_bedrock_sins_are_refused(name: str):
    check_bedrock(BEDROCK)
    with pytest.raises(Refused):
        check_bedrock(BEDROCK_SINS[name])


@pytest.mark.parametrize("change", ["body", "path", "header", "secret", "nobody"])
def test_a_signature_that_does_not_fit_the_request_is_refused(change: str):
    from agents_app.providers.aws import _signed
    from agents_app.providers.wire import Signing, WireRequest

    how = Signing(service="bedrock", region="eu-west-1", key_id="AKIA", secret="right")
    wire = WireRequest(url="http://h:9/model/a:1/x", headers={"accept": "a b"}, body=b"{}", signing=how)
    signed = _signed(wire, how)
    headers = {name.lower(): value for name, value in signed.headers.items()} | {"host": "h:9"}
    check_signature("POST", "/model/a:1/x", headers, b"{}", {"AKIA": "right"})
    body, path, keys = b"{}", "/model/a:1/x", {"AKIA": "right"}
    if change == "body":
        body = b"{ }"
    elif change == "path":
        path = "/model/b:1/x"
    elif change == "header":
        headers["accept"] = "c"
    elif change == "secret":
        keys = {"AKIA": "wrong"}
    else:
        del headers["authorization"]
    with pytest.raises(Refused):
        check_signature("POST", path, headers, body, keys)


@pytest.mark.parametrize("name", CHAT_SINS)
def test_chat_sins_are_refused(name: str):
    with pytest.raises(Refused):
        check_chat(CHAT_SINS[name])


@pytest.mark.parametrize("name", MESSAGES_SINS)
def test_messages_sins_are_refused(name: str):
    with pytest.raises(Refused):
        check_messages(MESSAGES_SINS[name])


async def test_a_refusal_has_the_vendors_shape_and_is_recorded(vendor: Vendor):
    orphan = {"type": "tool_result", "tool_use_id": "c9", "content": "x"}
    answer = await vendor.ask(user("x", orphan))
    assert (answer.error.kind, answer.error.status) == (ErrorKind.REPAIR, 400)
    assert vendor.server.requests[0]["outcome"] == "refused"


async def test_a_full_window_is_refused_as_an_overflow(vendor: Vendor):
    vendor.server.window = 500
    assert (await vendor.ask(user("x" * 4000))).error.kind is ErrorKind.OVERFLOW
    assert (await vendor.ask(user("short"))).error is None


async def test_a_directive_in_the_last_message_steers_the_reply(vendor: Vendor):
    answer = await vendor.ask(user('go [[fake tokens=3 think=2 tool=grep args={"pattern": "a b"}]]'))
    assert answer.calls[0]["input"] == {"pattern": "a b"}
    history = [user('go [[fake tokens=3 tool=grep args={"pattern": "a b"}]]'), assistant(*answer.calls)]
    result = {"type": "tool_result", "tool_use_id": answer.calls[0]["id"], "content": "x"}
    assert (await vendor.ask(*history, user(result))).text == "t000 t001 t002 "


async def test_where_calls_are_forbidden_only_a_stubborn_model_makes_one(vendor: Vendor):
    question = "go [[fake tokens=1 tool=grep{}]]"
    obedient = await vendor.ask(user(question.format("")), may_call=False)
    assert (obedient.calls, obedient.text) == ([], "t000 ")
    stubborn = await vendor.ask(user(question.format(" stubborn=1")), may_call=False)
    assert [call["name"] for call in stubborn.calls] == ["grep"]


async def test_a_directive_can_fail_the_first_calls_only(vendor: Vendor):
    question = user("go [[fake tokens=1 status=500 fails=2]]")
    kinds = [(await vendor.ask(question)).error for _ in range(3)]
    assert [error is None for error in kinds] == [False, False, True]


async def test_a_script_answers_by_rounds_and_the_queue_by_calls(vendor: Vendor):
    vendor.server.script = [{"tool_calls": [{"name": "grep", "arguments": {}}]}, {"text": "done"}]
    first = await vendor.ask(user("go"))
    result = {"type": "tool_result", "tool_use_id": first.calls[0]["id"], "content": "x"}
    assert (await vendor.ask(user("go"), assistant(*first.calls), user(result))).text == "done"
    vendor.server.script = []
    vendor.server.will(text="one")
    vendor.server.will(text="two")
    assert [(await vendor.ask()).text for _ in range(2)] == ["one", "two"]


@pytest.mark.parametrize("family", ["chat", "messages", "bedrock"])
async def test_repeated_events_repeat_the_words(server: FakeModelServer, family: str):
    server.will(tokens=2, repeat=2)
    assert (await Vendor(family, server).ask()).text == "t000 t000 t001 t001 "


def test_it_runs_as_a_process_with_a_log(tmp_path: Path):
    log = tmp_path / "calls.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.model_server", "--port", "0", "--log", str(log)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        found = re.search(r":(\d+)", process.stdout.readline())
        base = f"http://127.0.0.1:{found[1]}"

        def call(path: str, body: Any = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            with urllib.request.urlopen(urllib.request.Request(base + path, data), timeout=60) as answer:
                return json.loads(answer.read())

        assert call("/health") == {"status": "ok"}
        call("/control", {"defaults": {"text": "from the defaults"}, "queue": [{"text": "from the queue"}]})
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        texts = [call("/v1/chat/completions", body)["choices"][0]["message"]["content"] for _ in range(2)]
        assert texts == ["from the queue", "from the defaults"]
        assert [entry["body"] for entry in call("/requests")] == [body, body]
        assert call("/control")["calls"] == 2
        assert call("/v1/models")["data"][0]["id"] == "fake"
        with pytest.raises(urllib.error.HTTPError, match="400"):
            call("/control", {"defaults": {"tokenz": 3}})
        call("/reset", {})
        assert call("/requests") == []
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["n"], line["outcome"]) for line in lines] == [(1, "done"), (2, "done")]


async def test_waiting_for_requests_sees_them_come(vendor: Vendor):
    waiting = asyncio.create_task(vendor.server.wait_for(2, done=True))
    await vendor.ask()
    await vendor.ask()
    assert len(await waiting) == 2
