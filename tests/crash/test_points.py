"""SIGKILL at every named point, restart, and the invariants I1 to I10 (SECURITY-BAR 3, T1).

Each case makes the server reach its point at a random visit and pace, waits for its death, starts it again, lets the
client resend what was not acknowledged, and judges. HALO_CRASH_REPEAT says how often (default 3, `make crash` 20).
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from halo_site.lib.crashpoint import POINTS

from .world import World

REPEAT = range(int(os.environ.get("HALO_CRASH_REPEAT", "3")))
pytestmark = [
    pytest.mark.crash,
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="kills one server on SQLite"),
]

Scenario = Callable[[World], Awaitable[None]]


async def one_message(world: World) -> None:
    world.say("hello", f"tokens=40 delay={world.dice.randint(0, 10)}")


async def three_queued(world: World) -> None:
    first = world.say("first", "tokens=60 delay=10")
    await world.acked(first)
    for number in range(3):
        world.say(f"queued {number}", "tokens=5")


async def long_reply(world: World) -> None:
    world.say("talk", f"tokens=400 delay={world.dice.randint(8, 20)}")


async def a_command(world: World) -> None:
    world.models.will(tool_calls=[shell(world, "one")], ttft=world.dice.randint(0, 50))
    world.say("run it", "tokens=5")


async def two_commands(world: World) -> None:
    world.models.will(tool_calls=[shell(world, "one"), shell(world, "two")])
    world.say("run them", "tokens=5")


async def a_written_file(world: World) -> None:
    (world.workspace / "kept.txt").write_text("old")
    call = {"name": "file_write", "arguments": {"path": "kept.txt", "content": "new" * 1000}}
    world.models.will(tool_calls=[{"name": "file_read", "arguments": {"path": "kept.txt"}}])
    world.models.will(tool_calls=[call])
    world.say("write it", "tokens=5")


async def a_child_that_reports(world: World) -> None:
    """An agent starts another; the report is written at the end of the child's run."""
    call = {"name": "start_session", "arguments": {"agent_id": "default", "message": "dig [[fake tokens=5]]"}}
    world.models.will(tool_calls=[call])
    world.say("delegate", "tokens=3")


async def a_task_for_another_session(world: World) -> None:
    """An agent hands a task on; the report comes at the end of the other session's run."""
    world.hand_on("hand it on", "tokens=5")


async def a_compaction(world: World) -> None:
    """A reply with which the conversation outgrows its model: a summary is made at once."""
    for part in range(3):
        world.say(f"part {part}", "tokens=3")
        await world.settled()
    world.models.will(text="large", usage={"input": 190_000, "output": 5})
    world.say("grow")


async def a_compaction_asked_for(world: World) -> None:
    """A person asks for room and goes on writing."""
    assert world.client
    for part in range(4):
        world.say(f"part {part}", "tokens=3")
        await world.settled()
    world.models.will(text="All that was said.", ttft=world.dice.randint(0, 50))
    where = {"sessionId": world.sid, "projectId": str(world.workspace)}
    world.client.send({"type": "command:session", "message": "compact", **where})
    world.say("and meanwhile", "tokens=3")


async def a_stop_with_a_queue(world: World) -> None:
    assert world.client
    await three_queued(world)
    for mid, _ in world.sent:
        await world.acked(mid)
    await world.shown(10)
    world.client.send({"type": "chat:stop", "sessionId": world.sid, "projectId": str(world.workspace)})


def shell(world: World, name: str) -> dict[str, object]:
    """A command with an effect that can be counted."""
    mark = f"ran-{name}-{world.sid}"
    pause = world.dice.choice(["", "sleep 0.2; "])
    return {"name": "shell_exec", "arguments": {"command": f"{pause}echo {mark} >> effects.txt"}}


