"""A session with a run in flight: its parts, and the rounds from drain to release (ARCHITECTURE 5)."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

from django.db import connection

from halo_site.lib.access_level import Access, lowest
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import DbThreads
from halo_site.lib.errors import HaloError, StorageFull, Unavailable
from halo_site.lib.publish import publish, workspace_topic

from .. import run_end
from ..events import ChatComplete, ChatFollowup, ChatSystem, RunError, SessionChanged
from ..models import Turn
from . import intake, store, turn_end, wishes
from .history import Row
from .lease import KILL_AFTER, SILENT_AFTER, Lease, LeaseLost
from .loops import LoopWatch
from .stream import OutputTail, Stream
from .values import NO_FIGURES, Abort, Batch, CallEnd, Ending, Facts, Figures, Said

log = logging.getLogger("halo.engine")

SAVE_EVERY = 1.0  # seconds

P = ParamSpec("P")
T = TypeVar("T")


class RunClosed(Exception):
    """The process is ending: the run leaves its turn as it is, the engine hands the session back."""


@dataclass(slots=True)
class Run:
    """Holds the parts; each has a module and tests of its own."""

    facts: Facts
    batch: Batch
    threads: DbThreads
    several_processes: bool
    stream: Stream = field(init=False)
    rows: list[Row] = field(default_factory=list)
    said: Said | None = None
    tails: dict[str, OutputTail] = field(default_factory=dict)
    abort: Abort | None = None
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    asking: asyncio.Task[Any] | None = None
    open_call: int | None = None  # key of the ModelCall whose end is not written yet
    figures: Figures = NO_FIGURES  # of the turn
    calls: int = 0  # model calls of this run: names the next one
    output_tokens: int = 0  # of the session over its lifetime, as frames tell it
    context_tokens: int = 0  # size of the conversation, as the last call counted it
    renewed_at: float = field(default_factory=time.monotonic)
    progress_at: float = field(default_factory=time.monotonic)
    lost: bool = False
    released: bool = False
    ending: Ending | None = None  # of the newest turn
    loops: LoopWatch = field(default_factory=LoopWatch)  # of the turn
    opening: bool = True  # the first turn of the run: it interrupted nothing
    compacted: list[int] = field(default_factory=list)  # turns in which older messages gave way to a summary
    kick: bool = False  # the model wants another turn for the task it was interrupted in
    floor: Access = Access.FULL  # lowest level of the turns of this run
    people: frozenset[int] = frozenset()  # senders of all of them
    _saving: asyncio.Task[None] | None = None
    _save_timer: asyncio.TimerHandle | None = None
    _saved_at: float = 0.0
    _dirty_outputs: set[str] = field(default_factory=set)
    _dirty: bool = False

    def __post_init__(self) -> None:
        self.stream = Stream(self.facts, self.lease.epoch, self.is_fresh, self.is_behind)
        self.output_tokens = self.facts.output_tokens
        self.context_tokens = self.facts.context_tokens

    @property
    def lease(self) -> Lease:
        return self.batch.lease

    # --- the lease -----------------------------------------------------------

    def is_fresh(self) -> bool:
        """False once the lease could not be renewed for 25 s: publish nothing, start nothing."""
        return not self.lost and time.monotonic() - self.renewed_at < SILENT_AFTER

    def renewed(self, at: float) -> None:
        self.renewed_at = max(self.renewed_at, at)

    def lose(self) -> None:
        """Somebody else runs this session now, or it is gone: kill what runs, write nothing more."""
        self.lost = True
        self.request_abort(Abort("lost"))

    def check_lease(self) -> None:
        """With several processes, tools die at 30 s without a renewal: another worker may start soon."""
        if self.several_processes and time.monotonic() - self.renewed_at > KILL_AFTER:
            self.lose()

    async def unit(self, unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One fenced transaction on this session's thread.

        Raises LeaseLost; a locked SQLite file is waited for while the lease is fresh.
        """
        while True:
            try:
                return await self.threads.run_for(self.facts.key, unit, *args, **kwargs)
            except LeaseLost:
                self.lose()
                raise
            except Unavailable:
                # Only a locked file is known to have written nothing; after a lost connection recovery decides.
                if connection.vendor != "sqlite" or not self.is_fresh():
                    raise

    def begin_turn(self) -> None:
        """What counts per turn begins anew with the batch that was drained."""
        self.loops = LoopWatch()
        self.kick = False
        self.progress_at = time.monotonic()
        self.floor = lowest(self.floor, self.batch.level)
        self.people |= set(self.batch.people)

    def resume(self) -> bool:
        """The tool `continue_task`. False = this turn interrupted nothing, or is itself the resumed task."""
        if self.opening or self.batch.only_kick:
            return False
        self.kick = True
        return True

    def resumed(self, ending: Ending) -> Ending:
        """The end of a turn with the wish of its model. The task runs with no more rights than any turn had so far."""
        if not self.kick or ending.status != Turn.Status.DONE:
            return ending
        return replace(ending, kick={"kind": "kick", "level": self.floor.value, "people": sorted(self.people)})

    # --- abort ---------------------------------------------------------------

    def request_abort(self, abort: Abort) -> None:
        """End the running turn: the model call is cancelled, tools see their abort event."""
        if self.abort is None:
            self.abort = abort
        self.aborted.set()
        if self.asking is not None:
            self.asking.cancel()

    async def look(self) -> None:
        """A control wake-up: read what the row wants now."""
        control = await self.threads.run_for(self.facts.key, wishes.look, self.lease, self.batch)
        if control.gone:
            self.lose()
        elif control.abort is not None:
            self.request_abort(control.abort)
        elif not control.level.covers(self.batch.level):
            self.request_abort(Abort("lowered"))

    def heed(self, abort: Abort | None) -> None:
        """An abort that a transaction of ours found on the row."""
        if abort is not None:
            self.request_abort(abort)

    # --- saving what was shown -----------------------------------------------

    def changed(self, *, now: bool = False, output: str | None = None) -> None:
        """Something was shown: save within a second, or at once at the end of a block."""
        self.progress_at = time.monotonic()
        self._dirty = True
        if output is not None:
            self._dirty_outputs.add(output)
        if now:
            self.save_soon(0.0)
        elif self._save_timer is None:
            self.save_soon(max(0.0, self._saved_at + SAVE_EVERY - time.monotonic()))

    def is_behind(self) -> bool:
        """True while a save takes longer than one should: what is shown meanwhile might never be stored."""
        under_way = self._saving is not None and not self._saving.done()
        return under_way and time.monotonic() - self._saved_at > SAVE_EVERY

    def save_soon(self, delay: float = 0.0) -> None:
        if self._save_timer is not None:
            self._save_timer.cancel()
        self._save_timer = asyncio.get_running_loop().call_later(delay, self._start_save)

    def _start_save(self) -> None:
        self._save_timer = None
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._save())
        else:
            self.save_soon(0.05)

    async def _save(self) -> None:
        self.stream.flush()
        said = replace(self.said, blocks=_copied(self.said.blocks)) if self.said and self.said.blocks else None
        outputs = {name: self.tails[name].text for name in self._dirty_outputs if name in self.tails}
        self._dirty_outputs.clear()
        self._dirty = False
        self._saved_at = time.monotonic()
        try:
            abort = await self.unit(store.save_progress, self.lease, self.batch, said, self.stream.seq, outputs)
        except (LeaseLost, HaloError) as error:
            log.warning("could not save progress of session %s: %s", self.facts.sid, error)
            return
        self.heed(abort)
        if said is not None:
            crashpoint("model.mid_text")

    async def settle_saves(self) -> None:
        """No save is under way or due afterwards: the next transaction says everything."""
        if self._save_timer is not None:
            self._save_timer.cancel()
            self._save_timer = None
        if self._saving is not None:
            await asyncio.wait({self._saving})

    async def save_now(self) -> None:
        """Everything that was shown is in the database afterwards, if it still takes it."""
        await self.settle_saves()
        await self._save()

    # --- small frames ----------------------------------------------------------

    def say(self, text: str, code: str | None = None) -> None:
        self.stream.emit(ChatSystem, text=text, agent_name=self.facts.agent_name, code=code)

    def next_call_id(self) -> str:
        self.calls += 1
        return f"t{self.batch.turn}-{self.calls}"


