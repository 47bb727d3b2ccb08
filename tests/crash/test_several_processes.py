"""Two engines and two web processes on PostgreSQL and Redis: one run per session, whoever dies or freezes."""

import asyncio
import os
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .cable import BOTH, TO_CLIENT, TO_SERVER, Cable
from .several import REDIS, SeveralProcesses, services_listen
from .test_points import shell

REPEAT = range(int(os.environ.get("HALO_CRASH_REPEAT", "3")))
pytestmark = [
    pytest.mark.crash,
    pytest.mark.server,
    pytest.mark.skipif(not services_listen(), reason="PostgreSQL or Redis does not listen on 127.0.0.1"),
]


async def test_twenty_messages_at_once_to_one_session_are_run_one_after_another(tmp_path: Path):
    async with SeveralProcesses(tmp_path) as world:
        for number in range(20):
            world.say(f"message {number}", "tokens=3 delay=5")
        await world.settled()
        evidence = world.judge()
        indices = [turn["index"] for turn in evidence.turns]
        assert indices == sorted(set(indices))
        spans = sorted((turn["started_at"], turn["ended_at"]) for turn in evidence.turns)
        assert all(ended <= started for (_, ended), (started, _) in pairwise(spans))


async def test_two_engines_claim_one_session_and_one_wins(tmp_path: Path):
    async with SeveralProcesses(tmp_path) as world:
        assert world.client
        sids = [f"{world.sid}_{number}" for number in range(20)]
        for sid in sids:
            world.sid = sid
            world.say("go", "tokens=10 delay=5")
        await world.settled()
        evidence = world.evidence()
        assert len(evidence.requests) == 20
        assert [turn["status"] for turn in evidence.turns] == ["done"] * 20
        assert all(session["lease_epoch"] == 1 for session in evidence.sessions)


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_a_killed_engine_is_replaced_by_the_other_at_once(_repeat: int, tmp_path: Path):
    async with SeveralProcesses(tmp_path) as world:
        world.models.will(tool_calls=[shell(world, "one")])
        world.say("talk", "tokens=300 delay=20")
        await world.shown(world.dice.randint(5, 200))
        world.say("and then", "tokens=3")
        engine = await world.owner()
        await asyncio.to_thread(engine.kill)
        world.killed_at.append(asyncio.get_running_loop().time())
        await world.settled(20)  # less than the lease of 30 s: same host, the pid is gone
        world.judge()


async def test_T10_a_frozen_engine_that_wakes_after_the_takeover_changes_nothing(tmp_path: Path):
    async with SeveralProcesses(tmp_path) as world:
        world.say("talk", "tokens=300 delay=20")
        await world.shown(100)
        frozen = await world.owner()
        await world.freeze(frozen)
        world.killed_at.append(asyncio.get_running_loop().time())
        await world.settled(90)  # the lease runs out after 30 s
        before = world.rows("entry"), world.rows("turn")
        await world.wake(frozen)
        mid = world.say("and now", "tokens=3")
        await world.acked(mid)
        await world.settled()
        after = world.rows("entry"), world.rows("turn")
        assert after[0][: len(before[0])] == before[0]
        assert after[1][: len(before[1])] == before[1]
        world.judge()
        assert await asyncio.to_thread(frozen.terminate) == 0


