"""What a dead run left behind: answered, given back or told, at boot and with every scan (ARCHITECTURE 5.8)."""

import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.publish import publish, session_topic, signal

from .. import debts
from ..delegation import reports
from ..delegation.handed_on import left_undone, undone_together
from ..events import Resync
from ..models import Entry, ModelCall, Session, ToolCall, Turn
from . import manual_compact
from .history import NOT_RUN, OUTCOME_UNKNOWN
from .lease import locked, queued
from .owner import is_gone, this_owner
from .store import write_results
from .turn_end import fold
from .values import Result

log = logging.getLogger("halo.engine")

DEATHS_TO_PARK = 3
NUDGE = "[Server restarted] Your run was interrupted. Check what was done, then continue."
LOST = " Lost sub-sessions: {ids}"
ONLY_LOST = "[Server restarted] These sub-sessions were lost: {ids}"
PARKED = (
    "This session stopped the server {deaths} times in a row, so it was parked. Nothing is lost: your messages are "
    "above. Write again to try once more."
)


def dead_sessions(runner: str = "") -> list[int]:
    """Sessions whose lease ran out or whose owner on this host is gone, and running turns without any lease.

    runner: a terminal process, which recovers nothing but the trees it keeps (spec sessions 13.4).
    """
    mine = Session.objects.filter(runner=runner) if runner else Session.objects.all()
    expired = Q(lease_owner__isnull=False, lease_until__lt=Now())
    orphaned = Q(lease_owner=None, turns__status=Turn.Status.RUNNING)
    found = set(mine.filter(expired | orphaned).values_list("pk", flat=True)[:200])
    owners = mine.filter(lease_owner__isnull=False).order_by().values_list("lease_owner", flat=True)
    gone = [owner for owner in owners.distinct() if owner and owner != this_owner() and is_gone(owner)]
    if gone:
        found.update(mine.filter(lease_owner__in=gone).values_list("pk", flat=True)[:200])
    return sorted(found)


def recover_dead(alive: frozenset[int] = frozenset(), runner: str = "") -> int:
    """One pass; how many sessions were recovered. `alive`: runs of this process, whose lease may be late."""
    return sum(recover(key) for key in dead_sessions(runner) if key not in alive)


def recover(session_key: int) -> bool:
    """Take a dead lease away and settle what its run left. False = it lives after all, or somebody else was quicker."""
    return _recover(session_key, None)


def hand_back(epochs: dict[int, int]) -> None:
    """The end of our own runs (session key -> lease epoch) at SIGTERM: the same, without counting a death."""
    for key, epoch in epochs.items():
        _recover(key, epoch)


@in_transaction
def _recover(session_key: int, own_epoch: int | None) -> bool:
    session = locked(session_key)
    if session is None:
        return False
    if own_epoch is not None:
        if session.lease_epoch != own_epoch or session.lease_owner != this_owner():
            return False
    elif not _is_dead(session):
        return False
    deaths = session.deaths + (own_epoch is None)
    compacted = session.activity == manual_compact.COMPACT and session.lease_owner is not None
    Session.objects.filter(pk=session.pk).update(
        lease_owner=None,
        lease_until=None,
        lease_epoch=F("lease_epoch") + 1,
        activity="",
        abort_requested=None,
        deaths=deaths,
        seq=(session.lease_epoch + 1) << 32,  # frames of the dead run that nobody stored are behind us
    )
    turn = Turn.objects.filter(session=session, status=Turn.Status.RUNNING).first()
    stopped, turn_key = _stop_of(session, turn), turn.pk if turn else 0
    if compacted:
        manual_compact.settle_dead(session, turn)
    interrupted = not compacted and turn is not None and _settle_turn(session, turn)
    if stopped is not None:
        _finish_stop(session, turn_key, stopped)
    if deaths >= DEATHS_TO_PARK:
        _park(session, deaths)
    elif interrupted and turn is not None and stopped is None:
        _tell(session, turn)
    transaction.on_commit(
        partial(publish, session_topic(session.root_key), Resync(session_id=_root_sid(session), reason="recovered"))
    )
    transaction.on_commit(partial(signal, "engine.wake", session=session.pk))
    if session.parent_id:
        transaction.on_commit(partial(signal, "engine.wake", session=session.root_key))
    log.warning("recovered session %s (deaths %d, interrupted turn: %s)", session.sid, deaths, interrupted)
    return True


def _stop_of(session: Session, turn: Turn | None) -> int | None:
    """The newest entry that a Stop of the dead turn covers; None when nobody had asked for one."""
    asked = session.abort_requested
    if turn is None or not isinstance(asked, dict) or asked.get("tier") != "stop" or asked.get("turn") != turn.index:
        return None
    own = Entry.objects.filter(turn=turn).order_by("-pk").values_list("pk", flat=True).first() or 0
    return max(own, int(asked.get("upto") or 0))


def _finish_stop(session: Session, turn_key: int, upto: int) -> None:
    """Somebody had pressed Stop: what the turn read and what waited becomes history, nothing goes on by itself."""
    Turn.objects.filter(pk=turn_key, status=Turn.Status.INTERRUPTED).update(status=Turn.Status.ABORTED)
    fold(session, upto)


