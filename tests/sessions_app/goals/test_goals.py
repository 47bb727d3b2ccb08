"""Goal mode end to end: verbs, tools, rounds, ends (spec sessions 15, commands 22 to 26)."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User

from agents_app import tools as registry
from agents_app.tools.contract import ToolContext
from agents_app.tools.run import run_tool
from halo_site.lib import publish as news
from halo_site.lib.access_level import Access
from halo_site.lib.events import as_frame
from sessions_app import actions, debts, run_end
from sessions_app.commands import dispatch
from sessions_app.commands.context import Context, Result
from sessions_app.engine import recovery
from sessions_app.engine.intake import claim_and_drain
from sessions_app.engine.turn_end import end_turn
from sessions_app.engine.values import Ending
from sessions_app.frames import Chat, accept
from sessions_app.goals import actions as goals
from sessions_app.goals.register import register
from sessions_app.goals.state import Goal
from sessions_app.goals.tools import TOOLS
from sessions_app.models import Entry, Session, Turn
from tests.accounts import logged_in
from workspaces_app.access import Caller
from workspaces_app.models import Workspace

from ..conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)
BY_NAME = {tool.name: tool for tool in TOOLS}
Type = Callable[[str], Result]


@pytest.fixture
def goal_mode(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The feature is on for one test; the frames that were published."""
    frames: list[dict[str, Any]] = []

    class Frames(news.Local):
        def publish(self, topic: str, event: Any) -> None:
            frames.append(as_frame(event))

    settings.HALO = replace(settings.HALO, goal_mode=True)
    monkeypatch.setattr(dispatch, "HANDLERS", dict(dispatch.HANDLERS))
    monkeypatch.setattr(registry, "GOAL", {})
    monkeypatch.setattr(debts, "_debtors", list(debts._debtors))
    monkeypatch.setattr(run_end, "_acts", dict(run_end._acts))
    register()
    dispatch.check_table()
    news.use_transport(Frames())
    yield frames
    news.use_transport(news.Local())
    shutil.rmtree(Path(settings.HALO.global_dir, "agents", "goal"), ignore_errors=True)


@pytest.fixture
def worker(say: Say, goal_mode: Any) -> Session:
    session = Session.objects.get(pk=say("hello", sid="work").session_key)
    run_turn(session, "hi")
    return session


@pytest.fixture
def type_(workspace: Workspace, owner: User, worker: Session) -> Type:
    def run(line: str, **values: Any) -> Result:
        context = Context(
            workspace=workspace, caller=Caller.of(owner), **{"level": Access.FULL, "active": "work"} | values
        )
        result = dispatch.run(*dispatch.split(line), context)
        assert result is not None
        return result

    return run


def run_turn(session: Session, says: str, status: str = "done") -> None:
    """A run of the session that ends with this text."""
    found = claim_and_drain(session.pk)
    assert found
    batch = found[1]
    Entry.objects.create(
        session=session,
        turn_id=batch.turn,
        kind="assistant",
        text=says,
        meta={"final": True},
        created_at="2026-01-01T00:00Z",
    )
    end_turn(batch.lease, batch, Ending(status=status, stop_reason="end_turn"), 1)


def state(session: Session) -> Goal:
    return Goal.read(Session.objects.values_list("goal", flat=True).get(pk=session.pk) or {})


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    ctx = ToolContext(
        workspace=Path(session.workspace.path),
        session_id=session.sid,
        session_key=session.pk,
        agent_id="goal",
        level=Access.FULL,
        abort=asyncio.Event(),
    )
    found: dict[str, Any] = json.loads(asyncio.run(run_tool(BY_NAME[name], arguments, ctx)).text)
    return found


def spec_of(session: Session) -> Path:
    return goals.folder_of(session.workspace.path, session.sid) / "GOAL_SPEC.md"


@pytest.fixture
def goal(type_: Type) -> Session:
    """A goal in intake."""
    return Session.objects.get(sid=type_("/goal create ship it").switch_to)


@pytest.fixture
def running(goal: Session, worker: Session) -> Session:
    run_turn(goal, "What exactly?")
    spec_of(goal).write_text("All tests pass.")
    assert call(goal, "goal_attach")["code"] == 0
    return goal


def order_and_run(goal: Session, worker: Session, says: str) -> str:
    """One round: the work order, the run, the judgement. What the goal's session got."""
    assert call(goal, "query_session", target_session_id="work", message="do it")["code"] == 0
    run_turn(worker, says)
    assert goals.settle(worker.pk)
    newest = Entry.objects.filter(session=goal, turn=None).latest("pk")
    run_turn(goal, "I see.")
    return newest.text