@pytest.mark.parametrize(
    ("service", "ways"),
    [("DATABASE_URL", BOTH), ("DATABASE_URL", (TO_SERVER,)), ("DATABASE_URL", (TO_CLIENT,)), ("REDIS_URL", BOTH)],
    ids=["database-both", "database-unheard", "database-unanswered", "redis-both"],
)
async def test_T11_an_engine_that_is_cut_off_changes_nothing_when_its_words_arrive_late(
    tmp_path: Path, service: str, ways: tuple[str, ...]
):
    async with SeveralProcesses(tmp_path, engines=0) as world:
        url = urlsplit(world.url if service == "DATABASE_URL" else REDIS)
        async with Cable(url.port or 0) as cable:
            login = f"{url.username}@" if url.username else ""
            through = url._replace(netloc=f"{login}127.0.0.1:{cable.port}").geturl()
            lonely = await asyncio.to_thread(lambda: world.start_engine(**{service: through}))
            world.say("talk", "tokens=300 delay=20")
            await world.shown(100)
            await asyncio.to_thread(world.start_engine)
            cable.cut(*ways)
            now = asyncio.get_running_loop().time()
            world.killed_at += [now, now + 1, now + 2]  # so long it takes to notice that nothing is stored any more
            await world.settled(90)  # the lease runs out after 30 s; without Redis it goes on
            before = world.rows("entry"), world.rows("turn")
            cable.mend()
            mid = world.say("and now", "tokens=3")
            await world.acked(mid)
            await world.settled()
            after = world.rows("entry"), world.rows("turn")
            assert after[0][: len(before[0])] == before[0]
            assert after[1][: len(before[1])] == before[1]
            spans = sorted((turn["started_at"], turn["ended_at"]) for turn in after[1])
            assert all(ended <= started for (_, ended), (started, _) in pairwise(spans))
            world.judge()
            assert await asyncio.to_thread(lonely.terminate) == 0


@pytest.mark.parametrize("away", ["T10-frozen", "T11-cut off"])
async def test_T10_T11_I5_a_task_ends_in_one_report_though_its_engine_was_away_meanwhile(tmp_path: Path, away: str):
    async with SeveralProcesses(tmp_path, engines=0) as world, Cable(urlsplit(world.url).port or 5432) as cable:
        url = urlsplit(world.url)
        login = f"{url.username}@" if url.username else ""
        through = url._replace(netloc=f"{login}127.0.0.1:{cable.port}").geturl()
        lonely = await asyncio.to_thread(lambda: world.start_engine(DATABASE_URL=through))
        world.hand_on("hand it on", "tokens=300 delay=20")
        busy = "SELECT count(*) AS n FROM sessions_app_modelcall m JOIN sessions_app_turn t ON m.turn_id = t.id"
        asked = f"{busy} JOIN relay_app_replyto r ON r.target_id = t.session_id WHERE m.outcome = ''"
        async with asyncio.timeout(60):
            while not (await asyncio.to_thread(world.query, asked))[0]["n"]:
                await asyncio.sleep(0)
        now = asyncio.get_running_loop().time()
        world.killed_at += [now, now + 1, now + 2]
        if away == "T10-frozen":
            await world.freeze(lonely)
        else:
            cable.cut(*BOTH)
        await asyncio.to_thread(world.start_engine)
        await world.settled(90)
        origins = [row["origin"] or {} for row in world.rows("entry")]
        assert sum((origin.get("relay") or {}).get("part") == "final" for origin in origins) == 1
        await world.wake(lonely)
        cable.mend()
        mid = world.say("and now", "tokens=3")
        await world.acked(mid)
        await world.settled()
        evidence = world.judge()
        assert [relay["outcome"] for relay in evidence.relays] == ["completed"]


async def test_every_web_process_shows_the_same_stream(tmp_path: Path):
    async with SeveralProcesses(tmp_path, webs=2, engines=1) as world:
        mid = world.say("talk", "tokens=100 delay=20")
        await world.acked(mid)
        other = await world.new_client(world.bases[1])
        try:
            await world.settled()
            assert world.client
            for client in (world.client, other):
                await client.until(lambda c=client: c.view(world.sid).answered, 30)
            assert other.view(world.sid).text() == world.client.view(world.sid).text()
            assert "t099" in other.view(world.sid).text()
        finally:
            await other.__aexit__()
        world.judge()


async def test_sigterm_ends_an_engine_within_five_seconds_with_its_lease_released(tmp_path: Path):
    async with SeveralProcesses(tmp_path, engines=1) as world:
        world.say("talk", "tokens=300 delay=20")
        await world.shown(50)
        (engine,) = world.engines
        world.killed_at.append(asyncio.get_running_loop().time())
        assert await asyncio.to_thread(engine.terminate, 6) == 0
        (session,) = world.rows("session")
        assert session["lease_owner"] is None
        assert session["deaths"] == 0
        await asyncio.to_thread(world.start_engine)
        await world.settled()
        world.judge()
