"""The verbs of a goal; each one transaction. Rows are locked in the order of keys. Call from a database thread.

The binding has two halves: `Session.goal` of the goal's session and `Session.goal_session` of the worker. Every write
of the state is announced as `goal:changed`; an end takes the worker's half away.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from agents_app.agents import load_agent
from agents_app.seed import seed_agent
from halo_site.lib.access_level import Access
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict, NotFound
from halo_site.lib.ids import base36
from halo_site.lib.prepared import update_row
from halo_site.lib.publish import publish, workspace_topic
from workspaces_app.models import Workspace

from .. import actions
from ..arrivals import arrive, make_root
from ..delegation import actions as delegation
from ..delegation.reports import at_work, said_in
from ..delegation.rules import in_tree, report_body
from ..engine.lease import locked, something_waits
from ..events import GoalChanged
from ..models import Session, Turn
from .state import ACTIVE, LEADING, MOST_DECISIONS, Goal, Report, Status, fingerprint, judge

AGENT = "goal"
TITLE = "🎯 Goal"
SPEC = "GOAL_SPEC.md"
REPORT_LIMIT = 32_768  # characters
INTAKE = (
    "[Goal intake] Worker session: {worker}. Goal folder: {folder}. Find out what is to be reached and how to tell "
    "that it is reached, write it to {folder}/GOAL_SPEC.md, have the person confirm it, then call goal_attach."
)
RESUMED = "[Goal resumed · round {round}/{cap}] Look where the worker stands, then send the next work order."
RESTARTED = "[Server restarted] The goal is still running. Look where the worker stands, then go on."


class GoalActive(Conflict):
    """One goal at a time; `goal` is the one there is."""

    def __init__(self, goal: Goal) -> None:
        super().__init__("A goal is active already")
        self.goal = goal


def folder_of(workspace: str, goal_id: str) -> Path:
    return Path(workspace, ".halo", "goal", goal_id)


def latest(workspace_key: int, *statuses: Status) -> tuple[Session, Goal] | None:
    """The newest goal of a workspace, in one of these states if any are named."""
    found = Session.objects.filter(workspace=workspace_key, goal__isnull=False).order_by("-pk")
    for session in found:
        goal = Goal.read(session.goal or {})
        if not statuses or goal.status in statuses:
            return session, goal
    return None


def create(workspace: Workspace, worker_key: int, text: str, *, user_id: int, level: Access, home: Path) -> Session:
    """A goal for a worker, with its first message. Raises GoalActive, BadRequest (no root, or a goal itself)."""
    if not (home / "global" / "agents" / AGENT / "agent.yaml").exists():
        seed_agent(home, AGENT)
    agent = load_agent(Path(workspace.path), AGENT)
    goal_id = f"goal_{base36(time.time_ns() // 1_000_000)}"
    folder_of(workspace.path, goal_id).mkdir(parents=True)
    return _create(workspace, worker_key, text, goal_id, agent, user_id, level)


@in_transaction
def _create(
    workspace: Workspace, worker_key: int, text: str, goal_id: str, agent: Any, user_id: int, level: Access
) -> Session:
    Workspace.objects.select_for_update().get(pk=workspace.pk)  # one goal at a time
    if (active := latest(workspace.pk, *ACTIVE)) is not None:
        raise GoalActive(active[1])
    worker = locked(worker_key)
    if worker is None or worker.parent_id or worker.goal is not None or worker.archived_at:
        raise BadRequest("A goal works in a main session that is no goal itself")
    session = make_root(workspace, goal_id, agent, user_id=user_id, level=level, title=TITLE, text=text)
    goal = Goal(goal_id, worker.sid, "intake", int(time.time() * 1000))
    _write(session, goal)
    update_row(Session, worker.pk, goal_session_id=session.pk)
    kick = INTAKE.format(worker=worker.sid, folder=folder_of(workspace.path, goal_id))
    arrive(session, f"{kick}\n\n{text}".strip(), _origin(level, user_id))
    return session


def _origin(level: Access | str, user_id: int | None) -> dict[str, Any]:
    return {"kind": "goal", "level": str(level), "people": [user_id] if user_id else []}


def _write(session: Session, goal: Goal) -> None:
    update_row(Session, session.pk, goal=goal.stored())
    if not goal.is_active:
        Session.objects.filter(goal_session=session.pk).update(goal_session=None)
    changed = GoalChanged(
        workspace_path=session.workspace.path,
        goal_session_id=goal.goal_id,
        worker_session_id=goal.worker,
        status=goal.status,
        round=goal.round,
        max_rounds=goal.max_rounds,
    )
    transaction.on_commit(partial(publish, workspace_topic(session.workspace_id), changed))


def _locked_pair(goal_key: int) -> tuple[Session, Goal, Session | None]:
    """The goal's session, its state, and its worker if that is still bound; both rows locked."""
    bound = Session.objects.filter(goal_session=goal_key).values_list("pk", flat=True).first()
    rows = {key: locked(key) for key in sorted({goal_key, *([bound] if bound else [])})}
    session = rows[goal_key]
    if session is None or session.goal is None:
        raise NotFound("There is no goal in this session")
    return session, Goal.read(session.goal), rows.get(bound) if bound else None


