"""T5: PostgreSQL is restarted while sessions run. Loops reconnect alone; nothing is lost or run twice."""

import asyncio
from pathlib import Path

import pytest

from .checker import check
from .private_postgres import PrivatePostgres, available
from .several import SeveralProcesses, listens

pytestmark = [
    pytest.mark.crash,
    pytest.mark.server,
    pytest.mark.skipif(not (available() and listens(6379)), reason="needs PostgreSQL's programs and a Redis"),
]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_T5_a_restart_of_the_database_during_turns_loses_nothing(mode: str, tmp_path: Path):
    with PrivatePostgres() as postgres:
        async with SeveralProcesses(tmp_path, engines=1, postgres=postgres.url) as world:
            home_sid = world.sid
            sids = [f"{home_sid}_{number}" for number in range(10)]
            for sid in sids:
                world.sid = sid
                mid = world.say("go", "tokens=100 delay=30")
                await world.acked(mid)
            await world.shown(300)
            await asyncio.to_thread(postgres.stop, mode)
            await asyncio.to_thread(postgres.start)
            await world.settled(120)
            assert all(process.popen.poll() is None for process in world.processes), world.said()
            world.sid = sids[0]
            mid = world.say("and now", "tokens=3")
            await world.acked(mid)
            await world.settled()
            evidence = world.evidence()
            assert evidence.turns[-1]["status"] == "done"
            # I9 is about our own death: text that streamed on while nothing could be stored may be missing.
            broken = [fault for fault in check(evidence) if fault.invariant != "I9"]
            assert not broken, "\n".join(map(str, broken)) + world.story(evidence)