# Point -> what the person does, and at which visits the server may die there.
CASES: dict[str, tuple[Scenario, tuple[int, int]]] = {
    "accept.before_commit": (one_message, (1, 1)),
    "accept.after_commit": (three_queued, (1, 4)),
    "accept.after_ack": (three_queued, (1, 4)),
    "claim.after": (one_message, (1, 1)),
    "drain.after_commit": (three_queued, (1, 1)),
    "model.before_request": (a_command, (1, 2)),
    "model.mid_text": (long_reply, (1, 3)),
    "model.mid_tool_args": (a_command, (1, 1)),
    "tool.intent_saved": (two_commands, (1, 2)),
    "tool.mid_run": (two_commands, (1, 2)),
    "tool.effect_done": (two_commands, (1, 2)),
    "tool.result_saved": (two_commands, (1, 2)),
    "interrupt.folded": (a_stop_with_a_queue, (1, 1)),
    "compact.claimed": (a_compaction_asked_for, (1, 1)),
    "compact.before_request": (a_compaction, (1, 1)),
    "compact.before_commit": (a_compaction, (1, 1)),
    "compact.after_commit": (a_compaction, (1, 1)),
    "end.before_release": (one_message, (1, 1)),
    "end.after_release": (one_message, (1, 1)),
    "report.before_commit": (a_child_that_reports, (1, 1)),
    "transcript.after_write": (one_message, (1, 1)),
    "relay.before_commit": (a_task_for_another_session, (1, 1)),
    "relay.before_clear": (a_task_for_another_session, (1, 1)),
    "relay.after_clear": (a_task_for_another_session, (1, 1)),
    "file.temp_written": (a_written_file, (1, 1)),
}
ELSEWHERE = {
    "boot.nudge_inserted": "test_killed_again_in_the_middle_of_recovery",
    "migrate.mid": "test_upgrade.py",
    "extension.staged": "tests/extensions_app/test_install.py",
    "extension.aside": "tests/extensions_app/test_install.py",
    "extension.moved_in": "tests/extensions_app/test_install.py",
    "import.staged": "tests/agents_app/sharing/test_import.py",
    "import.moved": "tests/agents_app/sharing/test_import.py",
    "import.before_done": "tests/agents_app/sharing/test_import.py",
}


def test_every_named_point_has_a_case():
    assert set(CASES) | set(ELSEWHERE) == POINTS


@pytest.mark.parametrize("_repeat", REPEAT)
@pytest.mark.parametrize("point", CASES)
async def test_T1_killed_at(point: str, _repeat: int, tmp_path: Path):
    scenario, (low, high) = CASES[point]
    async with World(tmp_path) as world:
        await world.start(crash_at=f"{point}:{world.dice.randint(low, high)}", after_start=True)
        await scenario(world)
        await world.death()
        assert point in world.points()
        await world.start()
        await world.settled()
        if point == "interrupt.folded":
            evidence = world.evidence()
            assert all(turn["status"] != "running" for turn in evidence.turns)
        evidence = world.judge()
        if point == "file.temp_written":
            assert (world.workspace / "kept.txt").read_text() in ("old", "new" * 1000)
        # The session is usable afterwards.
        mid = world.say("and now", "tokens=3")
        await world.acked(mid)
        await world.settled()
        evidence = world.judge()
        assert [turn["status"] for turn in evidence.turns][-1] == "done"


@pytest.mark.parametrize("_repeat", REPEAT)
@pytest.mark.parametrize("point", ["compact.claimed", "compact.before_request", "compact.before_commit"])
async def test_T1_a_compaction_that_was_asked_for_and_died_changed_nothing_and_says_so(
    point: str, _repeat: int, tmp_path: Path
):
    async with World(tmp_path) as world:
        await world.start(crash_at=point, after_start=True)
        await a_compaction_asked_for(world)
        await world.death()
        await world.start()
        await world.settled()
        entries = world.judge().entries
        assert [entry["text"] for entry in entries if entry["kind"] == "summary"] == []
        assert [entry["text"] for entry in entries if entry["kind"] == "notice"] == [
            "Compaction failed — context unchanged"
        ]
        assert all(entry["in_context"] for entry in entries if entry["kind"] in ("user", "assistant"))
        assert not [entry for entry in entries if "[Server restarted]" in entry["text"]]  # nobody was at work