@in_transaction
def attach(
    goal_key: int, spec_hash: str, *, max_rounds: int | None, max_wall_ms: int | None, max_tokens: int | None
) -> Goal:
    """Intake is over: the spec counts from now on."""
    session, goal, worker = _locked_pair(goal_key)
    if goal.status != "intake" or worker is None:
        raise Conflict(f"The goal is {goal.status}: only one in intake can be attached")
    goal = replace(
        goal,
        status="running",
        spec_hash=spec_hash,
        started_at=int(time.time() * 1000),
        token_baseline=tokens_of(worker),
        max_rounds=max_rounds or goal.max_rounds,
        max_wall_ms=max_wall_ms or goal.max_wall_ms,
        max_tokens=max_tokens,
        reported=_newest_turn(worker.pk),
    )
    _write(session, goal)
    return goal


@in_transaction
def decide(goal_key: int) -> int:
    """Number of the decision that may be made now, instead of asking the person. Raises Conflict at the sixth."""
    session, goal, _ = _locked_pair(goal_key)
    _need_running(goal)
    if goal.delegated >= MOST_DECISIONS:
        raise Conflict(f"{MOST_DECISIONS} decisions were made for the person already: ask the person")
    goal = replace(goal, delegated=goal.delegated + 1)
    _write(session, goal)
    return goal.delegated


@in_transaction
def finish(goal_key: int) -> Goal:
    session, goal, _ = _locked_pair(goal_key)
    _need_running(goal)
    goal = replace(goal, status="done")
    _write(session, goal)
    return goal


def _need_running(goal: Goal) -> None:
    if goal.status != "running":
        reason = f" ({goal.halt_reason})" if goal.halt_reason else ""
        raise Conflict(f"The goal is {goal.status}{reason}, not running")


@in_transaction
def order(goal_key: int, target: str, message: str, *, level: Access, cap: int) -> bool:
    """A work order for the worker; True = it was busy. Raises Conflict unless the goal runs, NotFound for others."""
    _, goal, worker = _locked_pair(goal_key)
    if worker is None or worker.sid != target:
        raise NotFound(f"session {target} not found")
    _need_running(goal)
    text = f"[Goal work order · round {goal.round + 1}/{goal.max_rounds}]\n{message}"
    return delegation.send(goal_key, worker.pk, text, level=level, cap=cap)


def output(goal_key: int, target: str) -> str:
    """Of a session of the worker's tree."""
    worker = Session.objects.filter(goal_session=goal_key).first()
    if worker is not None and in_tree(worker.sid, target):
        found = Session.objects.filter(workspace=worker.workspace_id, sid=target).values_list("pk", flat=True).first()
        if found is not None:
            return delegation.output(found)
    raise NotFound(f"session {target} not found")


def pause(goal_key: int) -> Goal:
    """Status first, so that the rounds that end now count for nothing; then both are stopped."""
    return _leave(goal_key, "paused", ("running",))


def clear(goal_key: int) -> Goal:
    return _leave(goal_key, "cleared", ACTIVE)


def _leave(goal_key: int, status: Status, when: tuple[Status, ...]) -> Goal:
    goal, worker = _set(goal_key, status, when)
    for key in (worker, goal_key):
        if key is not None:
            actions.stop(key)
    return goal


@in_transaction
def _set(goal_key: int, status: Status, when: tuple[Status, ...]) -> tuple[Goal, int | None]:
    session, goal, worker = _locked_pair(goal_key)
    if goal.status not in when:
        raise Conflict(f"The goal is {goal.status}")
    goal = replace(goal, status=status)
    _write(session, goal)
    return goal, worker.pk if worker else None


@in_transaction
def resume(goal_key: int, *, level: Access, user_id: int) -> Goal:
    session, goal, worker = _locked_pair(goal_key)
    if goal.status != "paused" or worker is None:
        raise Conflict(f"The goal is {goal.status}")
    goal = replace(goal, status="running", reported=_newest_turn(worker.pk))
    _write(session, goal)
    arrive(session, RESUMED.format(round=goal.round, cap=goal.max_rounds), _origin(level, user_id))
    return goal


