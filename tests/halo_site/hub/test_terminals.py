"""Terminals over real sockets: real shells on real pseudo-terminals."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from halo_site.hub.rights import CHECK_EVERY
from halo_site.lib.access_level import Access
from tests.halo_site.hub.conftest import World
from tests.socket_client import Refused, WebSocket
from workspaces_app.git import ssh_agent
from workspaces_app.models import AuditEvent, Membership
from workspaces_app.terminals.pty import NO_RIGHT_GRACE

in_db = sync_to_async
DEADLINE = 60.0


class Screen:
    """One socket and what came over it."""

    def __init__(self, world: World, socket: WebSocket, browser: str) -> None:
        self.world, self.socket, self.browser = world, socket, browser
        self.frames: list[dict[str, Any]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.socket.send_json({"type": f"terminal:{kind}", "terminalId": "t1"} | fields)

    def place(self) -> dict[str, str]:
        return {"browserId": self.browser, "workspacePath": self.world.path}

    async def start(self, **fields: Any) -> None:
        self.send("start", **(self.place() | fields))
        await self.until(lambda: self.of("terminal:ready"))

    async def reattach(self, **fields: Any) -> list[str]:
        before = len(self.of("terminal:reattached"))
        self.send("reattach", **(self.place() | fields))
        await self.until(lambda: len(self.of("terminal:reattached")) > before)
        found: list[str] = self.of("terminal:reattached")[-1]["terminalIds"]
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def text(self) -> str:
        return "".join(frame["data"] for frame in self.of("terminal:output"))

    def type(self, line: str) -> None:
        self.send("input", data=line + "\n")

    async def until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not fact():
                self.frames.append(await self.socket.receive_json(DEADLINE))

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.text)

    async def go_quiet(self) -> None:
        """A shell that shows no prompt and no echo: what comes from now on is output."""
        self.type("exec sh")
        self.type("stty -echo; PS1=; echo rea''dy")
        await self.shows("ready\r\n")
        await self.settled()
        self.frames.clear()

    async def settled(self) -> None:
        """Everything the server sent before it handled this is here."""
        self.socket.send_json({"type": "__ping__"})
        pongs = len(self.of("__pong__"))
        await self.until(lambda: len(self.of("__pong__")) > pongs)

    async def leave(self) -> None:
        self.socket.abort()
        await until(lambda: not any(item.socket for item in self.world.server.hub.terminals._all.values()))


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not fact():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def screen(world: World, cookie: str | None = None, browser: str = "b1") -> AsyncIterator[Screen]:
    made = Screen(world, await world.socket(cookie), browser)
    try:
        yield made
    finally:
        await made.socket.close()


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")


@pytest.fixture(autouse=True, scope="module")
def agent() -> Iterator[None]:
    """The ssh agent that the first terminal starts."""
    yield
    ssh_agent._stop()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_a_shell_answers_in_the_workspace_with_its_size(world: World) -> None:
    async with screen(world) as tab:
        await tab.start(cols=97, rows=31)
        tab.type("echo a$((40+2))b; pwd; stty size; tty >/dev/null && echo is-a-tty; echo $TERM")
        await tab.shows("a42b")
        await tab.shows(world.path)
        await tab.shows("31 97")
        await tab.shows("is-a-tty")
        await tab.shows("xterm-256color")
        tab.send("resize", cols=50, rows=10)
        tab.type("stty size")
        await tab.shows("10 50")
        tab.type("exit 7")
        await tab.until(lambda: tab.of("terminal:exit"))
        assert tab.of("terminal:exit") == [{"type": "terminal:exit", "terminalId": "t1", "exitCode": 7}]
    event = await in_db(AuditEvent.objects.get)(action="terminal.start")
    assert (event.target, event.workspace_id) == (world.path, world.workspace.pk)


async def test_ctrl_c_reaches_the_program_in_front(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type("sh -c 'echo g\"\"o; exec sleep 1000'")
        await tab.shows("go\r\n")
        tab.send("input", data="\x03")
        await tab.shows("^C")
        tab.type("echo ba''ck")
        await tab.shows("back")


async def test_S9_the_environment_of_a_terminal_has_no_secret(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALO_PASSWORD", "HALO_JWT_SECRET", "DATABASE_URL", "REDIS_URL", "SOME_API_KEY"):
        monkeypatch.setenv(name, "c4nary")
    async with screen(world) as tab:
        await tab.start()
        tab.type("env; tr '\\0' '\\n' < /proc/$$/environ; echo do''ne")
        await tab.shows("done")
        assert "c4nary" not in tab.text
        assert "HALO_DATABASE" in tab.text


async def test_a_terminal_has_the_ssh_agent_of_the_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the server inherited one that does not answer any more."""
    monkeypatch.setenv("SSH_AUTH_SOCK", "/no/such/agent.sock")
    async with screen(world) as tab:
        await tab.start()
        tab.type("echo agent=$SSH_AUTH_SOCK; ssh-add -l; echo do''ne")
        await tab.shows("done")
        assert f"agent={ssh_agent.running()}" in tab.text
        assert "The agent has no identities" in tab.text


