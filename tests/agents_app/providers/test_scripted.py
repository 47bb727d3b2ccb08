"""The scripted provider: a file decides every answer, through the same contract as any vendor."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents_app.providers import scripted
from agents_app.providers.contract import ErrorKind
from agents_app.providers.registry import DIALECTS, list_providers, provider_for
from agents_app.providers.script import ScriptError, parse
from agents_app.providers.scripted import ScriptedProvider
from halo_site.lib import settings_write
from halo_site.lib.errors import BadRequest

from .conftest import Said, assistant, collect, config, request, user
from .streams import DONE, STOP, data, said, usage

SCRIPT = """
match: sequence
on_exhausted: error
steps:
  - deltas: [{thinking: "hm"}, {text: "Hi "}, {wait_ms: 1}, {text: "there"}]
    usage: {input: 10, output: 3, cache_read: 7}
  - tool_calls: [{name: file_read, input: {path: a.txt}}]
  - error: {status: 429, body: "rate limit"}
  - stop_reason: max_tokens
    deltas: [{text: "cut"}]
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    scripted.forget()
    yield
    scripted.forget()


async def ask(endpoint: str, *messages: dict[str, Any]) -> Said:
    return await collect(ScriptedProvider(DIALECTS).stream(request("scripted", endpoint, *messages)))


def inline(text: str) -> str:
    return f"inline:{text}"


async def test_the_steps_answer_one_after_the_other():
    first = await ask(inline(SCRIPT))
    assert (first.text, first.joined("thinking")) == ("Hi there", "hm")
    used = first.reply.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens) == (10, 3, 7)
    second = await ask(inline(SCRIPT))
    assert (second.reply.stop_reason, second.calls[0]["input"]) == ("tool_use", {"path": "a.txt"})
    third = await ask(inline(SCRIPT))
    assert (third.error.kind, third.error.status) == (ErrorKind.THROTTLE, 429)
    fourth = await ask(inline(SCRIPT))
    assert (fourth.text, fourth.reply.stop_reason) == ("cut", "max_tokens")
    assert "no step is left" in str((await ask(inline(SCRIPT))).error)


async def test_the_last_step_repeats_unless_it_may_not():
    endpoint = inline("steps: [{deltas: [{text: one}]}, {deltas: [{text: two}]}]")
    assert [(await ask(endpoint)).text for _ in range(4)] == ["one", "two", "two", "two"]


async def test_a_pattern_picks_the_step():
    endpoint = inline(
        "{match: last_user_regex, steps: [{when: '(?i)bye', deltas: [{text: Bye.}]}, {deltas: [{text: Hello.}]}]}"
    )
    assert (await ask(endpoint, user("hi"))).text == "Hello."
    assert (await ask(endpoint, user("Bye now"))).text == "Bye."
    assert (await ask(endpoint, user("bye"), assistant({"type": "text", "text": "x"}), user("hi"))).text == "Hello."


async def test_a_recording_is_played_through_the_familys_own_code(tmp_path: Path):
    (tmp_path / "one.sse").write_bytes(data(said("Hel"), said("lo 你好"), STOP, usage(90, 7), DONE))
    (tmp_path / "script.yaml").write_text("steps: [{raw_sse: one.sse, family: chat}, {raw_sse: none.sse}]")
    answer = await ask(f"file:{tmp_path}/script.yaml")
    assert answer.text == "Hello 你好"
    assert answer.reply.usage.input_tokens == 90
    assert (await ask(f"file:{tmp_path}/script.yaml")).error.kind is ErrorKind.FATAL


async def test_a_hang_lasts_until_it_is_cancelled():
    task = asyncio.create_task(ask(inline("steps: [{hang: true}]")))
    while not scripted.requests_of("sid_1"):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_every_request_is_kept_for_assertions():
    await ask(inline("steps: [{deltas: [{text: x}]}]"), user("what was asked"))
    [kept] = scripted.requests_of("sid_1")
    assert (kept.system, kept.messages[0]["content"][0]["text"]) == ("Be brief.", "what was asked")
    assert [tool.name for tool in kept.tools] == ["grep", "file_read"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("steps: [", "line"),
        ("- a", "valid dictionary"),
        ("steps: []", "steps"),
        ("steps: [{deltas: [{text: a, thinking: b}]}]", "one of"),
        ("steps: [{when: '('}]", "regular expression"),
        ("steps: [{wait: 3}]", "steps.0.wait"),
        ("match: dice\nsteps: [{hang: true}]", "match"),
    ],
)
def test_a_script_with_a_mistake_is_named(text: str, complaint: str):
    with pytest.raises(ScriptError, match=complaint):
        parse(text)


@pytest.mark.parametrize("endpoint", ["file:", "file:/no/such/file.yaml", "http://h/v1", "inline:", "file:/"])
async def test_a_script_that_is_not_there_is_an_error_that_ends_the_turn(endpoint: str):
    answer = await ask(endpoint)
    assert answer.error.kind is ErrorKind.FATAL
    assert "script" in str(answer.error)


def test_it_is_off_unless_the_settings_allow_it():
    wanted = config("scripted", "inline:x")
    with pytest.raises(BadRequest, match="allow_scripted"):
        provider_for(wanted)
    assert "scripted" not in [entry["id"] for entry in list_providers()["providers"]]
    settings_write.write("global", None, "general.models.allow_scripted", True)
    try:
        assert isinstance(provider_for(wanted), ScriptedProvider)
        assert "scripted" in [entry["id"] for entry in list_providers()["providers"]]
    finally:
        settings_write.delete("global", None, "general.models.allow_scripted")
