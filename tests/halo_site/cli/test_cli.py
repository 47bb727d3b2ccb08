"""`manage.py cli` as scripts see it: pipes, exit codes, sessions (spec cli-tui-acp, "Invariants worth a test")."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.crash.world import log_in, open_folder
from tests.fakes.model_server import FakeModelServer
from tests.server import RunningServer
from tests.socket_client import SocketClient

from .conftest import Terminal, until

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="looks into the file of SQLite"),
]


def calls(name: str, **arguments: object) -> list[dict[str, object]]:
    return [{"name": name, "arguments": arguments}]


async def test_1_json_is_one_object_and_nothing_else_is_on_stdout(terminal: Terminal):
    terminal.models.will(tool_calls=calls("file_list", path="."))
    terminal.models.will(text="Nothing there.", usage={"input": 6, "output": 42, "cache_read": 100})
    ended = await terminal.run("-n", "-f", "json", piped="x", HALO_LOG_LEVEL="info")
    assert ended.code == 0, ended.err
    answer = ended.json
    assert answer["text"] == "Nothing there."
    assert answer["sessionId"].startswith("cli_")
    assert [call["name"] for call in answer["toolCalls"]] == ["file_list"]
    assert answer["usage"]["cacheReadInputTokens"] == 100
    assert answer["usage"]["modelId"] == "fake"
    assert answer["error"] is None
    assert ended.out.count("\n") == 1


async def test_the_answer_alone_is_on_stdout_and_the_rest_on_stderr(terminal: Terminal):
    terminal.models.will(tool_calls=calls("file_list", path="."), text="Let me look.")
    terminal.models.will(text="Empty.\n\nMEDIA: a.png")
    ended = await terminal.run("what is here", "-v")
    assert ended.out == "Let me look.\n\nEmpty.\n\nMEDIA: a.png\n"
    assert "[tool: file_list]" in ended.err
    assert "[done: file_list" in ended.err
    assert " fake ]" in ended.err


async def test_2_a_brief_of_two_megabytes_comes_whole_behind_the_words(terminal: Terminal):
    brief = "".join(f"line {number}\n" for number in range(200_000))
    ended = await terminal.run("Read", "this", piped=brief)
    assert ended.code == 0, ended.err
    assert terminal.entries() == ["Read this\n\n" + brief.strip()]


async def test_3_a_named_session_is_made_once_and_new_ones_each_time(terminal: Terminal):
    for _ in range(2):
        assert (await terminal.run("-s", "cron-1", "again")).code == 0
        assert (await terminal.run("-n", "fresh")).code == 0
    assert (await terminal.run("go on")).code == 0  # with the newest of the two
    rows = terminal.rows("SELECT sid, exchange_count, access_level FROM sessions_app_session ORDER BY id")
    assert [(sid if sid == "cron-1" else sid[:4], count) for sid, count, _ in rows] == [
        ("cron-1", 2),
        ("cli_", 1),
        ("cli_", 2),
    ]
    assert len({sid for sid, _, _ in rows}) == 3


async def test_4_a_refused_key_exits_1_and_says_so_on_stderr(terminal: Terminal):
    terminal.models.will(status=401)
    ended = await terminal.run("hi")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("[error] ") == 1
    assert "refused the account or key" in ended.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_4_a_signal_in_a_tool_ends_it_and_leaves_a_sound_history(
    terminal: Terminal, number: signal.Signals, code: int
):
    terminal.models.will(tool_calls=calls("shell_exec", command="touch began; sleep 60; touch x"))
    process = await terminal.start("-s", "one", "go")
    process.stdin.close()
    await until((terminal.workspace / "began").exists)
    process.send_signal(number)
    assert (await terminal.end(process)).code == code
    assert not (terminal.workspace / "x").exists()
    assert terminal.rows("SELECT runner, lease_owner FROM sessions_app_session") == [("", None)]
    assert terminal.rows("SELECT status FROM sessions_app_turn") == [("aborted",)]
    assert (await terminal.run("-s", "one", "and now")).code == 0  # the strict server accepts the history


async def test_a_time_limit_stops_the_run_and_exits_124(terminal: Terminal):
    terminal.models.will(text="Beginning", hang="stream")
    ended = await terminal.run("hi", "--timeout", "2")
    assert ended.code == 124
    assert terminal.rows("SELECT status FROM sessions_app_turn") == [("aborted",)]


def with_team(home: Path, models: FakeModelServer) -> None:
    agents = home / "global" / "agents"
    head = f"model: {{provider: openai, id: fake, endpoint: '{models.chat}'}}\ntools: [shell_exec]\n"
    (agents / "default" / "agent.yaml").write_text(f"name: Default\n{head}team: [helper]\n")
    (agents / "helper").mkdir()
    slow = head.replace("id: fake", "id: 'fake:text=Dug_deep,ttft=600'")
    (agents / "helper" / "agent.yaml").write_text(f"name: Helper\n{slow}")
    (agents / "helper" / "AGENT.md").write_text("You help.")


async def test_5_it_stays_until_the_report_of_a_sub_agent_was_read(terminal: Terminal):
    with_team(terminal.home, terminal.models)
    terminal.models.will(tool_calls=calls("start_session", agent_id="helper", message="dig"))
    ended = await terminal.run("delegate", "-f", "json")
    assert ended.code == 0, ended.err
    answer = ended.json
    assert (answer["turns"], answer["children"]) == (2, 1)
    assert "Dug_deep" in json.dumps(terminal.models.requests[-1]["body"])
    assert terminal.rows("SELECT count(*) FROM sessions_app_session WHERE runner <> ''") == [(0,)]


async def tab(terminal: Terminal, server: RunningServer, session: str) -> SocketClient:
    """Of the owner's browser, with the workspace open."""
    cookie = await asyncio.to_thread(log_in, server.base)
    await asyncio.to_thread(open_folder, server.base, cookie, terminal.workspace)
    client = SocketClient(server.base, cookie)
    client.open(session, str(terminal.workspace))
    return client


