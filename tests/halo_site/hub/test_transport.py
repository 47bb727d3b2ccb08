"""News between processes: rows for processes without a layer, Redis for several servers (ARCHITECTURE 2, T6)."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels_redis.pubsub import RedisPubSubChannelLayer

from halo_site.lib import publish as news
from halo_site.lib.db import DbThreads
from halo_site.lib.packet import Packet
from halo_site.transport import layer as layer_module
from halo_site.transport.layer import LayerLink
from halo_site.transport.local import Embedded
from halo_site.transport.notices import NoticeDrain, NoticeTransport, forget_old_notices
from sessions_app.events import ChatStream, ChatUser, SessionChanged
from workspaces_app.models import Notice

in_db = sync_to_async


class Inbox:
    """Keeps what is delivered; a test waits for it."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Packet]] = []
        self.changed = asyncio.Event()

    def __call__(self, topic: str, packet: Packet) -> None:
        self.got.append((topic, packet))
        self.changed.set()

    def seqs(self) -> list[int | None]:
        return [packet.seq for _, packet in self.got]

    async def until(self, count: int, timeout: float = 60.0) -> None:
        async with asyncio.timeout(timeout):
            while len(self.got) < count:
                self.changed.clear()
                await self.changed.wait()


def delta(seq: int, prev: int | None = None) -> ChatStream:
    return ChatStream(session_id="s", text=f"t{seq}", agent_name="A", turn_id="t", seq=seq, prev=prev)


def test_a_packet_travels_as_a_list_and_is_the_same_afterwards() -> None:
    event = ChatUser(session_id="s", task_id="s>a", text="ü", entry_id=4, client_msg_id="m")
    packet = Packet.of(event)
    again = Packet.from_list(packet.as_list())
    assert again.as_list() == packet.as_list()
    assert (again.stream, again.entry_id, again.client_msg_id) == ("s>a", 4, "m")


async def test_one_process_delivers_on_its_loop_from_any_thread_in_order() -> None:
    inbox = Inbox()
    transport = Embedded(inbox)
    transport.publish("session.1", delta(1))
    assert inbox.seqs() == [1]

    def elsewhere() -> None:
        for seq in range(2, 50):
            transport.publish("session.1", delta(seq))

    await asyncio.to_thread(elsewhere)
    await inbox.until(49)
    assert inbox.seqs() == list(range(1, 50))


@pytest.fixture
def wakes() -> Iterator[list[dict[str, object]]]:
    got: list[dict[str, object]] = []
    forget = news.on_signal("test.wake", got.append)
    yield got
    forget()


@pytest.mark.django_db(transaction=True)
async def test_notices_reach_the_server_once_and_go_after_a_minute(wakes: list[dict[str, object]]) -> None:
    inbox = Inbox()
    threads = DbThreads("test-notices", 1)
    drain = NoticeDrain(threads, inbox)
    tool = NoticeTransport()
    for seq in range(1, 6):
        await asyncio.to_thread(tool.publish, "session.1", delta(seq))
    await asyncio.to_thread(tool.signal, "test.wake", {"session": 3})
    await asyncio.to_thread(tool.close)
    assert await drain.drain() == 6
    assert await drain.drain() == 0
    assert inbox.seqs() == [1, 2, 3, 4, 5]
    assert inbox.got[0][1].data == Packet.of(delta(1)).data
    assert wakes == [{"session": 3}] * 2  # once in its own process, which here is ours, and once by way of the row
    assert await in_db(forget_old_notices)() == 0
    await in_db(Notice.objects.update)(created_at="2020-01-01T00:00Z")
    assert await in_db(forget_old_notices)() == 6
    threads.close()


@pytest.mark.django_db(transaction=True)
async def test_a_notice_that_makes_no_sense_does_not_stop_the_next(wakes: list[dict[str, object]]) -> None:
    inbox = Inbox()
    threads = DbThreads("test-notices", 1)
    for body in (b"no json", b"[]", b'["x"]', b"{}", b'["t", 5]'):
        await in_db(Notice.objects.create)(kind="publish", name="session.1", body=body)
    await in_db(Notice.objects.create)(kind="signal", name="test.wake", body=b'{"session":1}')
    await NoticeDrain(threads, inbox).drain()
    assert wakes == [{"session": 1}]
    assert all(topic == "session.1" for topic, _ in inbox.got)
    threads.close()


