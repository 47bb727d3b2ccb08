"""The whole loop with the demo model: no key, no network, real tools."""

from itertools import pairwise
from pathlib import Path

import pytest

from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn
from workspaces_app.models import Workspace

from ..conftest import Say
from .conftest import Viewer


@pytest.fixture
def demo_agent(agent_folder: Path) -> None:
    (agent_folder / "agent.yaml").write_text(
        "name: Default\nmodel: {provider: demo, id: demo, endpoint: 'demo://local?pace=0'}\n"
        "tools: [file_read, file_list, file_write, grep]\n"
    )


async def test_a_question_about_the_folder_is_answered_with_real_file_reads(
    demo_agent: None, engine: Engine, viewer: Viewer, say: Say, workspace: Workspace, in_db
):
    Path(workspace.path, "README.md").write_text("# Tide tables\n\nReads gauges.\n")
    await in_db(say, "What is in this folder?")
    await viewer.completes()
    calls = [frame["tool"] for frame in viewer.of("agent:tool_call")]
    assert calls == ["file_list", "file_read"]
    assert "Tide tables" in "".join(frame["result"] for frame in viewer.of("agent:tool_result"))
    turn = await in_db(Turn.objects.get)
    assert (turn.status, turn.stop_reason) == ("done", "end_turn")
    session = await in_db(Session.objects.get)
    assert session.lease_owner is None
    rows = await in_db(lambda: list(Entry.objects.order_by("id").values_list("kind", "text")))
    assert [kind for kind, _ in rows] == ["user", "assistant", "tool_result", "assistant", "tool_result", "assistant"]
    assert "".join(text for kind, text in rows if kind == "assistant") == viewer.text()
    assert session.seq == viewer.of("chat:complete")[-1]["seq"]
    assert await in_db(lambda: set(ToolCall.objects.values_list("outcome", flat=True))) == {"ok"}
    assert await in_db(lambda: ModelCall.objects.filter(ended_at=None).count()) == 0


async def test_frames_of_a_run_are_numbered_without_a_gap(
    demo_agent: None, engine: Engine, viewer: Viewer, say: Say, in_db
):
    await in_db(say, "What is in this folder?")
    await viewer.completes()
    await in_db(say, "Show me an error")
    await viewer.completes(2)
    numbered = [frame for frame in viewer.frames if "seq" in frame]
    for one, two in pairwise(numbered):
        assert two["seq"] == one["seq"] + 1 or two["prev"] == one["seq"]