async def test_6_server_and_terminal_leave_each_other_alone(terminal: Terminal):
    with RunningServer(terminal.home) as server:
        models = terminal.models
        async with await tab(terminal, server, "web_1") as client:
            models.will(hang="headers")
            client.chat("web_1", str(terminal.workspace), "stay busy")
            await models.wait_for(1)
            models.will(tool_calls=calls("shell_exec", command="touch began; sleep 60"))
            process = await terminal.start("-s", "mine", "work")
            process.stdin.close()
            await until((terminal.workspace / "began").exists)
            owners = dict(terminal.rows("SELECT sid, lease_owner FROM sessions_app_session"))
            assert f":{server.pid}:" in owners["web_1"]
            assert f":{process.pid}:" in owners["mine"]
            process.kill()
            await process.wait()
            found = "SELECT runner, lease_owner, deaths FROM sessions_app_session WHERE sid = 'mine'"
            await until(lambda: terminal.rows(found) == [("", None, 1)])
            status = "SELECT t.status FROM sessions_app_turn t JOIN sessions_app_session s ON s.id = t.session_id"
            assert terminal.rows(f"{status} WHERE s.sid = 'mine'") == [("interrupted",)]
            assert terminal.rows(f"{status} WHERE s.sid = 'web_1'") == [("running",)]
            assert not [text for text in terminal.entries() if text.startswith("[Server restarted]")]


async def test_a_session_that_a_server_runs_gets_the_message_and_the_answer_is_printed(terminal: Terminal):
    with RunningServer(terminal.home) as server:
        async with await tab(terminal, server, "web_1") as client:
            terminal.models.will(text="First.", ttft=1500)
            client.chat("web_1", str(terminal.workspace), "one")
            await terminal.models.wait_for(1)
            terminal.models.will(text="Second.")
            ended = await terminal.run("-s", "web_1", "two")
    assert (ended.code, ended.out) == (0, "Second.\n")
    owners = terminal.rows("SELECT count(*) FROM sessions_app_turn WHERE status = 'done'")
    assert owners == [(2,)]


async def test_an_open_tab_follows_a_session_of_the_terminal(terminal: Terminal):
    with RunningServer(terminal.home) as server:
        assert (await terminal.run("-s", "shared", "one")).code == 0
        async with await tab(terminal, server, "shared") as client:
            terminal.models.will(text="Seen from afar.")
            assert (await terminal.run("-s", "shared", "two")).code == 0
            await client.until(lambda: "Seen from afar." in client.view("shared").text())