async def test_S9_below_full_access_there_is_no_terminal(world: World) -> None:
    for level in (Access.READONLY, Access.WORKSPACE):
        _, cookie = await in_db(world.person)(level.value, level)
        async with screen(world, cookie) as tab:
            tab.send("start", **tab.place())
            await tab.until(lambda: tab.of("error"))
            assert tab.of("error")[0]["code"] == "forbidden"
            assert tab.of("error")[0]["terminalId"] == "t1"
    assert not len(world.server.hub.terminals)


async def test_S9_frames_of_another_socket_browser_or_person_reach_no_terminal(world: World) -> None:
    _, other = await in_db(world.person)("other", Access.FULL)
    async with screen(world) as tab, screen(world) as second, screen(world, other) as foreign:
        await tab.start()
        for intruder in (second, foreign):
            intruder.type("touch planted")
            intruder.send("resize", cols=11, rows=11)
            intruder.send("close")
            intruder.socket.send_json({"type": "terminal:input", "data": "touch planted\n"})
            await intruder.settled()
            assert not intruder.of("terminal:exit")
        foreign.send("reattach", **foreign.place())
        second.browser = "b2"
        assert await second.reattach() == []
        await foreign.until(lambda: foreign.of("terminal:reattached"))
        assert foreign.of("terminal:reattached")[0]["terminalIds"] == []
        tab.type("stty size; ls; echo do''ne")
        await tab.shows("done")
        assert "24 80" in tab.text
        assert "planted" not in os.listdir(world.path)


async def test_the_same_id_of_another_person_is_another_terminal(world: World) -> None:
    _, other = await in_db(world.person)("other", Access.FULL)
    async with screen(world) as tab, screen(world, other) as foreign:
        await tab.start()
        await foreign.start()
        tab.type("echo o''ne")
        await tab.shows("one")
        foreign.type("echo t''wo")
        await foreign.shows("two")
        assert "two" not in tab.text


async def test_what_comes_while_nobody_looks_is_replayed_once(world: World) -> None:
    """Twenty times away and back: each byte is delivered once."""
    told = ""
    go = Path(world.path, "go")
    async with screen(world) as tab:
        await tab.start()
        await tab.go_quiet()
        await tab.settled()
        tab.type(
            'for i in $(seq 20); do while [ ! -e go$i ]; do sleep 0.01; done; echo "<$i>"; touch done$i; done; echo end'
        )
        await tab.leave()
    for number in range(1, 21):
        Path(f"{go}{number}").touch()
        await until(Path(world.path, f"done{number}").exists)
        async with screen(world) as tab:
            assert await tab.reattach() == ["t1"]
            await tab.shows(f"<{number}>")
            if number == 20:
                await tab.shows("end")
            told += tab.text
            await tab.leave()
    assert told.split("\r\n")[:20] == [f"<{number}>" for number in range(1, 21)]
    assert told.count("<") == 20


