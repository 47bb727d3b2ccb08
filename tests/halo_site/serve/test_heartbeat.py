"""Signs of life of several processes on one PostgreSQL and Redis."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.crash.several import SeveralProcesses, services_listen

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="runs in the other suite"),
    pytest.mark.skipif(not services_listen(), reason="PostgreSQL or Redis does not listen on 127.0.0.1"),
]


async def names(world: SeveralProcesses, *wanted: str) -> None:
    """Wait until exactly these processes have a row."""
    deadline = time.monotonic() + 90
    while True:
        rows = await asyncio.to_thread(world.query, "SELECT name FROM halo_site_heartbeat")
        found = sorted(row["name"] for row in rows)
        if found == sorted(wanted):
            return
        assert time.monotonic() < deadline, (found, world.said())


async def test_every_process_is_seen_without_a_session_and_forgotten_after_a_clean_end(tmp_path: Path):
    async with SeveralProcesses(tmp_path, webs=1, engines=2) as world:
        await names(world, "web", "worker", "worker")
        await asyncio.to_thread(world.engines[0].terminate)
        await names(world, "web", "worker")
        await asyncio.to_thread(world.engines[1].kill)
        (web,) = [process for process in world.processes if process not in world.engines]
        await asyncio.to_thread(web.terminate)
        await names(world, "worker")  # who was killed is missed
