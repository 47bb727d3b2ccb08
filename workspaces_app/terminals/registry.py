"""Whose a terminal is, where its output goes, and when it ends (spec files-git-terminal 45 to 50).

Attached: its output goes to one socket. Detached: it waits for its owner, with its last output, for the grace time.
Everything happens on the event loop of one process.
"""

import asyncio
import codecs
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from django.conf import settings

from halo_site.lib.errors import Conflict
from halo_site.lib.events import Event, as_frame

from ..events import TerminalExit, TerminalOutput
from ..socket_frames import Socket
from .pty import GRACE, NO_RIGHT_GRACE, Pty
from .ring import Modes, Ring
from .rules import MAX_HERE, MAX_PER_USER


@dataclass(frozen=True, slots=True)
class Owner:
    """A browser of one person in one workspace; another browser of the same person does not see it."""

    user_id: int
    browser_id: str
    workspace_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """command: path of the program, then its argv. scrollback: bytes kept for whoever comes back."""

    command: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    cols: int
    rows: int
    scrollback: int


@dataclass(slots=True, eq=False)
class Terminal:
    """sent: position in the ring up to which somebody was shown the output."""

    id: str
    owner: Owner
    cwd: str
    ring: Ring
    pty: Pty | None = None
    socket: Socket | None = None
    exit_code: int | None = None
    sent: int = 0
    started_at: float = field(default_factory=time.time)
    detached_at: float | None = None
    grace: asyncio.TimerHandle | None = None
    modes: Modes = field(default_factory=Modes)
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))

    def tell(self, event: Event) -> None:
        if self.socket is not None:
            self.socket.send(as_frame(event))

    def facts(self) -> dict[str, Any]:
        return {
            "terminalId": self.id,
            "cwd": self.cwd,
            "startedAt": int(self.started_at * 1000),
            "attached": self.socket is not None,
            "detachedAt": None if self.detached_at is None else int(self.detached_at * 1000),
            "exitCode": self.exit_code,
        }


