"""`/session compact`: a person asks for a summary while nothing runs (spec sessions 10; ARCHITECTURE 5.2).

The wish is `activity = "compact"` on a free session, so it outlives the process that took it. An engine claims it like
a queue; what is said meanwhile waits and runs afterwards. What died in the middle has changed nothing.
"""

from functools import partial
from pathlib import Path
from typing import Literal

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from agents_app.disabled import disabled_in
from agents_app.providers.contract import ProviderError
from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_light_transaction, in_transaction
from halo_site.lib.errors import Conflict, HaloError, NotFound
from halo_site.lib.prepared import insert_row, update_row
from halo_site.lib.publish import publish, session_topic, signal, workspace_topic

from .. import run_end
from ..events import ChatComplete, ChatSystem, CompactDone, SessionChanged
from ..models import Entry, ModelCall, Session, Turn
from .access import present_level
from .compact import CANCELLED, FAILED, compact
from .compaction import cut
from .context import load_context
from .intake import facts_of
from .lease import LIFE, RELEASED, Lease, fenced, is_live, locked, something_waits
from .owner import this_owner
from .run import Run, RunClosed
from .setup import build
from .turn_end import fold
from .values import Abort, Batch, Facts

COMPACT = "compact"  # the activity
DONE = "Context compacted: {n} older messages summarized"

Outcome = Literal["started", "nothing", "running", "already"]


@in_transaction
def request(session_key: int) -> Outcome:
    """Write the wish down. started: an engine takes it; its frames tell the rest. Raises NotFound, Conflict."""
    session = locked(session_key)
    if session is None:
        raise NotFound("Session not found")
    if session.archived_at:
        raise Conflict(f"Session {session.sid} is archived and cannot be resumed")
    if session.activity == COMPACT:
        return "already"
    orphaned = Turn.objects.filter(session=session.pk, status=Turn.Status.RUNNING).exists()
    if session.lease_owner is not None or session.runner or orphaned or something_waits(session.pk):
        return "running"
    keep = settings_store.number("compact.keep_messages", Path(session.workspace.path))
    if cut(load_context(session.pk), keep) is None:
        return "nothing"
    update_row(Session, session.pk, activity=COMPACT)
    transaction.on_commit(partial(signal, "engine.wake", session=session.pk))
    return "started"


def cancel(session: Session) -> bool:
    """End the compaction of a locked session: one that nobody took yet is withdrawn here. False = none was on.

    A live one is asked like a turn; that is the caller's part (`actions.ask_to_abort`).
    """
    if session.activity != COMPACT or session.lease_owner is not None:
        return False
    update_row(Session, session.pk, activity="")
    insert_notice(session.pk, None, CANCELLED)
    root_sid = session.sid.partition(">")[0]
    shown = ChatSystem(session_id=root_sid, task_id=session.sid if session.parent_id else None, text=CANCELLED)
    transaction.on_commit(partial(publish, session_topic(session.root_key), shown))
    transaction.on_commit(partial(signal, "engine.wake", session=session.pk))
    return True


@in_light_transaction  # lost with the power, the wish is still there
def claim(session_key: int) -> tuple[Facts, Batch] | None:
    """Take a free session that is to be compacted; None = it is not, or somebody else has it."""
    running = Turn.objects.filter(session=OuterRef("pk"), status=Turn.Status.RUNNING)
    free = Session.objects.filter(~Exists(running), pk=session_key, activity=COMPACT, lease_owner=None, runner="")
    taken = free.filter(archived_at=None).update(
        lease_owner=this_owner(),
        lease_epoch=F("lease_epoch") + 1,
        lease_until=Now() + LIFE,
        turn_count=F("turn_count") + 1,
        abort_requested=None,
    )
    session = locked(session_key) if taken else None
    if session is None:
        return None
    level = present_level(session, Access.stored(session.access_level), ())
    index = session.turn_count - 1
    turn = insert_row(Turn, session_id=session.pk, index=index, access_level=level.value, started_at=timezone.now())
    lease = Lease(session.pk, session.lease_epoch)
    return facts_of(session), Batch(lease, turn, index, level, (), (), disabled_in(session.workspace_id))


async def run_compaction(run: Run) -> None:
    """From the claim to the release; whatever happens, the viewers get one line about how it ended."""
    crashpoint("compact.claimed")
    _announce_list(run)
    notice = ""
    try:
        setup = await build(run)
        await compact(run, setup, DONE)
    except (HaloError, ProviderError) as error:
        notice = f"Compact failed: {error}"
        run.say(notice)
    if run.abort is not None and run.abort.tier == "shutdown":
        raise RunClosed
    run.stream.emit(CompactDone)
    await run.settle_saves()
    await run.unit(finish, run.lease, run.batch, notice, run.stream.seq + 1, run.abort)
    run.released = True
    run.stream.emit(ChatComplete)
    _announce_list(run)
    if run.compacted:
        await run_end.take("evolution", run)


@in_transaction
def finish(lease: Lease, batch: Batch, notice: str, seq: int, abort: Abort | None) -> None:
    """Release. `seq` is that of the `complete` which follows the commit."""
    session = fenced(lease)
    if notice:
        insert_notice(session.pk, batch.turn, notice)
    status = Turn.Status.DONE if abort is None else Turn.Status.ABORTED
    update_row(Turn, batch.turn, status=status, stop_reason=COMPACT, ended_at=timezone.now())
    if abort is not None and abort.tier == "stop":  # archived meanwhile
        fold(session, abort.upto)
    update_row(Session, session.pk, seq=seq, deaths=0, abort_requested=None, **RELEASED)
    transaction.on_commit(partial(signal, "engine.wake", session=session.pk))


def settle_dead(session: Session, turn: Turn | None) -> None:
    """For recovery: a compaction whose process died. Nothing of it counts but what was committed."""
    said = turn is not None and Entry.objects.filter(turn=turn, kind=Entry.Kind.NOTICE).exists()
    if turn is not None:
        now = timezone.now()
        ModelCall.objects.filter(turn=turn, ended_at=None).update(ended_at=now, outcome="interrupted")
        Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.INTERRUPTED, stop_reason=COMPACT, ended_at=now)
    if not said:
        insert_notice(session.pk, turn.pk if turn else None, FAILED)


def insert_notice(session_key: int, turn_key: int | None, text: str) -> None:
    insert_row(
        Entry,
        session_id=session_key,
        turn_id=turn_key,
        kind=Entry.Kind.NOTICE,
        text=text,
        meta={"level": "system", "code": COMPACT},
        in_context=False,
        created_at=timezone.now(),
    )


def is_compacting(session: Session) -> bool:
    """A live compaction of a locked session."""
    return session.activity == COMPACT and is_live(session.pk)


def _announce_list(run: Run) -> None:
    changed = SessionChanged(workspace_path=run.facts.workspace_path, session_id=run.facts.sid)
    publish(workspace_topic(run.facts.workspace_key), changed)
