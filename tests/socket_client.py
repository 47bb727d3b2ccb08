"""The client half of the socket protocol (docs/socket.md), for tests, benchmarks and crash cases.

    async with SocketClient(base, cookie) as tab:
        tab.open("sid_1", "/srv/demo")
        sent = tab.chat("sid_1", "/srv/demo", "hi")
        await tab.until(lambda: tab.is_acked(sent) and not tab.view("sid_1").running)

It reconnects with back-off, resends what was not acknowledged in the order of sending, subscribes its open tabs anew,
and applies snapshot, replay and live frames to a view per session. Imports no product code and no Django.
"""

import asyncio
import base64
import copy
import itertools
import json
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Frame = dict[str, Any]

ACK_LIMIT = 5.0  # seconds without an ack after which the link is taken for dead
MAX_SENDS = 3  # after so many the link is not closed for it any more
GIVE_UP = 120.0
BACKOFF = (1.0, 30.0)
PROBE_EVERY = 15.0


class Refused(ConnectionError):
    """The upgrade was answered with an HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"upgrade answered with {status}")
        self.status = status


class WebSocket:
    """One connection, RFC 6455 as far as a client needs it. Not for use by two readers at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.close_code: int | None = None
        self.pongs = True  # answer protocol pings

    @classmethod
    async def connect(cls, url: str, headers: Mapping[str, str] = {}, *, limit: int = 64 << 20) -> "WebSocket":
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, limit=limit)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {parts.path or '/'} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin1"))
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != 101:
            writer.close()
            raise Refused(status)
        return cls(reader, writer)

    def send_text(self, text: str) -> None:
        self.send_frame(0x1, text.encode())

    def send_frame(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes((0x80 | opcode, 0x80 | size))
        elif size < 65_536:
            head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((0x80 | opcode, 0x80 | 127)) + size.to_bytes(8, "big")
        mask = os.urandom(4)
        key = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
        self.writer.write(head + mask + masked.to_bytes(size, "big"))

    async def receive(self) -> str | None:
        """The next text; None once the connection is over (`close_code` says how, 1006 without a close frame)."""
        parts: list[bytes] = []
        try:
            while True:
                first, second = await self.reader.readexactly(2)
                size = second & 0x7F
                if size >= 126:
                    size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
                payload = await self.reader.readexactly(size) if size else b""
                opcode = first & 0x0F
                if opcode == 0x8:
                    self.close_code = int.from_bytes(payload[:2], "big") if payload else 1005
                    return None
                if opcode == 0x9:
                    if self.pongs:
                        self.send_frame(0xA, payload)
                elif opcode in (0x0, 0x1, 0x2):
                    parts.append(payload)
                    if first & 0x80:
                        return b"".join(parts).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close_code = self.close_code or 1006
            return None

    async def receive_json(self, timeout: float = 60.0) -> Frame:
        text = await asyncio.wait_for(self.receive(), timeout)
        if text is None:
            raise ConnectionError(f"closed with {self.close_code}")
        frame: Frame = json.loads(text)
        return frame

    def send_json(self, frame: object) -> None:
        self.send_text(json.dumps(frame))

    async def close(self) -> None:
        if not self.writer.is_closing():
            self.send_frame(0x8, (1000).to_bytes(2, "big"))
            self.writer.close()

    def abort(self) -> None:
        """A lost network: no close frame."""
        self.writer.transport.abort()


@dataclass
class SessionView:
    """What a tab shows of one session, built from snapshot, replay and live frames.

    rows: `{"user", "entryId"}`, `{"assistant": turnId, "blocks"}` or `{"notice"}`, oldest first.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    queued_text: dict[int, str] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    running: bool = False
    loaded: bool = False
    deleted: bool = False
    snapshots: int = 0
    resyncs: list[str] = field(default_factory=list)
    completes: int = 0
    before: int | None = None
    _settled: list[dict[str, Any]] = field(default_factory=list)
    _settled_usage: dict[str, Any] = field(default_factory=dict)

    def state(self) -> dict[str, Any]:
        """What must be equal for two tabs that look at the same session."""
        return {"rows": self.rows, "queue": self.queue, "usage": self.usage}

    @property
    def answered(self) -> bool:
        """Nothing runs, nothing waits, and an answer is there (its `chat:complete` may be part of a snapshot)."""
        return self.loaded and not self.running and not self.queue and bool(self.text())

    def text(self) -> str:
        """All assistant text."""
        blocks = (block for row in self.rows if "assistant" in row for block in row["blocks"])
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    def apply(self, frame: Frame) -> None:
        handler = _APPLY.get(frame["type"])
        if handler is not None:
            handler(self, frame)

    def _snapshot(self, frame: Frame) -> None:
        snapshot = frame["snapshot"]
        self.rows, self.usage = [], {}
        for message in snapshot["recentMessages"]:
            self._message(message)
        self.queue = [item["entryId"] for item in snapshot.get("queue", [])]
        self.queued_text = {item["entryId"]: item["text"] for item in snapshot.get("queue", [])}
        self.running = bool(snapshot.get("running"))
        self.before = snapshot.get("before")
        self.loaded = True
        self.snapshots += 1
        self._settled, self._settled_usage = copy.deepcopy(self.rows), dict(self.usage)

    def _message(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "user":
            self._user(message["entryId"], message["content"])
        elif kind == "assistant":
            row = {"assistant": message["turnId"], "blocks": []}
            for block in message["contentBlocks"]:
                block = dict(block)
                block.pop("turnId", None)
                if block["type"] == "tool_call":
                    call = block["toolCall"]
                    block = {"type": "tool_call", "name": call["name"], "id": call["toolUseId"], "input": call["input"]}
                    if "output" in call:
                        block["output"] = call["output"]
                row["blocks"].append(block)
            if row["blocks"]:
                self.rows.append(row)
        elif kind == "usage":
            self.usage[message["turnId"]] = message["usage"]
        elif kind == "notification":
            self.rows.append({"notice": message["content"]})

    def _user(self, entry_id: int, text: str) -> None:
        for row in self.rows:
            if row.get("entryId") == entry_id:
                row["user"] = text
                return
        self.rows.append({"user": text, "entryId": entry_id})

    def _chat_user(self, frame: Frame) -> None:
        self._user(frame["entryId"], frame["text"])

    def acked(self, entry_id: int, text: str) -> None:
        """Our own message has its row."""
        if entry_id not in self.queue:
            self._user(entry_id, text)

    def _queue_changed(self, frame: Frame) -> None:
        before, self.queue = self.queue, [item["entryId"] for item in frame["items"]]
        for item in frame["items"]:
            self.queued_text[item["entryId"]] = item["text"]
        waiting = [row for row in self.rows if row.get("entryId") in self.queue]
        self.rows = [row for row in self.rows if row.get("entryId") not in self.queue]
        for row in waiting:
            self.queued_text.setdefault(row["entryId"], row["user"])
        for entry_id in before:
            if entry_id not in self.queue:
                self._user(entry_id, self.queued_text.pop(entry_id))

    def _followup(self, frame: Frame) -> None:
        if frame.get("replay"):
            self.rows, self.usage = copy.deepcopy(self._settled), dict(self._settled_usage)
        self.running = True

    def _blocks(self, turn_id: str) -> list[dict[str, Any]]:
        for row in reversed(self.rows):
            if row.get("assistant") == turn_id:
                blocks: list[dict[str, Any]] = row["blocks"]
                return blocks
        self.rows.append({"assistant": turn_id, "blocks": []})
        return self.rows[-1]["blocks"]  # type: ignore[no-any-return]

    def _delta(self, frame: Frame) -> None:
        self.running = True
        kind = "thinking" if frame["type"] == "chat:thinking" else "text"
        blocks = self._blocks(frame["turnId"])
        if blocks and blocks[-1]["type"] == kind:
            blocks[-1]["text"] += frame["text"]
        else:
            blocks.append({"type": kind, "text": frame["text"]})

    def _tool_call(self, frame: Frame) -> None:
        self._blocks(frame["turnId"]).append(
            {"type": "tool_call", "name": frame["tool"], "id": frame["toolUseId"], "input": frame["input"]}
        )

    def _tool_result(self, frame: Frame) -> None:
        for row in self.rows:
            for block in row.get("blocks", ()):
                if block.get("id") == frame["toolUseId"]:
                    block.setdefault("output", frame["result"])

    def _usage(self, frame: Frame) -> None:
        if frame.get("turnId") and frame.get("usage"):
            self.usage[frame["turnId"]] = frame["usage"]

    def _reset(self, frame: Frame) -> None:
        self.rows = [row for row in self.rows if row.get("assistant") != frame["turnId"]]

    def _notice(self, frame: Frame) -> None:
        self.rows.append({"notice": frame.get("text") or frame.get("error")})

    def _complete(self, frame: Frame) -> None:
        self.completes += 1
        self.running = False

    def _resync(self, frame: Frame) -> None:
        self.resyncs.append(frame["reason"])

    def _deleted(self, frame: Frame) -> None:
        self.deleted = True
        self.running = False


_APPLY: dict[str, Callable[[SessionView, Frame], None]] = {
    "state:snapshot": SessionView._snapshot,
    "chat:user": SessionView._chat_user,
    "queue:changed": SessionView._queue_changed,
    "chat:followup": SessionView._followup,
    "chat:stream": SessionView._delta,
    "chat:thinking": SessionView._delta,
    "agent:tool_call": SessionView._tool_call,
    "agent:tool_result": SessionView._tool_result,
    "chat:usage": SessionView._usage,
    "stream_reset": SessionView._reset,
    "chat:system": SessionView._notice,
    "error": SessionView._notice,
    "chat:complete": SessionView._complete,
    "resync": SessionView._resync,
    "session:deleted": SessionView._deleted,
}


@dataclass
class Pending:
    """A message without an ack yet."""

    frame: Frame
    first_sent: float
    sent_at: float = 0.0
    sends: int = 0


class SocketClient:
    """One browser tab. `log`: everything received and sent, as (monotonic time, "in" or "out", frame)."""

    def __init__(
        self,
        base: str,
        cookie: str = "",
        *,
        backoff: tuple[float, float] = BACKOFF,
        ack_limit: float = ACK_LIMIT,
        keep_log: bool = True,
    ) -> None:
        self.url = base.replace("http", "ws", 1).rstrip("/") + "/ws"
        self.headers = {"Origin": base.rstrip("/")} | ({"Cookie": cookie} if cookie else {})
        self.backoff, self.ack_limit, self.keep_log = backoff, ack_limit, keep_log
        self.link = "closed"  # connecting, open, waiting, logged out, closed
        self.log: list[tuple[float, str, Frame]] = []
        self.errors: list[Frame] = []
        self.acks: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.pending: dict[str, Pending] = {}
        self.tabs: dict[str, str] = {}  # session -> project
        self.views: dict[str, SessionView] = {}
        self.connections = 0
        self.close_codes: list[int | None] = []
        self.offline = False  # True: the network is down until it is set to False again
        self._socket: WebSocket | None = None
        self._ids = itertools.count(1)
        self._prefix = f"c{random.getrandbits(48):x}"
        self._changed = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "SocketClient":
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._watch())]
        return self

    async def __aexit__(self, *error: object) -> None:
        self.link = "closed"
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()

    # What a person does

    def open(self, session: str, project: str) -> SessionView:
        self.tabs[session] = project
        self.send({"type": "subscribe", "sessionId": session, "projectId": project})
        return self.view(session)

    def close_tab(self, session: str) -> None:
        self.tabs.pop(session, None)
        self.send({"type": "unsubscribe", "sessionId": session})

    def chat(self, session: str, project: str, message: str, **more: Any) -> str:
        """Send a message; its clientMsgId. It is sent again until it is acknowledged or fails for good."""
        self.tabs.setdefault(session, project)
        name = more.pop("clientMsgId", None) or f"{self._prefix}-{next(self._ids)}"
        frame = {"type": "chat", "sessionId": session, "projectId": project, "message": message, "clientMsgId": name}
        self.pending[name] = Pending(frame | more, time.monotonic())
        self._transmit(self.pending[name])
        return name

    def send(self, frame: Frame) -> bool:
        """A frame without delivery guarantee. False = no link."""
        if self._socket is None:
            return False
        self._note("out", frame)
        self._socket.send_json(frame)
        return True

    def view(self, session: str) -> SessionView:
        return self.views.setdefault(session, SessionView())

    def is_acked(self, client_msg_id: str) -> bool:
        return client_msg_id in self.acks

    def cut(self) -> None:
        """The network is lost without a word."""
        if self._socket is not None:
            self._socket.abort()

    async def until(self, fact: Callable[[], object], timeout: float = 60.0) -> None:
        """Wait for a fact; it is looked at after each frame. Raises TimeoutError."""

        async def wait() -> None:
            async with self._changed:
                await self._changed.wait_for(lambda: bool(fact()))

        await asyncio.wait_for(wait(), timeout)

    def received(self, type: str, **values: object) -> list[Frame]:
        frames = (frame for _, way, frame in self.log if way == "in" and frame["type"] == type)
        return [frame for frame in frames if all(frame.get(key) == value for key, value in values.items())]

    # The link

    async def _run(self) -> None:
        delay = self.backoff[0]
        while True:
            self.link = "connecting"
            try:
                if self.offline:
                    raise ConnectionError("offline")
                self._socket = await asyncio.wait_for(WebSocket.connect(self.url, self.headers), 60)
            except Refused as refused:
                if refused.status == 401:
                    self.link = "logged out"
                    await self._notify()
                    return
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                pass
            else:
                self.link, self.connections, delay = "open", self.connections + 1, self.backoff[0]
                self._reopen()
                await self._read(self._socket)
                self.close_codes.append(self._socket.close_code)
                self._socket.writer.close()
                self._socket = None
            self.link = "waiting"
            await self._notify()
            await asyncio.sleep(delay)
            delay = min(delay * 2, self.backoff[1])

    def _reopen(self) -> None:
        """What was not acknowledged goes out again, in the first order; then each open tab subscribes once."""
        for pending in list(self.pending.values()):
            self._transmit(pending)
        for session, project in self.tabs.items():
            self.send({"type": "subscribe", "sessionId": session, "projectId": project})

    def _transmit(self, pending: Pending) -> None:
        if self.send(pending.frame):
            pending.sent_at = time.monotonic()
            pending.sends += 1

    async def _read(self, socket: WebSocket) -> None:
        while (text := await socket.receive()) is not None:
            frame: Frame = json.loads(text)
            self._note("in", frame)
            self._take(frame)
            await self._notify()

    def _take(self, frame: Frame) -> None:
        kind = frame["type"]
        if kind == "chat:ack":
            pending = self.pending.pop(frame["clientMsgId"], None)
            self.acks[frame["clientMsgId"]] = frame["entryId"]
            if pending is not None:
                self.view(pending.frame["sessionId"]).acked(frame["entryId"], pending.frame["message"])
        elif kind == "listener:released":
            session = frame["sessionId"]
            if session in self.tabs:
                self.open(session, self.tabs[session])
        elif kind == "state:snapshot":
            session = frame["snapshot"].get("sessionId")
            if session is not None:
                self.view(session).apply(frame)
        elif kind == "error" and "seq" not in frame and not frame.get("replay"):
            self.errors.append(frame)
            failed = self.pending.pop(frame.get("clientMsgId", ""), None)
            if failed is not None:
                self.failed[failed.frame["clientMsgId"]] = frame["error"]
        elif "sessionId" in frame:
            self.view(frame.get("taskId") or frame["sessionId"]).apply(frame)

    async def _watch(self) -> None:
        """Probes, and acknowledgements that do not come."""
        probed = time.monotonic()
        while True:
            await asyncio.sleep(min(0.25, self.ack_limit / 4))
            now = time.monotonic()
            if now - probed > PROBE_EVERY:
                probed = now
                self.send({"type": "__ping__"})
            for name, pending in list(self.pending.items()):
                if now - pending.first_sent > GIVE_UP:
                    del self.pending[name]
                    self.failed[name] = "no answer"
                elif pending.sends and pending.sends < MAX_SENDS and now - pending.sent_at > self.ack_limit:
                    self.cut()
                    break

    def _note(self, way: str, frame: Frame) -> None:
        if self.keep_log:
            self.log.append((time.monotonic(), way, frame))

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