async def test_7_standalone_needs_no_server_and_no_home(terminal: Terminal, tmp_path: Path):
    home = tmp_path / "another home"
    assert (await terminal.run("hi", HALO_HOME=str(home))).code == 1
    ended = await terminal.run(
        "hi", "--standalone", HALO_HOME=str(home), DATABASE_URL="postgres://nobody@127.0.0.1:1/x"
    )
    assert ended.code == 0, ended.err
    file = terminal.workspace / ".halo" / "standalone.sqlite3"
    assert terminal.rows("SELECT count(*) FROM sessions_app_turn WHERE status = 'done'", file=file) == [(1,)]
    assert terminal.rows("SELECT count(*) FROM sessions_app_session") == [(0,)]
    assert file.stat().st_mode & 0o077 == 0
    relays = {"name": "relay_send", "arguments": {"target": "web", "workspace": "/x", "agent_id": "a", "message": "hi"}}
    agent = home / "global" / "agents" / "default" / "agent.yaml"
    agent.write_text(
        f"name: D\nmodel: {{provider: openai, id: fake, endpoint: '{terminal.models.chat}'}}\ntools: [relay_send]\n"
    )
    terminal.models.will(tool_calls=[relays])
    ended = await terminal.run("relay", "--standalone", HALO_HOME=str(home))
    assert ended.code == 0, ended.err
    assert "only runs inside halo server" in json.dumps(terminal.models.requests[-1]["body"])
    assert not (home / "secrets" / "halo.sqlite3").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((), 1, "No prompt provided. Pass a prompt or pipe via stdin."),
        (("hi", "--access", "ful"), 2, "invalid choice: 'ful'"),
        (("hi", "-f", "yaml"), 2, "invalid choice: 'yaml'"),
        (("hi", "--lang", "fr"), 2, "invalid choice: 'fr'"),
        (("hi", "--timeout", "0"), 2, "--timeout"),
        (("hi", "-w", "/no/such/folder"), 1, "Workspace does not exist: /no/such/folder"),
        (("hi", "-s", "../x"), 1, "Invalid session id"),
        (("hi", "-a", "nobody"), 1, 'gent "nobody"'),
        (("hi", "--user", "nobody"), 1, "There is no user nobody"),
        (("/sesion list",), 1, "/session"),
    ],
)
async def test_a_bad_start_stores_nothing_and_says_what_was_wrong(
    terminal: Terminal, args: tuple[str, ...], code: int, words: str
):
    ended = await terminal.run(*args)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert terminal.rows("SELECT count(*) FROM sessions_app_entry") == [(0,)]


async def test_a_home_that_no_server_ever_started_in_is_named(terminal: Terminal, tmp_path: Path):
    ended = await terminal.run("hi", HALO_HOME=str(tmp_path / "empty"))
    assert (ended.code, ended.out) == (1, "")
    assert "not initialized. Run `manage.py serve` once first." in ended.err


async def test_access_of_the_session_is_the_one_given(terminal: Terminal):
    terminal.models.will(tool_calls=calls("file_write", path="made", content="x"))
    assert (await terminal.run("hi", "-s", "careful", "--access", "readonly")).code == 0
    assert terminal.rows("SELECT access_level FROM sessions_app_session") == [("readonly",)]
    assert terminal.rows("SELECT access_level FROM sessions_app_turn") == [("readonly",)]
    assert not (terminal.workspace / "made").exists()


async def test_a_slash_command_is_run_and_asks_no_model_but_piped_text_is_never_one(terminal: Terminal):
    ended = await terminal.run("/session", "list")
    assert ended.code == 0
    assert terminal.models.requests == []
    assert (await terminal.run("/etc/hosts", "what is it")).code == 0
    assert (await terminal.run(piped="/session list")).code == 0
    assert len(terminal.models.requests) == 2


async def test_files_named_in_the_prompt_go_along_and_those_in_a_pipe_do_not(terminal: Terminal):
    (terminal.workspace / "notes.md").write_text("remember the milk")
    assert (await terminal.run("sum up @file notes.md", piped="see @file notes.md")).code == 0
    assert "remember the milk" not in json.dumps(terminal.models.requests[-1]["body"])
    assert (await terminal.run("sum up @file notes.md and @file gone.md")).code == 0
    said = json.dumps(terminal.models.requests[-1]["body"])
    assert "remember the milk" in said
    assert "[not found: gone.md]" in said
    assert terminal.entries()[-1] == "sum up @file notes.md and @file gone.md"


async def test_stream_json_is_one_frame_a_line_and_ends_with_the_result(terminal: Terminal):
    terminal.models.will(text="Hi.")
    ended = await terminal.run("hi", "-f", "stream-json")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert "".join(line["text"] for line in lines if line["type"] == "chat:stream") == "Hi."
    assert lines[-1]["type"] == "result"
    assert lines[-1]["text"] == "Hi."
