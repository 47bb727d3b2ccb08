"""The session list: pages by key, served from columns (spec http-api, Sessions).

One query for the page and one for the descendants on it. The order is newest first, then by id, so equal times are
never skipped or repeated.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.db.models import Count, DateTimeField, Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat

from halo_site.lib.errors import BadRequest
from halo_site.lib.prepared import Param, Select

from .display import milliseconds
from .models import Session, SessionQuerySet, SessionSeen, Turn

MAX_LIMIT = 500
NEW_SESSION = "New session"
_LOOKED_AT = 8  # newest turns of a session that may tell its model: a row stays cheap where thousands asked none
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Position:
    """A row in the order of the list; the page begins after it. sid None = before every row of that time."""

    updated_at: datetime
    sid: str | None

    def encoded(self) -> str:
        micros = (self.updated_at - _EPOCH) // timedelta(microseconds=1)
        return base64.urlsafe_b64encode(f"{micros}:{self.sid}".encode()).decode().rstrip("=")


def position_of(cursor: str) -> Position:
    """Our opaque cursor, or a plain number of milliseconds as old clients send. Raises BadRequest."""
    try:
        if cursor.isascii() and cursor.isdigit():
            return Position(_EPOCH + timedelta(milliseconds=int(cursor)), None)
        micros, _, sid = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition(":")
        return Position(_EPOCH + timedelta(microseconds=int(micros)), sid)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise BadRequest("Invalid cursor") from error


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[dict[str, Any]]
    next_cursor: str | None


def page_of(
    workspace_key: int,
    user_id: int,
    *,
    parent: str | None = None,
    agent: str | None = None,
    source: str | None = None,
    root_only: bool = False,
    archived: bool = False,
    after: Position | None = None,
    limit: int = 50,
) -> Page:
    """A page of sessions; without `parent` roots, followed by all their descendants.

    parent: `*` = at any depth, an id = its children. agent: those of one agent, at any depth. source: of
    `Session.Source`, None = all.
    `limit` counts what is asked for, not the descendants.
    """
    limit = min(limit, MAX_LIMIT)
    kind = "agent" if agent is not None else "roots" if parent is None else "all" if parent == "*" else "children"
    place = {"before": after.updated_at, "sid": after.sid} if after is not None else {}
    rows = _page(kind, archived, source is not None, after is not None, after is not None and after.sid is None).rows(
        workspace=workspace_key, user=user_id, parent=parent, agent=agent, source=source, limit=limit + 1, **place
    )
    sessions = [_Row(*row) for row in rows[:limit]]
    cursor = Position(sessions[-1].updated_at, sessions[-1].sid).encoded() if len(rows) > limit else None
    if kind == "roots" and not root_only and any(session.descendants for session in sessions):
        parents = [session.pk for session in sessions if session.descendants]
        below = _listed(archived).filter(root__in=parents).order_by("-updated_at", "sid")
        sessions += [_Row(*row) for row in _columns(below, user_id)]
    return Page([_json(session) for session in sessions], cursor)


def _listed(archived: bool) -> SessionQuerySet:
    found = Session.objects.listed()
    return found if archived else found.filter(archived_at=None)


@cache
def _page(kind: str, archived: bool, sourced: bool, continued: bool, whole_time: bool) -> Select[Session]:
    """The statement for one kind of page, built once."""

    def build() -> QuerySet[Session, Any]:
        found = _listed(archived).filter(workspace=Param("workspace"))
        if kind == "roots":
            found = found.roots()
        elif kind == "children":
            found = found.filter(parent__sid=Param("parent"), parent__workspace=Param("workspace"))
        elif kind == "agent":
            found = found.filter(agent_id=Param("agent"))
        if sourced:
            found = found.filter(source=Param("source"))
        if continued:
            before = Param("before", DateTimeField())
            if whole_time:
                found = found.filter(updated_at__lt=before)
            else:
                # The first part alone lets the index find the place.
                found = found.filter(updated_at__lte=before).filter(Q(updated_at__lt=before) | Q(sid__gt=Param("sid")))
        return _columns(found.order_by("-updated_at", "sid"), Param("user"))

    return Select(build, limit="limit")


_COLUMNS = (
    "pk",
    "sid",
    "agent_id",
    "agent_name",
    "title",
    "source",
    "created_at",
    "updated_at",
    "exchange_count",
    "parent__sid",
    "goal_session__sid",
    "stopped_at",
    "archived_at",
    "parked_at",
    "context_tokens",
    "output_tokens",
    "cost_micros",
    "currency",
    "lease_owner",
    "activity",
    "seq",
    "has_active_child",
    "descendants_count",
    "started_at",
    "model",
    "seen",
)


@dataclass(slots=True)
class _Row:
    pk: int
    sid: str
    agent_id: str
    agent_name: str
    title: str | None
    source: str
    created_at: datetime
    updated_at: datetime
    exchange_count: int
    parent_sid: str | None
    goal_sid: str | None
    stopped_at: datetime | None
    archived_at: datetime | None
    parked_at: datetime | None
    context_tokens: int
    output_tokens: int
    cost_micros: int | None
    currency: str
    lease_owner: str | None
    activity: str
    seq: int
    has_active_child: bool
    descendants: int | None  # None = none
    started_at: datetime | None  # of the running turn
    model: str | None  # None = none of the newest turns that ended asked one
    seen: int | None  # seq up to which the caller has seen it


def _columns(sessions: QuerySet[Session], user: int | Param) -> QuerySet[Session, Any]:
    """What a row needs, and from other tables what the session alone does not know."""
    this = OuterRef("pk")
    children = Session.objects.filter(parent=this, stopped_at=None, archived_at=None)
    turns = Turn.objects.filter(session=this)
    running = turns.filter(status=Turn.Status.RUNNING)
    asked = turns.filter(index__gte=OuterRef("turn_count") - _LOOKED_AT).exclude(model="")
    # An id begins with that of the session above it: a range of one index, which is also what a deletion takes along.
    below = Session.objects.filter(
        workspace=OuterRef("workspace"),
        sid__gt=Concat(OuterRef("sid"), Value(">")),
        sid__lt=Concat(OuterRef("sid"), Value("?")),  # the character after ">"
    )
    return sessions.annotate(
        has_active_child=Exists(children),
        descendants_count=Subquery(below.values("workspace").annotate(number=Count("pk")).values("number")),
        started_at=Subquery(running.values("started_at")[:1]),
        model=Subquery(asked.order_by("-index").values("model")[:1]),
        seen=Subquery(SessionSeen.objects.filter(session=this, user=user).values("seq")[:1]),
    ).values_list(*_COLUMNS)


_ROW = Select(lambda: _columns(Session.objects.filter(pk=Param("key")), Param("user")))


def row_of(session_key: int, user_id: int) -> dict[str, Any] | None:
    row = _ROW.first(key=session_key, user=user_id)
    return _json(_Row(*row)) if row else None


def _json(session: _Row) -> dict[str, Any]:
    leased = session.lease_owner is not None
    row: dict[str, Any] = {
        "id": session.sid,
        "agentId": session.agent_id,
        "agentName": session.agent_name,
        "title": session.title or NEW_SESSION,
        "source": session.source,
        "createdAt": milliseconds(session.created_at),
        "updatedAt": milliseconds(session.updated_at),
        "exchangeCount": session.exchange_count,
        "parentSessionId": session.parent_sid,
        "stoppedAt": _moment(session.stopped_at),
        "archivedAt": _moment(session.archived_at),
        "parkedAt": _moment(session.parked_at),
        "contextTokens": session.context_tokens,
        "totalOutputTokens": session.output_tokens,
        "goalSessionId": session.goal_sid,
        "status": status_of(session.stopped_at, leased, session.has_active_child),
        "running": leased,
        "compacting": leased and session.activity == "compact",
        "startedAt": _moment(session.started_at) if leased else None,
        "activity": session.activity,
        "unseen": session.seq > (session.seen or 0),
        "model": session.model or "",
        "descendants": session.descendants or 0,
    }
    if session.cost_micros is not None:
        row |= {"costMicros": session.cost_micros, "currency": session.currency}
    return row


def status_of(stopped_at: datetime | None, leased: bool, has_active_child: bool) -> str:
    """Derived, never stored (spec sessions 2)."""
    if stopped_at is not None:
        return "stopped"
    return "running" if leased or has_active_child else "idle"


def _moment(value: datetime | None) -> int | None:
    return None if value is None else milliseconds(value)