@pytest.mark.django_db(transaction=True)
async def test_a_row_that_appears_behind_a_higher_id_is_not_missed(wakes: list[dict[str, object]]) -> None:
    """Two transactions on PostgreSQL: the one with the lower id commits later."""
    threads = DbThreads("test-notices", 1)
    drain = NoticeDrain(threads, Inbox())
    await in_db(Notice.objects.create)(pk=9, kind="signal", name="test.wake", body=b'{"session":9}')
    await drain.drain()
    await in_db(Notice.objects.create)(pk=8, kind="signal", name="test.wake", body=b'{"session":8}')
    await drain.drain()
    assert wakes[0] == {"session": 9}
    assert {"session": 8} in wakes[1:]  # a wake-up may come twice, never not at all
    threads.close()


needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server on this machine")


class Redis:
    """A server of our own, which a test may stop and start."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                await asyncio.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def layer(self) -> RedisPubSubChannelLayer:
        return RedisPubSubChannelLayer(hosts=[f"redis://127.0.0.1:{self.port}/0"])


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[Redis]:
    server = Redis(tmp_path)
    await server.start()
    yield server
    server.stop()


@contextlib.asynccontextmanager
async def linked(redis: Redis, inbox: Inbox | None, monkeypatch: Any, **options: Any) -> AsyncIterator[LayerLink]:
    """One "process" on the layer: a layer object of its own, as another process would have."""
    monkeypatch.setattr(layer_module, "get_channel_layer", redis.layer)
    link = LayerLink(inbox, **options)
    task = asyncio.create_task(link.run())
    await asyncio.wait_for(link._ready.wait(), 60)
    yield link
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@needs_redis
async def test_frames_cross_once_per_process_in_order_and_only_where_somebody_looks(
    redis: Redis, monkeypatch: Any
) -> None:
    here, there = Inbox(), Inbox()
    async with (
        linked(redis, here, monkeypatch) as web,
        linked(redis, there, monkeypatch) as other,
        linked(redis, None, monkeypatch) as worker,
    ):
        await web.join("session.1")
        for seq in range(1, 200):
            worker.publish("session.1", delta(seq))
        await here.until(199)
        assert here.seqs() == list(range(1, 200))
        assert there.got == []
        worker.publish("workspace.5", SessionChanged(workspace_path="/w", session_id="s"))
        await there.until(1)
        await here.until(200)
        other.publish("session.1", delta(200))
        await here.until(201)
        assert there.seqs()[-1] == 200  # its own frames come straight, not by way of the layer
        assert len(there.got) == 2


@needs_redis
async def test_a_doubled_message_is_delivered_once(redis: Redis, monkeypatch: Any) -> None:
    inbox = Inbox()
    async with linked(redis, inbox, monkeypatch) as web, linked(redis, None, monkeypatch) as worker:
        await web.join("session.1")
        message = {
            "type": "halo.news",
            "from": worker.me,
            "n": 1,
            "items": [["f", "session.1", Packet.of(delta(1)).as_list()]],
        }
        for _ in range(2):
            await worker.layer.group_send("session.1", message)
        await worker.layer.group_send("session.1", message | {"n": 2})
        await inbox.until(2)
        assert inbox.seqs() == [1, 1]


@needs_redis
async def test_signals_reach_every_process(redis: Redis, monkeypatch: Any, wakes: list[dict[str, object]]) -> None:
    async with linked(redis, Inbox(), monkeypatch) as web, linked(redis, None, monkeypatch):
        web.signal("test.wake", {"session": 7})
        async with asyncio.timeout(60):
            while len(wakes) < 2:  # its own listeners at once, the worker's by way of the layer
                await asyncio.sleep(0.01)
    assert wakes == [{"session": 7}] * 2


@needs_redis
async def test_T6_after_a_restart_of_redis_everything_is_joined_anew_and_viewers_are_told(
    redis: Redis, monkeypatch: Any
) -> None:
    monkeypatch.setattr(layer_module, "BEAT", 0.3)
    monkeypatch.setattr(layer_module, "DEAF_AFTER", 1.0)
    inbox, back = Inbox(), asyncio.Event()
    async with linked(redis, inbox, monkeypatch, on_back=back.set) as web, linked(redis, None, monkeypatch) as worker:
        await web.join("session.1")
        redis.stop()
        worker.publish("session.1", delta(1))  # neither waits nor fails
        await asyncio.sleep(1.5)  # it stays away for longer than a heartbeat
        await redis.start()
        await asyncio.wait_for(back.wait(), 60)
        worker.publish("session.1", delta(2))
        await inbox.until(1)
        assert inbox.seqs()[-1] == 2


@needs_redis
async def test_without_redis_publishing_neither_waits_nor_fails_and_memory_is_bounded(
    redis: Redis, monkeypatch: Any
) -> None:
    async with linked(redis, Inbox(), monkeypatch) as web:
        redis.stop()
        for seq in range(1, 20_000):
            web.publish("session.1", delta(seq))
        assert len(web._waiting) <= layer_module.MAX_WAITING
