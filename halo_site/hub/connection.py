"""One socket: what it looks at, what it sent, what waits for it. The `Socket` that frame handlers get."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import uuid4

import orjson
from django.db import OperationalError
from pydantic import ValidationError

from halo_site.lib.errors import BadRequest, HaloError, Unavailable
from halo_site.lib.events import as_frame
from halo_site.lib.packet import Packet
from sessions_app.views import View
from workspaces_app.access import Caller
from workspaces_app.events import FileChanged, FilesResync, FilesWatching
from workspaces_app.socket_frames import Bound, Frame, Watched, frame_named

from .outbox import Outbox
from .subscription import Subscription
from .wire import Wire

if TYPE_CHECKING:
    from .fanout import Hub
    from .rights import Person

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

MAX_SUBSCRIPTIONS = 64
MAX_WAITING = 200  # frames of one client that wait for the one before them; then we stop reading
REMEMBERED = 200  # own messages whose `chat:user` is still to come
SILENCE = 180.0  # seconds without an inbound frame after which listeners are released
STALLED = 60.0

PONG = Packet("__pong__", b'{"type":"__pong__"}')


class Connection:
    """Owns no work: when it goes, runs go on (ARCHITECTURE 6)."""

    __slots__ = (
        "_at_end",
        "_files_missed",
        "_stale",
        "_waiting",
        "_when_free",
        "_worker",
        "active",
        "address",
        "agent_id",
        "bound",
        "caller",
        "closed",
        "cookie",
        "hub",
        "last_inbound",
        "outbox",
        "person",
        "room",
        "subscriptions",
        "wire",
        "written",
    )

    def __init__(self, hub: "Hub", wire: Wire, caller: Caller, person: "Person", address: str, cookie: bytes) -> None:
        self.hub = hub
        self.wire = wire
        self.caller = caller
        self.person = person
        self.address = address
        self.cookie = cookie
        self.outbox = Outbox(wire, self._on_overflow, self._on_drained)
        self.bound: Bound | None = None
        self.active: str | None = None
        self.agent_id = "default"
        self.subscriptions: dict[str, Subscription] = {}
        self.written: deque[str] = deque(maxlen=REMEMBERED)
        self.last_inbound = time.monotonic()
        self.closed = False
        self.room: asyncio.Event | None = None  # set when a client that sent too much may go on
        self._waiting: deque[tuple[Frame[Any], dict[str, Any]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._stale = False
        self._files_missed = False
        self._when_free: list[Callable[[], None]] = []
        self._at_end: list[Callable[[], None]] = []

    # Inbound

    def receive(self, text: str | bytes) -> None:
        """One frame of the client. Never raises."""
        self.last_inbound = time.monotonic()
        try:
            body = orjson.loads(text)
        except ValueError:  # also for nesting without end
            body = None
        if not isinstance(body, dict) or not isinstance(body.get("type"), str):
            self.send({"type": "error", "error": "Invalid JSON message"})
            return
        name: str = body["type"]
        if name == "__ping__":
            self.outbox.put((PONG,), of_session=False)
            return
        frame = frame_named(name)
        if frame is None:
            self._refuse(BadRequest(_unknown(name)), body)
        elif frame.at_once:
            self.hub.spawn(self._handle(frame, body))
        else:
            self._waiting.append((frame, body))
            if self._worker is None:
                self._worker = self.hub.spawn(self._work())

    @property
    def is_busy(self) -> bool:
        """More frames wait than we want to keep: stop reading."""
        return len(self._waiting) >= MAX_WAITING

    async def _work(self) -> None:
        """One frame after another; a failing one does not stop the next."""
        try:
            while self._waiting and not self.closed:
                frame, body = self._waiting.popleft()
                await self._handle(frame, body)
                if self.room is not None and len(self._waiting) < MAX_WAITING // 4:
                    self.room.set()
        finally:
            self._worker = None

    async def _handle(self, frame: Frame[Any], body: dict[str, Any]) -> None:
        try:
            await frame.handle(self, frame.fields.model_validate(body))
        except ValidationError as error:
            self._refuse(BadRequest(frame.usage or _describe(frame.name, error)), body)
        except HaloError as error:
            self._refuse(error, body)
        except OperationalError:
            log.warning("The database refused a frame", exc_info=True)
            self._refuse(Unavailable("The database is busy or gone; try again in a few seconds"), body)
        except Exception:
            fault = uuid4().hex[:12]
            log.exception("Frame %s failed (%s)", frame.name, fault)
            self._refuse(HaloError(f"internal error ({fault})"), body)

    def _refuse(self, error: HaloError, body: dict[str, Any]) -> None:
        """`code` marks a finished sentence; plain mistakes of a client have none (spec ws-protocol, Errors)."""
        answer: dict[str, Any] = {"type": "error", "error": str(error)}
        if error.code != HaloError.code:
            answer["code"] = error.code
        for key in ("sessionId", "clientMsgId", "terminalId"):
            if isinstance(value := body.get(key), str):
                answer[key] = value[:255]
        self.send(answer | {key: value for key, value in error.extra.items() if key not in answer})

    # Socket: what handlers use

    def send(self, frame: dict[str, Any]) -> None:
        self.send_bytes(orjson.dumps(frame, default=str))

    def send_bytes(self, data: bytes) -> None:
        self.outbox.put((Packet("", data),), of_session=False)

    def bind(self, bound: Bound) -> None:
        before, self.bound = self.bound, bound
        self.person.learn(bound.key, bound.level)
        if self.closed or (before is not None and (before.key, before.path) == (bound.key, bound.path)):
            return
        self.hub.watches.hold(bound.key, bound.path, self)
        if before is not None and before.key != bound.key:
            self.hub.watches.let_go(before.key, self)

    def files_changed(self, packet: Packet) -> None:
        """News of the bound workspace's files. Who does not keep up reads everything again instead."""
        if packet.type != FileChanged.type or not self.busy:
            self.outbox.put((packet,), of_session=False)
        elif not self._files_missed:
            self._files_missed = True
            self.when_free(self._read_again)

    def _read_again(self) -> None:
        self._files_missed = False
        if self.bound is not None:
            self.send(as_frame(FilesResync(workspace_path=self.bound.path)))

    async def watching(self) -> FilesWatching | None:
        return None if self.bound is None else await self.hub.watches.armed(self.bound.key)

    def watch(self, session: Watched) -> None:
        self._listen(session, idle=False)

    def listen(self, session: Watched, *, idle: bool, first: View | None = None) -> None:
        mine = self.subscriptions.get(session.sid)
        if mine is None or mine.session.key != session.key:
            self._listen(session, idle=idle, first=first)

    def _listen(self, session: Watched, *, idle: bool, first: View | None = None) -> None:
        if self.closed:
            return
        self.unwatch(session.sid)
        if len(self.subscriptions) >= MAX_SUBSCRIPTIONS:
            raise BadRequest(f"At most {MAX_SUBSCRIPTIONS} sessions per connection: close a tab")
        subscription = Subscription(self, session)
        self.subscriptions[session.sid] = subscription
        self.hub.add(subscription)
        subscription.start(idle=idle, first=first)

    def watches(self, sid: str) -> bool:
        return sid in self.subscriptions

    def unwatch(self, sid: str) -> bool:
        subscription = self.subscriptions.pop(sid, None)
        if subscription is None:
            return False
        subscription.close()
        self.hub.remove(subscription)
        return True

    def wrote(self, client_msg_id: str) -> None:
        self.written.append(client_msg_id)

    @property
    def busy(self) -> bool:
        return not self.outbox.idle

    def when_free(self, act: Callable[[], None]) -> None:
        if not self.busy:
            act()
        elif not self.closed:
            self._when_free.append(act)

    def at_end(self, act: Callable[[], None]) -> None:
        if self.closed:
            act()
        else:
            self._at_end.append(act)

    async def unit(self, unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.hub.threads.run(unit, *args, **kwargs)

    # Slow readers

    def _on_overflow(self) -> None:
        """Session frames were dropped: nothing more of any session until the reader has caught up."""
        if self.outbox.over_full:
            self.close(1013, "Too slow")
            return
        self._stale = True
        for subscription in self.subscriptions.values():
            subscription.stale = True
            subscription.close()
            subscription.feed.rejoin()
        self.hub.blocked.add(self)

    def _on_drained(self) -> None:
        self.hub.blocked.discard(self)
        waiting, self._when_free = self._when_free, []
        for act in waiting:
            act()
        self.caught_up()

    def caught_up(self) -> None:
        """Bring stale sessions back, one after another, as fast as the client reads."""
        if not self._stale or self.closed or not self.outbox.idle:
            return
        for subscription in self.subscriptions.values():
            if subscription.stale:
                subscription.stale = False
                subscription.refresh("slow")
                return
        self._stale = False

    # The end

    def release_listeners(self) -> None:
        """The client fell silent: its listeners go, the socket stays (spec ws-protocol 42)."""
        for sid in list(self.subscriptions):
            self.unwatch(sid)
            self.send({"type": "listener:released", "sessionId": sid})

    def close(self, code: int, reason: str = "") -> None:
        """A peer that does not read gets no close frame either: then the line is cut."""
        if self.closed:
            return
        stuck = self.outbox.blocked_since is not None
        self.tear_down()
        self.wire.close(code, reason)
        if stuck:
            self.wire.abort()

    def tear_down(self) -> None:
        """Once, however the end came. A handler that runs now ends by itself: its transaction is not undone."""
        if self.closed:
            return
        self.closed = True
        for sid in list(self.subscriptions):
            self.unwatch(sid)
        if self.bound is not None:
            self.hub.watches.let_go(self.bound.key, self)
        self._when_free.clear()
        for act in self._at_end:
            act()
        self._at_end.clear()
        self._waiting.clear()
        self.outbox.clear()
        if self.room is not None:
            self.room.set()
        self.hub.leave(self)


def _unknown(name: str) -> str:
    return f"Unknown message type: {name[:100]}"


def _describe(name: str, error: ValidationError) -> str:
    """`queue:edit: entryId is missing` and the like."""
    parts = []
    for item in error.errors()[:3]:
        place = ".".join(str(step) for step in item["loc"])[:100]
        parts.append(f"{place} is missing" if item["type"] == "missing" else f"{place}: {item['msg']}"[:200])
    return f"{name}: " + "; ".join(parts)
