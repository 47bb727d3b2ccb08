"""What can be seen of relays: sessions of a workspace for an agent, dispatches for people (spec relay R8, 14)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from halo_site.lib.access_level import Access
from sessions_app.delegation.actions import output
from sessions_app.display import milliseconds
from sessions_app.listing import status_of
from sessions_app.models import Session
from workspaces_app.access import Caller
from workspaces_app.models import Membership, Workspace

from .models import ReplyTo, ReplyToQuerySet

MOST_LISTED = 500
PAGE = 100


def roots(caller_key: int, workspace: Workspace, limit: int) -> list[dict[str, Any]]:
    """Root sessions, newest first, for `relay_list`."""
    children = Session.objects.filter(parent=OuterRef("pk"), stopped_at=None, archived_at=None)
    found = Session.objects.roots().listed().filter(workspace=workspace, archived_at=None)
    found = found.annotate(busy_below=Exists(children)).order_by("-updated_at", "sid")[: min(limit, MOST_LISTED)]
    pending = dict(ReplyTo.objects.open().filter(caller=caller_key).values_list("target", "created_at"))
    return [_root(row, pending.get(row.pk)) for row in found]


def _root(row: Session, since: datetime | None) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "id": row.sid,
        "title": row.title or row.description,
        "agentName": row.agent_name,
        "status": status_of(row.stopped_at, row.lease_owner is not None, bool(getattr(row, "busy_below", False))),
        "updatedAt": milliseconds(row.updated_at),
        "pendingReply": since is not None,
    }
    if since is not None:
        listed["waitingMs"] = milliseconds(timezone.now()) - milliseconds(since)
    return listed


def read(key: int) -> tuple[str, str]:
    """(status, all text of the newest turn) of a session."""
    row = Session.objects.get(pk=key)
    busy = Session.objects.filter(parent=key, stopped_at=None, archived_at=None).exists()
    return status_of(row.stopped_at, row.lease_owner is not None, busy), output(key)


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a dispatch. A person who may not enter its workspace is told only that there is one."""

    workspace: str | None
    session_id: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """Times are Unix milliseconds. state: pending, working, or how it was closed."""

    id: int
    caller: Side
    target: Side
    state: str
    reason: str
    hop: int
    sends: int
    interims: int
    created_at: int
    closed_at: int | None


def dispatches(
    caller: Caller, *, workspace: Workspace | None = None, only_open: bool = False, before: int | None = None
) -> list[Row]:
    """Newest first, of the workspaces a person may enter; `before` an id."""
    entered = None if caller.is_superuser else _entered(caller)
    rows = ReplyTo.objects.all()
    if entered is not None:
        rows = rows.filter(Q(caller_workspace__in=entered) | Q(target_workspace__in=entered))
    if workspace is not None:
        rows = rows.filter(Q(caller_workspace=workspace) | Q(target_workspace=workspace))
    if only_open:
        rows = rows.open()
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return shown(rows, entered)


def shown(rows: ReplyToQuerySet, entered: set[int] | None = None) -> list[Row]:
    """entered: keys of the workspaces whose names may be told; None = all."""
    page = rows.select_related("caller", "target").order_by("-pk")[:PAGE]
    return [_row(row, entered) for row in page]


def row_for(caller: Caller, row: ReplyTo) -> Row:
    return _row(row, None if caller.is_superuser else _entered(caller))


def _row(row: ReplyTo, entered: set[int] | None) -> Row:
    def side(workspace: int | None, path: str, sid: str, session: Session | None) -> Side:
        if entered is not None and workspace not in entered:
            return Side(None, None, None)
        return Side(path, sid, (session.title or session.description) if session else None)

    target = side(row.target_workspace_id, row.target_path, row.target_sid, row.target)
    return Row(
        id=row.pk,
        caller=side(row.caller_workspace_id, row.caller_path, row.caller_sid, row.caller),
        target=target,
        state=state_of(row),
        reason=row.reason if target.workspace is not None else "",
        hop=row.hop,
        sends=row.sends,
        interims=row.interims,
        created_at=milliseconds(row.created_at),
        closed_at=None if row.closed_at is None else milliseconds(row.closed_at),
    )


def state_of(row: ReplyTo) -> str:
    if row.closed_at is not None:
        return row.outcome
    return "working" if row.target is not None and row.target.lease_owner is not None else "pending"


def may_cancel(caller: Caller, row: ReplyTo) -> bool | None:
    """Who may write on either side may end the wait. None = the row does not exist for them."""
    if caller.is_superuser:
        return True
    sides = {row.caller_workspace_id, row.target_workspace_id}
    levels = Membership.objects.filter(user=caller.user_id, workspace__in=sides - {None}).values_list(
        "level", flat=True
    )
    known = [Access.stored(level) for level in levels]
    return any(level.covers(Access.WORKSPACE) for level in known) if known else None


def _entered(caller: Caller) -> set[int]:
    return set(Membership.objects.filter(user=caller.user_id).values_list("workspace", flat=True))
