"""When a model stays silent, the agent's next one goes on (spec models 7: `model.fallback`)."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agents_app.providers import admission, http
from sessions_app.engine import retry
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, ModelCall, Turn
from tests.fakes.model_server import FakeModelServer

from ..conftest import Say
from .conftest import Viewer

InDb = Callable[..., Any]
TRIES = 5  # general.agent.max_retries


@pytest.fixture
async def first() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as server:
        yield server
        await http.close_client()


@pytest.fixture
async def second() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as server:
        yield server
        await http.close_client()


@pytest.fixture
def name_models(
    first: FakeModelServer,
    second: FakeModelServer,
    agent_folder: Path,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., None]:
    """Bind the agent to the first server, with the second one as what it falls back to."""
    monkeypatch.setattr(retry, "MAX_WAIT", 0.01)
    monkeypatch.setattr(admission, "_LONGEST_REST", 0.01)

    def write(*before: str) -> None:
        fallbacks = [*before, f"{{provider: anthropic, id: claude-sonnet-4-6, endpoint: '{second.messages}'}}"]
        (agent_folder / "agent.yaml").write_text(
            f"name: Default\nmodel:\n  provider: openai\n  id: fake\n  endpoint: '{first.chat}'\n  fallback:\n"
            + "".join(f"    - {line}\n" for line in fallbacks)
            + "tools: [file_list]\n"
        )

    write()
    return write


@pytest.fixture
def two_models(name_models: Callable[..., None]) -> None:
    """The agent of `name_models`, as it is."""


def lines(viewer: Viewer) -> list[str]:
    return [frame["text"] for frame in viewer.of("chat:system")]


FAILURES: list[dict[str, Any]] = [
    {"status": 429},
    {"status": 500},
    {"text": "half an answer " * 60, "delay": 2, "close": 6_000},
]


@pytest.mark.parametrize("failure", FAILURES, ids=["throttle", "server", "network"])
async def test_the_second_model_answers_after_the_last_try_of_the_first(
    two_models: None,
    first: FakeModelServer,
    second: FakeModelServer,
    viewer: Viewer,
    say: Say,
    in_db: InDb,
    failure: dict[str, Any],
):
    for _ in range(TRIES):
        first.will(**failure)
    second.will(text="I stand in.")
    await in_db(say, "hi")
    await viewer.completes()
    assert (len(first.requests), len(second.requests)) == (TRIES, 1)
    assert second.requests[0]["body"]["model"] == "claude-sonnet-4-6"
    line = lines(viewer)[-1]
    assert "Going on with claude-sonnet-4-6 of " in line
    assert await in_db(lambda: Entry.objects.filter(kind="notice").latest("id").text) == line
    assert (await in_db(lambda: Entry.objects.filter(kind="assistant").latest("id"))).text == "I stand in."
    assert not viewer.of("error")
    turn = await in_db(Turn.objects.get)
    assert (turn.status, turn.model) == ("done", "claude-sonnet-4-6")
    calls = await in_db(lambda: list(ModelCall.objects.order_by("id").values_list("provider", "attempt")))
    assert calls == [*(("openai", number) for number in range(TRIES)), ("anthropic", 0)]


async def test_what_the_first_one_said_last_is_taken_back(
    two_models: None, first: FakeModelServer, second: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(TRIES):
        first.will(text="half of " * 60, delay=2, close=6_000)
    second.will(text="the whole answer")
    await in_db(say, "hi")
    await viewer.completes()
    dropped = {frame["turnId"] for frame in viewer.of("stream_reset")}
    shown = [frame for frame in viewer.of("chat:stream") if frame["turnId"] not in dropped]
    assert len(dropped) == TRIES
    assert "".join(frame["text"] for frame in shown) == "the whole answer"


async def test_it_goes_on_in_the_middle_of_a_task(
    two_models: None, first: FakeModelServer, second: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    """The strict second vendor takes the first one's calls and thoughts as its history."""
    call = {"name": "file_list", "arguments": {"path": "."}}
    first.will(thinking="hm", text="I look.", tool_calls=[call])
    for _ in range(TRIES):
        first.will(status=503)
    second.will(text="And again.", tool_calls=[call])
    second.will(text="Done.")
    await in_db(say, "look")
    await viewer.completes()
    assert [request["outcome"] for request in second.requests] == ["done", "done"]
    assert viewer.text().endswith("Done.")


async def test_the_next_turn_begins_with_the_agents_own_model(
    two_models: None, first: FakeModelServer, second: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(TRIES):
        first.will(status=500)
    second.will(text="I stand in.")
    first.will(text="I am back.")
    await in_db(say, "one")
    await viewer.completes()
    await in_db(say, "two")
    await viewer.completes(2)
    assert viewer.text() == "I stand in.I am back."


async def test_when_the_last_one_is_silent_too_the_turn_ends_with_its_error(
    two_models: None, first: FakeModelServer, second: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for _ in range(TRIES):
        first.will(status=500)
        second.will(status=529)
    await in_db(say, "hi")
    await viewer.completes()
    assert (len(first.requests), len(second.requests)) == (TRIES, TRIES)
    [error] = viewer.of("error")
    assert "529" in error["error"]
    assert (await in_db(Turn.objects.get)).status == "error"


@pytest.mark.parametrize("status", [401, 400])
async def test_a_wrong_key_or_request_is_told_and_not_hidden_by_another_model(
    two_models: None,
    first: FakeModelServer,
    second: FakeModelServer,
    viewer: Viewer,
    say: Say,
    in_db: InDb,
    status: int,
):
    first.will(status=status)
    await in_db(say, "hi")
    await viewer.completes()
    assert (len(first.requests), len(second.requests)) == (1, 0)
    assert len(viewer.of("error")) == 1


async def test_a_fallback_that_cannot_be_used_is_named_and_passed_over(
    name_models: Callable[..., None],
    first: FakeModelServer,
    second: FakeModelServer,
    viewer: Viewer,
    say: Say,
    in_db: InDb,
):
    name_models("{provider: nobody, id: m, endpoint: 'http://127.0.0.1:1'}")
    for _ in range(TRIES):
        first.will(status=500)
    second.will(text="I stand in.")
    await in_db(say, "hi")
    await viewer.completes()
    assert any('Unknown provider "nobody"' in line for line in lines(viewer))
    assert viewer.text() == "I stand in."