async def test_60_kB_of_output_keep_the_last_50000_bytes_and_the_screen_is_put_right(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        await tab.go_quiet()
        tab.type(
            r"while [ ! -e go ]; do sleep 0.01; done; printf '\033[?1000h'; "
            r"head -c 60000 /dev/zero | tr '\0' x; touch do''ne"
        )
        await tab.settled()
        await tab.leave()
    Path(world.path, "go").touch()
    await until(Path(world.path, "done").exists)
    async with screen(world) as tab:
        await tab.reattach()
        await tab.until(lambda: tab.text)
        assert tab.text.count("x") == 50_000
        before = tab.text.partition("x")[0]
        assert before.startswith("\x1b[?")
        assert "\x1b[?1000h" in before


async def test_X10_broken_characters_and_binary_lose_nothing_and_break_nothing(world: World) -> None:
    Path(world.path, "bin").write_bytes(bytes(range(128, 256)) * 8)
    async with screen(world) as tab:
        await tab.start()
        await tab.go_quiet()
        tab.type(r"printf '\342'; sleep 0.1; printf '\224\200'; cat bin; echo; echo do''ne")
        await tab.shows("done")
        assert "─" in tab.text
        assert tab.text.count("\ufffd") > 500


async def test_a_page_that_lost_its_screen_gets_all_there_is(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type("echo ear''ly")
        await tab.shows("early")
        await tab.leave()
    async with screen(world) as tab:
        await tab.reattach(known=["t1"])
        await tab.settled()
        assert "early" not in tab.text
        await tab.reattach(known=[])
        await tab.shows("early")


async def test_the_old_socket_of_a_terminal_that_moved_does_not_detach_it(world: World) -> None:
    async with screen(world) as first, screen(world) as second:
        await first.start()
        assert await second.reattach() == ["t1"]
        await first.socket.close()
        second.type("echo he''re")
        await second.shows("here")
        first_left = [item for item in world.server.hub.terminals._all.values() if item.socket is None]
        assert first_left == []


async def test_an_end_while_nobody_looks_is_told_to_whoever_comes_back(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type("while [ ! -e go ]; do sleep 0.01; done; echo by''e; exit 5")
        await tab.settled()
        await tab.leave()
    Path(world.path, "go").touch()
    await until(lambda: all(item.exit_code == 5 for item in world.server.hub.terminals._all.values()))
    async with screen(world) as tab:
        assert await tab.reattach() == ["t1"]
        await tab.until(lambda: tab.of("terminal:exit"))
        assert tab.of("terminal:exit")[0]["exitCode"] == 5
        assert "bye" in tab.text
        assert await tab.reattach() == []


STUBBORN = "trap '' HUP TERM INT; (trap '' HUP; exec sleep 1000) & echo $! $$ > pids; while :; do sleep 0.1; done"


async def pids_of(world: World) -> list[int]:
    def both() -> bool:
        path = Path(world.path, "pids")
        return path.exists() and len(path.read_text().split()) == 2

    await until(both)
    return [int(word) for word in Path(world.path, "pids").read_text().split()]


async def test_close_kills_the_shell_and_what_ignores_the_hang_up(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type(STUBBORN)
        pids = await pids_of(world)
        tab.send("close")
        await tab.until(lambda: tab.of("terminal:exit"))
        assert tab.of("terminal:exit")[0]["exitCode"] == 0
        await until(lambda: not any(map(alive, pids)))


async def test_the_grace_time_over_the_terminal_is_killed_with_its_jobs(world: World, settings: Any) -> None:
    from datetime import timedelta

    settings.HALO = replace(settings.HALO, terminal_grace=timedelta(milliseconds=50))
    async with screen(world) as tab:
        await tab.start()
        tab.type(STUBBORN)
        pids = await pids_of(world)
    await until(lambda: not any(map(alive, pids)))
    async with screen(world) as tab:
        assert await tab.reattach() == []


async def test_the_same_id_again_replaces_the_terminal(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type("echo $$ 0 > pids")
        first, _ = await pids_of(world)
        await tab.start()
        await until(lambda: not alive(first))
        tab.type("echo sec''ond")
        await tab.shows("second")
        assert not tab.of("terminal:exit")


async def test_A3_a_lowered_level_ends_terminals_at_the_next_look_attached_or_not(world: World) -> None:
    user, cookie = await in_db(world.person)("member", Access.FULL)
    service = world.server.hub
    async with screen(world, cookie) as tab:
        await tab.start()
        tab.type(STUBBORN)
        attached = await pids_of(world)
        await in_db(Membership.objects.filter(user=user).update)(level="workspace")  # no signal
        await until(lambda: not any(map(alive, attached)))
    Path(world.path, "pids").unlink()
    await in_db(Membership.objects.filter(user=user).update)(level="full")
    async with screen(world, cookie) as tab:
        await tab.start()
        tab.type(STUBBORN)
        detached = await pids_of(world)
        await tab.leave()
    await until(lambda: not service.sockets_of(user.pk))
    assert all(map(alive, detached))
    await in_db(Membership.objects.filter(user=user).delete)()
    await until(lambda: not any(map(alive, detached)))
    await until(lambda: not service.knows(user.pk))
    assert CHECK_EVERY + NO_RIGHT_GRACE < 2, "the bar is two seconds"


async def test_a_flood_waits_for_a_reader_who_is_slow_and_costs_no_memory(world: World) -> None:
    async with screen(world) as tab:
        await tab.start()
        tab.type("echo $$ 0 > pids; exec yes 0123456789012345678901234567890123456789")
        await pids_of(world)
        hub = world.server.hub

        def paused() -> bool:
            return any(item.pty is not None and item.pty._paused for item in hub.terminals._all.values())

        await until(paused)
        assert all(connection.outbox.held < 1 << 20 for connection in hub.connections)
        tab.send("input", data="\x03")
        await tab.until(lambda: tab.of("terminal:exit"))
        assert tab.of("terminal:exit")[0]["exitCode"] == 128 + signal.SIGINT


async def test_bad_starts_are_refused_with_a_reason_and_nothing_is_left(world: World) -> None:
    async with screen(world) as tab:
        for fields in ({"cwd": "/no/such"}, {"cwd": "a\0b"}, {"cols": "wide"}, {"terminalId": ""}, {"cols": 1.5}):
            before = len(tab.of("error"))
            tab.send("start", **(tab.place() | fields))
            await tab.until(lambda before=before: len(tab.of("error")) > before)
        assert tab.of("error")[0]["error"] == "Terminal failed: /no/such is not a folder"
        tab.send("start", cols=-1, rows=2**62, **tab.place())
        await tab.until(lambda: tab.of("terminal:ready"))
        tab.type("stty size")
        await tab.shows("500 1")


@pytest.mark.parametrize("kind", ["start", "input", "resize", "close", "reattach", "list"])
@pytest.mark.parametrize(
    "fields", [{"terminalId": 5}, {"terminalId": ["t"], "browserId": {}}, {"workspacePath": "a\0b"}]
)
async def test_wrong_fields_break_nothing(world: World, kind: str, fields: dict[str, Any]) -> None:
    async with screen(world) as tab:
        tab.send(kind, **({"data": "x", "workspacePath": world.path} | fields))
        tab.send("list", terminalId="t1", **tab.place())
        await tab.until(lambda: tab.of("terminal:list") or len(tab.of("error")) > 1)
        assert "internal error" not in str(tab.frames)
        assert not len(world.server.hub.terminals)


async def test_without_a_workspace_only_the_owner_of_the_server_gets_a_shell_in_the_home(world: World) -> None:
    _, other = await in_db(world.person)("other", Access.FULL)
    async with screen(world) as tab, screen(world, other) as member:
        tab.send("start")
        await tab.until(lambda: tab.of("terminal:ready"))
        tab.type("pwd")
        await tab.shows(os.environ["HOME"])
        member.send("start")
        await member.until(lambda: member.of("error"))
        assert "No workspace context" in member.of("error")[0]["error"]


async def test_one_person_has_twenty_at_most(world: World) -> None:
    async with screen(world) as tab:
        for number in range(21):
            tab.send("start", terminalId=f"t{number}", cwd="/", browserId="b1", workspacePath=world.path)
        await tab.until(lambda: tab.of("error"))
        assert len(tab.of("terminal:ready")) == 20
        assert tab.of("error")[0]["error"].startswith("You have 20 terminals")
        tab.send("list", **tab.place())
        await tab.until(lambda: tab.of("terminal:list"))
        assert len(tab.of("terminal:list")[0]["terminals"]) == 20


async def test_input_does_not_wait_for_a_frame_that_takes_long(world: World) -> None:
    held = asyncio.Event()
    async with screen(world) as tab:
        await tab.start()
        connection = next(iter(world.server.hub.connections))

        async def slow(*args: Any) -> Any:
            await asyncio.to_thread(lambda: time.sleep(0))
            while not held.is_set():
                await asyncio.sleep(0.01)

        original = type(connection).unit
        try:
            type(connection).unit = slow  # type: ignore[method-assign]
            tab.socket.send_json({"type": "subscribe", "projectId": world.path})
            tab.type("echo qui''ck")
            await tab.shows("quick")
        finally:
            type(connection).unit = original  # type: ignore[method-assign]
            held.set()


async def test_without_a_login_there_is_not_even_a_socket(world: World) -> None:
    with pytest.raises(Refused):
        await world.upgrade("")
    await world.socket()  # with one there is
