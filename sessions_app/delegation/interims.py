"""An answer given in between reaches whoever asked, although work goes on (spec relay R5).

Each turn replaces what a session has said last, so the final report would not carry an earlier answer. Decided and
written in the transaction that ends the turn: never twice, never lost.
"""

from typing import TYPE_CHECKING

from halo_site.lib import settings_store

from .. import debts
from ..engine.lease import locked
from ..models import Entry, Session, Turn
from .reports import at_work, said_in, tell
from .rules import TurnEnd, interim_body, interim_owed

if TYPE_CHECKING:
    from ..engine.values import Batch


def at_turn_end(session: Session, batch: "Batch", *, done: bool, kicked: bool, waits: bool) -> None:
    """Send what is owed. waits: another turn follows, kicked: because its model wished it. The row is locked."""
    door = batch.door
    if not door or not done:
        return
    output, final = said_in(batch.turn)
    if not output.strip():
        return
    busy = not waits and batch.waiting and at_work(session.pk)
    if not interim_owed(TurnEnd(final=bool(final.strip()), kicked=kicked, waits=waits, busy=busy)):
        return
    Turn.objects.filter(pk=batch.turn).update(interim_sent=True)
    if door["kind"] == "relay":
        debts.interim(session, door, output)
    else:
        _to_parent(session, output)


def _to_parent(session: Session, output: str) -> None:
    parent = locked(session.parent_id) if session.parent_id else None
    if parent is None or parent.archived_at:
        return
    body = interim_body(output, session.sid, settings_store.number("limits.auto_report_chars"))
    last = Entry.objects.filter(session=parent.pk, source_session=session.pk).order_by("-pk").first()
    if last is None or last.text != body:
        tell(parent, session, body)
