"""One viewer's feed of one session: snapshot first, then every frame after it exactly once. Pure.

The protocol of ARCHITECTURE 6, checked exhaustively in modelcheck/subscribe.py. Frames may be lost, doubled and come
late; the rows are the truth. A feed is told of each frame (`take`) and each read of the rows (`begin_read`, `settle`),
and says what to do. `seq` counts per session; the first frame of a run jumps and names in `prev` what came before it.

Frames without `seq` tell of a stored row. Those that came before a read began are part of what it reads.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum

from halo_site.lib.packet import Packet

HELD_FRAMES, HELD_BYTES = 1000, 1 << 20  # most kept while joining; a later read then covers what was let go


class Verdict(Enum):
    SEND = "send"
    HOLD = "hold"  # kept until the snapshot is there
    DROP = "drop"  # a double
    GAP = "gap"  # kept; something before it is missing: tell the viewer, read the rows again


class Feed:
    """`have`: seq of the newest frame the viewer got, or that its snapshot covers."""

    __slots__ = ("_early", "_held", "_size", "have", "live")

    def __init__(self) -> None:
        self.live = False
        self.have = 0
        self._early: deque[Packet] = deque()  # numbered frames held since before the running read
        self._held: deque[Packet] = deque()
        self._size = 0  # bytes of both

    def take(self, packet: Packet) -> Verdict:
        if not self.live:
            self._hold(packet)
            return Verdict.HOLD
        if packet.seq is None:
            return Verdict.SEND
        if packet.seq <= self.have:
            return Verdict.DROP
        if _follows(packet, self.have):
            self.have = packet.seq
            return Verdict.SEND
        self.rejoin()
        self._hold(packet)
        return Verdict.GAP

    def rejoin(self) -> None:
        """Hold frames from now on; the caller reads the rows and sends a snapshot."""
        self.live = False
        self._forget()

    def begin_read(self) -> None:
        """The rows will be read now, or later than now."""
        self._early.extend(packet for packet in self._held if packet.seq is not None)
        self._held.clear()
        self._size = sum(len(packet.data) for packet in self._early)

    def _hold(self, packet: Packet) -> None:
        self._held.append(packet)
        self._size += len(packet.data)
        while self._size > HELD_BYTES or len(self._early) + len(self._held) > HELD_FRAMES:
            oldest = self._early or self._held
            self._size -= len(oldest.popleft().data)

    def _forget(self) -> None:
        self._early.clear()
        self._held.clear()
        self._size = 0

    def settle(self, seq: int, running: bool) -> list[Packet] | None:
        """A read gave `seq`. The frames to send after its snapshot; None = too old, read again.

        running: whether somebody held the session's lease at the read. If nobody did, what came before the read and
        is not in the rows died with its run.
        """
        early = self._early if running else ()
        ready = _in_order((*early, *self._held), seq)
        have = seq
        for packet in ready:
            if packet.seq is not None:
                if not _follows(packet, have):
                    return None
                have = packet.seq
        self.live, self.have = True, have
        self._forget()
        return ready

    def is_behind(self, seq: int, have_before: int) -> bool:
        """Rows hold what this viewer was not sent, and nothing comes any more: the last frame was lost.

        have_before: `have` some time ago. While it grows, frames are on their way and would show a gap themselves.
        """
        return self.live and have_before == self.have < seq

    def is_ahead(self, seq: int, running: bool, have_before_read: int) -> bool:
        """This viewer was sent what no row holds, and nobody runs the session: its run died."""
        return self.live and not running and have_before_read == self.have and self.have > seq


def _follows(packet: Packet, have: int) -> bool:
    """A viewer who has more than `prev` was shown frames of a run that died before it saved them: a gap, too."""
    assert packet.seq is not None
    return packet.seq == have + 1 or packet.prev == have


def _in_order(packets: Iterable[Packet], after: int) -> list[Packet]:
    """Numbered frames above `after` by seq, each once; the others stay behind the numbered frame they came after."""
    placed: list[tuple[int, int, Packet]] = []
    seen: set[int] = set()
    newest = after
    for index, packet in enumerate(packets):
        if packet.seq is None:
            placed.append((newest, index, packet))
        elif packet.seq > after and packet.seq not in seen:
            seen.add(packet.seq)
            newest = max(newest, packet.seq)
            placed.append((packet.seq, -1, packet))
    placed.sort(key=lambda item: item[:2])
    return [packet for _, _, packet in placed]
