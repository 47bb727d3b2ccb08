"""Fork: a new root session that begins as a copy of another one up to an entry. Nothing of the old one changes."""

from collections.abc import Collection, Mapping, Sequence

from django.utils import timezone

from halo_site.lib.access_level import Access, lowest
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import Conflict, NotFound
from halo_site.lib.ids import new_sid

from .actions import after_commit
from .display import INPUTS, is_unseen
from .engine.lease import lease_is_free, locked
from .models import Entry, Session, Turn

BATCH = 500  # rows of one INSERT


@in_transaction
def fork(session_key: int, entry_id: int, *, user_id: int, level: Access) -> Session:
    """The new session: same agent and folder, its access the lower of the old one and `level`.

    It holds the entries up to `entry_id` with their times, but none that are deleted, queued or were dropped, and the
    context as it was then. What the old one used and cost stays with the old one.
    Raises NotFound for an entry that nobody can see, Conflict while the session runs or compacts.
    """
    old = locked(session_key)
    if old is None:
        raise NotFound("Session not found")
    if not Session.objects.filter(lease_is_free(), pk=session_key).exists():
        raise Conflict("Cannot fork while the agent is running")
    log = list(
        Entry.objects.filter(session=old, turn__isnull=False, deleted=None).select_related("turn").order_by("id")
    )
    kept = up_to(log, entry_id)
    if not kept:
        raise NotFound("Entry not found")
    now = timezone.now()
    new = Session.objects.create(
        workspace=old.workspace,
        sid=new_sid(),
        agent_id=old.agent_id,
        agent_name=old.agent_name,
        title=None if old.title is None else f"Fork of {old.title}"[:255],
        description="Explorer chat",
        source=Session.Source.EXPLORER,
        created_by_id=user_id,
        access_level=lowest(Access.stored(old.access_level), level).value,
        working_dir=old.working_dir,
        created_at=now,
        updated_at=now,
        exchange_count=sum(1 for entry in kept if entry.kind in INPUTS and not is_unseen(entry.meta)),
    )
    turns = _copy_turns(new, {entry.turn_id: entry.turn for entry in kept})
    context = context_of(kept)
    Entry.objects.bulk_create((_copy(entry, new, turns, entry.pk in context) for entry in kept), batch_size=BATCH)
    Session.objects.filter(pk=new.pk).update(turn_count=len(turns))
    _say_where_from(new, old, entry_id)
    after_commit(new, listed=True)
    return new


def _say_where_from(new: Session, old: Session, entry_id: int) -> None:
    """A line for people between what was copied and what comes: it names the old session, the model does not get it."""
    source = {"session": old.sid, "entry": entry_id, "title": old.title}
    Entry.objects.create(
        session=new,
        kind=Entry.Kind.NOTICE,
        text=f"Forked from {f'“{old.title}”, ' if old.title else ''}session {old.sid}",
        meta={"level": "system", "code": "fork", "fork": source},
        in_context=False,
        created_at=new.created_at,
    )


def up_to(log: Sequence[Entry], entry_id: int) -> list[Entry]:
    """The entries up to one that people see, and the results of the tools it called, in the order they were read.

    Empty when people see no such entry.
    """
    last = next((entry for entry in log if entry.pk == entry_id), None)
    if last is None or is_unseen(last.meta) or last.kind == Entry.Kind.TOOL_RESULT:
        return []
    call = last.meta.get("turn_id")

    def belongs(entry: Entry) -> bool:
        answers = entry.kind == Entry.Kind.TOOL_RESULT and entry.turn_id == last.turn_id
        return entry.pk <= entry_id or (answers and call is not None and entry.meta.get("turn_id") == call)

    return sorted((entry for entry in log if belongs(entry) and not entry.meta.get("reset")), key=_number)


def context_of(kept: Sequence[Entry]) -> Collection[int]:
    """Keys of what the model got at the last of these entries.

    Summaries are played again: each took the place of the `covers` first entries of the context it was made from.
    """
    context: list[Entry] = []
    for entry in kept:
        if entry.kind == Entry.Kind.NOTICE:
            continue
        if entry.kind == Entry.Kind.SUMMARY:
            context = [entry, *sorted(context, key=_place)[int(entry.meta.get("covers", 0)) :]]
        else:
            context.append(entry)
    return {entry.pk for entry in context}


def _place(entry: Entry) -> tuple[bool, int, float]:
    """Reading order, as `engine.store.load_context` has it."""
    return entry.kind != Entry.Kind.SUMMARY, entry.turn.index if entry.turn else 0, _number(entry)


def _number(entry: Entry) -> float:
    position = entry.meta.get("pos")
    return float(position) if isinstance(position, int | float) else float(entry.pk)


def _copy_turns(new: Session, turns: Mapping[int | None, Turn | None]) -> dict[int | None, Turn]:
    """Turns without figures, numbered anew; keys: the old ones."""
    ordered = sorted((turn for turn in turns.values() if turn is not None), key=lambda turn: turn.index)
    return {
        turn.pk: Turn.objects.create(
            session=new,
            index=index,
            status=turn.status,
            stop_reason=turn.stop_reason,
            error=turn.error,
            access_level=new.access_level,
            started_at=turn.started_at,
            ended_at=turn.ended_at,
        )
        for index, turn in enumerate(ordered)
    }


def _copy(entry: Entry, new: Session, turns: Mapping[int | None, Turn], in_context: bool) -> Entry:
    # Places in a queue compare with ids, which are others here; the copies lie in that order already.
    meta = {key: value for key, value in entry.meta.items() if key != "pos"}
    return Entry(
        session=new,
        turn=turns[entry.turn_id],
        kind=entry.kind,
        text=entry.text,
        blocks=entry.blocks,
        meta=meta,
        source_session_id=entry.source_session_id,
        origin=entry.origin,
        in_context=in_context,
        created_at=entry.created_at,
    )
