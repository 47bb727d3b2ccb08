"""News between processes: one connection of this process to the channel layer (Redis pub/sub).

One layer channel per process, joined to the group of every session that somebody looks at here; a frame crosses once
per process, however many look. Sending is a queue of its own: nobody who publishes waits for Redis, and what cannot
be sent is dropped. A heartbeat through the layer notices within 15 s when nothing comes in any more; then everything
is joined anew and viewers get their sessions again.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from channels.layers import get_channel_layer

from halo_site.lib.events import Event
from halo_site.lib.packet import Packet
from halo_site.lib.publish import deliver_signal

from .local import Deliver, LoopDelivery

log = logging.getLogger(__name__)

EVERY_SERVER = "servers"  # frames for workspaces and the site: few, so every web process gets all of them
EVERY_PROCESS = "processes"  # signals
MAX_WAITING = 5000
MAX_BATCH = 64
SEND_LIMIT = 5.0  # seconds
JOIN_LIMIT = 2.0
BEAT = 4.0
DEAF_AFTER = 10.0  # seconds without an own heartbeat
LINGER = 2.0  # seconds a group stays joined after its last viewer left
REMEMBERED = 512  # messages per sender, against doubles

FRAME, SIGNAL = "f", "s"


class LayerLink:
    """Transport and the hub's `Membership`. deliver: None in a process without sockets.

    on_back: called after the layer was deaf and hears again.
    """

    def __init__(self, deliver: Deliver | None, on_back: Callable[[], None] = lambda: None) -> None:
        self.layer: Any = get_channel_layer()
        self.me = uuid4().hex[:12]
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._here = deliver
        self._deliver = LoopDelivery(self._loop, deliver) if deliver else None
        self._on_back = on_back
        self._waiting: deque[tuple[str, list[object]]] = deque(maxlen=MAX_WAITING)
        self._some = asyncio.Event()
        self._sent = 0
        self._idle = asyncio.Event()
        self._channel = ""
        self._wanted: set[str] = {EVERY_PROCESS} | ({EVERY_SERVER} if deliver else set())
        self._joining: dict[str, asyncio.Task[None]] = {}
        self._joined: set[str] = set()
        self._heard = 0.0  # when the last own heartbeat came in
        self._deaf = False
        self._doubles: dict[str, deque[int]] = {}
        self._ready = asyncio.Event()

    # Transport: from any thread

    def publish(self, topic: str, event: Event) -> None:
        packet = Packet.of(event)
        if self._deliver is not None:
            self._deliver(topic, packet)
        self._queue(_group_of(topic), [FRAME, topic, packet.as_list()])

    def signal(self, name: str, data: dict[str, object]) -> None:
        deliver_signal(name, data)
        self._queue(EVERY_PROCESS, [SIGNAL, name, data])

    def _queue(self, group: str, item: list[object]) -> None:
        self._waiting.append((group, item))
        if threading.get_ident() == self._thread:
            self._some.set()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._some.set)

    # Membership: on the loop

    async def join(self, topic: str) -> None:
        group = _group_of(topic)
        self._wanted.add(group)
        if group in self._joined:
            return
        task = self._joining.get(group)
        if task is None:
            task = self._loop.create_task(self._add(group))
            self._joining[group] = task
        # Without it the viewer still gets its snapshot, and the comparison with the rows finds what is missing.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), JOIN_LIMIT)

    def leave(self, topic: str) -> None:
        group = _group_of(topic)
        self._wanted.discard(group)
        self._loop.call_later(LINGER, self._drop, group)

    def _drop(self, group: str) -> None:
        if group not in self._wanted and group in self._joined:
            self._joined.discard(group)
            self._joining[group] = self._loop.create_task(self._discard(group))

    async def _discard(self, group: str) -> None:
        try:
            await self.layer.group_discard(group, self._channel)
        except Exception:  # whatever the layer's client raises; the next rebuild starts from nothing
            log.warning("Could not leave %s", group, exc_info=True)
        finally:
            self._joining.pop(group, None)
        if group in self._wanted:
            await self.join_group(group)

    async def _add(self, group: str) -> None:
        try:
            await self._ready.wait()
            await self.join_group(group)
        finally:
            self._joining.pop(group, None)

    async def join_group(self, group: str) -> None:
        try:
            await self.layer.group_add(group, self._channel)
            self._joined.add(group)
        except Exception:  # whatever the layer's client raises: it is away, the heartbeat rebuilds everything
            log.warning("Could not join %s", group, exc_info=True)

    # Work

    async def run(self) -> None:
        """Send, receive and watch, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._send(), name="layer send")
                group.create_task(self._listen(), name="layer receive")
        finally:
            await self._forget()

    async def sent(self, seconds: float) -> None:
        """Until what was published is out, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.sleep(0)  # what other threads published comes to the loop first
                await self._idle.wait()

    async def _send(self) -> None:
        self._idle.set()
        while True:
            await self._some.wait()
            self._some.clear()
            self._idle.clear()
            while self._waiting:
                await self._send_batch()
            self._idle.set()

    async def _send_batch(self) -> None:
        """Neighbours for one group go together; order within a group is kept."""
        group, item = self._waiting.popleft()
        items = [item]
        while self._waiting and self._waiting[0][0] == group and len(items) < MAX_BATCH:
            items.append(self._waiting.popleft()[1])
        self._sent += 1
        message = {"type": "halo.news", "from": self.me, "n": self._sent, "items": items}
        try:
            await asyncio.wait_for(self.layer.group_send(group, message), SEND_LIMIT)
        except Exception as error:  # whatever the layer's client raises: hints are lost, rows are not
            log.warning("The channel layer took nothing (%s); %d hints dropped", type(error).__name__, len(items))

    async def _listen(self) -> None:
        while True:
            receiving = None
            try:
                await asyncio.wait_for(self._rebuild(), SEND_LIMIT)
                receiving = self._loop.create_task(self._receive())
                await self._watch(receiving)
            except Exception as error:  # whatever the layer's client raises
                log.warning("The channel layer is away (%s); trying again", type(error).__name__)
                self._deaf = True
            finally:
                if receiving is not None:
                    await self._forget()  # first: a cancelled `receive` would ask a dead Redis to unsubscribe
                    receiving.cancel()
                    await asyncio.gather(receiving, return_exceptions=True)
            await asyncio.sleep(1.0)

    async def _rebuild(self) -> None:
        """A channel of our own and every group we want, from nothing."""
        self._ready.clear()
        self._joined.clear()
        await self._forget()
        self._channel = await self.layer.new_channel()
        for group in sorted(self._wanted):
            await self.layer.group_add(group, self._channel)
            self._joined.add(group)
        self._ready.set()
        self._heard = time.monotonic()

    async def _forget(self) -> None:
        """Close the layer's connections and drop its channels and groups."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.layer.flush(), 2.0)

    async def _receive(self) -> None:
        while True:
            self._take(await self.layer.receive(self._channel))

    async def _watch(self, receiving: "asyncio.Task[None]") -> None:
        """Returns when nothing comes in any more."""
        while not receiving.done():
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.layer.send(self._channel, {"type": "halo.beat"}), SEND_LIMIT)
            await asyncio.wait([receiving], timeout=BEAT)
            if time.monotonic() - self._heard > DEAF_AFTER:
                log.warning("Nothing comes in from the channel layer; joining anew")
                self._deaf = True
                return

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "halo.beat":
            self._heard = time.monotonic()
            if self._deaf:
                self._deaf = False
                log.warning("The channel layer is back")
                self._on_back()
            return
        sender, number = message["from"], message["n"]
        if sender == self.me or self._is_double(sender, number):
            return
        for kind, name, content in message["items"]:
            if kind == SIGNAL:
                deliver_signal(name, content)
            elif self._here is not None:
                self._here(name, Packet.from_list(content))

    def _is_double(self, sender: str, number: int) -> bool:
        known = self._doubles.get(sender)
        if known is None:
            while len(self._doubles) >= 100:  # processes come and go
                self._doubles.pop(next(iter(self._doubles)))
            known = self._doubles[sender] = deque(maxlen=REMEMBERED)
        if number in known:
            return True
        known.append(number)
        return False


class ThreadedLayer:
    """The same for a process without a loop of ours: a thread with one, started by the first news (so it may fork)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._link: LayerLink | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def close(self) -> None:
        """Before the process ends: let the last news go out, for a second at most."""
        if self._link is not None and self._loop is not None and self._owner == os.getpid():
            asyncio.run_coroutine_threadsafe(self._link.sent(1.0), self._loop).result(3)

    def publish(self, topic: str, event: Event) -> None:
        self._here().publish(topic, event)

    def signal(self, name: str, data: dict[str, object]) -> None:
        self._here().signal(name, data)

    def _here(self) -> LayerLink:
        with self._lock:
            if self._link is None or self._owner != os.getpid():
                self._owner = os.getpid()
                started = threading.Event()
                threading.Thread(target=self._work, args=(started,), name="layer", daemon=True).start()
                started.wait(5)
            assert self._link is not None
            return self._link

    def _work(self, started: threading.Event) -> None:
        async def work() -> None:
            self._loop = asyncio.get_running_loop()
            self._link = LayerLink(None)
            started.set()
            await self._link.run()

        asyncio.run(work())


def _group_of(topic: str) -> str:
    return topic if topic.startswith("session.") else EVERY_SERVER
