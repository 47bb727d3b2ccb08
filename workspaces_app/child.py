"""Child processes: own process group, bounded output, and an end that always comes.

Ending one means: SIGTERM to the whole group, 2 s later SIGKILL, and after a further 200 ms the call settles even if
somebody still holds the pipes open (spec tools 3.9).
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from halo_site.lib import last_will

GRACE = 2.0  # seconds between SIGTERM and SIGKILL
SETTLE = 0.2  # seconds for the pipes after the process ended

Ended = Literal["exit", "timeout", "abort", "full", "limit"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`code`: exit status, negative = signal; None = it was still there when we gave up waiting."""

    ended: Ended
    code: int | None
    stdout: bytes
    stderr: bytes


class _Taken:
    """Collects both pipes; together at most `limit` bytes are kept, then `full` is set."""

    def __init__(self, limit: int, live: Callable[[str, bytes], None] | None) -> None:
        self.left = limit
        self.live = live
        self.parts: dict[str, list[bytes]] = {"out": [], "err": []}
        self.full = asyncio.Event()

    def take(self, name: str, data: bytes) -> None:
        kept = data[: self.left]
        if kept:
            self.left -= len(kept)
            self.parts[name].append(kept)
            if self.live:
                self.live(name, kept)
        if len(kept) < len(data):
            self.full.set()  # reading goes on: a full pipe must not keep the process from ending

    def bytes_of(self, name: str) -> bytes:
        return b"".join(self.parts[name])


class _Pipe:
    """Our end of one pipe, read on the loop. `closed` resolves at end of file, or when we let go of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: IO[bytes], name: str, taken: _Taken) -> None:
        self.loop, self.file, self.name, self.taken = loop, file, name, taken
        self.closed: asyncio.Future[None] = loop.create_future()
        os.set_blocking(file.fileno(), False)
        loop.add_reader(file.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = os.read(self.file.fileno(), 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.taken.take(self.name, data)
        else:
            self.close()

    def close(self) -> None:
        """A grandchild may hold the other end for ever; ours does not wait for it."""
        if not self.file.closed:
            self.loop.remove_reader(self.file.fileno())
            self.file.close()
        if not self.closed.done():
            self.closed.set_result(None)


async def run_child(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    abort: asyncio.Event,
    limit: int,
    live: Callable[[str, bytes], None] | None = None,
    guard: Callable[[int], Coroutine[Any, Any, None]] | None = None,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> Outcome:
    """Run `argv` until it ends, `timeout` seconds passed, `abort` is set, or `limit` bytes of output were kept.

    live: gets ("out" | "err", bytes) while they come. guard: given the process id; when it returns, the command took
    too much, or does what it must not, and is ended. stdin: an open file to read from. pass_fds: further handles it
    inherits.
    Raises OSError when it cannot be started. A cancelled await kills the group at once. The end of the program counts,
    not the end of its output: asyncio's own subprocesses wait for the latter, and a child left in the background would
    keep the call open.
    """
    loop = asyncio.get_running_loop()
    taken = _Taken(limit, live)
    process = subprocess.Popen(  # noqa: ASYNC220 -- vfork and exec, about a millisecond; nothing is awaited in it
        argv,
        cwd=cwd,
        env=dict(env),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=pass_fds,
    )
    last_will.add(process.pid)
    assert process.stdout is not None
    assert process.stderr is not None
    pipes = [_Pipe(loop, process.stdout, "out", taken), _Pipe(loop, process.stderr, "err", taken)]
    exited = asyncio.ensure_future(exit_of(process))
    stops: dict[Ended, asyncio.Future[Any]] = {
        "exit": exited,
        "abort": asyncio.ensure_future(abort.wait()),
        "full": asyncio.ensure_future(taken.full.wait()),
    }
    if guard is not None:
        stops["limit"] = asyncio.ensure_future(guard(process.pid))
    try:
        await asyncio.wait(stops.values(), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        ended: Ended = next((name for name, stop in stops.items() if stop.done()), "timeout")
        if ended != "exit":
            await end_group(process, exited)
        await asyncio.wait([pipe.closed for pipe in pipes], timeout=SETTLE)
    finally:
        if process.poll() is None:
            _signal_group(process.pid, signal.SIGKILL)
        last_will.remove(process.pid)
        for stop in stops.values():
            stop.cancel()
        for pipe in pipes:
            pipe.close()
    return Outcome(ended, process.poll(), taken.bytes_of("out"), taken.bytes_of("err"))


async def exit_of(process: "subprocess.Popen[bytes]") -> None:
    """Resolves when the program itself ended."""
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        while process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(handle, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    process.poll()


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def end_group(process: "subprocess.Popen[bytes]", exited: "asyncio.Future[None]") -> None:
    """TERM, wait, KILL. Others of the group may outlive its leader, so they are waited for as well."""
    _signal_group(process.pid, signal.SIGTERM)
    end = time.monotonic() + GRACE
    await asyncio.wait({exited}, timeout=GRACE)
    while _group_lives(process.pid) and time.monotonic() < end:  # noqa: ASYNC110 -- nobody tells us of their end
        await asyncio.sleep(0.05)
    _signal_group(process.pid, signal.SIGKILL)
    await asyncio.wait({exited}, timeout=SETTLE)


def _group_lives(pid: int) -> bool:
    """True while a member of the group still runs. One that only waits to be reaped by init does not count."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_runs_in(number, pid) for number in numbers)


def _runs_in(number: str, group: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(state[2]) == group and state[0] not in (b"Z", b"X")


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
