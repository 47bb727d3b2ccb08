"""Take a session and its queue: what waits becomes the input of one turn (ARCHITECTURE 5.2, 5.3)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.db import transaction
from django.utils import timezone

from agents_app.disabled import disabled_in
from halo_site.lib.access_level import lowest
from halo_site.lib.db import in_light_transaction, in_transaction
from halo_site.lib.prepared import Param, Plus, Select, Update, insert_row, update_row
from halo_site.lib.publish import publish, session_topic

from ..chain import Chain, merged
from ..delegation.reports import at_work
from ..delegation.rules import Sibling, door, sibling_status
from ..events import QueueChanged
from ..models import Entry, Session, Turn
from .access import levels_of, own_level, senders
from .context import load_context, sids_of
from .history import Row
from .lease import RELEASED, Lease, claim, fenced, locked, queued
from .queue import waiting_entries
from .store import write_notice
from .values import Batch, Facts


class _NothingWaits(Exception):
    """Rolls a claim back: the queue was empty."""


def claim_and_drain(session_key: int, runner: str = "") -> tuple[Facts, Batch] | None:
    """Take a free session and its queue as one turn; None = nothing to do here (somebody else runs it, empty)."""
    try:
        return _claim_and_drain(session_key, runner)
    except _NothingWaits:
        return None


@in_light_transaction  # nothing was asked yet: lost with the power, it is simply claimed again
def _claim_and_drain(session_key: int, runner: str) -> tuple[Facts, Batch] | None:
    if not claim(session_key, runner):
        return None
    session = locked(session_key)
    assert session is not None  # we hold its row
    entries = waiting_entries(session.pk)
    if not entries:
        raise _NothingWaits
    batch = _drain(session, Lease(session.pk, session.lease_epoch), session.turn_count - 1, entries)
    if batch.index:
        batch = replace(batch, rows=tuple(load_context(session.pk)))
    return facts_of(session), batch


@in_transaction
def drain(lease: Lease) -> Batch | None:
    """The queue of a session we hold as the next turn; None = it became empty (released then)."""
    session = fenced(lease)
    entries = waiting_entries(session.pk)
    if not entries:
        update_row(Session, session.pk, **RELEASED)
        return None
    update_row(Session, session.pk, turn_count=Plus(1), abort_requested=None)
    return _drain(session, lease, session.turn_count, entries)


# The row is locked, so nothing came in since the queue was read.
_TAKE_QUEUE = Update(lambda: Entry.objects.filter(queued(Param("session"))), turn=Param("turn"))


def _drain(session: Session, lease: Lease, index: int, entries: Sequence[Entry]) -> Batch:
    people = senders(entries)
    level = lowest(own_level(session), *people.values(), *levels_of(entries))
    opened = door(session.parent_id, ((entry.source_session_id, entry.origin or {}) for entry in entries))
    waiting = opened is not None and at_work(session.pk)
    chain = _chain_of(session.pk, entries)
    turn = insert_row(
        Turn,
        session_id=session.pk,
        index=index,
        access_level=level.value,
        started_at=timezone.now(),
        **({"door": opened, "waiting_on_children": waiting} if opened else {}),
        **({"chain": chain.stored()} if chain else {}),
    )
    _TAKE_QUEUE.run(session=session.pk, turn=turn)
    emptied = QueueChanged(session_id=session.sid, items=())
    transaction.on_commit(partial(publish, session_topic(session.root_key), emptied))
    notice = _tell_of_siblings(session, turn, entries)
    source = sids_of(entry.source_session_id for entry in entries)
    rows = tuple(
        Row(entry.kind, entry.text, entry.blocks, entry.meta, source.get(entry.source_session_id or 0))
        for entry in entries
    )
    only_kick = all((entry.origin or {}).get("kind") == "kick" for entry in entries)
    return Batch(
        lease,
        turn,
        index,
        level,
        tuple(people),
        rows,
        disabled_in(session.workspace_id),
        notice,
        only_kick,
        opened,
        waiting,
        chain.ids[0] if chain else "",
    )


def _chain_of(session_key: int, entries: Sequence[Entry]) -> Chain | None:
    """Resumed work is still for those for whom it was begun."""
    origins = [entry.origin or {} for entry in entries]
    chains = [Chain.of(origin["chain"]) for origin in origins if "chain" in origin]
    if any(origin.get("kind") in ("kick", "nudge") for origin in origins):
        before = Turn.objects.filter(session=session_key).order_by("-index").values_list("chain", flat=True)[:1]
        chains += map(Chain.of, before)
    return merged(chains)


def _tell_of_siblings(session: Session, turn: int, entries: Sequence[Entry]) -> str:
    """A root that hears from an agent is told, with it, whether more reports will come (spec sessions 9.8)."""
    from_agents = [entry for entry in entries if entry.kind == Entry.Kind.AGENT]
    if session.parent_id is not None or not from_agents:
        return ""
    children = Session.objects.filter(parent=session.pk, stopped_at=None, archived_at=None).order_by("pk")
    active = [Sibling(*row) for row in children.values_list("agent_name", "description", "created_at", "updated_at")]
    text = sibling_status(timezone.now(), active, 0)
    last = from_agents[-1]
    last.meta = last.meta | {"note": text}
    update_row(Entry, last.pk, meta=last.meta)
    write_notice(session.pk, turn, text, {"level": "system", "code": "siblings"})
    return text


_FACTS = Select(
    lambda: Session.objects.filter(pk=Param("key")).values_list(
        "root__sid",
        "agent_id",
        "agent_name",
        "workspace__path",
        "working_dir",
        "seq",
        "prompt",
        "output_tokens",
        "context_tokens",
    )
)


def facts_of(session: Session) -> Facts:
    """Of a session whose row we hold."""
    row = _FACTS.first(key=session.pk)
    assert row is not None
    root_sid, agent_id, agent_name, path, working_dir, seq, prompt, output_tokens, context_tokens = row
    return Facts(
        key=session.pk,
        sid=session.sid,
        root_key=session.root_key,
        root_sid=root_sid or session.sid,
        agent_id=agent_id,
        agent_name=agent_name,
        workspace_key=session.workspace_id,
        workspace_path=path,
        working_dir=working_dir,
        seq=seq,
        prompt=prompt,
        output_tokens=output_tokens,
        context_tokens=context_tokens,
    )
