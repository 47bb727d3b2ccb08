"""Deleting one exchange of a conversation, and undoing it (spec sessions 11). Only while the session is idle."""

from django.db.models import Q

from halo_site.lib.db import in_transaction
from halo_site.lib.errors import Conflict, NotFound

from .actions import found
from .engine.lease import lease_is_free
from .models import Entry, Session


@in_transaction
def delete_exchange(session_key: int, *, entry_id: int | None = None, user_ordinal: int | None = None) -> int:
    """Mark an exchange deleted: it leaves the context and is shown greyed; the id of its entry.

    The rest of the turn goes along once no other undeleted input of it is left (spec sessions 11).
    Raises Conflict while the session runs or compacts, NotFound for an unknown exchange.
    """
    session = _idle(session_key)
    shown = Entry.objects.filter(session=session, kind__in=[Entry.Kind.USER, Entry.Kind.AGENT], turn__isnull=False)
    shown = shown.exclude(meta__has_key="hidden").order_by("id")
    if entry_id is not None:
        entry = shown.filter(pk=entry_id, deleted=None).first()
    else:
        entry = shown[user_ordinal] if user_ordinal is not None and 0 <= user_ordinal < shown.count() else None
    if entry is None or entry.deleted:
        raise NotFound("Exchange not found")
    turn = Entry.objects.filter(turn=entry.turn_id, deleted=None)
    others = turn.filter(kind__in=[Entry.Kind.USER, Entry.Kind.AGENT]).exclude(pk=entry.pk)
    gone = turn.filter(pk=entry.pk) if others.exists() else turn
    gone.update(deleted=entry.pk)
    return entry.pk


@in_transaction
def restore_exchange(session_key: int, entry_id: int) -> int:
    """Undo exactly one `delete_exchange`. Raises NotFound when there is nothing to restore."""
    session = _idle(session_key)
    if not Entry.objects.filter(session=session, deleted=entry_id, turn__isnull=False).update(deleted=None):
        raise NotFound("Exchange not found")
    return entry_id


def _idle(session_key: int) -> Session:
    session = found(session_key)
    free = Session.objects.filter(Q(lease_is_free()), pk=session_key).exists()
    if not free:
        raise Conflict(
            "Cannot delete while compacting"
            if session.activity == "compact"
            else "Cannot delete while the agent is running"
        )
    return session
