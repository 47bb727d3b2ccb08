"""Paying what is owed: interims while a target works, one final report at its end (spec relay R4, R5).

Closing a row and inserting the receiver's entry are one transaction. `settle` looks at database facts only, so the end
of a run, the scan after a crash and any other process decide the same.
"""

import hashlib
import logging
from collections.abc import Iterable

from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from halo_site.lib import settings_store
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.prepared import Param, Select
from sessions_app.arrivals import arrive, leave_notice
from sessions_app.delegation.reports import at_work, said_in
from sessions_app.engine.lease import locked, queued, something_waits
from sessions_app.models import Entry, Session, Turn

from .availability import available
from .models import ReplyTo, ReplyToQuerySet
from .rules import KEPT, WAITS_AT_MOST, Abort, End, final_report, handed_back, held_back, interim_report

log = logging.getLogger("halo.relay")

AT_ONCE = 200
REASONS = {"aborted": "It was stopped.", "interrupted": "The server stopped while it ran."}
TAKEN_BACK = "The message was taken back before it was read."
UNHEARD = "A report for {caller} could not be delivered: that session is gone."


def settle_idle() -> int:
    """Targets that are through and still owe; how many reports were sent."""
    if not available():
        return 0
    waiting = Entry.objects.filter(queued(OuterRef("target")))
    idle = ReplyTo.objects.open().filter(~Exists(waiting), target__lease_owner=None, target__isnull=False)
    keys = list(idle.order_by("target").values_list("target", flat=True).distinct()[:AT_ONCE])
    return sum(settle(key) for key in keys)


def forget_old() -> None:
    ReplyTo.objects.filter(closed_at__lt=timezone.now() - KEPT).delete()


def settle(session_key: int) -> int:
    """Send the final reports a session owes, if it is quiet; how many. One that has to wait keeps its row."""
    return _settle(session_key) if _OWES.first(target=session_key) else 0


_OWES = Select(lambda: ReplyTo.objects.open().filter(target=Param("target")).values_list("pk")[:1])


@in_transaction
def _settle(session_key: int) -> int:
    owed = ReplyTo.objects.open().filter(target=session_key).order_by("pk")
    lock(session_key, owed)
    session = locked(session_key)
    if session is None or session.lease_owner is not None or something_waits(session_key) or at_work(session_key):
        return 0
    turn = Turn.objects.filter(session=session_key).order_by("-index").first()
    if turn is not None and turn.status == Turn.Status.RUNNING:
        return 0  # a crash that recovery answers first
    paid = 0
    for row in owed.all():  # read again under the locks: another process may have paid meanwhile
        if not held_back(row.pk, _waits(row)):
            paid += pay(row, session, _end(row, turn))
    return paid


def lock(session_key: int, rows: Iterable[ReplyTo]) -> None:
    """The target and whoever hears of it, in the order of keys."""
    for key in sorted({session_key, *filter(None, (_receiver_key(row) for row in rows))}):
        locked(key)


def lost(session: Session, why: str, *, for_good: bool) -> None:
    """Nothing more will come of what a session was asked: whoever waits is told so. The row is locked."""
    for row in ReplyTo.objects.open().filter(target=session.pk).order_by("pk"):
        pay(row, session, End(_said(session.pk), "gone", why))


def pay(row: ReplyTo, session: Session, end: End, outcome: str = "") -> bool:
    """Close the row; its final report becomes an entry of the caller. Both sessions are locked. False = it was closed.

    outcome: how the row is closed, when it is not by what the target did.
    """
    receiver = _receiver(row)
    crashpoint("relay.before_clear")
    outcome = outcome or (ReplyTo.Outcome.ABORTED if end.abort else ReplyTo.Outcome.COMPLETED)
    if receiver is None:
        outcome = ReplyTo.Outcome.UNDELIVERED
    open_row = ReplyTo.objects.open().filter(pk=row.pk)
    if not open_row.update(closed_at=timezone.now(), outcome=outcome, reason=end.error):
        return False
    crashpoint("relay.after_clear")
    if receiver is None:
        log.warning("relay %d: %s is gone, its report was not delivered", row.pk, row.caller_sid)
        leave_notice(session, UNHEARD.format(caller=row.caller_sid), "relay")
        return True
    text = final_report(end, workspace=row.target_path, sid=row.target_sid, limit=_limit())
    _deliver(row, receiver, text, "final")
    return True


