"""A running engine, and every frame it publishes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from halo_site.lib import publish as news
from halo_site.lib.events import Event, as_frame
from sessions_app.engine.engine import Engine

Frame = dict[str, Any]


class Viewer:
    """A transport that keeps all frames and lets a test wait for one."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()

    def publish(self, topic: str, event: Event) -> None:
        self.loop.call_soon_threadsafe(self._add, as_frame(event))

    def signal(self, name: str, data: dict[str, object]) -> None:
        news.deliver_signal(name, data)

    def _add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.changed.set()

    def of(self, *types: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in types]

    def text(self) -> str:
        return "".join(frame["text"] for frame in self.of("chat:stream"))

    async def until(self, condition: Callable[["Viewer"], Any], seconds: float = 60.0) -> Any:
        """Wait for a fact about the frames."""
        async with asyncio.timeout(seconds):
            while not (found := condition(self)):
                self.changed.clear()
                await self.changed.wait()
        return found

    async def completes(self, count: int = 1) -> None:
        await self.until(lambda viewer: len(viewer.of("chat:complete")) >= count)


@pytest.fixture
async def viewer(transactional_db: None) -> AsyncIterator[Viewer]:
    viewer = Viewer()
    news.use_transport(viewer)
    yield viewer
    news.use_transport(news.Local())


@pytest.fixture
async def engine(viewer: Viewer) -> AsyncIterator[Engine]:
    engine = Engine("test")
    task = asyncio.create_task(engine.run())
    await asyncio.sleep(0)
    yield engine
    await engine.shutdown()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def in_db(engine: Engine) -> Callable[..., Any]:
    """Run a function of a test where the engine's own units run."""
    return engine.threads.run
