"""500 sockets while 50 sessions stream: when the first text comes, the order of frames, the memory."""

import asyncio
import re
from pathlib import Path
from typing import Any

import orjson

from .clients import WSClient
from .measure import WARM, more_logins
from .numbers import summary
from .target import Chat, Halo

SOCKETS, STREAMS = 500, 50
TOKENS, DELAY = 200, 10  # of one turn; milliseconds between two
TURN = f"hello [[fake tokens={TOKENS} delay={DELAY}]]"
PER_PERSON = 45  # sockets; a person may hold 50
STREAM, REPLAY = b'{"type":"chat:stream"', b'"replay":'
LIMIT = 60.0  # seconds for a turn; after that it counts as unfinished


def number_after(data: bytes, name: bytes) -> int | None:
    """A number of a frame by its name in quotes, which text cannot hold; None = it has none."""
    place = data.find(name)
    if place < 0:
        return None
    begin = end = place + len(name)
    while data[end] in b"0123456789":
        end += 1
    return int(data[begin:end])


class Viewer:
    """One socket on one session. Holds each numbered frame against the one before it (docs/socket.md, Inside).

    gaps: frames that do not follow; doubles: frames it had; resyncs: times the server had to begin anew; unfinished:
    turns whose end did not come.
    """

    def __init__(self, sid: str, workspace: str) -> None:
        self.sid, self.workspace = sid, workspace
        self.ready = asyncio.Event()
        self.have = 0
        self.gaps = self.doubles = self.resyncs = self.errors = self.unfinished = 0
        self.tokens = self.wanted = 0
        self.begun = 0.0
        self.first: float | None = None
        self.done = asyncio.Event()

    async def join(self, halo: Halo, cookie: str) -> None:
        url = halo.base.replace("http", "ws", 1) + "/ws"
        self.ws = await WSClient.connect(url, {"Cookie": cookie}, self.take, timeout=60)
        self.ws.send({"type": "subscribe", "sessionId": self.sid, "projectId": self.workspace})
        await asyncio.wait_for(self.ready.wait(), 60)

    def take(self, at: float, data: bytes) -> None:
        if data.startswith(STREAM) and REPLAY not in data:
            self.stream(at, data)
            return
        frame = orjson.loads(data)
        kind = frame["type"]
        if kind == "state:snapshot":
            if frame["snapshot"].get("sessionId") == self.sid:
                self.have = frame["snapshot"]["seq"]
                self.ready.set()
        elif kind == "resync":
            self.resyncs += 1
        elif kind == "error":
            self.errors += 1
        elif "seq" in frame and not frame.get("replay"):
            self.number(frame["seq"], frame.get("prev"))
            if kind == "chat:complete" and self.tokens >= self.wanted:
                self.done.set()

    def stream(self, at: float, data: bytes) -> None:
        """Nearly every frame, 20,000 a second over all sockets: not parsed, or we would measure ourselves."""
        seq = number_after(data, b'"seq":')
        assert seq is not None
        self.number(seq, number_after(data, b'"prev":'))
        if self.first is None:
            self.first = (at - self.begun) * 1000
        self.tokens += data.count(b" ")  # one after each token, and nowhere else in such a frame

    def number(self, seq: int, prev: int | None) -> None:
        if seq <= self.have:
            self.doubles += 1
            return
        if seq != self.have + 1 and prev != self.have:
            self.gaps += 1
        self.have = seq

    def expect(self) -> None:
        """The next turn begins now."""
        self.first = None
        self.wanted += TOKENS
        self.done.clear()

    def post(self) -> None:
        name = f"{self.sid}-{self.wanted}"
        chat = {"type": "chat", "sessionId": self.sid, "projectId": self.workspace, "message": TURN}
        self.begun = self.ws.send(chat | {"clientMsgId": name})


