"""The process of `manage.py cli`: engine, signals, and waiting for the tree it runs (spec cli-tui-acp 4, 5)."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable

from halo_site.lib.errors import HaloError
from halo_site.lib.events import Event
from halo_site.lib.publish import Transport, use_transport
from sessions_app import actions
from sessions_app.engine import kept_trees
from sessions_app.engine.engine import Engine
from sessions_app.engine.owner import this_owner
from sessions_app.events import AgentDone, ChatComplete, SessionEvent

from .begin import Begun, Said, begin
from .options import Options
from .outcome import Outcome, is_taken_back, outcome, turn_of
from .screen import Screen

log = logging.getLogger("halo.cli")

LOOK = 0.5  # seconds between two looks at the rows, when no frame says that something ended
STOPPED, TIMED_OUT, INTERRUPTED, TERMINATED = 1, 124, 130, 143
GRACE = 8.0  # seconds for a stopped tree to end: who asks with SIGTERM kills after ten


class Watched:
    """A transport that shows this process its own frames, and passes everything on."""

    def __init__(self, inner: Transport, see: Callable[[Event], None]) -> None:
        self._inner, self._see = inner, see
        self._loop = asyncio.get_running_loop()

    def publish(self, topic: str, event: Event) -> None:
        self._inner.publish(topic, event)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._see, event)

    def signal(self, name: str, data: dict[str, object]) -> None:
        self._inner.signal(name, data)


class Cli:
    """Built on a running loop, then `run()` once."""

    def __init__(self, options: Options, screen: Screen, transport: Transport) -> None:
        self.options, self.screen = options, screen
        self.engine = Engine("cli", runner=this_owner())
        self.code = 0
        self._begun: Begun | None = None
        self._early: list[Event] = []  # frames from before we know what the session is called
        self._changed = asyncio.Event()
        self._ending = asyncio.Event()
        self._stop: asyncio.Task[None] | None = None
        use_transport(Watched(transport, self._see))

    async def run(self, prompt: str, *, piped: bool) -> int:
        """The exit code. Raises HaloErrors a person may read, before anything was stored."""
        began = time.monotonic()
        for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, code)
        work = asyncio.create_task(self.engine.run(), name="engine")
        await asyncio.sleep(0)  # it listens now
        try:
            begun = await self.engine.threads.run(
                lambda: begin(self.options, prompt, piped=piped, runner=self.engine.runner)
            )
            if isinstance(begun, Said):
                self.screen.answer(begun.text, {"text": begun.text, "sessionId": None, "error": None})
                return self.code
            self._begun = begun
            for event in self._early:
                self._see(event)
            for line in (*begun.warnings, begun.text):
                if line:
                    self.screen.note(line)
            if self._ending.is_set():  # a signal came while the message was stored
                self._ask_to_stop()
            try:
                async with asyncio.timeout(self.options.timeout):
                    await self._until_over(begun, work)
            except TimeoutError:
                self._end(TIMED_OUT)
                await self._until_over(begun, work)
            await self._finish(begun, began)
            return self.code
        finally:
            await self.engine.shutdown()
            if self._begun is not None and self._begun.ours:
                await self.engine.threads.run(_let_go, self._begun.session_key, self.engine.runner)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _until_over(self, begun: Begun, work: "asyncio.Task[None]") -> None:
        """Until the tree is quiet, or, when somebody else runs it, the turn of our message is over."""
        deadline = None
        began = time.monotonic()
        while not await self._is_over(begun):
            if work.done():
                work.result()
                raise RuntimeError("the engine ended by itself")
            if self._ending.is_set():
                deadline = deadline or time.monotonic() + GRACE
                if not begun.ours or time.monotonic() > deadline:
                    return
            try:
                async with asyncio.timeout(LOOK):
                    await self._changed.wait()
            except TimeoutError:
                self.screen.waiting(time.monotonic() - began)
                continue
            self._changed.clear()

    async def _is_over(self, begun: Begun) -> bool:
        run = self.engine.threads.run
        if not begun.ours:
            return await run(_turn_is_over, begun.entry_key)
        if not await run(kept_trees.is_quiet, begun.session_key):
            return False
        await self.engine.finished()
        return await run(kept_trees.let_go, begun.session_key, self.engine.runner)

    async def _finish(self, begun: Begun, began: float) -> None:
        found: Outcome = await self.engine.threads.run(
            lambda: outcome(begun.session_key, begun.sid, begun.entry_key, only_its_turn=not begun.ours)
        )
        if found.error and not self.code:
            self.code = STOPPED
        if found.error:
            self.screen.error(found.error)
        self.screen.answer(found.text, found.as_json(int((time.monotonic() - began) * 1000)))

    # --- frames and signals ----------------------------------------------------------

    def _see(self, event: Event) -> None:
        if self._begun is None:
            self._early.append(event)
        elif isinstance(event, SessionEvent) and event.session_id == self._begun.sid:
            self.screen.show(event)
            if isinstance(event, ChatComplete | AgentDone):
                self._changed.set()

    def _on_signal(self, code: int) -> None:
        if self._ending.is_set() and code == INTERRUPTED:
            os._exit(INTERRUPTED)  # asked for twice: recovery marks what is left
        self._end(code)

    def _end(self, code: int) -> None:
        if self._ending.is_set():
            return
        self.code = code
        self._ending.set()
        self._changed.set()
        self._ask_to_stop()

    def _ask_to_stop(self) -> None:
        begun = self._begun
        if begun is None or self._stop is not None:
            return
        if begun.ours:
            self._stop = asyncio.create_task(self._stop_tree(begun.session_key))
        else:
            self.screen.note("Another process runs this session; your message stays with it.")

    async def _stop_tree(self, key: int) -> None:
        try:
            await self.engine.threads.run(actions.stop, key)
        except HaloError as error:
            log.warning("could not stop session %d: %s", key, error)
        self._changed.set()


def _turn_is_over(entry_key: int) -> bool:
    turn = turn_of(entry_key)
    return is_taken_back(entry_key) if turn is None else turn.status != turn.Status.RUNNING


def _let_go(root_key: int, runner: str) -> None:
    kept_trees.let_go(root_key, runner, only_quiet=False)
