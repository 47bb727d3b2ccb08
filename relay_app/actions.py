"""Hand a task to another session, stop it, or end the wait for it; each one transaction (spec relay R3, R8)."""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import F, Sum
from django.utils import timezone

from agents_app.agents import Agent, AgentNotFound, default_agent, load_agent
from agents_app.disabled import disabled_in
from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict, NotFound, TooLarge
from halo_site.lib.ids import LONGEST_ROOT, is_safe_id, new_sid
from sessions_app.actions import ask_to_abort, stop_tree
from sessions_app.arrivals import arrive, make_root
from sessions_app.chain import Chain, Waiting
from sessions_app.delegation.actions import output
from sessions_app.engine.lease import is_live, locked
from sessions_app.marks import from_workspace
from sessions_app.models import ModelCall, Session, Turn
from sessions_app.queue_edits import remove_queued
from workspaces_app.models import Workspace

from .models import ReplyTo
from .reach import people_behind, reach
from .reports import forget_old, lock, pay
from .rules import MOST_MESSAGE, End, cycle, handed_to, named, too_dear, too_far


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a caller wants done. session_id: "" = a new session. agent_id, title: of a new one."""

    caller: int  # key of its session
    workspace: str  # absolute path
    message: str
    session_id: str = ""
    hard: bool = False  # interrupt a running turn; never makes a session
    agent_id: str = ""
    title: str = ""
    report: bool = True  # False = one way


@dataclass(frozen=True, slots=True)
class Dispatched:
    workspace: str
    sid: str
    created: bool
    busy: bool  # it was at work
    interrupted: bool
    report: bool  # a final report is owed


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a task goes, and who stands behind it."""

    workspace: Workspace
    level: Access
    people: list[int]
    own: str  # path of the caller's workspace


def dispatch(ask: Ask) -> Dispatched:
    """Queue a message in another session and owe its report. Raises HaloErrors; then nothing was written."""
    if len(ask.message.encode()) > MOST_MESSAGE:
        raise TooLarge("message too large")
    place = _place(ask.caller, ask.workspace, Access.WORKSPACE)
    target = _key_of(place.workspace, ask.session_id) if ask.session_id else None
    agent = None
    if target is None:
        if ask.hard:
            raise NotFound(f"session {ask.session_id} not found; there is nothing to interrupt")
        agent = _agent_for_new(place.workspace, ask)
    return _dispatch(ask, place, target, agent)


@in_transaction
def _dispatch(ask: Ask, place: _Place, target_key: int | None, agent: Agent | None) -> Dispatched:
    for key in sorted({ask.caller, *([target_key] if target_key else ())}):
        locked(key)
    caller = locked(ask.caller)
    if caller is None or caller.archived_at:
        raise NotFound("This session is gone")
    if caller.abort_requested:
        raise Conflict("This session is being stopped: nothing was sent")
    chain = Chain.of(Turn.objects.filter(session=caller).order_by("-index").values_list("chain", flat=True).first())
    here = Waiting(caller.root_key, named(place.own, _root_sid(caller)))
    task = handed_to(chain, here, secrets.token_hex(8))
    _check_limits(chain, task)
    created = target_key is None
    if target_key is None:
        assert agent is not None
        sid = ask.session_id or new_sid()
        target = make_root(
            place.workspace,
            sid,
            agent,
            user_id=caller.created_by_id,
            level=place.level,
            title=ask.title.strip(),
            text=ask.message,
        )
    else:
        found = locked(target_key)
        if found is None:
            raise NotFound(f"session {ask.session_id} not found")
        target = found
    if target.archived_at:
        raise Conflict(f"session {target.sid} is archived")
    if target.parked_at:
        raise Conflict(f"session {target.sid} is parked after repeated crashes; a person must look at it first")
    there = Waiting(target.root_key, named(place.workspace.path, _root_sid(target)))
    if refusal := cycle(chain, here, there):
        raise Conflict(refusal)
    row = _owe(caller, target, place, task) if ask.report and target.parent_id is None else None
    task = Chain(task.ids, task.hop, task.callers, (row,) if row else ())
    origin: dict[str, Any] = {
        "kind": "relay",
        "name": place.own.rpartition("/")[2],
        "level": place.level.value,
        "people": place.people,
        "chain": task.stored(),
    }
    busy = is_live(target.pk)
    model_text = from_workspace(place.own, ask.message)
    entry = arrive(target, ask.message, origin | ({"dispatch": row} if row else {}), model_text=model_text)
    if row:
        ReplyTo.objects.filter(pk=row, entry=0).update(entry=entry)
    interrupted = ask.hard and busy and ask_to_abort(target, "hard")
    crashpoint("relay.before_commit")
    return Dispatched(place.workspace.path, target.sid, created, busy, interrupted, row is not None)


def _check_limits(chain: Chain | None, task: Chain) -> None:
    limit = settings_store.number("relay.max_hops")
    cap = settings_store.general("relay.max_chain_cost")
    spent = spent_by(chain.ids) if chain and cap is not None else {}
    if refusal := too_far(task.hop, limit) or too_dear(spent, float(cap) if isinstance(cap, int | float) else None):
        raise Conflict(refusal)


