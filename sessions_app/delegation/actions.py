"""What an agent does with sessions of its own tree; each one transaction (spec sessions 9)."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from agents_app.agents import Agent
from halo_site.lib.access_level import Access
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict, HaloError, NotFound
from halo_site.lib.prepared import insert_row
from halo_site.lib.publish import publish, session_topic

from ..actions import SessionArchivedError, ask_to_abort, stop_tree
from ..actions import archive as archive_tree
from ..engine.lease import is_live, locked, queued
from ..engine.queue import count_arrival
from ..events import AgentStarted
from ..listing import status_of
from ..models import Entry, Session, Turn
from ..title import title_of
from .handed_on import handed_on
from .reports import announce, said_in
from .rules import PREVIEW, child_id, depth, in_tree, opening, origin, root_of, too_deep

MAX_LISTED = 500


class QueueFull(HaloError):
    status, code = 429, "queue_full"


@in_transaction
def start(
    parent_key: int,
    agent: Agent,
    *,
    message: str,
    context: str,
    level: Access,
    working_dir: str | None,
    title: str,
    max_depth: int,
) -> str:
    """A child with its first message, in one commit; the engine runs it at once. Its id.

    level: of the parent's run; the child never exceeds it. Raises Conflict while the parent is being stopped.
    """
    parent = locked(parent_key)
    if parent is None or parent.archived_at:
        raise NotFound("This session is gone")
    if parent.stopped_at or parent.abort_requested:
        raise Conflict("This session is being stopped: no sub-agent was started")
    if depth(parent.sid) >= max_depth:
        raise BadRequest(too_deep(max_depth))
    now = timezone.now()
    sid = child_id(parent.sid)
    text = opening(sid, context, message)
    description = " ".join(message.split())[:PREVIEW]
    key = insert_row(
        Session,
        workspace_id=parent.workspace_id,
        sid=sid,
        parent_id=parent.pk,
        root_id=parent.root_key,
        agent_id=agent.id,
        agent_name=agent.name,
        title=title[:255] or title_of(description),
        description=description,
        source=Session.Source.DELEGATED,
        created_by_id=parent.created_by_id,
        access_level=level.value,
        working_dir=working_dir,
        created_at=now,
        updated_at=now,
        exchange_count=1,
        report_due=True,
        runner=parent.runner,
    )
    told = origin("agent", level.value, name=parent.agent_name, sid=parent.sid, **handed_on(parent.pk))
    entry = insert_row(
        Entry,
        session_id=key,
        kind=Entry.Kind.AGENT,
        text=text,
        source_session_id=parent.pk,
        origin=told,
        created_at=now,
    )
    child = Session(pk=key, sid=sid, parent_id=parent.pk, root_id=parent.root_key, workspace_id=parent.workspace_id)
    _say_started(child, agent.name, message)
    announce(child, entry, text, told)
    return sid


def _say_started(target: Session, agent_name: str, task: str) -> None:
    started = AgentStarted(
        session_id=root_of(target.sid),
        task_id=target.sid if target.parent_id else None,
        agent_name=agent_name,
        task=" ".join(task.split())[:PREVIEW],
    )
    transaction.on_commit(partial(publish, session_topic(target.root_key), started))


def found_in_tree(caller_sid: str, caller_key: int, target_sid: str) -> int:
    """Key of a session of the caller's own tree. Raises NotFound, with the same words for a foreign one."""
    if in_tree(caller_sid, target_sid):
        same_folder = Session.objects.filter(workspace__sessions=caller_key, sid=target_sid)
        key = same_folder.values_list("pk", flat=True).first()
        if key is not None:
            return key
    raise NotFound(f"session {target_sid} not found")


@in_transaction
def send(caller_key: int, target_key: int, message: str, *, level: Access, cap: int, interrupt: bool = False) -> bool:
    """Give a session of the tree another message; True = it was busy and reads it soon.

    cap: agent entries that may wait in a busy session. interrupt: its running turn ends now, without a look at the cap.
    Raises Conflict while the caller is being stopped: a stop locks the whole tree before it commits, so that whoever
    gets the lock afterwards sees it.
    """
    target = locked(target_key)
    if target is None:
        raise NotFound("The session was deleted")
    if Session.objects.filter(pk=caller_key, abort_requested__isnull=False).exists():
        raise Conflict("This session is being stopped: nothing was sent")
    if target.archived_at:
        raise SessionArchivedError(target.sid)
    live = is_live(target.pk)
    if live and not interrupt:
        waiting = Entry.objects.filter(queued(target.pk), kind=Entry.Kind.AGENT).count()
        if waiting >= cap:
            raise QueueFull(f"session {target.sid} message queue is full ({waiting}/{cap}).")
    now = timezone.now()
    sid, name = Session.objects.values_list("sid", "agent_name").get(pk=caller_key)
    told = origin("agent", level.value, name=name, sid=sid, **handed_on(caller_key))
    entry = insert_row(
        Entry,
        session_id=target.pk,
        kind=Entry.Kind.AGENT,
        text=message,
        source_session_id=caller_key,
        origin=told,
        created_at=now,
    )
    count_arrival(target, now)
    _say_started(target, target.agent_name, message)
    announce(target, entry, message, told)
    if interrupt and live:
        ask_to_abort(target, "hard")
    return live


def stop(target_key: int) -> None:
    """Its work and that of all below it ends, what waits becomes history; it owes no report and stays usable."""
    stop_tree(target_key)


def archive(target_key: int) -> int:
    return archive_tree(target_key)


@dataclass(frozen=True, slots=True)
class Child:
    sid: str
    agent_id: str
    agent_name: str
    title: str
    description: str
    status: str
    created_at: datetime


def children(parent_key: int) -> list[Child]:
    """Direct children that are not archived, oldest first."""
    found = Session.objects.filter(parent=parent_key, archived_at=None).order_by("pk")[:MAX_LISTED]
    return [
        Child(
            row.sid,
            row.agent_id,
            row.agent_name,
            row.title or row.description,
            row.description,
            status_of(row.stopped_at, row.lease_owner is not None, False),
            row.created_at,
        )
        for row in found
    ]


def output(session_key: int) -> str:
    """All text of the newest turn, never cut; "" when it has said nothing."""
    turn = Turn.objects.filter(session=session_key).order_by("-index").values_list("pk", flat=True).first()
    return said_in(turn)[0] if turn is not None else ""


def directory(workspace: Path, named: str) -> str | None:
    """A `working_dir` argument relative to the workspace, None for the root. Raises BadRequest."""
    if not named.strip():
        return None
    root = workspace.resolve()
    place = (root / named).resolve()
    if place != root and root not in place.parents:
        raise BadRequest(f'working_dir "{named}" is outside the workspace')
    if not place.exists():
        raise BadRequest(f'working_dir "{named}" does not exist')
    if not place.is_dir():
        raise BadRequest(f'working_dir "{named}" is not a directory')
    return None if place == root else str(place.relative_to(root))
