"""Many sessions and many who look at them: no transcript is opened, and everybody sees every frame once (T14, T15)."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async

from agents_app.providers.contract import Delta, ModelReply, ModelRequest
from agents_app.providers.demo import DemoProvider
from sessions_app.engine.engine import Engine
from sessions_app.models import Session
from sessions_app.transcripts.append import append
from tests.socket_client import SocketClient

from .conftest import World

in_db = sync_to_async

SESSIONS, VIEWERS, TURNS = 5, 8, 2
_listening: list[list[str]] = []


def _hear(event: str, values: tuple[Any, ...]) -> None:
    if _listening and event == "open" and isinstance(values[0], str | bytes | os.PathLike):
        for heard in _listening:
            heard.append(os.fsdecode(values[0]))


@cache
def install() -> None:
    """An audit hook stays until the process ends."""
    sys.addaudithook(_hear)


@contextmanager
def opened_transcripts() -> Iterator[list[str]]:
    """Names of the transcripts that any thread of this process opens, by a path or by a name in an open folder."""
    install()
    everything: list[str] = []
    found: list[str] = []
    _listening.append(everything)
    try:
        yield found
    finally:
        _listening.remove(everything)
        found += [Path(name).name for name in everything if name.endswith(".jsonl")]


def exchanges(world: World, sid: str, count: int) -> Session:
    session = world.session(sid)
    for number in range(count):
        turn = world.turn(session)
        world.entry(session, "user", f"question {number}", turn=turn)
        world.entry(session, "assistant", f"answer {number}", turn=turn, meta={"turn_id": f"c{number}"})
    append(session.pk)
    return session


async def test_T14_no_transcript_is_opened_for_a_list_a_session_or_a_snapshot(world: World) -> None:
    with opened_transcripts() as written:
        for number in range(3):
            await in_db(exchanges)(world, f"s{number}", 4)
    assert {path.name for path in Path(world.path, ".halo/sessions").rglob("*.jsonl")} == set(written)
    assert len(set(written)) == 3
    query = {"projectId": world.path}
    headers = {"Cookie": world.cookie}
    async with httpx.AsyncClient(base_url=world.server.base, headers=headers, trust_env=False, timeout=60) as http:
        with opened_transcripts() as opened:
            listed = await http.get("/api/sessions/logs", params=query)
            document = await http.get("/api/sessions/logs/s1", params=query)
            async with world.tab() as tab:
                view = tab.open("s2", world.path)
                await tab.until(lambda: view.loaded)
    assert {row["id"] for row in listed.json()["sessions"]} == {"s0", "s1", "s2"}
    assert document.json()["messages"][-1]["content"] == "answer 3"
    assert view.text() == "answer 0answer 1answer 2answer 3"
    assert opened == []


async def test_T15_every_viewer_sees_every_numbered_frame_once_and_in_order_while_all_sessions_stream(
    world: World, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sids = [f"s{number}" for number in range(SESSIONS)]
    stream_all_at_once(monkeypatch, len(sids))
    async with AsyncExitStack() as stack:
        groups: dict[str, list[SocketClient]] = {}
        for sid in sids:
            await in_db(world.session)(sid)
            groups[sid] = [await stack.enter_async_context(world.tab(ack_limit=60.0)) for _ in range(VIEWERS)]
            for tab in groups[sid]:
                tab.open(sid, world.path)
                await tab.until(lambda tab=tab, sid=sid: tab.view(sid).loaded)
        for turn in range(1, TURNS + 1):
            for sid, tabs in groups.items():
                tabs[turn].chat(sid, world.path, "hello")  # somebody else each time
            for sid, tabs in groups.items():
                for tab in tabs:
                    await tab.until(lambda tab=tab, sid=sid, turn=turn: tab.view(sid).completes >= turn)
    for sid, tabs in groups.items():
        stored = await in_db(lambda sid=sid: Session.objects.get(sid=sid).seq)()
        seen = [numbered(tab, sid) for tab in tabs]
        assert all(each == seen[0] for each in seen)
        assert follow(seen[0], after=0) == stored
        assert sum(prev is not None for _, prev in seen[0]) == TURNS
        assert len(tabs[0].received("chat:stream")) > 5 * TURNS
        for tab in tabs:
            assert (tab.view(sid).snapshots, tab.view(sid).resyncs, tab.connections) == (1, [], 1)
            assert tab.view(sid).text() == tabs[0].view(sid).text()


def stream_all_at_once(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Each of `count` turns stops after its first piece until all the others have shown one."""
    plain = DemoProvider.stream
    meeting = asyncio.Barrier(count)

    async def together(self: DemoProvider, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        met = False
        async for item in plain(self, request):
            yield item
            if not met:
                await meeting.wait()
                met = True

    monkeypatch.setattr(DemoProvider, "stream", together)


def numbered(tab: SocketClient, sid: str) -> list[tuple[int, int | None]]:
    """(seq, prev) of the frames of a session's runs, as they came."""
    frames = [frame for _, way, frame in tab.log if way == "in" and frame.get("sessionId") == sid]
    assert not [frame for frame in frames if frame.get("replay")]
    return [(frame["seq"], frame.get("prev")) for frame in frames if "seq" in frame]


def follow(frames: list[tuple[int, int | None]], after: int) -> int:
    """The last seq; fails at the first frame that does not follow the one before it."""
    for seq, prev in frames:
        assert after in (seq - 1, prev), f"{seq} came after {after}"
        assert seq > after
        after = seq
    return after
