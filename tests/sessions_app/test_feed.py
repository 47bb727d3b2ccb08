"""The feed: snapshot, then every frame once, whatever the way does to them (ARCHITECTURE 6, modelcheck)."""

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from halo_site.lib.packet import Packet
from sessions_app.feed import HELD_FRAMES, Feed, Verdict


def frame(seq: int, prev: int | None = None) -> Packet:
    return Packet("chat:stream", str(seq).encode(), "s", seq=seq, prev=prev)


def note(text: str = "note") -> Packet:
    return Packet("chat:user", text.encode(), "s")


def sent(packets: list[Packet] | None) -> list[object]:
    assert packets is not None
    return [packet.seq or packet.data.decode() for packet in packets]


def live(seq: int) -> Feed:
    feed = Feed()
    feed.begin_read()
    assert feed.settle(seq, running=True) == []
    return feed


def test_frames_are_held_until_the_snapshot_and_those_it_covers_fall_out() -> None:
    feed = Feed()
    assert [feed.take(frame(seq)) for seq in (3, 4, 5)] == [Verdict.HOLD] * 3
    feed.begin_read()
    assert feed.take(frame(6)) is Verdict.HOLD
    assert sent(feed.settle(4, running=True)) == [5, 6]
    assert feed.take(frame(7)) is Verdict.SEND


def test_a_read_that_is_too_old_is_asked_for_again() -> None:
    feed = Feed()
    feed.take(frame(5))
    feed.begin_read()
    assert feed.settle(2, running=True) is None
    feed.begin_read()
    assert sent(feed.settle(4, running=True)) == [5]


def test_a_double_is_dropped_and_a_gap_is_noticed() -> None:
    feed = live(4)
    assert feed.take(frame(5)) is Verdict.SEND
    assert feed.take(frame(5)) is Verdict.DROP
    assert feed.take(frame(7)) is Verdict.GAP
    assert feed.take(frame(6)) is Verdict.HOLD  # came late
    feed.begin_read()
    assert sent(feed.settle(5, running=True)) == [6, 7]


def test_a_new_run_jumps_and_names_what_came_before_it() -> None:
    feed = live(4)
    assert feed.take(frame(1 << 32, prev=4)) is Verdict.SEND
    assert live(3).take(frame(1 << 32, prev=4)) is Verdict.GAP
    assert live(6).take(frame(1 << 32, prev=4)) is Verdict.GAP  # 5 and 6 died with their run


def test_frames_without_seq_are_part_of_what_a_later_read_finds() -> None:
    feed = Feed()
    feed.take(note("before"))
    feed.begin_read()
    feed.take(note("during"))
    assert sent(feed.settle(0, running=False)) == ["during"]
    assert feed.take(note()) is Verdict.SEND


def test_frames_of_a_run_that_died_unsaved_are_not_waited_for() -> None:
    feed = Feed()
    feed.take(frame(10))
    feed.begin_read()
    assert feed.settle(7, running=True) is None
    feed.begin_read()
    assert feed.settle(7, running=False) == []
    assert feed.have == 7


def test_the_comparison_notices_a_lost_last_frame_and_a_dead_run() -> None:
    feed = live(4)
    assert feed.is_behind(5, have_before=4)
    assert not feed.is_behind(4, have_before=4)
    assert not feed.is_behind(5, have_before=3)  # frames still come
    feed.take(frame(5))
    assert feed.is_ahead(4, running=False, have_before_read=5)
    assert not feed.is_ahead(4, running=True, have_before_read=5)
    assert not feed.is_ahead(4, running=False, have_before_read=4)  # came while the rows were read


def test_what_is_held_is_bounded() -> None:
    feed = Feed()
    for seq in range(1, HELD_FRAMES + 100):
        feed.take(frame(seq))
    feed.begin_read()
    assert feed.settle(1, running=True) is None  # the oldest were let go: a newer read must cover them
    feed.begin_read()
    assert sent(feed.settle(99, running=True)) == list(range(100, HELD_FRAMES + 100))


