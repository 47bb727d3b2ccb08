"""One server's life: started when needed, one restart per minute, ended when idle (spec tools 3.16)."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from halo_site.lib.text import clean

from ..tools.shell_params import Masker
from . import wire
from .errors import McpDown, McpFailed
from .http import HttpLink
from .states import Key, State
from .stdio import StdioLink
from .values import Launch

log = logging.getLogger("halo.mcp")

RESTART_SECONDS = 60.0
IDLE_SECONDS = 600.0
PING_SECONDS = 5.0

Link = StdioLink | HttpLink


@dataclass(slots=True, eq=False)
class McpServer:
    """`ready()` before the tools are shown, `call()` for one of them. All texts it gives out are masked and clean."""

    key: Key
    launch: Launch
    only: tuple[str, ...] | None  # names of tools to take
    changed: Callable[["McpServer"], None] = lambda server: None
    clock: Callable[[], float] = time.monotonic
    state: State = "ended"
    error: str = ""  # why it failed, at the last try
    tools: tuple[wire.Offered, ...] = ()  # as last listed
    warnings: tuple[str, ...] = ()
    used_at: float = 0.0  # by `clock`
    calls: int = 0  # in flight
    _link: Link | None = None
    _starting: asyncio.Task[None] | None = None
    _restarted_at: float | None = None
    _listed: bool = False  # the list is still the server's newest
    _masker: Masker = field(init=False)

    def __post_init__(self) -> None:
        self._masker = Masker(self.launch.secrets)

    @property
    def running(self) -> bool:
        return self._link is not None

    def idle_since(self) -> float | None:
        """When it was last used; None = it is in use, or does not run."""
        busy = self.calls or (self._starting is not None and not self._starting.done())
        return None if busy or self._link is None else self.used_at

    def say(self, text: str) -> str:
        return self._masker.whole(clean(text))

    async def ready(self) -> None:
        """It runs and its tools are listed afterwards. Raises McpDown. Cancelling stops waiting, not the start."""
        self.used_at = self.clock()
        if self._link is not None and self._listed and self.state == "ready":
            return
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name=f"start mcp {self.key.name}")
        await asyncio.wait({self._starting})
        if self.state != "ready":
            raise McpDown(self._told(self.error))

    async def call(self, tool: str, arguments: dict[str, Any]) -> wire.Called:
        """One call, with one restart if the server is gone. Raises McpFailed, which names the server."""
        await self.ready()
        link = self._link
        assert link is not None
        self.calls += 1
        try:
            result = await link.request("tools/call", {"name": tool, "arguments": arguments}, self.launch.timeout)
            return wire.called(result)
        except TimeoutError:
            hint = link.hint()
            self._ask_if_alive(link)
            raise McpFailed(self._told(f"no answer within {self.launch.timeout:g} s{hint}")) from None
        except wire.Malformed as error:
            raise McpFailed(self._told(f"malformed answer: {error}")) from error
        except McpDown as error:
            self._fell(link, str(error))
            raise McpDown(self._told(str(error))) from error
        except McpFailed as error:
            raise McpFailed(self._told(str(error))) from error
        finally:
            self.calls -= 1
            self.used_at = self.clock()

    async def close(self) -> None:
        """Ends it; it starts again at the next `ready`, which counts as no restart."""
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            with suppress(asyncio.CancelledError):
                await self._starting
        link, self._link = self._link, None
        if link is not None:
            if self.state != "failed":
                self._turn("ended")
            await link.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _told(self, problem: str) -> str:
        return self.say(f"MCP server {self.key.name}: {problem}")

    def _turn(self, state: State, error: str = "") -> None:
        before = self.state, self.error
        self.state, self.error = state, self.say(error)
        if (state, self.error) != before:
            self.changed(self)
        if state == "failed":
            log.warning(
                "mcp server failed", extra={"server": self.key.name, "agent": self.key.agent_id, "why": self.error}
            )

    def _fell(self, link: Link, why: str) -> None:
        """The link is of no use any more. The next `ready` makes a new one, within the limit of restarts."""
        if self._link is not link:
            return
        self._link = None
        self._turn("failed", why)
        _in_background(link.close(), f"close mcp {self.key.name}")

    async def _start(self) -> None:
        """Sets `state`; never raises but CancelledError."""
        fresh = self._link is None
        if fresh and not self._may_start():
            return
        link = self._link = self._link or self._new_link()
        try:
            if fresh:
                self._turn("starting")
                await link.open()
                await self._shake_hands(link)
            await self._list(link)
        except TimeoutError:
            await self._drop(link, f"no answer within {self.launch.timeout:g} s while it started{link.hint()}")
        except wire.Malformed as error:
            await self._drop(link, f"malformed answer: {error}")
        except McpFailed as error:
            await self._drop(link, f"{error}{link.hint() if not isinstance(error, McpDown) else ''}")
        except asyncio.CancelledError:
            self._link = None
            self._turn("ended")
            await link.close()
            raise
        else:
            self._turn("ready")

    async def _drop(self, link: Link, why: str) -> None:
        self._link = None
        self._turn("failed", why)
        await link.close()

    def _may_start(self) -> bool:
        """After a failure or a crash: once per minute. What was wrong stays in `error` meanwhile."""
        if self.state != "failed":
            return True
        now = self.clock()
        if self._restarted_at is not None and now - self._restarted_at < RESTART_SECONDS:
            return False
        self._restarted_at = now
        return True

    def _new_link(self) -> Link:
        self._listed = False

        def told(method: str) -> None:
            if method == "notifications/tools/list_changed":
                self._listed = False  # asked again before the next run

        if self.launch.transport == "http":
            return HttpLink(self.launch, on_told=told)
        return StdioLink(self.launch, self.key.workspace, self.key.level, on_told=told, on_end=self._crashed)

    def _crashed(self, link: StdioLink) -> None:
        if self.state == "ready":
            self._fell(link, link.why)

    async def _shake_hands(self, link: Link) -> None:
        opened = await link.request("initialize", wire.opening(), self.launch.timeout)
        version = wire.version_of(opened)
        if isinstance(link, HttpLink):
            link.version = version
        link.notify("notifications/initialized")

    async def _list(self, link: Link) -> None:
        self._listed = True
        raw: list[Any] = []
        cursor: str | None = None
        asked: set[str | None] = set()
        async with asyncio.timeout(self.launch.timeout):
            while cursor not in asked and len(asked) < wire.MAX_PAGES:
                asked.add(cursor)
                params = {"cursor": cursor} if cursor else {}
                page, cursor = wire.page_of(await link.request("tools/list", params, self.launch.timeout))
                raw += page
                if cursor is None or len(raw) > wire.MAX_TOOLS:
                    break
        tools, warnings = await asyncio.to_thread(wire.offered, self.key.name, raw, self.only, self.say)
        if cursor is not None and len(raw) <= wire.MAX_TOOLS:
            warnings += (f"its list of tools has no end; the {len(asked)} pages read so far count",)
        self.tools, self.warnings = tools, tuple(self.say(text) for text in warnings)

    def _ask_if_alive(self, link: Link) -> None:
        """After a call that took too long: a server that answers nothing at all is ended, a busy one stays."""

        async def ping() -> None:
            try:
                await link.request("ping", {}, PING_SECONDS)
            except TimeoutError:
                if self._link is link:
                    await self._drop(link, "it answers nothing any more and was ended")
            except McpFailed:
                pass  # it does answer, or is gone and known to be

        _in_background(ping(), f"ping mcp {self.key.name}")


_background: set[asyncio.Task[None]] = set()


def _in_background(work: Coroutine[Any, Any, None], name: str) -> None:
    task = asyncio.create_task(work, name=name)
    _background.add(task)
    task.add_done_callback(_background.discard)
