"""When servers start, fall, start again and end; nothing of them is left behind (spec tools 3.16)."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agents_app.mcp import flood
from agents_app.mcp.server import IDLE_SECONDS, RESTART_SECONDS
from agents_app.tools.contract import ERROR
from tests.agents_app.mcp.conftest import FAKE, until
from tests.fakes.mcp_server import HttpMcp


def pids(note: Path) -> list[int]:
    return [int(line) for line in note.read_text().split()] if note.exists() else []


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def test_one_server_serves_all_runs_of_a_workspace_agent_and_level(agents, stdio, tmp_path):
    note = tmp_path / "started"
    await asyncio.gather(*(agents.offered(stdio(note=note)) for _ in range(5)))
    await agents.offered(stdio(note=note))
    assert len(pids(note)) == 1


async def test_a_changed_entry_gets_a_server_of_its_own_and_the_old_one_ends(agents, stdio, tmp_path):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    await agents.offered(stdio(note=note, env={"FRUIT": "pear"}))
    first, second = pids(note)
    await until(lambda: not lives(first))
    assert lives(second)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("crash", "it ended with exit code 1: nothing works today"),
        ("hang", "no answer within 0.5 s while it started"),
        ("silent", "no answer within 0.5 s while it started"),
        ("garbage", "no answer within 0.5 s while it started"),
        ("old", "malformed answer: it speaks version '1999-01-01'"),
    ],
)
async def test_a_failed_start_is_told_and_leaves_no_process(agents, stdio, tmp_path, mode, said):
    note = tmp_path / "started"
    offer = await agents.offered(stdio(mode, note, timeout_sec=0.5 if mode not in ("crash", "old") else 60))
    assert offer.tools == ()
    assert offer.missing["mcp__fake__"].startswith(f"MCP server fake: {said}")
    assert not any(map(lives, pids(note)))


async def test_half_characters_in_ids_and_cursors_keep_no_server_from_starting(agents, stdio):
    offer = await agents.offered(stdio("half"))
    assert offer.missing == {}
    assert (await agents.call("echo", text="on")).text == "on"


async def test_a_list_of_tools_that_runs_in_a_circle_ends_with_a_warning(agents, stdio, pool):
    await agents.offered(stdio("circle"))
    [running] = pool.servers.values()
    assert running.warnings == (
        "mcp__fake__echo: dropped, the name is there twice",
        "its list of tools has no end; the 2 pages read so far count",
    )


async def test_a_server_that_only_prints_is_ended(agents, stdio, tmp_path):
    note = tmp_path / "started"
    offer = await agents.offered(stdio("flood", note))
    assert "nobody asked for within 10 s and was ended" in offer.missing["mcp__fake__"]
    assert not any(map(lives, pids(note)))


async def test_others_have_their_turn_during_a_flood():
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other, count = asyncio.create_task(work()), flood.Flood()
    for _ in range(5 * flood.AT_ONCE):
        await count.note()
    other.cancel()
    assert turns >= 5


async def test_a_program_that_is_not_there_is_told(agents, stdio):
    offer = await agents.offered(stdio(command="/no/such/program"))
    assert offer.missing["mcp__fake__"] == "MCP server fake: it could not be started: No such file or directory"


async def test_a_broken_server_takes_nothing_else_with_it(agents, stdio):
    offer = await agents.offered(stdio("crash", name="broken"), stdio())
    assert any(tool.name == "mcp__fake__echo" for tool in offer.tools)
    assert list(offer.missing) == ["mcp__broken__"]


async def test_a_server_without_tools_is_fine(agents, stdio):
    assert await agents.offered(stdio("empty")) == agents.last
    assert (agents.last.tools, agents.last.missing) == ((), {})


async def test_a_stop_while_a_server_starts_ends_the_waiting_at_once(agents, stdio, pool):
    waiting = asyncio.create_task(agents.offered(stdio("hang", timeout_sec=600)))
    await until(lambda: any(server.running for server in pool.servers.values()))
    agents.abort.set()
    async with asyncio.timeout(60):
        assert (await waiting).tools == ()


async def test_a_crash_in_a_call_is_an_error_and_the_next_call_starts_it_again(agents, stdio, tmp_path):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    result = await agents.call("crash")
    assert result.text == f"{ERROR}MCP server fake: it ended with exit code 3: the reason of the crash"
    assert (await agents.call("echo", text="again")).text == "again"
    assert len(pids(note)) == 2


async def test_it_is_started_again_once_per_minute(agents, stdio, tmp_path, clock):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    await agents.call("crash")
    await agents.call("crash")  # the one restart
    for _ in range(3):
        refused = await agents.call("echo", text="x")
        assert refused.text.startswith(f"{ERROR}MCP server fake: it ended with exit code 3")
    offer = await agents.offered(stdio(note=note))
    assert any(tool.name == "mcp__fake__echo" for tool in offer.tools), (
        "what it had stays offered: the prompt is stable"
    )
    assert "exit code 3" in offer.missing["mcp__fake__"]
    assert len(pids(note)) == 2
    clock.now += RESTART_SECONDS
    assert (await agents.call("echo", text="again")).text == "again"
    assert len(pids(note)) == 3


async def test_a_server_that_dies_between_runs_is_noticed_and_started_again(agents, stdio, tmp_path, pool):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    os.kill(pids(note)[0], signal.SIGKILL)
    [server] = pool.servers.values()
    await until(lambda: server.state == "failed")
    assert server.error == "it ended by signal 9"
    assert (await agents.offered(stdio(note=note))).missing == {}
    assert len(pids(note)) == 2


async def test_a_server_that_answers_nothing_any_more_is_ended(agents, stdio, tmp_path, pool, monkeypatch):
    monkeypatch.setattr("agents_app.mcp.server.PING_SECONDS", 0.2)
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    agents.impatient(0.3)
    assert (await agents.call("stuck")).text == f"{ERROR}MCP server fake: no answer within 0.3 s"
    [server] = pool.servers.values()
    await until(lambda: server.state == "failed")
    assert server.error == "it answers nothing any more and was ended"
    await until(lambda: not lives(pids(note)[0]))


async def test_an_http_server_that_forgot_us_is_asked_again(agents, home):
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        fake.session = "session-2"
        assert (await agents.call("echo", text="x")).text == f"{ERROR}MCP server fake: it forgot the session"
        assert (await agents.call("echo", text="known")).text == "known"


async def test_an_http_server_that_breaks_off_or_answers_errors_is_told(agents, home):
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        assert (await agents.call("crash")).text.startswith(
            f"{ERROR}MCP server fake: 127.0.0.1 did not answer properly"
        )
        fake.status = 500
        assert "status 500: words of an error page" in (await agents.call("echo", text="x")).text


async def test_it_ends_after_ten_idle_minutes_and_starts_again_when_needed(agents, stdio, tmp_path, pool, clock):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    clock.now += IDLE_SECONDS - 1
    await pool.end_idle()
    assert lives(pids(note)[0])
    clock.now += 1
    await pool.end_idle()
    assert not lives(pids(note)[0])
    assert next(iter(pool.servers.values())).state == "ended"
    for _ in range(3):  # no restart after a failure: not limited
        assert (await agents.call("echo", text="back")).text == "back"
        clock.now += IDLE_SECONDS
        await pool.end_idle()
    assert len(pids(note)) == 4


async def test_a_server_in_use_is_not_idle(agents, stdio, pool, clock, tmp_path):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note))
    call = asyncio.create_task(agents.call("wait", seconds=0.3))
    await until(lambda: next(iter(pool.servers.values())).calls == 1)
    clock.now += 2 * IDLE_SECONDS
    await pool.end_idle()
    assert (await call).text == "waited"


async def test_the_end_of_the_pool_ends_every_server_also_one_that_does_not_listen(agents, stdio, tmp_path, pool):
    note = tmp_path / "started"
    await agents.offered(stdio(note=note), stdio(note=note, name="two"))
    stuck = asyncio.create_task(agents.call("stuck"))
    await until(lambda: sum(server.calls for server in pool.servers.values()) == 1)
    await pool.close()
    assert len(pids(note)) == 2
    assert not any(map(lives, pids(note)))
    assert "was ended by Halo" in (await stuck).text


def test_no_server_outlives_a_killed_parent(tmp_path, home):
    """A process of ours with a server that does not care about the end of its input."""
    note = tmp_path / "started"
    script = f"""
import asyncio, django, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_site.settings"
django.setup()
from pathlib import Path
from agents_app.mcp.stdio import StdioLink
from agents_app.mcp.values import Launch
from halo_site.lib.access_level import Access

async def main():
    words = "import time, os; open({str(note)!r}, 'a').write(str(os.getpid()) + chr(10)); time.sleep(600)"
    link = StdioLink(Launch("x", "stdio", 5, (sys.executable, "-c", words)), Path({str(tmp_path)!r}), Access.FULL)
    await link.open()
    print("up", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
    env = os.environ | {"HALO_HOME": str(home), "HALO_JWT_SECRET": "dGVzdHMgb25seTogMzIgYnl0ZXMgYXJlIGVub3VnaCE="}
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=env, cwd=FAKE.parents[2], text=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "up\n"

    async def judge() -> None:
        await until(lambda: pids(note))
        [server] = pids(note)
        assert lives(server)
        parent.kill()
        parent.wait()
        await until(lambda: not lives(server))

    asyncio.run(judge())
