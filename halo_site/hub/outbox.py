"""What waits to be sent to one client: bounded, so that a reader who stopped costs a few MiB at most (M9).

While the wire takes what is written nothing is kept here. Once it does not, frames queue up; over 1,000 of them or
3 MiB (the server below holds up to one more) the frames of sessions are let go. They can be rebuilt: the connection
sends `resync` and snapshots when the reader has caught up.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence

from halo_site.lib.packet import Packet

from .wire import Wire

MAX_FRAMES = 1000
MAX_BYTES = 3 << 20


class Outbox:
    """on_overflow: session frames were dropped, and more would be; on_drained: everything is out.

    Neither is called from within `put` for a wire that keeps up.
    """

    __slots__ = ("_bytes", "_on_drained", "_on_overflow", "_queue", "blocked_since", "wire")

    def __init__(self, wire: Wire, on_overflow: Callable[[], None], on_drained: Callable[[], None]) -> None:
        self.wire = wire
        self._queue: deque[tuple[Sequence[Packet], bool]] = deque()  # (frames that belong together, of a session)
        self._bytes = 0
        self._on_overflow = on_overflow
        self._on_drained = on_drained
        self.blocked_since: float | None = None  # monotonic; the peer has taken nothing since
        wire.on_resume = self.flush

    @property
    def idle(self) -> bool:
        return not self._queue and not self.wire.paused

    @property
    def held(self) -> int:
        """Bytes kept here."""
        return self._bytes

    def put(self, packets: Sequence[Packet], *, of_session: bool) -> None:
        """Send frames that belong together (one snapshot with its replay counts as one)."""
        if not self._queue:
            packets = self._write(packets)
            if not packets:
                return
        self._queue.append((packets, of_session))
        self._bytes += sum(len(packet.data) for packet in packets)
        if self.blocked_since is None:
            self.blocked_since = time.monotonic()
        if len(self._queue) > MAX_FRAMES or self._bytes > MAX_BYTES:
            self._let_go()

    def _write(self, packets: Sequence[Packet]) -> Sequence[Packet]:
        """Write until the wire asks to pause; what is left."""
        wire = self.wire
        for index, packet in enumerate(packets):
            if wire.paused:
                return packets[index:]
            wire.write(packet)
        return ()

    def _let_go(self) -> None:
        self._queue = deque(item for item in self._queue if not item[1])
        self._bytes = sum(len(packet.data) for packets, _ in self._queue for packet in packets)
        self._on_overflow()

    def flush(self) -> None:
        """The wire takes more."""
        self.blocked_since = None
        while self._queue and not self.wire.paused:
            packets, of_session = self._queue.popleft()
            self._bytes -= sum(len(packet.data) for packet in packets)
            left = self._write(packets)
            if left:
                self._queue.appendleft((left, of_session))
                self._bytes += sum(len(packet.data) for packet in left)
        if self._queue:
            self.blocked_since = time.monotonic()
        elif not self.wire.paused:
            self._on_drained()

    @property
    def over_full(self) -> bool:
        """Even without session frames it is too much: the client floods us with requests and reads no answer."""
        return len(self._queue) > MAX_FRAMES or self._bytes > MAX_BYTES

    def clear(self) -> None:
        self._queue.clear()
        self._bytes = 0
