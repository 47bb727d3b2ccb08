"""Slow readers cost a bounded amount of memory and end in the right state (M9)."""

from collections.abc import Callable

from halo_site.hub.outbox import MAX_BYTES, MAX_FRAMES, Outbox
from halo_site.lib.packet import Packet, websocket_frame


class FakeWire:
    """Takes `room` frames, then asks to pause."""

    def __init__(self, room: int = 10**9) -> None:
        self.room = room
        self.written: list[Packet] = []
        self.on_resume: Callable[[], None] = lambda: None
        self.paused = False

    def write(self, packet: Packet) -> None:
        self.written.append(packet)
        self.room -= 1
        self.paused = self.room <= 0

    def take(self, room: int) -> None:
        self.room = room
        self.paused = False
        self.on_resume()


class Told:
    def __init__(self, wire: FakeWire) -> None:
        self.overflows = 0
        self.drained = 0
        self.outbox = Outbox(wire, self._overflow, self._drain)

    def _overflow(self) -> None:
        self.overflows += 1

    def _drain(self) -> None:
        self.drained += 1


def packet(size: int = 10) -> Packet:
    return Packet("x", b"x" * size)


def test_a_reader_that_keeps_up_costs_nothing() -> None:
    wire = FakeWire()
    told = Told(wire)
    for _ in range(5000):
        told.outbox.put((packet(),), of_session=True)
    assert (len(wire.written), told.outbox.held, told.overflows) == (5000, 0, 0)


def test_frames_wait_in_order_until_the_reader_takes_more() -> None:
    wire = FakeWire(room=2)
    told = Told(wire)
    packets = [Packet("x", str(number).encode()) for number in range(6)]
    told.outbox.put(packets[:3], of_session=True)
    for one in packets[3:]:
        told.outbox.put((one,), of_session=True)
    assert wire.written == packets[:2]
    assert told.outbox.blocked_since is not None
    wire.take(2)
    assert wire.written == packets[:4]
    wire.take(10)
    assert wire.written == packets
    assert (told.drained, told.outbox.held, told.outbox.blocked_since) == (1, 0, None)


def test_a_thousand_frames_or_three_megabytes_are_the_most_and_answers_are_kept() -> None:
    wire = FakeWire(room=1)
    told = Told(wire)
    told.outbox.put((packet(),), of_session=True)
    answer = Packet("chat:ack", b"ack")
    told.outbox.put((answer,), of_session=False)
    for _ in range(MAX_FRAMES):
        told.outbox.put((packet(),), of_session=True)
    assert told.overflows == 1
    assert told.outbox.held == len(answer.data)
    big = Told(FakeWire(room=0))
    big.outbox.wire.paused = True
    peak = 0
    for _ in range(2000):
        big.outbox.put((packet(64 * 1024),), of_session=True)
        peak = max(peak, big.outbox.held)
    assert big.overflows
    assert peak <= MAX_BYTES
    wire.take(100)
    assert answer in wire.written


def test_a_million_deltas_for_a_stalled_reader_hold_at_most_3_mib() -> None:
    wire = FakeWire(room=0)
    wire.paused = True
    told = Told(wire)
    delta = packet(120)
    peak = 0
    for number in range(1_000_000):
        told.outbox.put((delta,), of_session=True)
        if number % 997 == 0:
            peak = max(peak, told.outbox.held)
    assert peak <= MAX_BYTES


def test_a_frame_is_made_as_rfc_6455_says() -> None:
    assert websocket_frame(b"hi") == b"\x81\x02hi"
    assert websocket_frame(b"x" * 126)[:4] == b"\x81\x7e\x00\x7e"
    assert websocket_frame(b"x" * 70_000)[:10] == b"\x81\x7f" + (70_000).to_bytes(8, "big")
