"""Agents that start agents, against a strict model server (spec sessions 9 and its invariants)."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents_app.disabled import set_disabled
from agents_app.tools.contract import ToolContext
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access
from sessions_app import actions, exchanges
from sessions_app.delegation import reports
from sessions_app.delegation.tools import TOOLS
from sessions_app.engine import recovery
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from ..conftest import Say
from ..engine.conftest import Viewer

InDb = Callable[..., Any]
BY_NAME = {tool.name: tool for tool in TOOLS}


def write_agent(folder: Path, vendor: FakeModelServer, model: str, team: str = "[]") -> None:
    folder.mkdir(exist_ok=True)
    (folder / "agent.yaml").write_text(
        f"name: {folder.name.title()}\n"
        f"model: {{provider: openai, id: '{model}', endpoint: '{vendor.chat}'}}\n"
        f"tools: [shell_exec]\nteam: {team}\n"
    )


@pytest.fixture
def team(vendor: FakeModelServer, agent_folder: Path, engine: Engine) -> Path:
    """The default agent may delegate to a quick and to a slow one."""
    write_agent(agent_folder, vendor, "fake", "[quick, slow, default]")
    write_agent(agent_folder.parent / "quick", vendor, "fake:text=Quick result")
    write_agent(agent_folder.parent / "slow", vendor, "fake:text=Slow result,ttft=700")
    return agent_folder.parent


def starts(*agents: str, message: str = "dig") -> list[dict[str, Any]]:
    return [{"name": "start_session", "arguments": {"agent_id": agent, "message": message}} for agent in agents]


def of_root(viewer: Viewer, kind: str) -> list[dict[str, Any]]:
    return [frame for frame in viewer.of(kind) if frame.get("taskId") is None]


async def root_completes(viewer: Viewer, count: int) -> None:
    await viewer.until(lambda viewer: len(of_root(viewer, "chat:complete")) >= count)


def contexts(workspace: Workspace, session: Session, level: Access = Access.FULL) -> ToolContext:
    return ToolContext(
        workspace=Path(workspace.path),
        session_id=session.sid,
        session_key=session.pk,
        agent_id="default",
        team=("quick", "slow", "default"),
        level=level,
        abort=asyncio.Event(),
    )


async def call(name: str, ctx: ToolContext, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((await run_tool(BY_NAME[name], arguments, ctx)).text)
    return answer


async def test_a_child_works_and_its_report_reaches_the_parent(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    root, child = await in_db(lambda: list(Session.objects.order_by("pk")))
    assert child.sid.startswith(root.sid + ">")
    assert (child.parent_id, child.root_id, child.source) == (root.pk, root.pk, "delegated")
    assert (child.description, child.title, child.created_by_id) == ("dig", "dig", root.created_by_id)
    assert child.stopped_at
    assert not child.report_due
    opening = await in_db(lambda: Entry.objects.filter(session=child).earliest("id"))
    assert (opening.kind, opening.text) == ("agent", f"[Session {child.sid}]\n\ndig")
    report = await in_db(lambda: Entry.objects.get(session=root, kind="agent"))
    assert (report.text, report.source_session_id, report.origin["kind"]) == ("Quick result", child.pk, "report")
    sent = str(vendor.requests[-1]["body"]["messages"][-1])
    assert f"(from: session {child.sid})" in sent
    assert "All sub-agents you dispatched have completed" in sent
    assert [frame["task"] for frame in viewer.of("agent:start")] == ["dig"]
    assert [frame["taskId"] for frame in viewer.of("agent:done")] == [child.sid]


async def test_8_children_work_at_once_and_the_root_is_told_not_to_wrap_up_yet(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=starts("slow", "quick"))
    await in_db(say, "delegate")
    await root_completes(viewer, 3)
    said = [frame["text"] for frame in of_root(viewer, "chat:system")]
    assert "Do NOT wrap up yet — 1 sub-agent(s) still running" in said[0]
    assert "Slow" in said[0]
    assert "All sub-agents" in said[1]
    order = await in_db(
        lambda: list(Entry.objects.filter(kind="agent", session__parent=None).values_list("text", flat=True))
    )
    assert order == ["Quick result", "Slow result"]


async def test_a_quick_report_does_not_keep_the_other_children_from_being_started(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    wait = {"name": "shell_exec", "arguments": {"command": "until [ -e go ]; do sleep 0.02; done"}}
    vendor.will(tool_calls=[*starts("quick"), wait, *starts("slow")])
    await in_db(say, "delegate")
    await viewer.until(lambda viewer: any("Quick result" in frame["text"] for frame in of_root(viewer, "chat:user")))
    Path(workspace.path, "go").touch()
    await root_completes(viewer, 3)
    children = Session.objects.exclude(parent=None).order_by("pk").values_list("agent_id", flat=True)
    assert await in_db(lambda: list(children)) == ["quick", "slow"]


async def test_7_a_child_with_an_active_grandchild_reports_once_after_it(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(
        tool_calls=starts("default", message='[[fake tool=start_session args={"agent_id":"slow","message":"deep"}]]')
    )
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    child = await in_db(lambda: Session.objects.get(parent__parent=None, parent__isnull=False))
    grandchild = await in_db(lambda: Session.objects.get(parent=child))
    assert await in_db(lambda: Entry.objects.filter(source_session=grandchild, session=child).count()) == 1
    assert await in_db(lambda: Entry.objects.filter(source_session=child, session__parent=None).count()) == 1
    assert child.stopped_at
    assert grandchild.stopped_at <= child.stopped_at


async def test_30_a_child_that_fails_reports_why(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    write_agent(team / "quick", vendor, "fake:status=401")
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    report = await in_db(lambda: Entry.objects.get(session__parent=None, kind="agent"))
    assert report.text.startswith("SUB-AGENT ABORTED: ")
    assert "refused the account or key" in report.text
    assert len(viewer.of("agent:done")) == 1


async def test_27_a_stop_of_the_root_stops_the_tree_and_nothing_starts_afterwards(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    for name in ("quick", "slow"):
        write_agent(team / name, vendor, "fake:hang=stream")
    vendor.will(tool_calls=starts("quick", "slow"))
    accepted = await in_db(say, "delegate")
    await viewer.until(
        lambda viewer: len({frame["taskId"] for frame in viewer.of("chat:stream") if frame.get("taskId")}) == 2
    )
    await root_completes(viewer, 1)
    asked = len(vendor.requests)
    await in_db(actions.stop, accepted.session_key)
    await viewer.until(lambda viewer: len(viewer.of("chat:complete")) == 3)
    children = await in_db(lambda: list(Session.objects.filter(parent__isnull=False)))
    assert all(child.stopped_at and not child.report_due for child in children)
    assert len(viewer.of("agent:done")) == 2
    assert await in_db(reports.owing) == []
    assert await in_db(lambda: Entry.objects.filter(origin__kind="report").count()) == 0
    assert len(vendor.requests) == asked
    await in_db(say, "and now")
    await root_completes(viewer, 2)


async def test_11_a_child_never_exceeds_the_run_that_started_it(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate", level=Access.READONLY)
    await root_completes(viewer, 2)
    child = await in_db(lambda: Session.objects.get(parent__isnull=False))
    assert child.access_level == "readonly"
    assert await in_db(lambda: set(Turn.objects.values_list("access_level", flat=True))) == {"readonly"}


async def test_11_without_a_team_an_agent_is_offered_no_session_tools(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    await in_db(say, "with a team")
    await root_completes(viewer, 1)
    write_agent(team / "default", vendor, "fake", "[]")
    await in_db(say, "without one", sid="sid_alone")
    await root_completes(viewer, 2)
    with_team, alone = ({tool["function"]["name"] for tool in request["body"]["tools"]} for request in vendor.requests)
    assert set(BY_NAME) <= with_team
    assert not set(BY_NAME) & alone
    assert "shell_exec" in alone


async def test_the_roster_is_that_of_the_turn(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb
):
    """Of one session: a member that was switched off, and a team that was edited, are told with the next turn."""

    async def members(turn: int) -> list[str]:
        await in_db(say, "who is there?")
        await root_completes(viewer, turn)
        prompt = str(vendor.requests[-1]["body"]["messages"][0]["content"])
        return re.findall(r"^- `(\w+)` — ", prompt, re.MULTILINE)

    assert await members(1) == ["default", "quick", "slow"]
    await in_db(set_disabled, workspace, "agent", "slow", "global", off=True)
    assert await members(2) == ["default", "quick"]
    write_agent(team / "default", vendor, "fake", "[slow, quick]")
    assert await members(3) == ["quick"]
    await in_db(set_disabled, workspace, "agent", "slow", "global", off=False)
    assert await members(4) == ["quick", "slow"]


@pytest.fixture
async def tree(team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb) -> tuple[Session, Session]:
    """A root with one child that has reported."""
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    root, child = await in_db(lambda: list(Session.objects.order_by("pk")))
    return root, child


async def test_11_a_lowered_root_lowers_the_next_turn_of_all_below_it(
    tree: tuple[Session, Session], workspace: Workspace, viewer: Viewer, in_db: InDb
):
    root, child = tree
    await in_db(lambda: Session.objects.filter(pk=root.pk).update(access_level="readonly"))
    await call("query_session", contexts(workspace, root), target_session_id=child.sid, message="again")
    await root_completes(viewer, 3)
    levels = Turn.objects.filter(session=child).order_by("index").values_list("access_level", flat=True)
    assert await in_db(list, levels) == ["full", "readonly"]
    assert (await in_db(lambda: Session.objects.get(pk=child.pk))).access_level == "full"


@pytest.mark.parametrize(
    ("tool", "named"), [("query_session", "target_session_id"), ("interrupt_session", "session_id")]
)
async def test_27_a_session_that_is_being_stopped_wakes_no_child(
    tree: tuple[Session, Session], workspace: Workspace, in_db: InDb, tool: str, named: str
):
    root, child = tree
    asked = {"tier": "stop", "turn": 0, "upto": 0}
    await in_db(lambda: Session.objects.filter(pk=root.pk).update(abort_requested=asked))
    answer = await call(tool, contexts(workspace, root), message="more", **{named: child.sid})
    assert answer == {"code": 1, "error": "This session is being stopped: nothing was sent"}
    assert not await in_db(lambda: Entry.objects.filter(session=child, text="more").exists())


async def test_27_a_session_that_is_being_stopped_starts_no_child(
    tree: tuple[Session, Session], workspace: Workspace, in_db: InDb
):
    asked = {"tier": "stop", "turn": 0, "upto": 0}
    await in_db(lambda: Session.objects.filter(pk=tree[0].pk).update(abort_requested=asked))
    answer = await call("start_session", contexts(workspace, tree[0]), agent_id="quick", message="more")
    assert answer == {"code": 1, "error": "This session is being stopped: no sub-agent was started"}
    assert await in_db(Session.objects.count) == 2


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("query_session", "target_session_id"),
        ("interrupt_session", "session_id"),
        ("stop_session", "session_id"),
        ("archive_session", "session_id"),
        ("get_session_output", "session_id"),
    ],
)
async def test_10_a_session_of_another_tree_is_not_there(
    tool: str, argument: str, tree: tuple[Session, Session], workspace: Workspace, say: Say, viewer: Viewer, in_db: InDb
):
    await in_db(say, "mine", sid="sid_other")
    await root_completes(viewer, 3)
    other = await in_db(lambda: Session.objects.get(sid="sid_other"))
    more = {"message": "x"} if tool in ("query_session", "interrupt_session") else {}
    answer = await call(tool, contexts(workspace, tree[0]), **{argument: "sid_other"}, **more)
    missing = await call(tool, contexts(workspace, tree[0]), **{argument: f"{tree[0].sid}>gone"}, **more)
    assert answer == {"code": 1, "error": "session sid_other not found"}
    assert missing == {"code": 1, "error": f"session {tree[0].sid}>gone not found"}
    after = await in_db(lambda: Session.objects.get(pk=other.pk))
    assert (after.updated_at, after.stopped_at, after.archived_at) == (other.updated_at, None, None)


async def test_an_idle_child_works_again_when_it_is_asked_and_reports_again(
    tree: tuple[Session, Session], workspace: Workspace, viewer: Viewer, in_db: InDb
):
    root, child = tree
    answer = await call("query_session", contexts(workspace, root), target_session_id=child.sid, message="more")
    assert answer == {"code": 0, "session_id": child.sid, "status": "running"}
    await root_completes(viewer, 3)
    assert await in_db(lambda: Entry.objects.filter(session=root, kind="agent").count()) == 2


async def test_9_all_that_a_child_said_can_be_read_though_its_report_was_cut(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace
):
    write_agent(team / "quick", vendor, "fake:tokens=3000")
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    root, child = await in_db(lambda: list(Session.objects.order_by("pk")))
    report = await in_db(lambda: Entry.objects.get(session=root, kind="agent"))
    assert "[Report truncated: " in report.text
    answer = await call("get_session_output", contexts(workspace, root), session_id=child.sid)
    assert len(answer["output"]) > 8192
    assert BY_NAME["get_session_output"].uncut


async def test_3_the_queue_of_a_busy_session_is_limited_for_agents_only(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    from halo_site.lib import settings_store

    number = settings_store.number
    monkeypatch.setattr(
        settings_store, "number", lambda key, place=None: 2 if key == "session.max_queue_size" else number(key, place)
    )
    write_agent(team / "quick", vendor, "fake:hang=stream")
    vendor.will(tool_calls=starts("quick"))
    await in_db(say, "delegate")
    await viewer.until(lambda viewer: any(frame.get("taskId") for frame in viewer.of("chat:stream")))
    root, child = await in_db(lambda: list(Session.objects.order_by("pk")))
    ctx = contexts(workspace, root)
    for _ in range(2):
        assert (await call("query_session", ctx, target_session_id=child.sid, message="m"))["status"] == "queued"
    full = await call("query_session", ctx, target_session_id=child.sid, message="m")
    assert full == {"code": 1, "error": f"session {child.sid} message queue is full (2/2)."}
    interrupted = await call("interrupt_session", ctx, session_id=child.sid, message="stop that")
    assert interrupted["code"] == 0
    await call("stop_session", ctx, session_id=child.sid)


async def test_21_depth_team_and_folder_limits_are_told(
    tree: tuple[Session, Session], workspace: Workspace, in_db: InDb
):
    ctx = contexts(workspace, tree[0])
    unknown = await call("start_session", ctx, agent_id="nobody", message="x")
    assert unknown["error"].startswith('agent "nobody" not found. ')
    ctx.team = ("slow",)
    assert (
        'agent "quick" is not in your team'
        in (await call("start_session", ctx, agent_id="quick", message="x"))["error"]
    )
    assert "not found" in (await call("query_agent", ctx, agent_id="quick"))["error"]
    outside = await call("start_session", ctx, agent_id="slow", message="x", working_dir="../..")
    assert outside["error"] == 'working_dir "../.." is outside the workspace'
    deep = contexts(workspace, tree[0])
    deep.session_id = ">".join(["r"] * 16)
    assert (
        "Maximum nesting depth (16) reached"
        in (await call("start_session", deep, agent_id="slow", message="x"))["error"]
    )
    assert await in_db(Session.objects.count) == 2


async def test_a_link_that_leads_out_of_the_workspace_is_no_working_dir_and_one_within_it_is(
    tree: tuple[Session, Session], workspace: Workspace, tmp_path: Path, in_db: InDb
):
    ctx, folder = contexts(workspace, tree[0]), Path(workspace.path)
    for name, place in (("out", tmp_path / "elsewhere"), ("in", folder / "docs")):
        place.mkdir()
        (folder / name).symlink_to(place)
    refused = await call("start_session", ctx, agent_id="quick", message="x", working_dir="out")
    assert refused == {"code": 1, "error": 'working_dir "out" is outside the workspace'}
    started = await call("start_session", ctx, agent_id="quick", message="x", working_dir="in")
    child = await in_db(lambda: Session.objects.get(sid=started["session_id"]))
    assert child.working_dir == "docs"


async def test_9_an_agent_that_is_off_here_does_not_let_the_homes_through(
    tree: tuple[Session, Session], vendor: FakeModelServer, workspace: Workspace, in_db: InDb
):
    folder = Path(workspace.path, ".halo/agents/quick")
    folder.mkdir(parents=True)
    write_agent(folder, vendor, "fake")
    await in_db(set_disabled, workspace, "agent", "quick", "workspace", off=True)
    ctx = contexts(workspace, tree[0])
    missing = 'agent "quick" not found. The agents you can delegate to are listed in your system prompt.'
    assert await call("start_session", ctx, agent_id="quick", message="x") == {"code": 1, "error": missing}
    assert await call("query_agent", ctx, agent_id="quick") == {"code": 1, "error": missing}
    assert await in_db(Session.objects.count) == 2


async def test_16_a_child_keeps_the_instructions_of_its_folder_after_a_restart(
    team: Path, vendor: FakeModelServer, viewer: Viewer, say: Say, workspace: Workspace, in_db: InDb, engine: Engine
):
    for name, rule in (("a", "OUTER RULE"), ("a/b/c", "INNER RULE")):
        place = Path(workspace.path, name, ".halo")
        place.mkdir(parents=True)
        (place / "INSTRUCTIONS.md").write_text(rule)
    vendor.will(tool_calls=[{"name": "start_session", "arguments": {
        "agent_id": "quick", "message": "dig", "working_dir": "a/b/c"}}])  # fmt: skip
    await in_db(say, "delegate")
    await root_completes(viewer, 2)
    root, child = await in_db(lambda: list(Session.objects.order_by("pk")))
    assert child.working_dir == "a/b/c"
    await engine.shutdown()
    other = Engine("other")
    task = asyncio.create_task(other.run())
    await call("query_session", contexts(workspace, root), target_session_id=child.sid, message="more")
    await root_completes(viewer, 3)
    await other.shutdown()
    task.cancel()
    systems = [
        str(request["body"]["messages"][0]) for request in vendor.requests if "fake:" in request["body"]["model"]
    ]
    chain = "### a\\n\\nOUTER RULE\\n\\n### a/b/c\\n\\nINNER RULE"
    assert [chain in system for system in systems] == [True, True]


async def test_an_agent_is_described_as_it_would_be_at_this_level(tree: tuple[Session, Session], workspace: Workspace):
    answer = await call("query_agent", contexts(workspace, tree[0]), agent_id="quick")
    assert "# Quick" in answer["content"]
    assert "shell_exec" in answer["content"]
    listed = await call("session_list", contexts(workspace, tree[0]))
    assert (listed["count"], listed["sessions"][0]["status"]) == (1, "stopped")


async def test_a_debt_is_paid_once_and_found_again_after_a_crash(
    tree: tuple[Session, Session], in_db: InDb, viewer: Viewer
):
    root, child = tree
    assert await in_db(reports.settle, child.pk) is False
    await in_db(lambda: Session.objects.filter(pk=child.pk).update(report_due=True, stopped_at=None))
    await root_completes(viewer, 3)  # the next scan pays
    assert await in_db(lambda: Entry.objects.filter(session=root, source_session=child).count()) == 2
    assert await in_db(reports.owing) == []


async def test_17_exchanges_are_counted_without_the_childs_messages_and_take_their_calls_along(
    tree: tuple[Session, Session], vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    root, _ = tree
    report = await in_db(lambda: Entry.objects.get(session=root, kind="agent"))

    def left() -> set[int]:
        return set(Entry.objects.filter(session=root, deleted=None).values_list("turn__index", flat=True))

    assert await in_db(left) == {0, 1}
    assert await in_db(lambda: exchanges.delete_exchange(root.pk, user_ordinal=1)) == report.pk
    assert await in_db(left) == {0}
    await in_db(say, "what is left?")
    await root_completes(viewer, 3)
    messages = vendor.requests[-1]["body"]["messages"]
    assert "Quick result" not in str(messages)
    assert [message["role"] for message in messages if message.get("tool_calls") or message["role"] == "tool"] == [
        "assistant",
        "tool",
    ]
    await in_db(lambda: exchanges.delete_exchange(root.pk, user_ordinal=0))
    assert await in_db(left) == {2}
    await in_db(say, "and now?")
    await root_completes(viewer, 4)
    messages = vendor.requests[-1]["body"]["messages"]
    assert not [message for message in messages if message.get("tool_calls") or message["role"] == "tool"]
    assert "what is left?" in str(messages)


async def test_an_archived_parent_gets_nothing(tree: tuple[Session, Session], in_db: InDb):
    root, child = tree
    await in_db(actions.archive, root.pk)
    await in_db(lambda: Session.objects.filter(pk=child.pk).update(report_due=True, stopped_at=None, archived_at=None))
    await in_db(reports.settle, child.pk)
    assert await in_db(lambda: Entry.objects.filter(session=root, source_session=child).count()) == 1


async def test_a_child_that_is_deleted_or_parked_is_reported_as_aborted(
    tree: tuple[Session, Session], in_db: InDb, engine: Engine
):
    root, child = tree

    def owe() -> None:
        Session.objects.filter(pk=child.pk).update(report_due=True, stopped_at=None, lease_owner="x", deaths=2)

    def texts() -> list[str]:
        found = Entry.objects.filter(session=root, kind="agent").order_by("id")
        return list(found.values_list("text", flat=True))[1:]

    await in_db(owe)
    await in_db(lambda: Session.objects.filter(pk=child.pk).update(lease_until="2020-01-01T00:00:00Z"))
    await in_db(recovery.recover, child.pk)
    assert await in_db(texts) == [
        "SUB-AGENT ABORTED: It stopped the server several times, so it was parked.\nWhat it had said:\nQuick result"
    ]
    await in_db(owe)
    await in_db(actions.delete, child.pk)
    assert (await in_db(texts))[1].startswith("SUB-AGENT ABORTED: It was deleted.")
    assert not await in_db(lambda: Session.objects.filter(pk=child.pk).exists())
