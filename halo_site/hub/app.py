"""`/ws`: from the upgrade to the end of one socket. A plain ASGI application: one parked coroutine per idle socket.

The checks of the upgrade are handed in by asgi.py: the hub knows no cookies.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from halo_site.lib.db import DbThreads
from workspaces_app.access import Caller

from .connection import Connection
from .daphne_protocol import protocol_of
from .fanout import SOCKETS_PER_USER, Hub
from .rights import read_rights
from .wire import AsgiWire, Send, Wire

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]

PATH = "/ws"
FRAMES_PER_SECOND = 1000  # more are read in the next second
FLOOD_SECONDS = 5  # so long at the limit without a pause: the socket is closed


@dataclass(frozen=True, slots=True)
class Gate:
    """How an upgrade is judged; all four are asked before the socket is accepted."""

    host_allowed: Callable[[Scope], bool]
    origin_allowed: Callable[[Scope], bool]
    authenticate: Callable[[Scope, DbThreads], Awaitable[Caller | None]]
    address: Callable[[Scope], str]


class SocketApp:
    def __init__(self, hub: Hub, gate: Gate) -> None:
        self.hub = hub
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        verdict = await self._admit(scope)
        if isinstance(verdict, int):
            await _deny(scope, send, verdict)
            return
        caller, person = verdict
        protocol = protocol_of(send)
        wire: Wire = protocol or AsgiWire(send)
        connection = Connection(self.hub, wire, caller, person, self.gate.address(scope), _cookie(scope))
        await send({"type": "websocket.accept"})
        self.hub.enter(connection)
        try:
            connection.send_bytes(_hello())
            await self._serve(connection, receive)
        finally:
            connection.tear_down()

    async def _admit(self, scope: Scope) -> "int | tuple[Caller, Any]":
        """The caller with what is known of them, or the HTTP status of the refusal."""
        if scope["path"] != PATH:
            return 404
        if not self.gate.host_allowed(scope):
            return 400
        if not self.gate.origin_allowed(scope):
            return 403
        caller = await self.gate.authenticate(scope, self.hub.threads)
        if caller is None:
            return 401
        rights = (await self.hub.threads.run(read_rights, [caller.user_id])).get(caller.user_id)
        if rights is None:
            return 401
        if self.hub.closing:
            return 503
        if self.hub.sockets_of(caller.user_id) >= SOCKETS_PER_USER:
            return 429
        return caller, self.hub.person(caller.user_id, rights)

    async def _serve(self, connection: Connection, receive: Receive) -> None:
        pace = Pace()
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            if connection.closed:
                continue
            connection.receive(message.get("text") or message.get("bytes") or b"")
            wait = pace.count(time.monotonic())
            if wait is None:
                connection.close(1008, "Too many frames")
            elif wait or connection.is_busy:
                await _hold_back(connection, wait)


async def _hold_back(connection: Connection, seconds: float) -> None:
    """Stop reading for a while: the client's own TCP buffer has to hold what it sends."""
    connection.wire.pause_reading()
    try:
        if seconds:
            await asyncio.sleep(seconds)
        if connection.is_busy and not connection.closed:
            connection.room = asyncio.Event()
            await connection.room.wait()
            connection.room = None
    finally:
        connection.wire.resume_reading()


class Pace:
    """Counts inbound frames by the second."""

    __slots__ = ("_began", "_count", "_floods")

    def __init__(self) -> None:
        self._began = 0.0
        self._count = 0
        self._floods = 0

    def count(self, now: float) -> float | None:
        """Seconds to wait before the next frame is read, mostly 0; None = this is a flood."""
        passed = now - self._began
        if passed >= 1.0:
            at_limit = self._count >= FRAMES_PER_SECOND and passed < 1.5
            self._floods = self._floods + 1 if at_limit else 0
            self._began, self._count = now, 1
            return None if self._floods >= FLOOD_SECONDS else 0.0
        self._count += 1
        return 1.0 - passed if self._count >= FRAMES_PER_SECOND else 0.0


async def _deny(scope: Scope, send: Send, status: int) -> None:
    """Refuse the upgrade with an HTTP status where the server lets us, else as servers do (403)."""
    protocol = protocol_of(send)
    if protocol is not None:
        protocol.deny(status)
    elif "websocket.http.response" in scope.get("extensions", {}):
        await send({"type": "websocket.http.response.start", "status": status, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b""})
    else:
        await send({"type": "websocket.close", "code": 1008})


def _cookie(scope: Scope) -> bytes:
    return b"; ".join(value for name, value in scope["headers"] if name == b"cookie")


def _hello() -> bytes:
    """The first frame: an empty snapshot, so that the context ring has a denominator."""
    snapshot: dict[str, Any] = {
        "activePlan": None,
        "agents": [],
        "recentMessages": [],
        "maxContextTokens": settings.HALO.max_context_tokens,
    }
    return orjson.dumps({"type": "state:snapshot", "snapshot": snapshot})