def test_create_binds_both_sessions_and_asks_for_the_intake(goal: Session, worker: Session, goal_mode: Any):
    worker.refresh_from_db()
    assert (goal.agent_id, goal.title, worker.goal_session_id) == ("goal", "🎯 Goal", goal.pk)
    assert goal.sid.startswith("goal_")
    assert spec_of(goal).parent.is_dir()
    kick = Entry.objects.get(session=goal)
    assert kick.text.startswith("[Goal intake] Worker session: work.")
    assert kick.text.endswith("ship it")
    assert {f["workspacePath"] for f in goal_mode if f["type"] == "goal:changed"} == {goal.workspace.path}
    assert [(f["status"], f["workerSessionId"]) for f in goal_mode if f["type"] == "goal:changed"] == [
        ("intake", "work")
    ]
    assert (Path(django_settings.HALO.global_dir) / "agents" / "goal" / "agent.yaml").exists()


def test_one_goal_at_a_time_and_never_for_a_goal_or_a_child(type_: Type, goal: Session):
    again = type_("/goal create more")
    assert again.switch_to is None
    assert "intake" in again.text
    assert Session.objects.filter(goal__isnull=False).count() == 1
    assert "cannot" in type_("/goal create x", active=goal.sid).text


def test_without_a_spec_nothing_begins(goal: Session):
    assert "GOAL_SPEC.md first" in call(goal, "goal_attach")["error"]
    assert state(goal).status == "intake"
    refused = call(goal, "query_session", target_session_id="work", message="x")
    assert "intake, not running" in refused["error"]


def test_rounds_are_counted_and_delivered_under_their_header(running: Session, worker: Session):
    first = order_and_run(running, worker, "half of it")
    assert first == "[Goal round 1/10 · elapsed 0m · no-progress 0/3]\n\nhalf of it"
    entry = Entry.objects.filter(session=worker, text__startswith="[Goal work order").get()
    assert entry.text == "[Goal work order · round 1/10]\ndo it"
    second = order_and_run(running, worker, "<NEED_INPUT> red or blue?")
    assert second.startswith("[Goal question · round 1/10]")
    assert (state(running).round, goals.settle(worker.pk)) == (1, False)  # one report is judged once


def test_25_a_changed_spec_halts_and_no_more_work_goes_out(running: Session, worker: Session):
    spec_of(running).write_text("Anything goes.")
    assert order_and_run(running, worker, "done").startswith("[Goal HALTED: spec-tampered]")
    worker.refresh_from_db()
    assert (state(running).status, worker.goal_session_id) == ("halted", None)
    assert call(running, "query_session", target_session_id="work", message="x")["code"] == 1


def test_25_a_pause_in_the_middle_of_a_round_counts_none(running: Session, worker: Session, type_: Type):
    call(running, "query_session", target_session_id="work", message="do it")
    found = claim_and_drain(worker.pk)
    assert found
    assert "paused" in type_("/goal pause").text
    assert Session.objects.get(pk=worker.pk).abort_requested["tier"] == "stop"
    end_turn(found[1].lease, found[1], Ending(status="aborted", stop_reason="aborted"), 1)
    assert not goals.settle(worker.pk)
    resumed = type_("/goal resume")
    assert (resumed.switch_to, state(running).status, state(running).round) == (running.sid, "running", 0)
    assert Entry.objects.filter(session=running, text__startswith="[Goal resumed").exists()
    assert not goals.settle(worker.pk)


def test_a_worker_with_something_to_do_is_not_judged(running: Session, worker: Session, say: Say):
    call(running, "query_session", target_session_id="work", message="do it")
    run_turn(worker, "half")
    call(running, "query_session", target_session_id="work", message="and this")
    assert not goals.settle(worker.pk)
    assert goals.settle_idle() == 0
    run_turn(worker, "all")
    assert goals.settle_idle() == 1  # found again after a crash


def test_decisions_are_written_down_and_limited(running: Session):
    for number in range(1, 6):
        done = call(running, "goal_decide", question=f"Q{number}", decision="yes")
        assert (done["code"], done["left"]) == (0, 5 - number)
        assert Path(done["file"]).read_text() == f"# Q{number}\n\nyes\n"
    assert "ask the person" in call(running, "goal_decide", question="Q6", decision="no")["error"]
    assert state(running).delegated == 5


def test_finish_ends_it_and_frees_the_worker(running: Session, worker: Session, goal_mode: Any, type_: Type):
    assert call(running, "goal_finish", summary="all green")["status"] == "done"
    worker.refresh_from_db()
    assert worker.goal_session_id is None
    assert [frame["status"] for frame in goal_mode if frame["type"] == "goal:changed"][-1] == "done"
    assert "done" in type_("/goal status").text
    assert type_("/goal create next", active="work").switch_to