def overlay(workspace_key: int, sid: str) -> str:
    """Where a person's words for `sid` go: to its goal while that leads, else there (spec sessions 15.3).

    A parked worker hears them itself: only a person wakes it.
    """
    if not settings.HALO.goal_mode:
        return sid
    worker = Session.objects.filter(workspace=workspace_key, sid=sid, goal_session__isnull=False, parked_at=None)
    row = worker.values_list("goal_session__sid", "goal_session__goal").first()
    return str(row[0]) if row is not None and Goal.read(row[1] or {}).status in LEADING else sid


@in_transaction
def settle(worker_key: int) -> bool:
    """Judge what the worker's newest run said, once it is quiet, and tell the goal. False = nothing to judge now."""
    goal_key = Session.objects.filter(pk=worker_key).values_list("goal_session", flat=True).first()
    if goal_key is None:
        return False
    session, goal, worker = _locked_pair(goal_key)
    if worker is None or goal.status != "running" or worker.lease_owner is not None:
        return False
    if something_waits(worker.pk) or at_work(worker.pk):
        return False
    turn = Turn.objects.filter(session=worker.pk).order_by("-index").first()
    if turn is None or turn.index <= goal.reported or turn.status in (Turn.Status.RUNNING, Turn.Status.ABORTED):
        return False
    said, final = said_in(turn.pk)
    error = str((turn.error or {}).get("message", ""))
    text = report_body(final=final, output=said, status=turn.status, error=error, sid=worker.sid, limit=REPORT_LIMIT)
    verdict = judge(
        goal,
        Report(text, turn.index, spec_hash(session, goal), tokens_of(worker), int(time.time() * 1000)),
    )
    _write(session, verdict.goal)
    origin = {"kind": "goal", "level": session.access_level, "name": worker.agent_name, "session": worker.sid}
    arrive(session, f"{verdict.header}\n\n{text}", origin)
    return True


def spec_hash(session: Session, goal: Goal) -> str:
    """Of GOAL_SPEC.md as it is; "" when it cannot be read."""
    path = Workspace.objects.values_list("path", flat=True).get(pk=session.workspace_id)
    try:
        return fingerprint((folder_of(path, goal.goal_id) / SPEC).read_bytes())
    except OSError:
        return ""


def tokens_of(worker: Session) -> int:
    """Written by the worker and its sub-agents, over their lifetime."""
    tree = Session.objects.filter(pk=worker.pk) | Session.objects.filter(root=worker.pk)
    return sum(tree.values_list("output_tokens", flat=True))


def _newest_turn(session_key: int) -> int:
    newest = Turn.objects.filter(session=session_key).order_by("-index").values_list("index", flat=True).first()
    return -1 if newest is None else newest


def settle_idle() -> int:
    """Rounds whose end no process lived to see; how many were judged now."""
    workers = Session.objects.filter(goal_session__isnull=False, lease_owner=None, archived_at=None)
    return sum(settle(key) for key in workers.values_list("pk", flat=True))


@in_transaction
def dissolve(session: Session) -> None:
    """The worker is deleted or archived, or the goal itself is: the binding ends. The row is locked."""
    found = _bound(session)
    if found is not None and found[1].is_active:
        _write(found[0], replace(found[1], status="cleared"))


@in_transaction
def hold(session: Session) -> None:
    """One of the two is parked: a running goal waits until a person has looked and resumes it. The row is locked."""
    found = _bound(session)
    if found is not None and found[1].status == "running":
        _write(found[0], replace(found[1], status="paused"))


def _bound(session: Session) -> tuple[Session, Goal] | None:
    """The goal that a session, one of the two, belongs to. The row is locked; the other is locked here."""
    if session.goal is not None:
        return session, Goal.read(session.goal)
    bound = locked(session.goal_session_id) if session.goal_session_id is not None else None
    return (bound, Goal.read(bound.goal)) if bound is not None and bound.goal is not None else None


def nudge_running() -> int:
    """At the start of a server: each running goal hears of it once; how many."""
    found = Session.objects.filter(goal__status="running", archived_at=None)
    return sum(_nudge(key) for key in found.values_list("pk", flat=True))


@in_transaction
def _nudge(goal_key: int) -> bool:
    session = locked(goal_key)
    if session is None or session.lease_owner is not None or session.runner or something_waits(goal_key):
        return False
    arrive(session, RESTARTED, {"kind": "nudge", "level": session.access_level})
    return True
