"""How a turn ends: one transaction, with all that hangs on it (ARCHITECTURE 5.7)."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.prepared import insert_row, update_row

from ..delegation.interims import at_turn_end
from ..models import Entry, Session, Turn
from .lease import RELEASED, Lease, fenced, queued, something_waits
from .queue import announce_queue
from .store import close_call, tokens_of, write_notice, write_results, write_said
from .values import NO_FIGURES, Batch, Ending, Figures
from .wishes import wanted

KICK = "[continue_task] Resume the task you were working on before the last message."


@in_transaction
def end_turn(lease: Lease, batch: Batch, ending: Ending, seq: int, figures: Figures = NO_FIGURES) -> bool:
    """The turn's last transaction, and the release when nothing waits. True = released.

    `seq` is that of the `complete` frame which follows the commit.
    """
    session = fenced(lease)
    if ending.said is not None:
        write_said(ending.said)
    changes = close_call(ending.call) if ending.call is not None else {}
    if ending.results is not None:
        write_results(session.pk, batch.turn, *ending.results)
    for text, meta in ending.notices:
        write_notice(session.pk, batch.turn, text, meta)
    now = timezone.now()
    update_row(
        Turn,
        batch.turn,
        status=ending.status,
        stop_reason=ending.stop_reason,
        error=ending.error,
        ended_at=now,
        model=figures.model,
        cost_micros=figures.cost_micros,
        ttft_ms=figures.ttft_ms,
        **tokens_of(figures.usage),
    )
    if ending.abort is not None and ending.abort.tier == "stop":
        fold(session, ending.abort.upto)
    kicked = ending.kick is not None and wanted(session, batch) is None  # Esc after the call: the run ends
    if kicked and ending.kick is not None:
        _kick(session.pk, ending.kick)
    changes |= {"updated_at": now, "seq": seq, "deaths": 0, "abort_requested": None}
    waits = something_waits(session.pk)
    at_turn_end(session, batch, done=ending.status == Turn.Status.DONE, kicked=kicked, waits=waits)
    release = not waits or session.archived_at is not None
    if release:
        changes |= RELEASED
    crashpoint("end.before_release")
    update_row(Session, session.pk, **changes)
    return release


def _kick(session_key: int, origin: dict[str, Any]) -> None:
    """Waits like a message, but nobody is shown it."""
    insert_row(
        Entry,
        session_id=session_key,
        kind=Entry.Kind.USER,
        text=KICK,
        meta={"hidden": True},
        origin=origin,
        created_at=timezone.now(),
    )


def fold(session: Session, upto: int) -> int:
    """Queued entries up to an id become history without a turn of their own; how many. The row is locked."""
    entries = Entry.objects.filter(queued(session.pk), pk__lte=upto)
    if not entries.exists():
        return 0
    now = timezone.now()
    count = Session.objects.values_list("turn_count", flat=True).get(pk=session.pk)
    turn = Turn.objects.create(
        session_id=session.pk,
        index=count,
        status=Turn.Status.ABORTED,
        stop_reason="folded",
        access_level=session.access_level,
        started_at=now,
        ended_at=now,
    )
    Session.objects.filter(pk=session.pk).update(turn_count=count + 1)
    transaction.on_commit(partial(announce_queue, session))
    return entries.update(turn=turn)
