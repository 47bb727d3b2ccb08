"""Another process holds the write lock of the SQLite file (SECURITY-BAR T4)."""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.crash.world import World, post_json
from tests.server import PASSWORD, get_json

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="PostgreSQL has no lock on the whole file"),
]

SHORT = 3.0  # seconds; well below the five that a writer waits
LAG = 2.0  # seconds; a loop that waited for the lock itself would answer later than that


@contextlib.contextmanager
def locked(home: Path) -> Iterator[None]:
    """The write lock, held by us: SQLite's locks are per process, so the server sees a stranger."""
    db = sqlite3.connect(home / "secrets" / "halo.sqlite3", timeout=20, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
    finally:
        with contextlib.suppress(sqlite3.OperationalError):
            db.execute("ROLLBACK")
        db.close()


@contextlib.asynccontextmanager
async def answering(base: str) -> AsyncIterator[list[float]]:
    """Asks for the health all the while; the seconds that each answer took."""
    took: list[float] = []

    async def ask() -> None:
        while True:
            begun = time.monotonic()
            await asyncio.to_thread(get_json, base + "/api/health")
            took.append(time.monotonic() - begun)

    asking = asyncio.create_task(ask())
    try:
        yield took
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def check_lag(took: list[float]) -> None:
    """A loop that waits for the lock would answer once, when the lock is free; a busy machine is a little late."""
    assert max(took) < LAG


async def test_T4_a_message_waits_for_a_short_lock_and_is_accepted(tmp_path):
    async with World(tmp_path) as world:
        await world.start()
        client, server = world.client, world.server
        assert client
        assert server
        async with answering(server.base) as took:
            with locked(world.home):
                mid = world.say("patience")
                with pytest.raises(TimeoutError):
                    await client.until(lambda: client.is_acked(mid) or client.errors, SHORT)
            await client.until(lambda: client.is_acked(mid))
        check_lag(took)
        await world.settled()
        assert not client.errors
        world.judge()


async def test_T4_a_long_lock_refuses_the_message_with_nothing_stored_and_work_goes_on_afterwards(tmp_path):
    async with World(tmp_path) as world:
        await world.start()
        client, server = world.client, world.server
        assert client
        assert server
        client.ack_limit = 60  # by default it sends again after five seconds, just when the refusal comes
        async with answering(server.base) as took:
            with locked(world.home):
                refused = client.chat(world.sid, str(world.workspace), "in vain")
                log_in = asyncio.to_thread(post_json, server.base + "/api/auth/login", {"password": PASSWORD})
                with pytest.raises(HTTPError) as answer:
                    await log_in
                await client.until(lambda: refused in client.failed)
        check_lag(took)
        assert (answer.value.code, answer.value.headers["Retry-After"]) == (503, "5")
        error = client.errors[-1]
        assert (error["code"], error["clientMsgId"]) == ("unavailable", refused)
        assert "busy" in error["error"]
        assert not client.is_acked(refused)
        assert client.connections == 1
        assert world.rows("session") == []
        assert world.rows("entry") == []
        world.say("after")
        await world.settled()
        world.judge()


async def test_T4_a_reply_that_streams_outlives_a_long_lock(tmp_path):
    async with World(tmp_path) as world:
        await world.start()
        client = world.client
        assert client
        client.ack_limit = 60
        world.say("talk", "tokens=900 delay=10")
        await world.shown(100)
        with locked(world.home):
            refused = client.chat(world.sid, str(world.workspace), "in vain")
            await client.until(lambda: refused in client.failed)
        await world.settled()
        assert client.view(world.sid).text().split() == [f"t{number:03}" for number in range(900)]
        world.judge()
