"""What waits for a person, over all workspaces they may write in: the sessions of the "Needs you" list (DESIGN 3).

A row is here as long as it is true: a message, a deletion or an archive takes it away, nothing has to be ticked off.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.db.models import Exists, OuterRef
from django.utils import timezone

from halo_site.lib.access_level import Access
from workspaces_app.access import Caller
from workspaces_app.models import Membership

from .display import milliseconds
from .engine.lease import queued
from .models import Entry, Session, Turn

MOST = 100
FAILED_FOR = timedelta(days=14)  # how long a failed run is news; also what the index has to look through
KEY_KINDS = ("account",)  # errors of a run that a key or a contract with the vendor cures


class Kind(StrEnum):
    PARKED = "parked"  # stopped after repeated crashes
    KEY = "key"  # the vendor refused the key or the account
    FAILED = "failed"  # the last run ended with another error


@dataclass(frozen=True, slots=True)
class Need:
    """`at`: Unix milliseconds. `text`: the error in the server's words, empty for a parked session."""

    kind: Kind
    project_id: str
    workspace: str
    session_id: str
    title: str
    at: int
    text: str = ""


def needs_of(caller: Caller) -> list[Need]:
    """Newest first, at most `MOST`. Three statements, whatever there is."""
    sessions = Session.objects.roots().filter(archived_at=None).select_related("workspace")
    if not caller.is_superuser:
        levels = Membership.objects.filter(user=caller.user_id).values_list("workspace", "level")
        writable = [key for key, level in levels if Access.stored(level).covers(Access.WORKSPACE)]
        sessions = sessions.filter(workspace__in=writable)
    parked = sessions.filter(parked_at__isnull=False).order_by("-parked_at")[:MOST]
    found = [_need(Kind.PARKED, session, milliseconds(session.parked_at)) for session in parked if session.parked_at]
    later = Turn.objects.filter(session=OuterRef("session"), index__gt=OuterRef("index"))
    waiting = Entry.objects.filter(queued(OuterRef("session")))
    failed = (
        Turn.objects.filter(status=Turn.Status.ERROR, started_at__gte=timezone.now() - FAILED_FOR)
        .filter(session__in=sessions.filter(parked_at=None, lease_owner=None))
        .exclude(Exists(later))
        .exclude(Exists(waiting))
        .select_related("session__workspace")
        .order_by("-started_at")[:MOST]
    )
    for turn in failed:
        error = turn.error or {}
        kind = Kind.KEY if error.get("kind") in KEY_KINDS else Kind.FAILED
        ended = turn.ended_at or turn.started_at
        found.append(_need(kind, turn.session, milliseconds(ended), str(error.get("message", ""))))
    return sorted(found, key=lambda need: need.at, reverse=True)[:MOST]


def _need(kind: Kind, session: Session, at: int, text: str = "") -> Need:
    workspace = session.workspace
    return Need(kind, workspace.path, workspace.name, session.sid, session.title or "", at, text)
