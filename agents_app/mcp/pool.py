"""All servers of this process: one per workspace, agent, level and name. Ends idle ones, writes down how they are."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from halo_site.lib.db import engine_threads
from halo_site.lib.errors import HaloError

from . import states
from .server import IDLE_SECONDS, McpServer
from .states import Key
from .values import Launch

log = logging.getLogger("halo.mcp")

LOOK_SECONDS = 30.0
FORGET_SECONDS = 3_600.0  # an ended server, its list of tools and its last error


class Pool:
    """Belongs to one event loop. `close` ends every server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.servers: dict[Key, McpServer] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._writes: set[asyncio.Task[None]] = set()

    def get(self, key: Key, launch: Launch, only: tuple[str, ...] | None) -> McpServer:
        """The server of `key`; another one when what it is started with has changed since."""
        found = self.servers.get(key)
        if found is not None and (found.launch, found.only) == (launch, only):
            return found
        if found is not None:
            self._keep(found.close())
        server = self.servers[key] = McpServer(key, launch, only, changed=self._changed, clock=self.clock)
        server.used_at = self.clock()
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._look_after(), name="mcp servers")
        return server

    def note(self, key: Key, error: str) -> None:
        """Something kept `key` from being started at all."""
        self._keep(_write(states.Known(key, "failed", error)))

    async def end_idle(self) -> None:
        """One look at all of them."""
        now = self.clock()
        idle = [
            server
            for server in self.servers.values()
            if (since := server.idle_since()) is not None and now - since >= IDLE_SECONDS
        ]
        await asyncio.gather(*(server.close() for server in idle))
        for key, server in list(self.servers.items()):
            if not server.running and now - server.used_at >= FORGET_SECONDS:
                del self.servers[key]

    async def close(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        await asyncio.gather(*(server.close() for server in self.servers.values()))
        while self._writes:
            await asyncio.wait(self._writes)

    def _changed(self, server: McpServer) -> None:
        tools = tuple(tool.full_name for tool in server.tools)
        self._keep(_write(states.Known(server.key, server.state, server.error, tools, server.warnings)))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _look_after(self) -> None:
        while self.servers:
            await asyncio.sleep(LOOK_SECONDS)
            await self.end_idle()
            running = [server.key for server in self.servers.values() if server.running]
            if running:
                await _in_database(states.seen, running)


async def _write(known: states.Known) -> None:
    await _in_database(states.store, known)


async def _in_database(unit: Callable[..., None], *args: object) -> None:
    """How servers are is news for people, nothing depends on it: an outage only loses the news."""
    try:
        await engine_threads().run_for(0, unit, *args)
    except HaloError as error:
        log.warning("the state of mcp servers was not written: %s", error)


_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, Pool]" = WeakKeyDictionary()


def pool() -> Pool:
    """The pool of the running event loop, made at first use."""
    loop = asyncio.get_running_loop()
    found = _pools.get(loop)
    if found is None:
        found = _pools[loop] = Pool()
    return found


async def close_pool() -> None:
    """At the end of the process, or of a test's event loop."""
    found = _pools.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.close()
