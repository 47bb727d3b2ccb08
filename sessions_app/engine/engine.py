"""The engine of one process: wakes, claims, runs, renews, recovers (ARCHITECTURE 5).

A wake-up is only a hint. A scan every 2 s finds queues nobody was woken for and runs that died.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path
from typing import Any

from django.conf import settings

from agents_app import mcp
from agents_app.providers import http
from halo_site.lib import settings_store
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import DbThreads, engine_threads
from halo_site.lib.errors import HaloError
from halo_site.lib.publish import on_signal
from workspaces_app.files import trash
from workspaces_app.models import Workspace
from workspaces_app.sandbox.ledger import settle_left

from ..delegation import reports
from ..goals import actions as goals
from ..transcripts.follow import Follower
from . import kept_trees, manual_compact, recovery
from .intake import claim_and_drain
from .lease import RENEW_EVERY, Lease, LeaseLost, renew, waiting_sessions, what_waits
from .run import Run, RunClosed, fail, run_rounds
from .turn import take_turn
from .values import Abort, Batch, Facts

log = logging.getLogger("halo.engine")

SCAN_EVERY = 2.0
SHUTDOWN_SECONDS = 3.0
WARM_AFTER = 1.0
TRASH_AFTER, TRASH_EVERY = 60.0, 3600.0


_scanned_at: float | None = None  # monotonic, of the engine that serves everybody


def _note_scan() -> None:
    global _scanned_at
    _scanned_at = time.monotonic()


def seconds_since_scan() -> float | None:
    """How long ago this process looked for work; None = it has no engine."""
    return None if _scanned_at is None else time.monotonic() - _scanned_at


class Engine:
    """`run()` works until it is cancelled; `shutdown()` ends own runs cleanly before that."""

    def __init__(self, process: str = "server", runner: str = "") -> None:
        """runner: of a terminal process, which runs the trees it keeps and nothing else (`kept_trees`)."""
        self.process = process
        self.runner = runner
        self.threads: DbThreads = engine_threads()
        self.several_processes = bool(settings.HALO.redis_url)
        self.transcripts = Follower()
        self.runs: dict[int, Run] = {}
        self._starting: dict[int, asyncio.Task[None]] = {}
        self._again: set[int] = set()
        self._stopping = False
        self._unsubscribe: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self) -> None:
        """Recover what died, then work until cancelled. Raises what the scan cannot survive."""
        self._loop = asyncio.get_running_loop()
        for name, act in (
            ("engine.wake", self._wake),
            ("engine.control", self._control),
            ("engine.save", self._save),
            ("engine.abort", self._abort),
        ):
            self._unsubscribe.append(on_signal(name, self._on_loop(act)))
        self._unsubscribe.append(on_signal("auth.changed", self._on_loop(lambda _key: self._control_all(), "user")))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._scan(), name="engine scan")
                group.create_task(self._renew(), name="engine renewal")
                group.create_task(self._warm(), name="engine warm-up")
                if not self.runner:
                    group.create_task(self._empty_trash(), name="engine trash")
                group.create_task(self.transcripts.run(), name="transcripts")
        finally:
            await http.close_client()
            await mcp.close()
            for end in self._unsubscribe:
                end()
            self._unsubscribe.clear()

    def _on_loop(self, act: Callable[[int], None], key: str = "session") -> Callable[[dict[str, object]], None]:
        """Signals arrive in any thread; runs live on the loop."""

        def listener(data: dict[str, object]) -> None:
            number = data.get(key)
            if isinstance(number, int) and self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(act, number)

        return listener

    # --- waking and running ------------------------------------------------------

    def _wake(self, key: int) -> None:
        if self._stopping:
            return
        if key in self._starting:  # most likely the run sees it by itself; if it just let go, it starts again
            self._again.add(key)
            return
        task = asyncio.create_task(self._start(key), name=f"session {key}")
        self._starting[key] = task
        task.add_done_callback(lambda _task: self._ended(key))

    def _ended(self, key: int) -> None:
        self._starting.pop(key, None)
        self.runs.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self._wake(key)

    async def _start(self, key: int) -> None:
        try:
            claimed = await self.threads.run_for(key, next_work, key, self.runner, look=self.several_processes)
        except HaloError as error:  # the scan tries again
            log.warning("could not claim session %d: %s", key, error)
            return
        if claimed is None:
            return
        crashpoint("claim.after")
        (facts, batch), work = claimed
        run = Run(facts, batch, self.threads, self.several_processes)
        self.runs[key] = run
        self._again.discard(key)
        try:
            await work(run)
        except LeaseLost:
            log.warning("session %s is run by somebody else now", facts.sid)
        except RunClosed:
            run.lost = True
        except asyncio.CancelledError:
            run.lost = True  # shutting down: `shutdown` hands the session back
            raise
        except Exception as error:
            await fail(run, error)

    def _control(self, key: int) -> None:
        run = self.runs.get(key)
        if run is not None:
            self._keep(asyncio.create_task(self._look(run)))

    def _control_all(self) -> None:
        for key in list(self.runs):
            self._control(key)

    async def _look(self, run: Run) -> None:
        try:
            await run.look()
        except HaloError as error:
            log.warning("could not read the wishes for session %s: %s", run.facts.sid, error)

    def _abort(self, key: int) -> None:
        """A Stop that could not be written down because the disk is full."""
        run = self.runs.get(key)
        if run is not None:
            run.request_abort(Abort("stop"))

    def _save(self, key: int) -> None:
        run = self.runs.get(key)
        if run is not None:
            run.save_soon()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the clock -----------------------------------------------------------------

    async def _scan(self) -> None:
        goals_know = not settings.HALO.goal_mode or self.process != "server"  # that the server was restarted
        while True:
            try:
                await self.threads.run(recovery.recover_dead, frozenset(self.runs), self.runner)
                if not goals_know:
                    await self.threads.run(goals.nudge_running)
                    goals_know = True
                if not self.runner:
                    await self.threads.run(kept_trees.give_back_abandoned)
                    await asyncio.to_thread(settle_left)
                await self.threads.run(reports.sweep, self.runner)
                for key in await self.threads.run(lambda: list(waiting_sessions(self.runner))):
                    self._wake(key)
            except HaloError as error:  # the database is gone for a while; the next scan looks again
                log.warning("engine scan: %s", error)
            await self._watch()
            if not self.runner:
                _note_scan()
            if self.runner:  # it hears no wake-ups of other processes
                self._control_all()
            await asyncio.sleep(SCAN_EVERY)

    async def _warm(self) -> None:
        """What the first model call needs, soon after the start instead of during it."""
        await asyncio.sleep(WARM_AFTER)
        await http.client()

    async def _empty_trash(self) -> None:
        """What was deleted in a workspace a week ago goes for good: soon after the start, then once an hour."""
        await asyncio.sleep(TRASH_AFTER)
        while True:
            try:
                for path in await self.threads.run(lambda: list(Workspace.objects.values_list("path", flat=True))):
                    await asyncio.to_thread(trash.age_out, Path(path))
            except HaloError as error:  # the database is gone for a while
                log.warning("engine trash: %s", error)
            await asyncio.sleep(TRASH_EVERY)

    async def _watch(self) -> None:
        """End runs that lost their lease, and those that have shown nothing for `general.session.stall_minutes`."""
        runs = list(self.runs.values())
        for run in runs:
            run.check_lease()
        patience = await asyncio.to_thread(_patience, {run.facts.workspace_path for run in runs}) if runs else {}
        now = time.monotonic()
        for run in runs:
            if run.abort is None and now - run.progress_at > patience[run.facts.workspace_path]:
                run.request_abort(Abort("stalled"))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            begun = time.monotonic()
            leases: list[Lease] = [run.lease for run in self.runs.values() if not run.lost]
            if not leases:
                continue
            try:
                kept = await self.threads.run(renew, leases)
            except HaloError as error:
                log.warning("could not renew leases: %s", error)
                continue
            for lease in leases:
                run = self.runs.get(lease.session)
                if run is None or run.lease.epoch != lease.epoch:
                    continue
                if lease.session in kept:
                    run.renewed(begun)
                    self._control(lease.session)  # an interrupt whose wake-up was lost
                elif not run.released:
                    run.lose()

    # --- the end -------------------------------------------------------------------

    async def finished(self) -> None:
        """Wait until every run of this moment has taken the last step of its end."""
        if tasks := list(self._starting.values()):
            await asyncio.wait(tasks)

    async def shutdown(self) -> None:
        """Take no more work, end own runs as after a restart (nudge, no death counted), release every lease."""
        self._stopping = True
        runs = dict(self.runs)
        tasks = [task for task in self._starting.values() if not task.done()]
        for run in runs.values():
            await run.save_now()
            run.request_abort(Abort("shutdown"))  # tools kill their process groups
        if tasks:
            _, slow = await asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS)
            for task in slow:
                task.cancel()
        await self.threads.run(recovery.hand_back, {key: run.lease.epoch for key, run in runs.items()})
        await self.transcripts.flush()


Work = Callable[[Run], Coroutine[Any, Any, None]]


def next_work(key: int, runner: str, *, look: bool) -> tuple[tuple[Facts, Batch], Work] | None:
    """Take the session for what it is to do next; None = nothing, or somebody else was faster.

    look: before taking. With one engine, the wake-up is nearly always right.
    """
    if not look and (claimed := claim_and_drain(key, runner)) is not None:
        return claimed, _take_turns
    waiting = what_waits(key, runner)
    if waiting is None:
        return None
    if waiting == manual_compact.COMPACT:
        claimed, work = manual_compact.claim(key), manual_compact.run_compaction
    else:
        claimed, work = claim_and_drain(key, runner), _take_turns
    return None if claimed is None else (claimed, work)


async def _take_turns(run: Run) -> None:
    await run_rounds(run, take_turn)


def _patience(workspaces: Collection[str]) -> dict[str, float]:
    """Seconds without progress after which a run is ended, by workspace."""
    return {path: settings_store.number("session.stall_minutes", Path(path)) * 60.0 for path in workspaces}
