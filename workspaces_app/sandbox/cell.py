"""One command's sandbox: made for it, gone with it."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError, Unavailable
from halo_site.lib.outbound import Rules

from . import limits
from .argv import PROXY_SOCKET, Layout, bwrap_argv, environment
from .ledger import Record, recorded
from .lookout import LOOK_EVERY, Lookout
from .plan import plan
from .probe import status
from .proxy import proxy
from .sweep import Found, look, settle

log = logging.getLogger("halo.sandbox")

PORT = 3128  # of the forwarder, on the sandbox's own loopback


@dataclass(slots=True)
class Cell:
    """`held`: control files the command made and that were set aside; filled when the cell closes.

    again: one that it made again and again, for which it is ended. guarded: it could make some.
    """

    program: str
    layout: Layout
    group: limits.Group
    guarded: bool = False
    held: list[str] = field(default_factory=list)
    again: str = ""
    _relapse: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def guard(self) -> Callable[[int], Coroutine[Any, Any, None]] | None:
        """Given the process id, returns when the command has to be ended; None = nobody but the kernel ends it."""
        if self.guarded:
            return self._watch
        return None if self.group.holds else limits.watch

    async def _watch(self, pid: int) -> None:
        ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._relapse.wait())]
        if not self.group.holds:
            ends.append(asyncio.ensure_future(limits.watch(pid)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    def relapsed(self, place: str) -> None:
        """The command made `place` again, however often that was set aside."""
        self.again = self.again or place
        self._relapse.set()

    def wrap(self, command: Sequence[str], environ: Mapping[str, str] | None = None) -> list[str]:
        """The words that run `command` inside. Start them with an empty environment.

        environ: variables it gets besides PATH, HOME and the like; they show in the process list, so nothing secret.
        """
        inner = limits.inside(command)
        url = ""
        if self.layout.proxy_socket is not None:
            script = str(Path(__file__).with_name("inside.py"))
            inner = [sys.executable, "-I", "-S", script, PROXY_SOCKET, str(PORT), "--", *inner]
            url = f"http://127.0.0.1:{PORT}"
        values = environment(Path.home(), proxy=url) | dict(environ or {})
        return self.group.wrap(bwrap_argv(self.program, self.layout, values, inner))


def network_of(level: Access) -> str:
    """`proxy` or `none`: readonly sessions have no network at all."""
    return "none" if level is Access.READONLY else str(settings_store.general("sandbox.network"))


def rules() -> Rules:
    """Where `web_fetch` and sandboxed commands may connect to. A broken list opens nothing."""
    entries = settings_store.general("outbound.allow")
    try:
        return Rules.read(entries if isinstance(entries, list) else [])
    except HaloError as error:
        log.warning("general.outbound.allow is ignored: %s", error)
        return Rules()


@asynccontextmanager
async def cell(
    workspace: Path,
    level: Access,
    *,
    session_id: str,
    read_only: bool = False,
    network: bool | None = None,
    open_control: bool = False,
    shown: Sequence[tuple[Path, str]] = (),
) -> AsyncIterator[Cell]:
    """A sandbox for commands of one session. Raises Unavailable with the reason when there is none here.

    read_only: nothing of the workspace can be written, whatever the level; for programs that live long, because what
    they left under a control name would be found only at their end.
    network: through the proxy or not at all; None = as the level and the settings say.
    open_control: control files may be changed and nothing of the workspace is masked: where only people with full
    access write, and for commands that run nothing of the workspace. Only then `level` may be full.
    shown: files and sockets of the host, and where the command sees them.
    """
    if level is Access.FULL and not open_control:
        raise ValueError("full access needs no sandbox")
    state = await asyncio.to_thread(status)
    if not state.available:
        raise Unavailable(state.reason)
    root = await asyncio.to_thread(workspace.resolve, True)
    seen_as = Access.READONLY if read_only else level
    guarded = seen_as is not Access.READONLY and not open_control
    control = await asyncio.to_thread(_look, root) if guarded else Found()
    async with AsyncExitStack() as stack:
        socket = None
        if network if network is not None else network_of(level) == "proxy":
            socket = await stack.enter_async_context(proxy(rules(), session_id))
        more: dict[str, Any] = {"proxy_socket": socket, "shown": shown, "masks": not open_control}
        layout = await asyncio.to_thread(plan, root, seen_as, control, **more)
        group = limits.new_group()
        made = Cell(state.program, layout, group, guarded)
        if guarded:
            await stack.enter_async_context(_kept_clear(root, control, made))
        try:
            yield made
        finally:
            await group.close()


def _look(root: Path) -> Found:
    with suppress(OSError):  # the folder is ours: where it is there, nobody can make another
        (root / ".halo").mkdir(exist_ok=True)
    return look(root)


@asynccontextmanager
async def _kept_clear(root: Path, control: Found, made: Cell) -> AsyncIterator[None]:
    """Sets aside what the command plants: soon while it runs, if it takes longer, and all of it at its end."""
    with ExitStack() as stack:
        try:
            record = await asyncio.to_thread(stack.enter_context, recorded(root, control))
        except OSError as error:
            raise Unavailable(f"The home folder cannot be written: {error.strerror}") from error
        loop = asyncio.get_running_loop()
        lookout = Lookout(record, lambda place: loop.call_soon_threadsafe(made.relapsed, place))
        timer = loop.call_later(LOOK_EVERY, lookout.start)
        try:
            yield
        finally:
            timer.cancel()
            made.held = await asyncio.to_thread(_end, lookout, record)


def _end(lookout: Lookout, record: Record) -> list[str]:
    lookout.stop()
    return sorted({*lookout.held, *record.settled(settle)})
