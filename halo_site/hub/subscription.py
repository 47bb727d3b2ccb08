"""One client's view of one session: the pure `Feed` of sessions_app with its reads, timers and answers."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson
from django.db import DatabaseError

from halo_site.lib.errors import HaloError
from halo_site.lib.packet import Packet
from halo_site.lib.publish import session_topic, signal
from sessions_app.events import QueueChanged, Resync, SessionDeleted
from sessions_app.feed import Feed, Verdict
from sessions_app.views import Stored, View
from workspaces_app.socket_frames import Watched

if TYPE_CHECKING:
    from .connection import Connection

log = logging.getLogger(__name__)

SAVE_GRACE = 0.04  # seconds a run gets to save when we subscribe in its middle
WAITS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5)  # between reads that were too old; then the rows decide


class Subscription:
    """`stale`: its frames are dropped, the client was too slow; it gets everything again once it has caught up."""

    __slots__ = (
        "_again",
        "_children",
        "_filling",
        "_newest_input",
        "_overtaken",
        "_queue",
        "_shown",
        "connection",
        "feed",
        "session",
        "stale",
    )

    def __init__(self, connection: "Connection", session: Watched) -> None:
        self.connection = connection
        self.session = session
        self.feed = Feed()
        self.stale = False
        self._filling: asyncio.Task[None] | None = None
        self._again: str | None = None
        self._children: dict[str, int] | None = None  # newest seq by sub-session that has no feed of its own
        self._newest_input = 0
        self._overtaken: frozenset[str] = frozenset()  # own messages that were on their way at the last snapshot
        self._shown = 0  # newest message in that snapshot
        self._queue: object = ()  # items as last sent, or the packet they came in

    @property
    def is_root(self) -> bool:
        return self.session.key == self.session.root_key

    # Frames

    def take(self, packet: Packet) -> None:
        """A frame of the tree this session belongs to."""
        stream = packet.stream
        if stream != self.session.sid:
            self._take_of_relative(packet, stream)
        elif packet.type == Resync.type:
            self.refresh(_reason(packet))
        elif packet.type == SessionDeleted.type:
            self.end()
        elif not self.stale:
            self._take_own(packet)

    def _take_own(self, packet: Packet) -> None:
        if packet.entry_id is not None:
            self._newest_input = max(self._newest_input, packet.entry_id)
            if self._is_told_already(packet.entry_id, packet.client_msg_id):
                return
        if packet.type == QueueChanged.type:
            self._queue = packet
        match self.feed.take(packet):
            case Verdict.SEND:
                self._send(packet)
            case Verdict.GAP:
                self.refresh("gap")
            case _:
                pass

    def _is_told_already(self, entry_id: int, client_msg_id: str | None) -> bool:
        """The sender knows its message from the ack, unless a snapshot that was read before it came after that ack."""
        if client_msg_id is None or client_msg_id not in self.connection.written:
            return False
        return self.feed.live and (entry_id <= self._shown or client_msg_id not in self._overtaken)

    def _take_of_relative(self, packet: Packet, stream: str | None) -> None:
        if packet.type == SessionDeleted.type:
            if stream is not None and self.session.sid.startswith(stream + ">"):
                self.end()
        elif self.is_root and not self.stale and stream not in self.connection.subscriptions:
            # A sub-agent nobody opened: no rows of it were sent, so only doubles matter.
            if packet.seq is not None and stream is not None:
                if self._children is None:
                    self._children = {}
                if packet.seq <= self._children.get(stream, -1):
                    return
                self._children[stream] = packet.seq
            if packet.type != Resync.type:
                self._send(packet)

    def _send(self, packet: Packet) -> None:
        self.connection.outbox.put((packet,), of_session=True)

    def end(self) -> None:
        """The session is gone: say so and stop listening."""
        self.connection.unwatch(self.session.sid)
        self._send(Packet.of(SessionDeleted(session_id=self.session.sid)))

    def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None

    # Snapshots

    def start(self, *, idle: bool, first: View | None = None) -> None:
        """Frames are held from now on; the snapshot follows.

        idle: no run was on, so nothing has to be saved first. first: the view, when nobody needs to read it.
        """
        self.feed.rejoin()
        if first is None:
            self._fill(None, idle)
            return
        hub = self.connection.hub
        hub.spawn(hub.joined(session_topic(self.session.root_key)))
        self.feed.settle(first.seq, first.running)
        self._show(first, ())

    def refresh(self, reason: str) -> None:
        """Send `resync` and everything again."""
        if self.stale:
            return
        if self._filling is not None:
            # `changed` means rows that a read under way may have missed; anything else it answers by itself.
            if reason == "changed":
                self._again = reason
            return
        if self.feed.live:
            self.feed.rejoin()
        self._fill(reason, idle=True)

    def _fill(self, reason: str | None, idle: bool) -> None:
        if self._filling is not None:
            self._filling.cancel()
        self._filling = asyncio.get_running_loop().create_task(self._run(reason, idle))

    async def _run(self, reason: str | None, idle: bool) -> None:
        task = asyncio.current_task()
        try:
            while True:
                if reason is not None:
                    resync = Resync(session_id=self.session.sid, reason=reason)
                    self.connection.outbox.put((Packet.of(resync),), of_session=True)
                await self._send_view(with_archive_count=reason != "changed", idle=idle)
                reason, self._again = self._again, None
                if reason is None:
                    return
                self.feed.rejoin()
        finally:
            if self._filling is task:
                self._filling = None
                self.connection.caught_up()

    async def _send_view(self, *, with_archive_count: bool, idle: bool) -> None:
        hub, key = self.connection.hub, self.session.key
        await hub.joined(session_topic(self.session.root_key))
        tries = 0
        while True:
            self.feed.begin_read()
            try:
                view = await hub.reader.read(key, with_archive_count=with_archive_count)
            except (HaloError, DatabaseError):
                log.warning("A session could not be read; trying again", exc_info=True)
                await asyncio.sleep(1.0)
                continue
            if view is None:
                self.end()
                return
            if view.running and not idle and tries == 0:
                # What the run has shown since its last save would be a gap at once: let it save first.
                signal("engine.save", session=key)
                await asyncio.sleep(SAVE_GRACE)
                tries, idle = 1, True
                continue
            held = self.feed.settle(view.seq, view.running and tries <= len(WAITS))
            if held is not None:
                break
            signal("engine.save", session=key)
            await asyncio.sleep(WAITS[min(tries, len(WAITS) - 1)])
            tries += 1
        self._show(view, held)

    def _show(self, view: View, held: Sequence[Packet]) -> None:
        self._newest_input = max(self._newest_input, view.newest_input)
        self._overtaken, self._shown = frozenset(self.connection.written), view.newest_input
        self._queue = view.queue
        for packet in held:
            if packet.type == QueueChanged.type:
                self._queue = packet
        self.connection.outbox.put((*view.packets, *held), of_session=True)

    # Comparison with the rows (every few seconds)

    def suspicion(self, stored: Stored, have_before: int) -> str | None:
        """Why this client may lack something the rows hold, or show something they do not; None = all is well.

        have_before: the feed's `have` from before the read.
        """
        if not self.feed.live or self.stale:
            return None
        if self.feed.is_ahead(stored.seq, stored.running, have_before):
            return "recovered"
        if self.feed.is_behind(stored.seq, have_before) or stored.newest_input > self._newest_input:
            return "gap"
        return None

    def compare_queue(self, stored: Stored) -> None:
        """Send the queue again when it is not what the client was last told."""
        if not self.feed.live or self.stale or self._known_queue() == _items(stored.queue):
            return
        packet = Packet.of(QueueChanged(session_id=self.session.sid, items=stored.queue))
        self._queue = packet
        self._send(packet)

    def _known_queue(self) -> list[tuple[int, str]]:
        if isinstance(self._queue, Packet):
            self._queue = orjson.loads(self._queue.data)["items"]
        return _items(self._queue)


def _items(queue: object) -> list[tuple[int, str]]:
    assert isinstance(queue, list | tuple)
    return [(item["entryId"], item["text"]) for item in queue]


def _reason(packet: Packet) -> str:
    return str(orjson.loads(packet.data).get("reason", "changed"))


__all__ = ["Subscription", "View"]
