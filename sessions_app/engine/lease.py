"""Whoever holds the lease runs the session. Claims and fences, by database time (ARCHITECTURE 5.2).

Every transaction that touches a session first locks its row, then looks, then writes. A run passes its `Lease`
into each of its transactions: `fenced()` raises LeaseLost when somebody else took over, and nothing is written.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Now

from halo_site.lib.prepared import Param, Select, Update

from ..models import Entry, Session, Turn
from .owner import this_owner

LIFE = timedelta(seconds=30)
RENEW_EVERY = 10.0  # seconds
SILENT_AFTER = 25.0  # a run that could not renew for so long publishes and starts nothing
KILL_AFTER = 30.0
INPUTS = (Entry.Kind.USER, Entry.Kind.AGENT)
RELEASED: dict[str, Any] = {"lease_owner": None, "lease_until": None, "activity": ""}  # fields of a free session


class LeaseLost(Exception):
    """Another process runs this session now, or it was deleted: stop, write nothing."""


@dataclass(frozen=True, slots=True)
class Lease:
    session: int
    epoch: int


_LOCKED = Select(
    lambda: (
        Session.objects.select_for_update(of=("self",))
        .filter(pk=Param("key"))
        .only(
            "sid",
            "workspace_id",
            "root_id",
            "parent_id",
            "created_by_id",
            "access_level",
            "runner",
            "archived_at",
            "activity",
            "turn_count",
            "lease_owner",
            "lease_epoch",
            "abort_requested",
        )
    )
)


def locked(session_key: int) -> Session | None:
    """The session's row under its lock; None when it is gone. Call inside a transaction.

    Only the columns that decide are read; any other is loaded when it is asked for.
    """
    found = _LOCKED.objects(key=session_key)
    return found[0] if found else None


def fenced(lease: Lease) -> Session:
    """The locked row of a session we still run. Raises LeaseLost."""
    session = locked(lease.session)
    if session is None or session.lease_epoch != lease.epoch or session.lease_owner != this_owner():
        raise LeaseLost(f"session {lease.session}, epoch {lease.epoch}")
    return session


def lease_is_free() -> Q:
    return Q(lease_owner=None) | Q(lease_until__lt=Now())


def lease_is_live() -> Case:
    """An expression for `annotate`: True while somebody runs the session."""
    live = Q(lease_owner__isnull=False, lease_until__gte=Now())
    return Case(When(live, then=True), default=False, output_field=BooleanField())


def is_live(session_key: int) -> bool:
    """True while somebody runs the session, by database time."""
    return Session.objects.filter(pk=session_key, lease_owner__isnull=False, lease_until__gte=Now()).exists()


def queued(session_key: int | OuterRef | Param) -> Q:
    return Q(session=session_key, turn=None, deleted=None, kind__in=INPUTS)


_QUEUED = Select(lambda: Entry.objects.filter(queued(Param("session"))).values_list("pk")[:1])


def something_waits(session_key: int) -> bool:
    """True while the queue holds something."""
    return bool(_QUEUED.rows(session=session_key))


def _waiting(runner: str | Param) -> "QuerySet[Session]":
    """Sessions that nobody runs and somebody should. runner: of a terminal process, which runs its own trees only."""
    waiting = Exists(Entry.objects.filter(queued(OuterRef("pk"))))
    wanted = Q(waiting, parked_at=None) | Q(activity="compact")
    return Session.objects.filter(wanted, lease_owner=None, archived_at=None, runner=runner)


def waiting_sessions(runner: str = "") -> Iterable[int]:
    """Sessions with a queue that nobody runs, or to be compacted: what a lost wake-up left behind."""
    return _waiting(runner).order_by("updated_at").values_list("pk", flat=True)[:200]


_WAITS = Select(lambda: _waiting(Param("runner")).filter(pk=Param("key")).values_list("activity"))


def what_waits(session_key: int, runner: str = "") -> str | None:
    """What a free session is to do next: "compact", or "" for its queue; None = nothing, or somebody does it.

    A look without a lock, so that all but one of the engines that were woken go away cheaply.
    """
    found = _WAITS.first(key=session_key, runner=runner)
    return None if found is None else found[0]


_CLAIM = Update(
    lambda: (
        Session.objects.filter(
            pk=Param("key"), lease_owner=None, archived_at=None, parked_at=None, runner=Param("runner")
        )
        .exclude(Exists(Turn.objects.filter(session=OuterRef("pk"), status=Turn.Status.RUNNING)))
        .exclude(activity="compact")  # asked for by a person before anything was queued: it goes first
    ),
    lease_owner=Param("owner"),
    lease_epoch=F("lease_epoch") + 1,
    lease_until=Now() + LIFE,
    activity="turn",
    turn_count=F("turn_count") + 1,
    abort_requested=None,
)


def claim(session_key: int, runner: str = "") -> bool:
    """Take the lease of a free session that has no running turn, for its next turn. In a transaction.

    runner: the terminal process that keeps the session; nobody else claims it (`kept_trees`).

    False = somebody else has it, or it may not run. A running turn without a live lease is a crash: recovery answers
    it first.
    """
    return _CLAIM.run(key=session_key, owner=this_owner(), runner=runner) > 0


def renew(leases: Iterable[Lease]) -> set[int]:
    """Renew many leases in one statement each; the keys that are still ours. Late is fine while the epoch is ours."""
    kept = set()
    for lease in leases:
        mine = Session.objects.filter(pk=lease.session, lease_epoch=lease.epoch, lease_owner=this_owner())
        if mine.update(lease_until=Now() + LIFE):
            kept.add(lease.session)
    return kept