def spent_by(chains: tuple[str, ...]) -> dict[str, int]:
    """Cost of all model calls made for some chains so far, in millionths, by currency."""
    priced = ModelCall.objects.filter(chain_id__in=chains, cost_micros__isnull=False)
    sums = priced.order_by().values_list("currency").annotate(sum=Sum("cost_micros"))
    return {currency: int(micros or 0) for currency, micros in sums}


def _owe(caller: Session, target: Session, place: _Place, task: Chain) -> int:
    """The open row between the two, made or renewed; its key."""
    now = timezone.now()
    row = ReplyTo.objects.open().filter(target=target, caller=caller).first()
    if row is not None:
        before = row.task()
        answers = tuple(dict.fromkeys((*before.answers, *task.answers)))
        newer = Chain(task.ids, max(before.hop, task.hop), task.callers, answers)
        ReplyTo.objects.filter(pk=row.pk).update(
            chain=newer.stored(),
            chain_id=newer.ids[0],
            hop=newer.hop,
            people=sorted({*row.people, *place.people}),
            sends=F("sends") + 1,
            renewed_at=now,
        )
        return row.pk
    forget_old()
    return ReplyTo.objects.create(
        target=target,
        caller=caller,
        target_workspace_id=target.workspace_id,
        caller_workspace_id=caller.workspace_id,
        target_path=place.workspace.path,
        caller_path=place.own,
        target_sid=target.sid,
        caller_sid=caller.sid,
        caller_agent=caller.agent_id,
        chain=task.stored(),
        chain_id=task.ids[0],
        hop=task.hop,
        people=place.people,
        created_at=now,
        renewed_at=now,
    ).pk


def _agent_for_new(workspace: Workspace, ask: Ask) -> Agent:
    sid = ask.session_id
    if sid and (">" in sid or len(sid) > LONGEST_ROOT or not is_safe_id(sid) or sid.startswith("__")):
        raise BadRequest("invalid session id")
    folder, disabled = Path(workspace.path), disabled_in(workspace.pk)
    try:
        agent = load_agent(folder, ask.agent_id, disabled) if ask.agent_id else default_agent(folder, disabled)
    except AgentNotFound as error:
        raise NotFound(f'agent "{ask.agent_id or "default"}" not found') from error
    if agent.internal:
        raise NotFound(f'agent "{ask.agent_id}" not found')
    return agent


def found(caller_key: int, workspace: str, sid: str, need: Access = Access.READONLY) -> tuple[Workspace, int]:
    """Workspace and key of a session that a caller may reach. Raises NotFound."""
    place = _place(caller_key, workspace, need)
    key = _key_of(place.workspace, sid)
    if key is None:
        raise NotFound(f"session {sid} not found")
    return place.workspace, key


def reachable(caller_key: int, workspace: str) -> Workspace:
    """workspace: "" = the caller's own. Raises NotFound."""
    own = Session.objects.values_list("workspace__path", flat=True).get(pk=caller_key)
    return _place(caller_key, workspace or own, Access.READONLY).workspace


def _place(caller_key: int, path: str, need: Access) -> _Place:
    own = Session.objects.filter(pk=caller_key).values_list("workspace__path", flat=True).first()
    if own is None:
        raise NotFound("This session is gone")
    people = people_behind(caller_key)
    workspace, level = reach(path, people, own=own, need=need)
    return _Place(workspace, level, people, own)


def _key_of(workspace: Workspace, sid: str) -> int | None:
    sessions = Session.objects.listed().filter(workspace=workspace, sid=sid)
    return sessions.values_list("pk", flat=True).first()


def _root_sid(session: Session) -> str:
    return session.sid.partition(">")[0]


@in_transaction
def stop(caller_key: int, target_key: int) -> tuple[int, str]:
    """Stop a session and all below it: (how many were at work, text of its turn so far). Its caller hears no more."""
    ReplyTo.objects.open().filter(caller=caller_key, target=target_key).update(
        closed_at=timezone.now(), outcome=ReplyTo.Outcome.STOPPED
    )
    target = locked(target_key)
    if target is None:
        raise NotFound("The session was deleted")
    tree = [target_key, *Session.objects.filter(root=target_key).values_list("pk", flat=True)]
    if target.parent_id:
        below = Session.objects.filter(workspace=target.workspace_id, sid__startswith=f"{target.sid}>")
        tree = [target_key, *below.values_list("pk", flat=True)]
    live = sum(map(is_live, tree))
    stop_tree(target_key)
    return live, output(target_key)


@in_transaction
def cancel(row_key: int, by: str) -> ReplyTo:
    """A person ends the wait: the caller gets its report as aborted. A message nobody has read yet is taken back.

    Raises NotFound, Conflict when it is closed already.
    """
    row = ReplyTo.objects.filter(pk=row_key).first()
    if row is None:
        raise NotFound("No such relay")
    if row.target_id is not None:
        lock(row.target_id, [row])
        row.refresh_from_db()
    target = locked(row.target_id) if row.target_id is not None else None
    if row.closed_at or target is None:
        raise Conflict("This relay is closed already")
    for unread in row.messages().filter(turn=None, deleted=None).values_list("pk", flat=True):
        remove_queued(target.pk, unread)
    said = output(target.pk) if row.messages().filter(turn__isnull=False).exists() else ""
    pay(row, target, End(said, "cancelled", f"Cancelled by {by}."), ReplyTo.Outcome.CANCELLED)
    row.refresh_from_db()
    return row
