"""Messages that wait: change, take back, put in another place. Each is one transaction that locks the session first.

Raises Conflict once the agent has read the message. Call from a database thread.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from agents_app.scope_marks import expand
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict
from halo_site.lib.text import clean

from .actions import found
from .engine.lease import queued
from .engine.queue import announce_queue, position, queue_items, waiting_entries
from .message_text import for_model, warn
from .models import Entry, Session


def _edit_queue(
    session_key: int, entry_id: int, change: Callable[[Session, Entry], None], removed: Sequence[int] = ()
) -> list[dict[str, Any]]:
    session = found(session_key)
    entry = Entry.objects.filter(queued(session_key), pk=entry_id).first()
    if entry is None:
        raise Conflict("The agent has already read this message")
    change(session, entry)
    transaction.on_commit(partial(announce_queue, session, removed))
    return queue_items(session_key)


@in_transaction
def edit_queued(session_key: int, entry_id: int, text: str) -> list[dict[str, Any]]:
    """Change a message nobody has read yet; the new queue. Raises Conflict once it is drained."""
    cleaned = clean(text)
    if not cleaned.strip():
        raise BadRequest("The message is empty")

    def change(session: Session, entry: Entry) -> None:
        scoped = expand(Path(session.workspace.path), cleaned)
        meta = {key: value for key, value in entry.meta.items() if key != "model_text"} | for_model(cleaned, scoped)
        Entry.objects.filter(pk=entry.pk).update(text=cleaned, meta=meta)
        warn(session, scoped.warnings)

    return _edit_queue(session_key, entry_id, change)


@in_transaction
def remove_queued(session_key: int, entry_id: int) -> list[dict[str, Any]]:
    """Take a message back before it is read: marked deleted, never run."""

    def change(session: Session, entry: Entry) -> None:
        Entry.objects.filter(pk=entry.pk).update(deleted=entry.pk)

    return _edit_queue(session_key, entry_id, change, removed=(entry_id,))


@in_transaction
def move_queued(session_key: int, entry_id: int, before: int | None) -> list[dict[str, Any]]:
    """Put a waiting message in front of another, or last with None."""

    def change(session: Session, entry: Entry) -> None:
        others = [row for row in waiting_entries(session_key) if row.pk != entry.pk]
        places = [position(row) for row in others]
        if before is None:
            place = (places[-1] if places else entry.pk) + 0.5
        else:
            at = next((index for index, row in enumerate(others) if row.pk == before), None)
            if at is None:
                raise Conflict("The agent has already read that message")
            place = (places[at - 1] + places[at]) / 2 if at else places[at] - 1
        Entry.objects.filter(pk=entry.pk).update(meta=entry.meta | {"pos": place})

    return _edit_queue(session_key, entry_id, change)