def _is_dead(session: Session) -> bool:
    if session.lease_owner is None:
        return Turn.objects.filter(session=session, status=Turn.Status.RUNNING).exists()
    if session.lease_owner != this_owner() and is_gone(session.lease_owner):
        return True
    return Session.objects.filter(pk=session.pk, lease_until__lt=Now()).exists()


def _settle_turn(session: Session, turn: Turn) -> bool:
    """False: the model was never asked, the input waits again. True: the turn is interrupted, its calls answered.

    What a terminal process ran is only marked: its person sees it end and decides.
    """
    now = timezone.now()
    if not session.runner and not ModelCall.objects.filter(turn=turn).exists():
        Entry.objects.filter(turn=turn, kind__in=[Entry.Kind.USER, Entry.Kind.AGENT]).update(turn=None)
        Entry.objects.filter(turn=turn).update(turn=None)  # notices stay in the log
        turn.delete()
        Session.objects.filter(pk=session.pk, turn_count=turn.index + 1).update(turn_count=turn.index)
        return False
    answered = set(
        Entry.objects.filter(turn=turn, kind=Entry.Kind.TOOL_RESULT).values_list("meta__turn_id", "meta__tool_use_id")
    )
    started = {
        (call_id, use_id)
        for call_id, use_id in ToolCall.objects.filter(turn=turn).values_list("call_id", "tool_use_id")
    }
    for entry in Entry.objects.filter(turn=turn, kind=Entry.Kind.ASSISTANT).order_by("id"):
        call_id = entry.meta.get("turn_id", "")
        missing = [
            _lost_result(block, (call_id, block["id"]) in started)
            for block in entry.blocks
            if block.get("type") == "tool_use" and (call_id, block["id"]) not in answered
        ]
        write_results(session.pk, turn.pk, call_id, missing)
    ToolCall.objects.filter(turn=turn, outcome="").update(ended_at=now, outcome="unknown")
    ModelCall.objects.filter(turn=turn, ended_at=None).update(ended_at=now, outcome="interrupted")
    Turn.objects.filter(pk=turn.pk).update(
        status=Turn.Status.INTERRUPTED,
        stop_reason="interrupted",
        error={"kind": "interrupted", "message": "The server stopped while this ran."},
        ended_at=now,
    )
    return True


def _lost_result(block: dict[str, Any], was_started: bool) -> Result:
    text = OUTCOME_UNKNOWN if was_started else NOT_RUN
    outcome = "unknown" if was_started else "not_run"
    return Result(block["id"], block["name"], outcome, text, text, was_started, 0)


def _tell(session: Session, turn: Turn) -> None:
    """A root is nudged once; a child stops, owes no report, and its root is told which children were lost."""
    if session.archived_at or session.runner or session.source == Session.Source.INTERNAL:
        return
    if session.parent_id is None:
        _nudge(session, left_undone(turn))
        return
    Session.objects.filter(pk=session.pk).update(stopped_at=timezone.now(), report_due=False)
    root = locked(session.root_key)
    if root is not None and not root.archived_at and not root.stopped_at:
        _nudge(root, left_undone(turn), session.sid)


def _nudge(root: Session, undone: dict[str, Any], lost: str = "") -> None:
    """One waiting entry for all that a crash left in a tree. lost: the sub-session that died; "" = the root itself."""
    waiting = Entry.objects.filter(queued(root.pk), origin__kind="nudge", meta__has_key="lost").order_by("id").first()
    if waiting is not None:
        undone = undone_together(waiting.origin or {}, undone)
    names = [*(waiting.meta["lost"] if waiting else ()), *([lost] if lost else ())]
    own = not lost or (waiting is not None and waiting.text.startswith(NUDGE))
    text = ONLY_LOST.format(ids=", ".join(names)) if not own else NUDGE
    if own and names:
        text += LOST.format(ids=", ".join(names))
    origin = {"kind": "nudge"} | undone
    if waiting is not None:
        Entry.objects.filter(pk=waiting.pk).update(text=text, meta=waiting.meta | {"lost": names}, origin=origin)
        return
    Entry.objects.create(
        session=root,
        kind=Entry.Kind.USER,
        text=text,
        meta={"lost": names},
        origin=origin,
        created_at=timezone.now(),
    )
    crashpoint("boot.nudge_inserted")


def _park(session: Session, deaths: int) -> None:
    newest = Entry.objects.filter(queued(session.pk)).order_by("-pk").values_list("pk", flat=True).first() or 0
    fold(session, newest)
    now = timezone.now()
    parent = locked(session.parent_id) if session.parent_id and session.report_due else None
    if parent is not None:
        reports.pay(parent, session, aborted="It stopped the server several times, so it was parked.")
    debts.lost(session, "The session stopped the server several times, so it was parked.", for_good=False)
    Session.objects.filter(pk=session.pk).update(parked_at=now, report_due=False)
    Entry.objects.create(
        session=session,
        kind=Entry.Kind.NOTICE,
        text=PARKED.format(deaths=deaths),
        meta={"level": "error", "code": "parked"},
        in_context=False,
        created_at=now,
    )


def _root_sid(session: Session) -> str:
    return session.root.sid if session.root else session.sid