@pytest.mark.parametrize("_repeat", REPEAT)
@pytest.mark.parametrize("family", ["openai", "anthropic"])
async def test_T1_killed_at_a_random_moment_with_three_messages_queued(family: str, _repeat: int, tmp_path: Path):
    async with World(tmp_path, family=family) as world:
        await world.start()
        world.models.will(tool_calls=[shell(world, "one")])
        await three_queued(world)
        for mid, _ in world.sent:
            await world.acked(mid)
        await world.after_a_random_number_of_frames(60)
        await world.kill()
        await world.start()
        await world.settled()
        evidence = world.judge()
        assert len([entry for entry in evidence.entries if entry["client_msg_id"]]) == 4


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_T1_killed_while_a_command_runs_leaves_no_process(_repeat: int, tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start()
        world.models.will(tool_calls=[{"name": "shell_exec", "arguments": {"command": "echo started; sleep 300"}}])
        world.say("wait", "tokens=5")
        assert world.client
        await world.client.until(lambda: world.client.received("agent:tool_output"), 30)
        await world.kill()
        await world.start()
        await world.settled()
        world.judge()
        told = [str(request.body["messages"]) for request in world.evidence().requests]
        assert "unknown" in told[-1]


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_killed_again_in_the_middle_of_recovery(_repeat: int, tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start()
        world.say("talk", "tokens=2000 delay=10")  # long enough to be killed in its middle, on any machine
        await world.shown(20)
        await world.kill()
        await world.start(crash_at="boot.nudge_inserted")
        await world.death()
        await world.start()
        await world.settled()
        world.judge()


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_T1_I5_a_task_ends_in_one_report_whenever_the_server_dies(_repeat: int, tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start()
        world.hand_on("hand it on", f"tokens=30 delay={world.dice.randint(1, 15)}")
        for _ in range(2):
            await world.after_a_random_number_of_frames(20)
            await world.kill()
            await world.start()
        await world.settled()
        evidence = world.judge()
        assert len(evidence.relays) <= 1


async def test_T1_a_session_that_dies_three_times_in_a_row_is_parked_with_a_notice(tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start()
        world.models.defaults = world.models.defaults.merged({"tokens": 400, "delay": 20})
        world.say("talk")
        for _ in range(3):
            await world.running()
            await world.kill()
            await world.start()
        await world.settled()
        (session,) = world.rows("session")
        assert session["parked_at"]
        notices = [entry for entry in world.rows("entry") if entry["kind"] == "notice"]
        assert notices
        world.judge()
        world.models.defaults = world.models.defaults.merged({"tokens": 3, "delay": 0})
        mid = world.say("go on")
        await world.acked(mid)
        await world.settled()
        assert not world.rows("session")[0]["parked_at"]
        assert world.judge().turns[-1]["status"] == "done"


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_sigterm_in_the_middle_of_a_reply_loses_nothing_and_counts_no_death(_repeat: int, tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start()
        await three_queued(world)
        for mid, _ in world.sent:
            await world.acked(mid)
        await world.after_a_random_number_of_frames(40)
        assert await world.terminate() < 5
        (session,) = world.rows("session")
        assert session["lease_owner"] is None
        assert session["deaths"] == 0
        await world.start()
        await world.settled()
        world.judge()


async def test_X5_the_same_message_sent_again_after_a_restart_runs_once(tmp_path: Path):
    async with World(tmp_path) as world:
        await world.start(crash_at="accept.after_commit", after_start=True)
        assert world.client
        mid = world.say("once", "tokens=5")
        await world.death()
        assert not world.client.is_acked(mid)
        await world.start()
        await world.settled()
        assert world.client.is_acked(mid)
        # And once more, long after: still the same row.
        message = f"once {world.sent[0][1]} [[fake tokens=5]]"
        world.client.acks.clear()
        world.client.chat(world.sid, str(world.workspace), message, clientMsgId=mid)
        await world.acked(mid)
        evidence = world.judge()
        assert len([entry for entry in evidence.entries if entry["client_msg_id"] == mid]) == 1
        assert len(evidence.requests) == 1