async def crowd(halo: Halo, *, rounds: int = 10) -> dict[str, Any]:
    """500 sockets while 50 sessions stream: `alone`, each socket on a session of its own; `shared`, ten on each of the
    50. See `streamed`."""
    async with halo.running():
        workspace = await halo.open_folder(halo.work / "crowd")
        cookies = await more_logins(halo, workspace, -(-SOCKETS // PER_PERSON))
        out: dict[str, Any] = {}
        for name, viewers in (("alone", 1), ("shared", SOCKETS // STREAMS)):
            groups = await gather_viewers(halo, workspace, cookies, viewers)
            out[name] = await streamed(groups, rounds)
            for group in groups:
                for viewer in group:
                    viewer.ws.close()
        return out | {"peak_rss_mb": peak_mb(halo.pid)}


async def streamed(groups: list[list[Viewer]], rounds: int) -> dict[str, Any]:
    """`first_ms`: from a chat frame to the first text at its sender, of 50 turns sent in one moment (`together`), and
    of turns that begin one after another while 49 others stream (`meanwhile`).

    It is the whole way, nothing subtracted: the message on disk, the run, the request to the fake (which answers at
    once), the frame through the hub. All are in one workspace.
    """
    streams = groups[:STREAMS]
    together: list[float] = []
    for _ in range(rounds):
        together += [first for turn in await asyncio.gather(*map(one_turn, streams)) for first in turn]
    rows = await asyncio.gather(*[in_a_row(group, at, rounds) for at, group in enumerate(streams)])
    meanwhile = [first for row in rows for first in row]
    viewers = [viewer for group in groups for viewer in group]
    return {
        "sockets": len(viewers),
        "turns": 2 * rounds * STREAMS,
        "first_ms": {"together": summary(together), "meanwhile": summary(meanwhile)},
        "gaps": sum(viewer.gaps for viewer in viewers),
        "doubles": sum(viewer.doubles for viewer in viewers),
        "resyncs": sum(viewer.resyncs for viewer in viewers),
        "errors": sum(viewer.errors for viewer in viewers),
        "unfinished": sum(viewer.unfinished for viewer in viewers),
        "tokens_lost": sum(viewer.wanted - viewer.tokens for viewer in viewers),
        "frames": sum(viewer.ws.frames_in for viewer in viewers),
    }


async def gather_viewers(halo: Halo, workspace: str, cookies: list[str], viewers: int) -> list[list[Viewer]]:
    """500 sockets, `viewers` on each session. In the first 50 sessions something was said, the others are drafts."""
    groups = []
    for number in range(SOCKETS // viewers):
        chat = Chat(halo, workspace)
        if number < STREAMS:
            await chat.open()
            await chat.turn(WARM)
            chat.close()
        groups.append([Viewer(chat.sid, workspace) for _ in range(viewers)])
    everybody = list(enumerate(viewer for group in groups for viewer in group))
    for at in range(0, SOCKETS, 20):
        some = everybody[at : at + 20]
        await asyncio.gather(*[viewer.join(halo, cookies[number // PER_PERSON]) for number, viewer in some])
    return groups


async def one_turn(group: list[Viewer]) -> list[float]:
    """A turn in the session of this group, until each of them saw its end; the time of its first text, if it came."""
    for viewer in group:
        viewer.expect()
    sender = group[0]
    sender.post()
    limit = asyncio.get_running_loop().time() + LIMIT
    for viewer in group:
        try:
            async with asyncio.timeout_at(limit):
                await viewer.done.wait()
        except TimeoutError:
            viewer.unfinished += 1
    return [] if sender.first is None else [sender.first]


async def in_a_row(group: list[Viewer], number: int, rounds: int) -> list[float]:
    """Turn after turn, each session a little later than the one before, so that turns begin all the time."""
    await asyncio.sleep(TOKENS * DELAY / 1000 * number / STREAMS)
    await one_turn(group)  # not all stream yet
    return [first for _ in range(rounds - 1) for first in await one_turn(group)]


def peak_mb(pid: int) -> float:
    """The most memory a process has had resident since it began, as the kernel counts it."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc", str(pid), "status").read_text(), re.M)
    assert found
    return round(int(found.group(1)) / 1024, 1)
