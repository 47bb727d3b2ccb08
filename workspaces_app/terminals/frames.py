"""The socket frames of terminals (spec ws-protocol): thin handlers; a terminal needs full access."""

import asyncio
import os
from pathlib import Path

from django.conf import settings
from pydantic import Field

from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, HaloError, NotFound
from halo_site.lib.events import as_frame

from ..access import check_level, level_in, open_workspace
from ..audit import audit
from ..events import TerminalExit, TerminalList, TerminalReady, TerminalReattached
from ..git import ssh_agent
from ..models import Workspace
from ..socket_frames import FRAMES, Frame, FrameFields, Socket, add_frames
from . import rules
from .registry import Owner, Start, Terminal, the_terminals


class Place(FrameFields):
    """Which browser in which workspace (absent: the one the socket is bound to)."""

    browserId: str | None = Field(None, max_length=128)
    workspacePath: str | None = Field(None, max_length=4096)


class StartFields(Place):
    terminalId: str | None = Field(None, min_length=1, max_length=128)
    cwd: str | None = Field(None, max_length=4096)
    cols: int | None = None
    rows: int | None = None


class Reattach(Place):
    """known: terminals whose screens this page still has; absent = it has all."""

    known: list[str] | None = Field(None, max_length=rules.MAX_HERE)


class About(FrameFields):
    """A frame without an id reaches nobody's terminal (spec ws-protocol, Errors)."""

    terminalId: str | None = None


class Input(About):
    data: str


class Resize(About):
    cols: int | None = None
    rows: int | None = None


def _workspace(socket: Socket, path: str | None) -> Workspace | None:
    """Where it acts, checked for full access. None = nowhere: for the owner of the server only. A unit of work."""
    if path:
        return open_workspace(socket.caller, path, Access.FULL)[0]
    if socket.bound is not None:
        level = level_in(socket.caller, socket.bound.key)
        if level is None:
            raise NotFound("Project not found")
        check_level(level, Access.FULL)
        return Workspace.objects.get(pk=socket.bound.key)
    if not socket.caller.is_superuser:
        raise BadRequest("No workspace context: name workspacePath, or subscribe to a workspace first")
    return None


def _owner(socket: Socket, frame: Place) -> Owner:
    path = os.path.realpath(frame.workspacePath) if frame.workspacePath and "\0" not in frame.workspacePath else ""
    return Owner(socket.caller.user_id, frame.browserId or "", path)


async def on_start(socket: Socket, frame: StartFields) -> None:
    def unit() -> tuple[str, int]:
        workspace = _workspace(socket, frame.workspacePath)
        root = workspace.path if workspace else str(Path.home())
        cwd = os.path.normpath(os.path.join(root, frame.cwd or ""))
        audit("terminal.start", actor=socket.caller, target=cwd, workspace=workspace, address=socket.address)
        return cwd, int(str(settings_store.general("limits.terminal_scrollback_bytes")))

    if frame.cwd and "\0" in frame.cwd:
        raise BadRequest("Terminal failed: cwd contains NUL")
    cwd, scrollback = await socket.unit(unit)
    if not await asyncio.to_thread(os.path.isdir, cwd):
        raise HaloError(f"Terminal failed: {cwd} is not a folder")
    terminal_id = frame.terminalId or rules.new_id()
    more = {"HALO_DATABASE": "postgresql" if settings.HALO.database_url else "sqlite"}
    agent = await asyncio.to_thread(ssh_agent.ensure)
    if agent is not None:  # keys that were unlocked in the source control panel are at hand here, too
        more["SSH_AUTH_SOCK"] = agent
    start = Start(
        command=rules.as_login(rules.shell(os.environ)),
        cwd=cwd,
        env=rules.environment(os.environ, more),
        cols=rules.clamped(frame.cols, rules.COLS, rules.MAX_COLS),
        rows=rules.clamped(frame.rows, rules.ROWS, rules.MAX_ROWS),
        scrollback=scrollback,
    )
    try:
        the_terminals().start(socket, terminal_id, _owner(socket, frame), start)
    except OSError as error:
        raise HaloError(f"Terminal failed: {error.strerror or error}") from error
    socket.send(as_frame(TerminalReady(terminal_id=terminal_id)))


async def on_reattach(socket: Socket, frame: Reattach) -> None:
    owner = _owner(socket, frame)

    def unit() -> bool:
        try:
            _workspace(socket, frame.workspacePath)
        except HaloError:  # no right, no terminal: the answer is the same as for "you have none"
            return False
        return True

    terminals = the_terminals()
    found = terminals.reattach(socket, owner) if await socket.unit(unit) else []
    socket.send(as_frame(TerminalReattached(terminal_ids=[terminal.id for terminal in found])))
    terminals.replay(found, frame.known)


async def on_list(socket: Socket, frame: Place) -> None:
    found = the_terminals().owned(_owner(socket, frame))
    socket.send(as_frame(TerminalList(terminals=[terminal.facts() for terminal in found])))


def _mine(socket: Socket, frame: About) -> Terminal | None:
    return the_terminals().of(socket, frame.terminalId)


async def on_input(socket: Socket, frame: Input) -> None:
    """Awaits nothing: frames that are handled at once keep their order."""
    terminal = _mine(socket, frame)
    if terminal is not None and terminal.pty is not None:
        terminal.pty.write(frame.data.encode("utf-8", "replace"))


async def on_resize(socket: Socket, frame: Resize) -> None:
    terminal = _mine(socket, frame)
    if terminal is not None and terminal.pty is not None:
        cols = rules.clamped(frame.cols, rules.COLS, rules.MAX_COLS)
        terminal.pty.resize(cols, rules.clamped(frame.rows, rules.ROWS, rules.MAX_ROWS))


async def on_close(socket: Socket, frame: About) -> None:
    terminal = _mine(socket, frame)
    if terminal is not None:
        the_terminals().end(terminal)
        socket.send(as_frame(TerminalExit(terminal_id=terminal.id, exit_code=0)))


_FULL = Access.FULL

ALL = (
    Frame(name="terminal:start", fields=StartFields, handle=on_start, needs=_FULL),
    Frame(name="terminal:input", fields=Input, handle=on_input, needs=_FULL, at_once=True),
    Frame(name="terminal:resize", fields=Resize, handle=on_resize, needs=_FULL),
    Frame(name="terminal:close", fields=About, handle=on_close, needs=_FULL),
    Frame(name="terminal:reattach", fields=Reattach, handle=on_reattach, needs=_FULL),
    Frame(name="terminal:list", fields=Place, handle=on_list, needs=_FULL),
)


def register() -> None:
    """Once, from `WorkspacesConfig.ready()`."""
    if ALL[0].name not in FRAMES:
        add_frames(*ALL)