def test_only_the_workers_tree_can_be_read(running: Session, say: Say):
    say("else", sid="other")
    assert call(running, "get_session_output", session_id="work")["output"] == "hi"
    for foreign in ("other", running.sid, "nothing"):
        assert "not found" in call(running, "get_session_output", session_id=foreign)["error"]
        assert "not found" in call(running, "query_session", target_session_id=foreign, message="x")["error"]


def test_words_for_the_worker_go_to_the_goal_while_it_leads(
    running: Session, worker: Session, workspace: Workspace, owner: User, type_: Type
):
    def say_in_browser() -> str:
        frame = Chat(type="chat", sessionId="work", projectId=workspace.path, message="hello")
        return accept(Caller.of(owner), frame, f"m{Entry.objects.count()}")[1].sid

    assert say_in_browser() == running.sid
    type_("/goal pause")
    assert say_in_browser() == "work"
    type_("/goal clear")
    assert say_in_browser() == "work"


def test_clear_and_a_deleted_worker_end_the_goal(running: Session, worker: Session, type_: Type):
    actions.delete(worker.pk)
    assert state(running).status == "cleared"
    assert "No goal is active" in type_("/goal clear").text


def test_an_archived_worker_ends_the_goal_because_it_can_never_work_again(running: Session, worker: Session):
    actions.archive(worker.pk)
    assert state(running).status == "cleared"


@pytest.mark.parametrize("which", ["worker", "goal"])
def test_a_parked_session_pauses_the_goal_until_a_person_resumes_it(
    running: Session, worker: Session, type_: Type, say: Say, which: str
):
    died = worker if which == "worker" else running
    say("go on", sid=died.sid)
    assert claim_and_drain(died.pk)
    Session.objects.filter(pk=died.pk).update(deaths=2, lease_until="2026-01-01T00:00Z")
    assert recovery.recover(died.pk)
    died.refresh_from_db()
    assert died.parked_at
    assert state(running).status == "paused"
    assert Session.objects.get(pk=worker.pk).goal_session_id == running.pk
    say("I looked, go on", sid=died.sid)  # unparks
    run_turn(died, "Here I am.")
    type_("/goal resume")
    assert state(running).status == "running"


def test_words_for_a_parked_worker_wake_it_though_its_goal_leads(
    goal: Session, worker: Session, workspace: Workspace, owner: User
):
    Session.objects.filter(pk=worker.pk).update(parked_at="2026-01-01T00:00Z")
    frame = Chat(type="chat", sessionId="work", projectId=workspace.path, message="hello")
    assert accept(Caller.of(owner), frame, "m1")[1].sid == "work"
    assert Session.objects.get(pk=worker.pk).parked_at is None


def test_6_a_restart_tells_a_running_goal_once(running: Session):
    assert goals.nudge_running() == 1
    assert goals.nudge_running() == 0
    assert Entry.objects.filter(session=running, origin__kind="nudge").count() == 1


def test_the_list_names_the_goal_of_a_worker(running: Session, worker: Session, workspace: Workspace):
    from sessions_app.listing import page_of

    rows = {row["id"]: row["goalSessionId"] for row in page_of(workspace.pk, 0).rows}
    assert rows == {"work": running.sid, running.sid: None}


def test_25_without_the_feature_no_agent_has_its_tools(agent_folder: Path):
    assert registry.GOAL == {}
    offered = registry.tools_for(["goal_context", "file_read"], Access.FULL, goal=True)
    assert not any(tool.name.startswith("goal") or tool.name == "query_session" for tool in offered)
    assert "goal" not in run_end._acts
    assert Turn.objects.count() == 0


def test_the_newest_goal_is_named_until_it_is_cleared(running: Session, workspace: Workspace, owner: User, type_: Type):
    browser = logged_in(owner)

    def named() -> str | None:
        found = browser.get("/api/sessions/goal", {"projectId": workspace.path}).json()["goal"]
        return found and found["status"]

    assert named() == "running"
    goals.finish(running.pk)
    assert named() == "done"
    type_("/goal create next", active="work")
    assert named() == "intake"
    type_("/goal clear")
    assert named() is None


def test_25_while_the_feature_is_off_no_goal_is_named(
    running: Session, workspace: Workspace, owner: User, settings: Any
):
    settings.HALO = replace(settings.HALO, goal_mode=False)
    answer = logged_in(owner).get("/api/sessions/goal", {"projectId": workspace.path})
    assert answer.json() == {"goal": None}
