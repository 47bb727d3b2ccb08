"""Which ring and word a session carries on staff pages (DESIGN 4), from facts of the database only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .models import Entry, Session, Turn


@dataclass(frozen=True, slots=True)
class State:
    """ring: CSS name of the glyph; word: what stands beside it."""

    key: str
    ring: str
    word: str | Promise


AT_WORK = State("at-work", "run", _("at work"))
COMPACTING = State("at-work", "run", _("compacting"))
LOST = State("lost", "err", _("no heartbeat"))
PARKED = State("parked", "err", _("parked"))
FAILED = State("failed", "err", _("failed"))
CRASHED = State("failed", "err", _("interrupted"))
WAITING = State("waiting", "wait", _("waiting"))
STOPPED = State("stopped", "idle", _("stopped"))
IDLE = State("idle", "idle", _("idle"))
ARCHIVED = State("archived", "off", _("archived"))

FILTERS = (
    ("at-work", _("At work")),
    ("waiting", _("Waiting")),
    ("parked", _("Parked")),
    ("failed", _("Failed")),
    ("stopped", _("Stopped")),
    ("archived", _("Archived")),
    ("idle", _("Idle")),
)


def with_state(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """Adds what `state_of` reads: `staff_queued` and `staff_last` (status of the newest turn)."""
    waiting = Entry.objects.filter(
        session=OuterRef("pk"), turn=None, deleted=None, kind__in=(Entry.Kind.USER, Entry.Kind.AGENT)
    )
    newest = Turn.objects.filter(session=OuterRef("pk")).order_by("-index").values("status")[:1]
    return sessions.annotate(staff_queued=Exists(waiting), staff_last=Subquery(newest))


def state_of(session: Any, now: datetime) -> State:
    """Of a row from `with_state`. Worst first: what needs a person, failed, at work, waiting, the rest."""
    if session.archived_at:
        return ARCHIVED
    if session.parked_at:
        return PARKED
    if session.lease_owner is not None and session.lease_until is not None:
        if session.lease_until <= now:
            return LOST
        return COMPACTING if session.activity == "compact" else AT_WORK
    if session.staff_queued:
        return WAITING
    if session.staff_last == Turn.Status.ERROR:
        return FAILED
    if session.staff_last == Turn.Status.INTERRUPTED:
        return CRASHED
    return STOPPED if session.stopped_at or session.staff_last == Turn.Status.ABORTED else IDLE


def in_state(sessions: QuerySet[Session], key: str, now: datetime) -> QuerySet[Session]:
    """Those of `with_state` that `state_of` gives this key; an unknown key changes nothing."""
    held = Q(lease_owner__isnull=False, lease_until__isnull=False)
    shelved = Q(archived_at__isnull=False) | Q(parked_at__isnull=False)
    failed = Q(staff_last__in=(Turn.Status.ERROR, Turn.Status.INTERRUPTED))
    stopped = Q(stopped_at__isnull=False) | Q(staff_last=Turn.Status.ABORTED)
    quiet = ~shelved & ~held & Q(staff_queued=False)
    # A subquery that found nothing is NULL, and NOT (NULL = x) is not true: name that case.
    unfailed = ~failed | Q(staff_last=None)
    wanted = {
        "archived": Q(archived_at__isnull=False),
        "parked": Q(archived_at=None, parked_at__isnull=False),
        "at-work": ~shelved & held & Q(lease_until__gt=now),
        "waiting": ~shelved & ~held & Q(staff_queued=True),
        "failed": quiet & failed,
        "stopped": quiet & unfailed & stopped,
        "idle": quiet & unfailed & Q(stopped_at=None) & (Q(staff_last=None) | ~Q(staff_last=Turn.Status.ABORTED)),
    }.get(key)
    return sessions if wanted is None else sessions.filter(wanted)


def ring(name: str, word: str | Promise) -> SafeString:
    """The glyph with its word beside it (DESIGN 4)."""
    return format_html('<span class="h-state"><span class="h-ring {}" aria-hidden="true"></span>{}</span>', name, word)
