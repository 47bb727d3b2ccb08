"""The only way out of a sandbox: an HTTP and CONNECT proxy on a unix socket, with the rules of `web_fetch` (S6).

One proxy per command; it ends with it. Host and bytes of every connection are logged, never paths or contents.
"""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.errors import HaloError
from halo_site.lib.outbound import Place, Rules, connect, parse_place, parse_url

log = logging.getLogger("halo.sandbox")

HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 10.0
IDLE_SECONDS = 300.0
CHUNK = 65536
MAX_OPEN = 64
_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"te:", b"upgrade:")


@dataclass(slots=True)
class Traffic:
    """Bytes of one connection, seen from the sandbox."""

    sent: int = 0
    received: int = 0


@asynccontextmanager
async def proxy(rules: Rules, session_id: str) -> AsyncIterator[Path]:
    """Serve while the command runs. Yields the socket; its folder is 0700 and goes away at the end."""
    folder = Path(tempfile.mkdtemp(prefix="halo-net-"))
    path = folder / "s"
    serving: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        task.add_done_callback(serving.discard)
        try:
            if len(serving) <= MAX_OPEN:
                await _serve(reader, writer, rules, session_id)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # the command hung up, or never spoke HTTP
        finally:
            writer.close()

    server = await asyncio.start_unix_server(accept, path, limit=HEAD_BYTES)
    os.chmod(path, 0o600)
    try:
        yield path
    finally:
        server.close()
        for task in list(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        shutil.rmtree(folder, ignore_errors=True)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rules: Rules, session_id: str) -> None:
    async with asyncio.timeout(HEAD_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        writer.write(_answer("400 Bad Request", "Not a proxy request"))
        return
    try:
        place, forward = _wanted(words[0], words[1], rest)
        outer = await connect(place, rules)
    except HaloError as error:
        log.info("sandbox network: refused", extra={"session": session_id, "target": words[1][:200].partition("?")[0]})
        writer.write(_answer("403 Forbidden" if error.status == 403 else "502 Bad Gateway", str(error)))
        await writer.drain()
        return
    there, back = await asyncio.open_connection(sock=outer)
    traffic = Traffic()
    try:
        if forward:
            back.write(forward)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_carry(reader, back, traffic, sent=True), _carry(there, writer, traffic, sent=False))
    finally:
        back.close()
        extra = {"session": session_id, "host": place.host, "port": place.port}
        log.info("sandbox network", extra=extra | {"sent": traffic.sent, "received": traffic.received})


def _wanted(method: str, target: str, headers: bytes) -> tuple[Place, bytes]:
    """Where to, and the first bytes to send there (none for CONNECT). Raises BadAddress."""
    if method == "CONNECT":
        return parse_place(target), b""
    url = parse_url(target)
    if url.scheme != "http":
        raise HaloError("Use CONNECT for https")
    kept = [line for line in headers.split(b"\r\n") if line and not line.lower().startswith((*_HOP, b"host:"))]
    first = [f"{method} {url.path} HTTP/1.1".encode("latin-1"), f"Host: {url.authority}".encode()]
    return url.place, b"\r\n".join([*first, *kept, b"Connection: close", b"", b""])


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, traffic: Traffic, *, sent: bool) -> None:
    """One direction until its end, which is passed on; the other one may go on."""
    with suppress(OSError):
        while True:
            async with asyncio.timeout(IDLE_SECONDS):
                data = await source.read(CHUNK)
            if not data:
                break
            if sent:
                traffic.sent += len(data)
            else:
                traffic.received += len(data)
            sink.write(data)
            await sink.drain()
    with suppress(OSError, RuntimeError):
        if sink.can_write_eof():
            sink.write_eof()


def _answer(status: str, text: str) -> bytes:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
