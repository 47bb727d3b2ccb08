"""One program on a pseudo-terminal, read and written on the event loop, and an end that always comes."""

import asyncio
import os
import signal
import subprocess
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from halo_site.lib import last_will
from halo_site.lib.errors import Conflict

from ..child import exit_of
from .rules import MAX_WAITING, exit_code

AT_ONCE = 65_536  # bytes handed on in one piece
REST = 0.008  # seconds between two pieces: a flood becomes few large ones, a key stroke never waits
GRACE = 1.0  # seconds between SIGHUP and SIGKILL
NO_RIGHT_GRACE = 0.2  # the same, for somebody who may not have a terminal any more
CHILD = str(Path(__file__).with_name("child.py"))


class Pty:
    """Starts at once. on_output(bytes) and, last, on_exit(code) are called on the loop.

    command: path of the program, then its argv. Raises OSError when it cannot be started. To be made on a thread that
    lives as long as the server: the kernel takes its end for ours.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        cols: int,
        rows: int,
        on_output: Callable[[bytes], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output, self._on_exit = on_output, on_exit
        self._waiting: deque[bytes] = deque()
        self._paused = self._resting = self._closed = False
        self._rest: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._master, slave = os.openpty()
        try:
            termios.tcsetwinsize(slave, (rows, cols))
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", CHILD, str(os.getpid()), *command],
                cwd=cwd,
                env=dict(env),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        last_will.add_session(self._process.pid)
        os.set_blocking(self._master, False)
        self._loop.add_reader(self._master, self._read)
        self._waiter = self._loop.create_task(self._wait(), name="terminal")

    @property
    def pid(self) -> int:
        """Of the shell, and of its session."""
        return self._process.pid

    # Output

    def pause(self) -> None:
        """Read no more: the program waits in its writes."""
        self._paused = True
        self._listen()

    def resume(self) -> None:
        self._paused = False
        self._listen()

    def _listen(self) -> None:
        if self._closed:
            return
        if self._paused or self._resting:
            self._loop.remove_reader(self._master)
        else:
            self._loop.add_reader(self._master, self._read)

    def _read(self) -> None:
        data, over = self._take(AT_ONCE)
        if data:
            self._on_output(data)
        if over or self._closed:
            self._loop.remove_reader(self._master)
            return
        self._resting = True
        self._listen()
        self._rest = self._loop.call_later(REST, self._rested)

    def _rested(self) -> None:
        self._resting = False
        self._listen()

    def _take(self, limit: int) -> tuple[bytes, bool]:
        """What is there, at most `limit` and one read more; True = nobody has the other end open."""
        parts: list[bytes] = []
        size = 0
        while size < limit:
            try:
                data = os.read(self._master, AT_ONCE)
            except BlockingIOError:
                return b"".join(parts), False
            except OSError:  # EIO: how Linux says end of file here
                return b"".join(parts), True
            if not data:
                return b"".join(parts), True
            parts.append(data)
            size += len(data)
        return b"".join(parts), False

    # Input

    def write(self, data: bytes) -> None:
        """Raises Conflict when the program has not read for too long; then nothing of it is written."""
        if self._closed or not data:
            return
        if sum(map(len, self._waiting)) + len(data) > MAX_WAITING:
            raise Conflict("The program in this terminal does not read its input")
        self._waiting.append(data)
        if len(self._waiting) == 1:
            self._write()

    def _write(self) -> None:
        while self._waiting:
            data = self._waiting.popleft()
            try:
                done = os.write(self._master, data)
            except BlockingIOError:
                done = 0
            except OSError:  # nobody has the other end open
                self._waiting.clear()
                break
            if done < len(data):
                self._waiting.appendleft(data[done:])
                self._loop.add_writer(self._master, self._write)
                return
        self._loop.remove_writer(self._master)

    def resize(self, cols: int, rows: int) -> None:
        if not self._closed:
            with suppress(OSError, termios.error):
                termios.tcsetwinsize(self._master, (rows, cols))

    def redraw(self) -> None:
        """Ask the program in front to draw its screen again, as after a change of size."""
        if not self._closed:
            with suppress(OSError):
                os.killpg(os.tcgetpgrp(self._master), signal.SIGWINCH)

    # The end

    def end(self, grace: float = GRACE) -> None:
        """Hang up on everything that runs here; `grace` seconds later kill what is left. `on_exit` follows."""
        if self._ending is None and not self._closed:
            work = asyncio.to_thread(end_session, self.pid, grace)
            self._ending = self._loop.create_task(work, name="end of a terminal")

    def hang_up(self) -> None:
        """The server stops: no time to wait. What ignores it dies with the server (last_will)."""
        signal_session(self.pid, signal.SIGHUP)

    async def _wait(self) -> None:
        await exit_of(self._process)
        data, _ = self._take(16 * AT_ONCE)
        self._closed = True
        if self._rest is not None:
            self._rest.cancel()
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        os.close(self._master)
        last_will.remove_session(self.pid)
        if data:
            self._on_output(data)
        self._on_exit(exit_code(self._process.returncode or 0))


def end_session(leader: int, grace: float) -> None:
    """Blocks for at most `grace` seconds. Jobs that ignore the hang-up are killed, too, with or without their shell."""
    signal_session(leader, signal.SIGHUP)
    deadline = time.monotonic() + grace
    while _members(leader) and time.monotonic() < deadline:
        time.sleep(0.02)
    signal_session(leader, signal.SIGKILL)


def signal_session(leader: int, number: signal.Signals) -> None:
    """To every process of a session, whichever groups its shell has put them into."""
    for pid in _members(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            if number is signal.SIGHUP:
                os.kill(pid, signal.SIGCONT)  # a stopped one could not hear it


def _members(leader: int) -> list[int]:
    found = []
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:  # no /proc: at least the shell
        return [leader]
    for name in names:
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in (b"Z", b"X"):
            found.append(int(name))
    return found
