"""A server as a child process: one JSON message per line on its standard input and output.

Below full access it lives in a sandbox and sees the workspace read-only: what a command leaves under a control name is
set aside when the command ends (workspaces_app.sandbox.sweep), and a server ends long after a call.
"""

import asyncio
import json
import logging
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import IO, Any

from halo_site.lib import last_will
from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError
from halo_site.lib.text import decode
from workspaces_app import sandbox
from workspaces_app.child import end_group, exit_of

from ..tools.shell_exec import environment
from . import wire
from .errors import McpDown, McpFailed
from .flood import Flood
from .values import Launch

log = logging.getLogger("halo.mcp")

LEAVE_SECONDS = 1.0  # to end by itself after its input was closed
STDERR_KEPT = 4_096  # bytes
WRITE_LIMIT = 32 * 1024 * 1024  # bytes that a server did not read yet
IN_THREAD = 1024 * 1024  # bytes; longer messages are not parsed on the loop

# Runs in the sandbox before the server. Its variables come by the pipe: on a command line everybody could read them.
_START = """
import json, os, sys
def take(size):
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            sys.exit("no variables came")
        data += more
    return data
os.environ.update(json.loads(take(int(take(10)))))
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error.strerror}")
"""


class StdioLink:
    """`open`, then `request` and `notify` from any task, then `close`. `ended` is set when the server is gone."""

    def __init__(
        self,
        launch: Launch,
        workspace: Path,
        level: Access,
        *,
        on_told: Callable[[str], None] = lambda method: None,
        on_end: Callable[["StdioLink"], None] = lambda link: None,
    ) -> None:
        self.launch, self.workspace, self.level = launch, workspace, level
        self.ended = asyncio.Event()
        self.why = ""  # it ended; not masked
        self._on_told, self._on_end = on_told, on_end
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[wire.Json]] = {}
        self._number = 0
        self._stdin: asyncio.WriteTransport | None = None
        self._stderr: deque[bytes] = deque()
        self._flood = Flood()
        self._noise = 0
        self._last_noise = b""
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Starts the program. Raises McpDown; the server has said nothing yet when this returns."""
        self._task = asyncio.create_task(self._serve(), name=f"mcp {self.launch.name}")
        await asyncio.wait({self._task, self._started}, return_when=asyncio.FIRST_COMPLETED)
        if not self._started.done():
            raise McpDown(self.why or "it could not be started")

    async def close(self) -> None:
        """Input closed, a second to leave, then TERM and KILL to its whole group."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task})

    async def request(self, method: str, params: dict[str, Any], timeout: float) -> wire.Json:
        """The result. Raises McpFailed (its error), McpDown, TimeoutError. Given up or cancelled: it is told so."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[wire.Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send(wire.request(number, method, params))
            async with asyncio.timeout(timeout):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            if method != "initialize":  # the protocol forbids to cancel that one
                with suppress(McpDown):
                    self.notify("notifications/cancelled", {"requestId": number})
            raise
        finally:
            del self._waiting[number]

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Raises McpDown."""
        self._send(wire.notification(method, params))

    def hint(self) -> str:
        """What may explain its silence: lines that are not messages."""
        if not self._noise:
            return ""
        return f"; it wrote {self._noise} lines that are no messages, the last: {decode(self._last_noise)[:300]}"

    # -- inside ----------------------------------------------------------------------------------------------------

    def _send(self, message: bytes) -> None:
        if self.ended.is_set() or self._stdin is None or self._stdin.is_closing():
            raise McpDown(self.why or "it closed its input")
        if self._stdin.get_write_buffer_size() > WRITE_LIMIT:
            raise McpFailed("it does not read its input")
        self._stdin.write(message + b"\n")

    async def _serve(self) -> None:
        """Owns the process from start to end, whoever waits for it."""
        try:
            async with AsyncExitStack() as stack:
                await self._run(stack)
        except OSError as error:
            self.why = self.why or f"it could not be started: {error.strerror or error}"
        except HaloError as error:
            self.why = self.why or str(error)
        finally:
            self.why = self.why or "it ended"
            self.ended.set()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(McpDown(self.why))
            self._on_end(self)

    async def _run(self, stack: AsyncExitStack) -> None:
        guard: Any = None
        if self.level is Access.FULL:
            process = self._spawn(self.launch.command, self.workspace, environment() | dict(self.launch.env))
        else:
            cell = await stack.enter_async_context(
                sandbox.cell(self.workspace, self.level, session_id=f"mcp {self.launch.name}", read_only=True)
            )
            guard = cell.guard
            start = [sys.executable, "-I", "-S", "-c", _START, *self.launch.command]
            process = self._spawn(cell.wrap(start), Path("/"), {})
        last_will.add(process.pid)
        exited = asyncio.ensure_future(exit_of(process))
        try:
            await self._talk(process, exited, guard)
        finally:
            if self._stdin is not None:
                self._stdin.close()
            await asyncio.wait({exited}, timeout=LEAVE_SECONDS)
            await end_group(process, exited)
            last_will.remove(process.pid)
            exited.cancel()

    @staticmethod
    def _spawn(argv: Any, cwd: Path, env: dict[str, str]) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        return subprocess.Popen(
            list(argv), cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )

    async def _talk(self, process: "subprocess.Popen[bytes]", exited: "asyncio.Future[None]", guard: Any) -> None:
        """Until it exits, says something impossible, takes too much, or we close."""
        loop = asyncio.get_running_loop()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
        if self.level is not Access.FULL:
            variables = json.dumps(dict(self.launch.env)).encode()
            self._stdin.write(b"%010d" % len(variables) + variables)
        reader = asyncio.StreamReader(limit=wire.MESSAGE_LIMIT, loop=loop)
        out = await _reading(loop, process.stdout, asyncio.StreamReaderProtocol(reader, loop=loop))
        err = await _reading(loop, process.stderr, _Tail(self._stderr))
        reading = asyncio.ensure_future(self._read(reader))
        closing = asyncio.ensure_future(self._closing.wait())
        stops: list[asyncio.Future[Any]] = [exited, reading, closing]
        if guard is not None:
            stops.append(asyncio.ensure_future(guard(process.pid)))
        self._started.set_result(None)
        try:
            await asyncio.wait(stops, return_when=asyncio.FIRST_COMPLETED)
            if closing.done():
                self.why = "it was ended by Halo"
            elif guard is not None and stops[-1].done():
                self.why = "it took more than 256 processes or 2 GiB of memory and was ended"
            elif reading.done() and (problem := reading.result()):
                self.why = problem
            else:
                last: set[asyncio.Future[Any]] = {exited, reading}
                await asyncio.wait(last, timeout=LEAVE_SECONDS)  # its last words are still on the way
                self.why = self._ending(process.poll())
        finally:
            for stop in stops[1:]:
                stop.cancel()
            out.close()
            err.close()

    def _ending(self, code: int | None) -> str:
        if code is None:
            how = "it closed its output"
        else:
            how = f"it ended with exit code {code}" if code >= 0 else f"it ended by signal {-code}"
        words = " ".join(decode(b"".join(self._stderr)[-STDERR_KEPT:]).split())
        return f"{how}: {words[-500:]}" if words else how

    async def _read(self, reader: asyncio.StreamReader) -> str:
        """Until the end of its output (""), or what it did that cannot be borne."""
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return ""
            except asyncio.LimitOverrunError:
                return f"it sent a message of more than {wire.MESSAGE_LIMIT // 1024 // 1024} MiB and was ended"
            line = line.strip()
            if not line:
                continue
            try:
                await self._heard(line)
            except McpFailed as error:
                return f"{error} and was ended"

    async def _heard(self, line: bytes) -> None:
        """Raises McpFailed when it talks too much."""
        try:
            messages = await asyncio.to_thread(wire.read, line) if len(line) > IN_THREAD else wire.read(line)
        except wire.Malformed:  # a log line: many servers print some
            self._noise += 1
            self._last_noise = line[:300]
            await self._flood.note()
            return
        for message in messages:
            if not self._take(message):
                await self._flood.note()

    def _take(self, message: wire.Incoming) -> bool:
        """True for an answer that somebody waits for."""
        match message:
            case wire.Answer(id=number):
                answer = self._waiting.get(number)
                if answer is None or answer.done():
                    return False  # too late
                if message.error is not None:
                    answer.set_exception(McpFailed(message.error))
                elif message.result is not None:
                    answer.set_result(message.result)
                return True
            case wire.Asked():
                with suppress(McpFailed):
                    self._send(wire.reply_to(message))
            case wire.Told(method=method):
                self._on_told(method)
        return False


class _Tail(asyncio.Protocol):
    """Keeps the last words on standard error; reading goes on, or the server would hang."""

    def __init__(self, kept: deque[bytes]) -> None:
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept.append(data[-STDERR_KEPT:])
        while len(self._kept) > 1 and sum(map(len, self._kept)) - len(self._kept[0]) >= STDERR_KEPT:
            self._kept.popleft()


async def _reading(
    loop: asyncio.AbstractEventLoop, file: IO[bytes], protocol: asyncio.Protocol
) -> asyncio.ReadTransport:
    transport, _ = await loop.connect_read_pipe(lambda: protocol, file)
    return transport
