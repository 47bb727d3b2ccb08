"""Frames of a run while the database does not take what was shown (SECURITY-BAR I9)."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from halo_site.lib import publish as news
from sessions_app.engine.stream import JOIN_CHARACTERS, Stream
from sessions_app.engine.values import Facts
from sessions_app.events import ChatSystem

FACTS = Facts(
    key=1, sid="s", root_key=1, root_sid="s", agent_id="a", agent_name="A", workspace_key=1, workspace_path="/w",
    working_dir="", seq=0, prompt=None, output_tokens=0, context_tokens=0,
)  # fmt: skip


@dataclass
class Wire(news.Local):
    sent: list[Any]

    def publish(self, topic: str, event: Any) -> None:
        self.sent.append(event)

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.sent]

    async def has(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.sent) < count:
                await asyncio.sleep(0)


@pytest.fixture
def wire() -> Iterator[Wire]:
    transport = Wire([])
    news.use_transport(transport)
    yield transport
    news.use_transport(news.Local())


async def test_I9_text_waits_while_a_save_hangs_and_comes_whole_and_numbered_afterwards(wire: Wire):
    behind = False
    stream = Stream(FACTS, 1, lambda: True, lambda: behind)
    stream.delta("text", "first ", "t1")
    assert wire.texts == ["first "]
    behind = True
    long = "x" * JOIN_CHARACTERS
    for text in ("more ", long):
        stream.delta("text", text, "t1")
    until = asyncio.get_running_loop().time() + 0.1
    while asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0)
    assert wire.texts == ["first "]
    behind = False
    await wire.has(2)
    assert wire.texts == ["first ", "more " + long]
    assert [event.seq - (1 << 32) for event in wire.sent] == [1, 2]


async def test_I9_a_block_that_begins_meanwhile_waits_and_other_frames_do_not_overtake_it(wire: Wire):
    stream = Stream(FACTS, 1, lambda: True, lambda: True)
    stream.delta("text", "hidden", "t1")
    assert wire.texts == []
    stream.emit(ChatSystem, text="said", agent_name="A", code=None)
    assert wire.texts == ["hidden", "said"]
