"""Conversations that outgrow their model, against a strict model server (spec sessions 10; CASES C37, C39, C40)."""

from pathlib import Path
from typing import Any

import pytest

from sessions_app import actions, run_end
from sessions_app.engine.compaction import INSTRUCTION
from sessions_app.engine.engine import Engine
from sessions_app.engine.run import Run
from sessions_app.models import Entry, ModelCall, Session, ToolCall
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from ..conftest import Say
from .conftest import Viewer
from .test_engine import InDb, agent, family, one_family, quick_retries, turns, vendor, write_agent

__all__ = ["agent", "family", "one_family", "quick_retries", "vendor"]  # fixtures

BIG = {"input": 190_000, "output": 5}


async def grown(vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, rounds: int = 4) -> None:
    """A conversation of some rounds whose last reply passes the limit."""
    for number in range(rounds):
        vendor.will(text=f"Answer {number}", usage=BIG if number == rounds - 1 else {})
        if number == rounds - 1:
            vendor.will(text="We agreed on blue.", usage={"input": 9_000, "output": 50})
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)


def texts(request: Any) -> str:
    return str(request["body"]["messages"])


async def test_a_conversation_that_grew_is_summarised_at_the_turns_end(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    await grown(vendor, viewer, say, in_db)
    summary = await in_db(lambda: Entry.objects.get(kind="summary"))
    assert summary.text == "[Conversation Summary — 3 messages compacted]\nWe agreed on blue."
    assert [frame["type"] for frame in viewer.of("compact:started", "session:compacted")] == [
        "compact:started",
        "session:compacted",
    ]
    said = [frame["text"] for frame in viewer.of("chat:system")]
    assert said == ["Compacting context (190K tokens)…", "Auto-compacted 3 older messages"]
    session = await in_db(Session.objects.get)
    assert session.context_tokens == viewer.of("session:compacted")[0]["contextTokens"] < 20_000
    assert session.exchange_count == 4  # invariant 16
    # the next message goes on from the summary and what was kept
    vendor.will(text="Blue it is.")
    await in_db(say, "Which colour?")
    await viewer.completes(5)
    sent = texts(vendor.requests[-1])
    assert "We agreed on blue." in sent
    assert "Answer 3" in sent
    assert "Question 0" not in sent
    assert INSTRUCTION not in sent  # invariant 12
    assert await in_db(lambda: Entry.objects.filter(text="Question 0", in_context=False).count()) == 1


@pytest.fixture
def evolution(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """What the evolution step was told, one item per time it was taken."""
    told: list[list[int]] = []

    async def step(run: Run) -> None:
        told.append(list(run.compacted))

    monkeypatch.setitem(run_end._acts, "evolution", step)
    return told


async def test_evolution_hears_once_of_a_turn_with_a_summary_and_of_others_as_none(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine, evolution
):
    await grown(vendor, viewer, say, in_db)
    await engine.finished()
    turn = await in_db(lambda: Entry.objects.get(kind="summary").turn_id)
    assert evolution == [[], [], [], [turn]]


async def test_the_summary_costs_a_call_of_its_own_but_its_size_is_not_the_conversations(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    await grown(vendor, viewer, say, in_db)
    calls = await in_db(lambda: list(ModelCall.objects.order_by("id").values_list("outcome", "input_tokens")))
    assert calls[-2:] == [("end_turn", 190_000), ("end_turn", 9_000)]
    assert await in_db(lambda: ModelCall.objects.filter(ended_at=None).count()) == 0


async def test_12_a_summary_that_does_not_come_changes_nothing_and_says_so(
    one_family: None, quick_retries: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for number in range(3):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    vendor.will(text="big", usage=BIG)
    vendor.will(status=500)
    await in_db(say, "grow")
    await viewer.completes(4)
    assert viewer.of("chat:system")[-1]["text"] == "Compaction failed — context unchanged"
    assert viewer.of("compact:done")
    assert await in_db(lambda: Entry.objects.filter(in_context=False).exclude(kind="notice").count()) == 0
    assert (await turns(in_db))[-1] == ("done", "end_turn")
    assert await in_db(lambda: ModelCall.objects.filter(ended_at=None).count()) == 0


CALL = {"name": "shell_exec", "arguments": {"command": "touch x"}}


async def test_an_agent_that_works_on_instead_is_asked_again_without_tools_and_nothing_is_run(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    for number in range(3):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    vendor.will(text="big", usage=BIG)
    vendor.will(text="First I look.", tool_calls=[CALL], usage={"input": 9_000, "output": 50})
    vendor.will(text="We agreed on blue.", tool_calls=[CALL], usage={"input": 9_000, "output": 60})
    await in_db(say, "grow")
    await viewer.completes(4)
    summary = await in_db(lambda: Entry.objects.get(kind="summary"))
    assert summary.text.endswith("compacted]\nWe agreed on blue.")
    first, second = (request["body"] for request in vendor.requests[-2:])
    assert second == first | {"tool_choice": "none" if vendor_is_chat(vendor) else {"type": "none"}}
    assert "tool_choice" not in first  # the vendor's cache of the conversation would not hold
    assert not Path(workspace.path, "x").exists()
    assert not await in_db(ToolCall.objects.exists)
    assert not viewer.of("agent:tool_call")
    calls = await in_db(lambda: list(ModelCall.objects.order_by("id").values_list("outcome", "output_tokens")))
    assert calls[-2:] == [("tool_use", 50), ("end_turn", 60)]
    assert [frame["text"] for frame in viewer.of("chat:system")] == [
        "Compacting context (190K tokens)…",
        "Auto-compacted 3 older messages",
    ]


async def test_an_agent_that_will_not_stop_working_changes_nothing(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    for number in range(3):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    vendor.will(text="big", usage=BIG)
    for _ in range(2):
        vendor.will(text="First I look.", tool_calls=[CALL], stubborn=True)
    await in_db(say, "grow")
    await viewer.completes(4)
    assert len(vendor.requests) == 6
    assert viewer.of("chat:system")[-1]["text"] == "Compaction skipped — no summary produced"
    assert not Path(workspace.path, "x").exists()
    assert not await in_db(lambda: Entry.objects.filter(kind="summary").exists())
    assert await in_db(lambda: ModelCall.objects.filter(ended_at=None).count()) == 0
    assert (await turns(in_db))[-1] == ("done", "end_turn")


def vendor_is_chat(vendor: FakeModelServer) -> bool:
    return str(vendor.requests[-1]["path"]).endswith("/chat/completions")


async def test_12_few_messages_are_not_summarised_and_nobody_is_told(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(text="big", usage=BIG)
    await in_db(say, "hi")
    await viewer.completes()
    assert len(vendor.requests) == 1
    assert not viewer.of("chat:system", "compact:started")


async def test_a_stop_during_the_summary_cancels_it(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for number in range(3):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    vendor.will(text="big", usage=BIG)
    vendor.will(hang="headers")
    accepted = await in_db(say, "grow")
    await vendor.wait_for(5)
    await in_db(actions.stop, accepted.session_key)
    await viewer.completes(4)
    assert viewer.of("chat:system")[-1]["text"] == "Compact cancelled"
    session = await in_db(Session.objects.get)
    assert session.lease_owner is None


async def test_an_overflow_first_clears_old_results_then_summarises_without_a_model(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    for name in ("a", "b"):
        Path(workspace.path, name).write_text(f"{name} " * 3_000)
        vendor.will(tool_calls=[{"name": "file_read", "arguments": {"path": name}}])
    vendor.will(text="Read both.")
    await in_db(say, "read a and b")
    await viewer.completes()
    asked = len(vendor.requests)
    vendor.window = vendor_size(vendor) - 500  # what was just sent no longer fits: one old result must go
    for _ in range(2):  # a refused request uses one up
        vendor.will(text="Still here.")
    await in_db(say, "go on")
    await viewer.completes(2)
    assert viewer.text().endswith("Still here.")
    assert len(vendor.requests) == asked + 2
    assert "[Old tool result content cleared]" in texts(vendor.requests[-1])
    assert await in_db(lambda: Entry.objects.filter(kind="summary").count()) == 0

    vendor.window = 0
    await in_db(say, "x" * 4_000)
    await viewer.completes(3)
    asked = len(vendor.requests)
    vendor.window = 6_000 if vendor_size(vendor) > 6_500 else vendor_size(vendor) - 500
    await in_db(say, "and now")
    await viewer.completes(4)
    summary = await in_db(lambda: Entry.objects.get(kind="summary"))
    assert "(local fallback)" in summary.text
    assert "[user]: read a and b" in summary.text


def vendor_size(vendor: FakeModelServer) -> int:
    return len(str(vendor.requests[-1]["body"])) // 4


async def test_C40_too_large_a_fixed_part_is_never_paid_for_with_summaries(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    for number in range(3):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    instructions = Path(workspace.path, ".halo", "INSTRUCTIONS.md")
    instructions.parent.mkdir(exist_ok=True)
    instructions.write_text("rule\n" * 12_000)
    vendor.window = 8_000
    asked = len(vendor.requests)
    await in_db(say, "hi")
    await viewer.completes(4)
    assert "system prompt" in viewer.of("error")[0]["error"]
    assert len(vendor.requests) - asked <= 3
    assert all(INSTRUCTION not in texts(request) for request in vendor.requests)


async def test_C37_an_unanswered_call_does_not_stop_a_summary(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": "sleep 30"}}])
    accepted = await in_db(say, "run")
    await viewer.until(lambda viewer: viewer.of("agent:tool_call"))
    await in_db(actions.interrupt, accepted.session_key)
    await viewer.completes()
    for number in range(2):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 2)
    vendor.will(text="big", usage=BIG)
    vendor.will(text="The command was interrupted.")
    await in_db(say, "grow")
    await viewer.completes(4)
    assert await in_db(lambda: Entry.objects.filter(kind="summary").count()) == 1


@pytest.mark.parametrize("share", [0.3, 1.0])
async def test_the_agent_says_at_which_share_of_its_window_to_summarise(
    vendor: FakeModelServer, agent_folder: Path, viewer: Viewer, say: Say, in_db: InDb, share: float
):
    write_agent(agent_folder, vendor, "openai")
    file = agent_folder / "agent.yaml"
    file.write_text(file.read_text() + f"context: {{maxTokens: 100000, compressAt: {share}}}\n")
    for number in range(4):
        vendor.will(text="ok", usage={"input": 60_000, "output": 1})
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    assert bool(viewer.of("compact:started")) is (share < 0.6)
