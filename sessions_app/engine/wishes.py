"""What somebody wishes of a turn that runs: interrupt, stop, a lower level (ARCHITECTURE 5.6)."""

from ..models import Session
from .access import present_level
from .lease import Lease
from .values import Abort, Batch, Control


def wanted(session: Session, batch: Batch) -> Abort | None:
    """The abort asked for on the row, when it aims at this very turn (a late Esc never hits the next)."""
    asked = session.abort_requested
    if not isinstance(asked, dict) or asked.get("turn") != batch.index:
        return None
    return Abort(str(asked.get("tier", "hard")), int(asked.get("upto") or 0))


def look(lease: Lease, batch: Batch) -> Control:
    """Read, without a lock, what a run should react to now."""
    session = Session.objects.filter(pk=lease.session).first()
    if session is None or session.lease_epoch != lease.epoch:
        return Control(gone=True)
    return Control(abort=wanted(session, batch), level=present_level(session, batch.level, batch.people))