class Terminals:
    """By user and id: the ids are made by browsers."""

    def __init__(self) -> None:
        self._all: dict[tuple[int, str], Terminal] = {}
        self._sockets: set[Socket] = set()

    def __len__(self) -> int:
        return len(self._all)

    def has(self, user_id: int) -> bool:
        return any(key[0] == user_id for key in self._all)

    # What frames ask for

    def start(self, socket: Socket, terminal_id: str, owner: Owner, start: Start) -> Terminal:
        """One by the same id goes. Raises Conflict when there are too many, OSError when it cannot be started."""
        before = self._all.get((owner.user_id, terminal_id))
        mine = sum(key[0] == owner.user_id for key in self._all) - (before is not None)
        if mine >= MAX_PER_USER:
            raise Conflict(f"You have {MAX_PER_USER} terminals: close one first")
        if len(self._all) >= MAX_HERE:
            raise Conflict(f"This server has {MAX_HERE} terminals: close one first")
        terminal = Terminal(terminal_id, owner, start.cwd, Ring(start.scrollback))
        terminal.pty = Pty(
            start.command,
            cwd=start.cwd,
            env=start.env,
            cols=start.cols,
            rows=start.rows,
            on_output=partial(self._output, terminal),
            on_exit=partial(self._exited, terminal),
        )
        if before is not None:
            self.end(before)
        self._all[owner.user_id, terminal_id] = terminal
        self._attach(terminal, socket)
        return terminal

    def of(self, socket: Socket, terminal_id: str | None) -> Terminal | None:
        """The terminal of this id whose output goes to this socket; None = there is none."""
        terminal = self._all.get((socket.caller.user_id, terminal_id)) if terminal_id else None
        return terminal if terminal is not None and terminal.socket is socket else None

    def owned(self, owner: Owner) -> list[Terminal]:
        """Oldest first."""
        return [terminal for terminal in self._all.values() if terminal.owner == owner]

    def reattach(self, socket: Socket, owner: Owner) -> list[Terminal]:
        """The output of all that is owned goes to this socket from now on; what it missed follows by `replay`."""
        found = self.owned(owner)
        for terminal in found:
            self._attach(terminal, socket)
        return found

    def replay(self, terminals: Collection[Terminal], known: Collection[str] | None) -> None:
        """known: ids whose screens the browser has, None = all. They get what they missed, others all there is."""
        for terminal in terminals:
            is_new = known is not None and terminal.id not in known
            text, cut = terminal.ring.since(0 if is_new else terminal.sent)
            if cut:
                text = terminal.modes.restore() + text
            if (is_new or cut) and terminal.pty is not None:
                terminal.pty.redraw()
            terminal.sent = terminal.ring.end
            if text:
                terminal.tell(TerminalOutput(terminal_id=terminal.id, data=text))
            if terminal.exit_code is not None:
                self._report(terminal)

    def end(self, terminal: Terminal, grace: float = GRACE) -> None:
        """Kill it. Nothing more is told of it."""
        self._forget(terminal)
        terminal.socket = None
        if terminal.pty is not None:
            terminal.pty.end(grace)

    # What happens by itself

    def detach(self, socket: Socket) -> None:
        """The socket ended: what it had waits for its owner."""
        self._sockets.discard(socket)
        for terminal in [terminal for terminal in self._all.values() if terminal.socket is socket]:
            terminal.socket = None
            terminal.detached_at = time.time()
            seconds = settings.HALO.terminal_grace.total_seconds()
            terminal.grace = asyncio.get_running_loop().call_later(seconds, self.end, terminal)
            if terminal.pty is not None:
                terminal.pty.resume()  # the ring takes what the reader did not

    def end_user(self, user_id: int) -> None:
        """Their rights changed (SECURITY-BAR A3)."""
        for terminal in [terminal for key, terminal in self._all.items() if key[0] == user_id]:
            terminal.tell(TerminalExit(terminal_id=terminal.id, exit_code=129))
            self.end(terminal, NO_RIGHT_GRACE)

    def close(self) -> None:
        """The server stops."""
        for terminal in list(self._all.values()):
            self._forget(terminal)
            terminal.socket = None
            if terminal.pty is not None:
                terminal.pty.hang_up()

    def _attach(self, terminal: Terminal, socket: Socket) -> None:
        if terminal.grace is not None:
            terminal.grace.cancel()
        terminal.grace = terminal.detached_at = None
        terminal.socket = socket
        if terminal.pty is not None:
            terminal.pty.resume()
        if socket not in self._sockets:
            self._sockets.add(socket)
            socket.at_end(partial(self.detach, socket))

    def _output(self, terminal: Terminal, data: bytes) -> None:
        self._show(terminal, terminal.decoder.decode(data))

    def _show(self, terminal: Terminal, text: str) -> None:
        terminal.modes.feed(text)
        terminal.ring.add(text)
        socket = terminal.socket
        if socket is None or not text:
            return
        terminal.sent = terminal.ring.end
        terminal.tell(TerminalOutput(terminal_id=terminal.id, data=text))
        if socket.busy and terminal.pty is not None:
            terminal.pty.pause()  # the program waits, not our memory
            socket.when_free(partial(self._go_on, terminal, socket))

    def _go_on(self, terminal: Terminal, socket: Socket) -> None:
        if terminal.socket is socket and terminal.pty is not None:
            terminal.pty.resume()

    def _exited(self, terminal: Terminal, code: int) -> None:
        terminal.pty, terminal.exit_code = None, code
        self._show(terminal, terminal.decoder.decode(b"", True))
        if self._all.get((terminal.owner.user_id, terminal.id)) is terminal and terminal.socket is not None:
            self._report(terminal)

    def _report(self, terminal: Terminal) -> None:
        terminal.tell(TerminalExit(terminal_id=terminal.id, exit_code=terminal.exit_code or 0))
        self._forget(terminal)

    def _forget(self, terminal: Terminal) -> None:
        if terminal.grace is not None:
            terminal.grace.cancel()
        key = (terminal.owner.user_id, terminal.id)
        if self._all.get(key) is terminal:
            del self._all[key]


@cache
def the_terminals() -> Terminals:
    """Those of this process."""
    return Terminals()
