"""Slash commands over a real socket (spec ws-protocol 21 to 24; commands, invariants 11 and 14)."""

from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from halo_site.lib.access_level import Access
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session
from tests.socket_client import WebSocket

from .conftest import World
from .test_frames import ask, skip_to, still_works

in_db = sync_to_async


async def command(socket: WebSocket, world: World, name: str, message: str = "", sid: str = "s", **more: Any) -> Any:
    frame = {"type": f"command:{name}", "message": message, "sessionId": sid, "projectId": world.path}
    return await ask(socket, **frame | more)


async def test_23_the_text_of_a_command_comes_back_in_the_language_of_the_app(world: World, agent_folder: None) -> None:
    socket = await world.socket()
    answer = await command(socket, world, "help")
    assert (answer["type"], answer["sessionId"]) == ("chat:system", "s")
    assert answer["text"].startswith("Commands:\n")
    assert (await command(socket, world, "help", lang="zh"))["text"].startswith("命令：")
    assert not await in_db(Session.objects.exists)()  # a draft stays a draft


async def test_23_an_unknown_command_is_an_error(world: World, agent_folder: None) -> None:
    socket = await world.socket()
    answer = await command(socket, world, "zzzz")
    assert (answer["type"], answer["error"]) == ("error", "Unknown command: zzzz")
    await still_works(socket)


async def test_21_without_a_session_there_is_nothing_to_act_on(world: World) -> None:
    socket = await world.socket()
    assert (await ask(socket, type="command:help", projectId=world.path))["error"] == "No active session"


async def test_23_a_switch_leads_this_tab_to_the_other_session(world: World, agent_folder: None) -> None:
    await in_db(world.session)("old")
    await in_db(world.session)("new")
    socket = await world.socket()
    assert "old" not in (await command(socket, world, "session", "switch 2", "new"))["text"]
    frames = [await socket.receive_json(), await socket.receive_json()]
    assert {frame["type"] for frame in frames} == {"session:switched", "state:snapshot"}
    assert [frame["sessionId"] for frame in frames if frame["type"] == "session:switched"] == ["old"]


async def test_22_compaction_answers_as_the_protocol_says(world: World, agent_folder: None) -> None:
    await in_db(world.session)("s", context_tokens=77)
    await in_db(world.session)("busy", activity="compact")
    socket = await world.socket()
    nothing = await command(socket, world, "session", "compact")
    assert nothing == {
        "type": "session:compacted",
        "sessionId": "s",
        "message": "Nothing to compact",
        "contextTokens": 77,
    }
    assert (await command(socket, world, "session", "compact", "none"))["error"] == "No active session to compact"
    assert (await command(socket, world, "session", "compact", "busy"))["error"] == "Compact already in progress"


async def test_11_a_stop_in_one_tab_does_not_touch_the_session_of_the_other(world: World, engine: Engine) -> None:
    """Invariant 15 of ws-protocol, too."""
    async with world.tab() as first, world.tab() as second:
        first.chat("one", world.path, "hello")
        second.chat("two", world.path, "hello")
        await second.until(lambda: second.received("chat:ack"))
        first.send({"type": "command:session", "message": "stop", "sessionId": "one", "projectId": world.path})
        await first.until(lambda: first.received("chat:system"))
        await second.until(lambda: second.view("two").answered)
    assert await in_db(Entry.objects.filter(session__sid="two", meta__code="stopped").count)() == 0


async def test_11_a_stop_that_names_no_session_means_the_one_of_its_own_tab(world: World, agent_folder: None) -> None:
    """Invariant 15 of ws-protocol, too. Both sessions are run by another process."""
    tabs = []
    for sid in ("one", "two"):
        lease = {"lease_owner": "x", "lease_until": "2999-01-01T00:00Z", "activity": "turn"}
        await in_db(world.turn)(await in_db(world.session)(sid, **lease), "running")
        tabs.append(await world.socket())
        await ask(tabs[-1], type="subscribe", projectId=world.path, sessionId=sid)
    tabs[0].send_json({"type": "command:session", "message": "stop"})
    assert (await skip_to(tabs[0], "chat:system", "error"))["sessionId"] == "one"
    asked = dict(await in_db(list)(Session.objects.values_list("sid", "abort_requested")))
    assert asked["one"]["tier"] == "stop"
    assert asked["two"] is None


async def test_14_a_skill_in_a_draft_makes_the_session_and_its_answer_arrives(world: World, engine: Engine) -> None:
    skill = Path(world.path, ".halo", "skills", "greet")
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: x\ncommand: /greet\n---\nGreet $1")
    agent = Path(settings.HALO.global_dir, "agents", "default", "agent.yaml")
    agent.write_text(agent.read_text() + "skills: [greet]\n")
    async with world.tab() as tab:
        await tab.until(lambda: tab.received("state:snapshot"))
        frame = {"type": "command:greet", "message": "Ada", "sessionId": "fresh", "projectId": world.path}
        tab.send(frame)
        await tab.until(lambda: tab.received("chat:complete"))
    entry = await in_db(lambda: Entry.objects.filter(kind="user").get())()
    assert entry.text == "[Skill activated: /greet] Ada"
    assert await in_db(lambda: Entry.objects.filter(kind="assistant", session__sid="fresh").exists())()


async def test_C5_a_reader_is_refused_in_words_and_nothing_is_stored(world: World, agent_folder: None) -> None:
    await in_db(world.session)("s")
    _, cookie = await in_db(world.person)("reader", Access.READONLY)
    socket = await world.socket(cookie)
    answer = await command(socket, world, "session", "stop")
    assert answer["text"] == "/session stop needs workspace access; you have readonly here."
    assert "/help" in (await command(socket, world, "help"))["text"]


async def test_a_switch_of_the_workspace_moves_the_socket(world: World, agent_folder: None, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    socket = await world.socket()
    answer = await command(socket, world, "workspace", f"switch {tmp_path}/elsewhere")
    assert answer["text"] == f"You are in {tmp_path.resolve()}/elsewhere now."
    moved = await skip_to(socket, "workspace:switched")
    assert moved["path"] == f"{tmp_path.resolve()}/elsewhere"
    here = await ask(socket, type="command:workspace", message="info", sessionId="s")
    assert here["text"] == f"You are in {tmp_path.resolve()}/elsewhere"
