"""The way out of one socket: what the hub needs of the server below it.

`paused` is the server's back-pressure: while it is set, whatever is written piles up in memory, so the outbox keeps
frames to itself (bounded) until `on_resume` is called.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from halo_site.lib.packet import Packet

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Wire(Protocol):
    paused: bool
    on_resume: Callable[[], None]
    unanswered: int  # protocol pings without a pong

    def write(self, packet: Packet) -> None: ...

    def ping(self) -> None: ...

    def close(self, code: int, reason: str = "") -> None:
        """Say goodbye; the peer may still read what was written before."""

    def abort(self) -> None:
        """Cut the line now: for a peer that does not read."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class AsgiWire:
    """Any ASGI server: its `send` waits while the peer does not read. One task, only while there is something to send.

    Pings are such a server's own business.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: deque[dict[str, Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self.paused = False
        self.on_resume: Callable[[], None] = lambda: None
        self.unanswered = 0

    def write(self, packet: Packet) -> None:
        self._put({"type": "websocket.send", "text": packet.data.decode()})

    def close(self, code: int, reason: str = "") -> None:
        self._put({"type": "websocket.close", "code": code, "reason": reason})

    def abort(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def ping(self) -> None:
        return

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return

    def _put(self, message: dict[str, Any]) -> None:
        self._waiting.append(message)
        if self._task is None:
            self.paused = True
            self._task = asyncio.get_running_loop().create_task(self._pump())

    async def _pump(self) -> None:
        try:
            while self._waiting:
                await self._send(self._waiting.popleft())
        except OSError:  # the peer is gone; `receive` will say so
            self._waiting.clear()
        finally:
            self._task = None
            self.paused = False
        self.on_resume()