def interim(session: Session, dispatches: list[int], text: str) -> None:
    """An answer in between, for those whose messages it answers. The session is locked."""
    for row in ReplyTo.objects.open().filter(pk__in=dispatches, target=session.pk).order_by("pk"):
        body = interim_report(text, workspace=row.target_path, sid=row.target_sid, limit=_limit())
        mark = hashlib.sha256(body.encode()).hexdigest()
        receiver = _receiver(row)
        if receiver is None or mark == row.interim_mark:
            continue
        ReplyTo.objects.filter(pk=row.pk).update(interims=F("interims") + 1, interim_mark=mark)
        _deliver(row, receiver, body, "interim")


def _deliver(row: ReplyTo, receiver: Session, text: str, part: str) -> None:
    chain = handed_back(row.task(), receiver.root_key)
    origin = {
        "kind": "report",
        "name": row.target_path.rpartition("/")[2],
        "level": receiver.access_level,
        "people": row.people,
        "chain": chain.stored(),
        "relay": {"dispatch": row.pk, "part": part},
    }
    arrive(receiver, text, origin)


def _receiver_key(row: ReplyTo) -> int | None:
    """The caller; when it is archived or gone, the newest conversation of the same agent in its workspace."""
    alive = Session.objects.filter(archived_at=None)
    if row.caller_id is not None and alive.filter(pk=row.caller_id).exists():
        return row.caller_id
    others = alive.roots().filter(workspace=row.caller_workspace_id, agent_id=row.caller_agent)
    return others.exclude(pk=row.target_id or 0).order_by("-pk").values_list("pk", flat=True).first()


def _receiver(row: ReplyTo) -> Session | None:
    key = _receiver_key(row)
    return None if key is None else locked(key)


def _waits(row: ReplyTo) -> dict[int, set[int]]:
    """Debt -> debts it waits for, as far as they can be reached from this one."""
    graph: dict[int, set[int]] = {}
    left = [row]
    while left:
        debt = left.pop()
        if debt.pk in graph or debt.target_id is None:
            continue
        made = _handed_on(debt).filter(renewed_at__gt=timezone.now() - WAITS_AT_MOST)
        onward = [other for other in made if debt.pk in other.task().answers]
        graph[debt.pk] = {other.pk for other in onward}
        left += onward
    return graph


def _handed_on(debt: ReplyTo) -> ReplyToQuerySet:
    """Open dispatches of a target that may have been made while it worked for this debt."""
    assert debt.target_id is not None
    return ReplyTo.objects.open().made_in_tree_of(debt.target_id).exclude(target=debt.target_id)


def _end(row: ReplyTo, turn: Turn | None) -> End:
    late = [other for other in _handed_on(row) if row.pk in other.task().answers]
    if turn is None or not row.messages().filter(turn__isnull=False).exists():
        return End("", "cancelled", TAKEN_BACK)
    output, final = said_in(turn.pk)
    text = final.strip() or output
    if turn.status == Turn.Status.DONE:
        return End(text, unanswered=len(late))
    error = turn.error or {}
    kind: Abort = "account" if error.get("kind") == "account" else "other"
    return End(text, kind, str(error.get("message") or REASONS.get(turn.status, turn.status)), len(late))


def _said(session_key: int) -> str:
    turn = Turn.objects.filter(session=session_key).order_by("-index").values_list("pk", flat=True).first()
    return said_in(turn)[0] if turn is not None else ""


def _limit() -> int:
    return settings_store.number("limits.auto_report_chars")