@dataclass
class Model:
    """A session: what its runs have published, and how much of it the rows hold."""

    log: list[int] = field(default_factory=list)  # seqs, all runs
    epoch: int = 0
    stored: int = 0
    running: bool = False

    def begin(self) -> Packet:
        self.epoch += 1
        self.running = True
        return self._emit((self.epoch << 32) + 1, self.stored)

    def emit(self) -> Packet:
        return self._emit(self.log[-1] + 1, None)

    def _emit(self, seq: int, prev: int | None) -> Packet:
        self.log.append(seq)
        return frame(seq, prev)

    def save(self) -> None:
        self.stored = self.log[-1]

    def end(self) -> Packet:
        """The release stores the seq of the `complete` it is about to send."""
        last = self.emit()
        self.save()
        self.running = False
        return last

    def die(self) -> None:
        """What was not saved is gone, for the rows and for everybody who reads them."""
        self.log = [seq for seq in self.log if seq <= self.stored]
        self.running = False


@dataclass
class Viewer:
    """A client: the seqs it shows. A snapshot replaces everything."""

    model: Model
    feed: Feed = field(default_factory=Feed)
    shows: list[int] = field(default_factory=list)
    reading: tuple[int, bool] | None = None

    def take(self, packet: Packet) -> None:
        if self.feed.take(packet) is Verdict.SEND:
            assert packet.seq is not None
            self.shows.append(packet.seq)

    def begin_read(self) -> None:
        if not self.feed.live:
            self.feed.begin_read()
            self.reading = (self.model.stored, self.model.running)
            self.snapshot = [seq for seq in self.model.log if seq <= self.model.stored]

    def end_read(self) -> None:
        if self.reading is None or self.feed.live:
            return
        held = self.feed.settle(*self.reading)
        self.reading = None
        if held is not None:
            self.shows = [*self.snapshot, *(packet.seq for packet in held if packet.seq is not None)]

    def compare(self) -> None:
        if self.feed.is_behind(self.model.stored, self.feed.have) or self.feed.is_ahead(
            self.model.stored, self.model.running, self.feed.have
        ):
            self.feed.rejoin()


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(5, 120), loss=st.floats(0, 0.4), double=st.floats(0, 0.4))
def test_19_whoever_joins_late_or_loses_frames_ends_like_one_who_stayed(
    seed: int, steps: int, loss: float, double: float
) -> None:
    """Random runs, deaths, saves, reads; frames lost, doubled and out of order. Then the world becomes quiet."""
    dice = random.Random(seed)
    model = Model()
    viewers = [Viewer(model) for _ in range(3)]
    on_the_way: list[tuple[Viewer, Packet]] = []

    def publish(packet: Packet) -> None:
        for viewer in viewers:
            for _ in range(1 + (dice.random() < double)):
                if dice.random() >= loss:
                    on_the_way.append((viewer, packet))

    for _ in range(steps):
        act = dice.randrange(9)
        if act == 0 and not model.running:
            publish(model.begin())
        elif act <= 2 and model.running:
            publish(model.emit())
        elif act == 3 and model.running:
            model.save()
        elif act == 4 and model.running and dice.random() < 0.3:
            publish(model.end())
        elif act == 5 and model.running and dice.random() < 0.15:
            model.die()
        viewer = dice.choice(viewers)
        if dice.random() < 0.3:
            viewer.begin_read()
        if dice.random() < 0.3:
            viewer.end_read()
        if dice.random() < 0.1:
            viewer.compare()
        if on_the_way and dice.random() < 0.8:
            to, packet = on_the_way.pop(dice.randrange(min(3, len(on_the_way))))
            to.take(packet)
        for viewer in viewers:
            assert len(set(viewer.shows)) == len(viewer.shows), "shown twice"
            assert viewer.shows == sorted(viewer.shows), "out of order"
    for to, packet in on_the_way:
        to.take(packet)
    if model.running:
        model.end()  # and its last frame is lost to everybody
    for _ in range(4):
        for viewer in viewers:
            viewer.begin_read()
            viewer.end_read()
            viewer.compare()
    for viewer in viewers:
        viewer.begin_read()
        viewer.end_read()
        assert viewer.shows == [seq for seq in model.log if seq <= model.stored]
