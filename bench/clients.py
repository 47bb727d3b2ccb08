"""Deliberately small HTTP and WebSocket clients: on a shared machine a heavy client would hide the server's cost.

Arrival times are taken in `data_received`, before any task switch. RFC 6455, client side, no extensions.
"""

import asyncio
import base64
import json
import os
import re
import struct
import time
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlsplit

now = time.perf_counter


class WSClient(asyncio.Protocol):
    """Hands `(arrival, bytes)` of every text frame to `on_text`; without one, queues them for `next`."""

    def __init__(self, on_text: Callable[[float, bytes], None] | None = None) -> None:
        self.on_text = on_text
        self.queue: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        self.buffer = bytearray()
        self.fragments: list[bytes] = []
        self.closed = False
        self.bytes_in = self.frames_in = 0
        self.handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(
        cls,
        url: str,
        headers: dict[str, str],
        on_text: Callable[[float, bytes], None] | None = None,
        timeout: float = 20.0,
    ) -> Self:
        parts = urlsplit(url)
        loop = asyncio.get_running_loop()
        connecting = loop.create_connection(lambda: cls(on_text), parts.hostname or "", parts.port or 80)
        _, client = await asyncio.wait_for(connecting, timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: http://{parts.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        client.transport.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await asyncio.wait_for(client.handshake, timeout)
        return client

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if not self.handshake.done():
            self.handshake.set_exception(ConnectionError("closed during handshake"))
        self.queue.put_nowait(None)

    def data_received(self, data: bytes) -> None:
        at = now()
        self.bytes_in += len(data)
        self.buffer += data
        if not self.handshake.done():
            head, found, rest = bytes(self.buffer).partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head.split(b"\r\n", 1)[0]:
                self.handshake.set_exception(ConnectionError(head[:80].decode("latin-1")))
                self.transport.close()
                return
            self.buffer = bytearray(rest)
            self.handshake.set_result(None)
        self._parse(at)

    def _parse(self, at: float) -> None:
        buffer, pos, end = self.buffer, 0, len(self.buffer)
        while end - pos >= 2:
            first, length, size = buffer[pos], buffer[pos + 1] & 127, 2
            if length == 126:
                if end - pos < 4:
                    break
                (length,), size = struct.unpack_from(">H", buffer, pos + 2), 4
            elif length == 127:
                if end - pos < 10:
                    break
                (length,), size = struct.unpack_from(">Q", buffer, pos + 2), 10
            if end - pos < size + length:
                break
            payload = bytes(buffer[pos + size : pos + size + length])
            pos += size + length
            self._frame(at, first & 0x80, first & 15, payload)
        if pos:
            del buffer[:pos]

    def _frame(self, at: float, final: int, opcode: int, payload: bytes) -> None:
        if opcode == 9:
            self._write(10, payload)
        elif opcode == 8:
            self.transport.close()
        elif opcode in (0, 1, 2):
            self.fragments.append(payload)
            if not final:
                return
            frame = b"".join(self.fragments)
            self.fragments = []
            self.frames_in += 1
            if self.on_text:
                self.on_text(at, frame)
            else:
                self.queue.put_nowait((at, frame))

    def _write(self, opcode: int, payload: bytes) -> None:
        n = len(payload)
        if n < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | n)
        elif n < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, n)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, n)
        # A zero mask leaves the payload as it is: valid, and free of charge.
        self.transport.write(head + b"\0\0\0\0" + payload)

    def send(self, value: dict[str, Any]) -> float:
        """Send a frame; the time just before the write."""
        payload = json.dumps(value).encode()
        at = now()
        self._write(1, payload)
        return at

    async def next(self, timeout: float) -> tuple[float, bytes]:
        item = await asyncio.wait_for(self.queue.get(), timeout)
        if item is None:
            raise ConnectionError("the socket was closed")
        return item

    def close(self) -> None:
        if not self.closed:
            self._write(8, struct.pack(">H", 1000))
            self.transport.close()


class HTTPConn(asyncio.Protocol):
    """One keep-alive connection, one request at a time."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.done: asyncio.Future[int] | None = None
        self.marker: bytes | None = None
        self.marker_at = 0.0
        self._clear()

    def _clear(self) -> None:
        self.buffer = bytearray()
        self.body_at = self.length = -1
        self.status = 0

    def connection_lost(self, exc: Exception | None) -> None:
        if self.done and not self.done.done():
            self.done.set_exception(ConnectionError("connection lost"))

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.body_at < 0:
            at = self.buffer.find(b"\r\n\r\n")
            if at < 0:
                return
            self.body_at = at + 4
            head = bytes(self.buffer[:at]).lower()
            self.status = int(head.split(b" ", 2)[1])
            found = re.search(rb"\r\ncontent-length: *(\d+)", head)
            self.length = int(found.group(1)) if found else -1
        if self.marker and not self.marker_at and self.marker in self.buffer:
            self.marker_at = now()
        if self.length >= 0:
            complete = len(self.buffer) >= self.body_at + self.length
        else:
            complete = self.buffer.endswith(b"0\r\n\r\n")
        if complete and self.done and not self.done.done():
            self.done.set_result(len(self.buffer))

    @property
    def body(self) -> bytes:
        return bytes(self.buffer[self.body_at :])

    async def request(self, raw: bytes, marker: bytes | None = None, timeout: float = 60.0) -> int:
        """Send raw bytes, wait for the whole answer; its size in bytes."""
        self._clear()
        self.marker, self.marker_at = marker, 0.0
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(raw)
        return await asyncio.wait_for(self.done, timeout)

    @classmethod
    async def open(cls, base: str) -> Self:
        parts = urlsplit(base)
        _, conn = await asyncio.get_running_loop().create_connection(cls, parts.hostname or "", parts.port or 80)
        return conn


def raw_get(base: str, path: str, headers: dict[str, str]) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {urlsplit(base).netloc}", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def raw_post(base: str, path: str, value: Any) -> bytes:
    body = json.dumps(value).encode()
    host = urlsplit(base).netloc
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n"
    return (head + f"Content-Length: {len(body)}\r\n\r\n").encode() + body
