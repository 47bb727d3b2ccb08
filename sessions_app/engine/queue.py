"""What waits in a session: entries without a turn, in the order in which they will be read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from halo_site.lib.prepared import Param, Plus, Select, update_row
from halo_site.lib.publish import publish, session_topic

from ..events import QueueChanged
from ..models import Entry, Session
from .lease import queued


def position(entry: Entry) -> float:
    """Place in the queue: the id, unless it was moved."""
    pos = entry.meta.get("pos")
    return float(pos) if isinstance(pos, int | float) else float(entry.pk)


def count_arrival(target: Session, now: datetime) -> None:
    """Part of storing a message for a locked session, by anybody but a person: a child owes a report for it."""
    changes: dict[str, Any] = {"updated_at": now, "stopped_at": None, "exchange_count": Plus(1)}
    if target.parent_id:
        changes["report_due"] = True
    update_row(Session, target.pk, **changes)


_WAITING = Select(
    lambda: Entry.objects.filter(queued(Param("session"))).only(
        "kind", "text", "blocks", "meta", "source_session_id", "origin"
    )
)


def waiting_entries(session_key: int) -> list[Entry]:
    return sorted(_WAITING.objects(session=session_key), key=lambda entry: (position(entry), entry.pk))


_ORIGINS = Select(lambda: Entry.objects.filter(queued(Param("session"))).values_list("origin"))


def somebody_waits(session_key: int) -> bool:
    """Whether the queue holds more than reports: what somebody wants the session to do now."""
    return any((origin or {}).get("kind") != "report" for (origin,) in _ORIGINS.rows(session=session_key))


def queue_items(session_key: int) -> list[dict[str, Any]]:
    """For the wire: `{entryId, text, origin}`."""
    return [
        {"entryId": entry.pk, "text": entry.text, "origin": (entry.origin or {}).get("kind", "person")}
        for entry in waiting_entries(session_key)
        if not entry.meta.get("hidden")
    ]


def announce_queue(session: Session, removed: Sequence[int] = ()) -> None:
    """Tell the viewers what waits now; after the commit. `removed`: entries taken back unread."""
    event = QueueChanged(session_id=session.sid, items=queue_items(session.pk), removed=tuple(removed) or None)
    publish(session_topic(session.root_key), event)