def _copied(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [dict(block) for block in blocks]


TakeTurn = Callable[[Run], Any]


async def run_rounds(run: Run, take_turn: TakeTurn) -> None:
    """From the first drain to the release, then the ordered end of the run (ARCHITECTURE 5.7)."""
    run.rows = list(run.batch.rows)
    crashpoint("drain.after_commit")
    while True:
        if run.batch.notice:
            run.say(run.batch.notice)
        run.begin_turn()
        ending: Ending = run.resumed(await take_turn(run))
        run.ending = ending
        await run.settle_saves()
        run.stream.flush()
        released = await _write_end(run, ending)
        run.released = released
        if released:
            crashpoint("end.after_release")
        run.stream.emit(ChatComplete)
        _announce_list(run)
        if released:
            break
        batch = await run.unit(intake.drain, run.lease)
        if batch is None:  # what waited was taken back in this instant; drain has released
            run.released = True
            break
        run.batch = batch
        run.opening = False
        run.rows.extend(batch.rows)
        run.figures = NO_FIGURES
        run.abort = None
        run.aborted.clear()
        if run.facts.is_root:
            run.stream.emit(ChatFollowup, agent_name=run.facts.agent_name)
    await run_end.finish(run)


END_AGAIN = 1.0  # seconds


async def _write_end(run: Run, ending: Ending) -> bool:
    """Write how the turn ended; True = released. Raises LeaseLost.

    While the disk is full this waits: what is only in memory would be lost, and a stopped run be taken for a crash.
    """
    while True:
        try:
            released = await run.unit(turn_end.end_turn, run.lease, run.batch, ending, run.stream.seq + 1, run.figures)
        except StorageFull as error:
            log.warning("the end of a turn of session %s waits: %s", run.facts.sid, error)
            await asyncio.sleep(END_AGAIN)
        else:
            run.open_call = None
            run.renewed(time.monotonic())  # it was ours until now, so the last frame may go out
            return released


async def fail(run: Run, error: BaseException) -> None:
    """A run that broke: end its turn as an error when the database still takes it, and tell the viewers."""
    if isinstance(error, HaloError):
        text, kind = str(error), error.code
    else:
        text, kind = "Something went wrong inside the server. The log has the details.", "internal"
        log.error("run of session %s broke", run.facts.sid, exc_info=error)
    await run.settle_saves()
    ending = Ending(
        status=Turn.Status.ERROR,
        stop_reason="error",
        error={"kind": kind, "message": text},
        said=partial_reply(run),
        call=None if run.open_call is None else CallEnd(run.open_call, kind, error=text),
        notices=[(text, {"level": "error", "code": kind})],
    )
    run.stream.emit(RunError, error=text, code=kind, agent_name=run.facts.agent_name)
    try:
        await _write_end(run, ending)
    except (HaloError, LeaseLost) as second:
        # The lease runs out by itself; recovery then says what happened.
        log.error("run of session %s could not be ended: %s", run.facts.sid, second)
    run.stream.emit(ChatComplete)
    _announce_list(run)


def partial_reply(run: Run) -> Said | None:
    """What was shown of an unfinished reply, marked; never half a tool call (ARCHITECTURE 5.4)."""
    said = run.said
    if said is None:
        return None
    said.blocks = [block for block in said.blocks if block["type"] != "tool_use"]
    if not said.blocks:
        return None
    said.meta |= {"partial": True, "final": False}
    return said


def _announce_list(run: Run) -> None:
    if run.facts.is_root:
        changed = SessionChanged(workspace_path=run.facts.workspace_path, session_id=run.facts.sid)
        publish(workspace_topic(run.facts.workspace_key), changed)
