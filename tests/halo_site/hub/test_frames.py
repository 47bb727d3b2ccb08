"""Each frame of sessions: what it does, who may send it, and what wrong input is answered (spec ws-protocol)."""

import asyncio
import base64
import io
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from PIL import Image

from halo_site.lib.access_level import Access
from halo_site.lib.ids import LONGEST_SID
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, SessionSeen, Upload
from tests.socket_client import WebSocket
from workspaces_app.models import AuditEvent, Workspace
from workspaces_app.socket_frames import FRAMES

from .conftest import World

in_db = sync_to_async


async def ask(socket: WebSocket, **frame: Any) -> dict[str, Any]:
    """Send a frame; the next thing that comes back, but for news that everybody is told at any time."""
    socket.send_json(frame)
    while (answer := await socket.receive_json())["type"] in ("extension:changed", "agents:changed", "skills:changed"):
        pass
    return answer


async def skip_to(socket: WebSocket, *types: str) -> dict[str, Any]:
    while (frame := await socket.receive_json())["type"] not in types:
        pass
    return frame


async def still_works(socket: WebSocket) -> None:
    socket.send_json({"type": "__ping__"})
    await skip_to(socket, "__pong__")


USAGES = {
    "chat": "chat requires sessionId, projectId, and message",
    "exchange:delete": "exchange:delete requires sessionId and entryId or userOrdinal",
}
# Frames of terminals are about no session and have tests of their own (test_terminals.py, the access matrix).
OF_SESSIONS = sorted(name for name in FRAMES if not name.startswith("terminal:"))
WRONG: list[dict[str, Any]] = [
    {"sessionId": 5},
    {"sessionId": ""},
    {"sessionId": "x" * (LONGEST_SID + 1)},
    {"sessionId": ["s"]},
    {"sessionId": None, "projectId": 7},
    {"sessionId": "s", "projectId": {}, "message": [], "entryId": "1", "text": 1, "seq": -1, "userOrdinal": 1.5},
]


@pytest.mark.parametrize("name", OF_SESSIONS)
@pytest.mark.parametrize("fields", WRONG, ids=lambda fields: "-".join(fields))
async def test_wrong_fields_are_answered_with_an_error_and_the_socket_lives(
    world: World, name: str, fields: dict[str, Any]
) -> None:
    socket = await world.socket()
    answer = await ask(socket, type=name, **fields)
    assert answer["type"] == "error"
    assert answer["error"] == USAGES.get(name, answer["error"])
    assert "internal error" not in answer["error"]
    await still_works(socket)
    assert not await in_db(Session.objects.exists)()


@pytest.mark.parametrize("name", sorted(set(OF_SESSIONS) - {"subscribe", "unsubscribe"}))
async def test_a_frame_without_any_field_says_what_is_missing(world: World, name: str) -> None:
    socket = await world.socket()
    socket.send_json({"type": name})
    if name in ("chat:stop", "chat:interrupt"):  # no session is bound: silence
        await still_works(socket)
        return
    assert (await socket.receive_json())["type"] == "error"
    await still_works(socket)


COMPLETE: dict[str, dict[str, Any]] = {
    "subscribe": {},
    "chat": {"message": "hi"},
    "chat:stop": {},
    "chat:interrupt": {},
    "session:clear": {},
    "session:delete": {},
    "exchange:delete": {"entryId": 1},
    "exchange:restore": {"entryId": 1},
    "queue:edit": {"entryId": 1, "text": "x"},
    "queue:remove": {"entryId": 1},
    "queue:move": {"entryId": 1, "before": None},
    "session:seen": {"seq": 1},
    "command:*": {},
}


@pytest.mark.parametrize("name", sorted(COMPLETE))
async def test_C2_a_foreign_workspace_is_answered_like_a_missing_one(world: World, name: str) -> None:
    foreign = await in_db(Workspace.objects.create)(path=world.path + "/foreign", name="f")
    await in_db(world.session)("theirs", workspace=foreign)
    _, cookie = await in_db(world.person)("member", Access.FULL)
    socket = await world.socket(cookie)
    fields = {"sessionId": "theirs"} | COMPLETE[name]
    answers = [
        await ask(socket, type=name, projectId=project, **fields) for project in (foreign.path, world.path + "/nothing")
    ]
    assert answers[0] == answers[1]
    assert answers[0]["error"] in ("Project not found", "Cannot resolve project path")
    assert await in_db(Session.objects.count)() == 1


@pytest.mark.parametrize("name", sorted(set(COMPLETE) - {"subscribe", "chat", "session:seen"}))
async def test_C2_a_right_workspace_with_a_foreign_id_touches_nothing(world: World, name: str) -> None:
    foreign = await in_db(Workspace.objects.create)(path=world.path + "/foreign", name="f")
    session = await in_db(world.session)("theirs", workspace=foreign)
    entry = await in_db(world.entry)(session, "user", "kept")
    _, cookie = await in_db(world.person)("member", Access.FULL)
    socket = await world.socket(cookie)
    fields = COMPLETE[name] | ({"entryId": entry.pk} if "entryId" in COMPLETE[name] else {})
    socket.send_json({"type": name, "projectId": world.path, "sessionId": "theirs"} | fields)
    await still_works(socket)
    await in_db(entry.refresh_from_db)()
    assert (entry.text, entry.deleted) == ("kept", None)
    assert await in_db(Session.objects.filter(sid="theirs").count)() == 1


@pytest.mark.parametrize("name", [name for name in OF_SESSIONS if FRAMES[name].needs is not Access.READONLY])
async def test_C1_a_reader_is_refused_what_needs_more(world: World, name: str) -> None:
    session = await in_db(world.session)("s")
    entry = await in_db(world.entry)(session, "user", "kept")
    _, cookie = await in_db(world.person)("reader", Access.READONLY)
    socket = await world.socket(cookie)
    fields = COMPLETE[name] | ({"entryId": entry.pk} if "entryId" in COMPLETE[name] else {})
    answer = await ask(socket, type=name, projectId=world.path, sessionId="s", **fields)
    assert answer["code"] == "forbidden"
    await in_db(entry.refresh_from_db)()
    assert (entry.text, entry.deleted) == ("kept", None)
    assert await in_db(Entry.objects.count)() == 1


async def test_7_subscribe_without_a_session_binds_the_workspace(world: World) -> None:
    socket = await world.socket()
    answer = await ask(socket, type="subscribe", projectId=world.path)
    assert (answer["type"], answer["mode"]) == ("files:watching", "native")
    answer = await ask(socket, type="session:clear", sessionId="s")
    assert answer["error"] == "No active session"  # the workspace is known, the session is not


async def test_8_an_unknown_session_yields_an_empty_snapshot(world: World) -> None:
    socket = await world.socket()
    answer = await ask(socket, type="subscribe", projectId=world.path, sessionId="draft")
    snapshot = answer["snapshot"]
    assert (snapshot["sessionId"], snapshot["recentMessages"], snapshot["archiveCount"]) == ("draft", [], 0)
    assert not await in_db(Session.objects.exists)()


async def test_64_subscriptions_are_the_most(world: World) -> None:
    socket = await world.socket()
    for number in range(64):
        await in_db(world.session)(f"s{number}")
        await ask(socket, type="subscribe", projectId=world.path, sessionId=f"s{number}")
    await in_db(world.session)("more")
    assert "At most 64" in (await ask(socket, type="subscribe", projectId=world.path, sessionId="more"))["error"]
    socket.send_json({"type": "unsubscribe", "sessionId": "s0"})
    assert (await ask(socket, type="subscribe", projectId=world.path, sessionId="more"))["type"] == "state:snapshot"


async def test_2_X5_a_resend_on_another_socket_is_one_row_two_acks_and_one_run(world: World, engine: Engine) -> None:
    async with world.tab() as first, world.tab() as second:
        name = first.chat("s", world.path, "once", clientMsgId="m1")
        await first.until(lambda: first.is_acked(name))
        second.chat("s", world.path, "once", clientMsgId="m1")
        await second.until(lambda: second.is_acked("m1"))
        assert first.acks == second.acks
        await first.until(lambda: first.view("s").answered)
        assert await in_db(Entry.objects.filter(kind="user").count)() == 1
        assert (await in_db(Session.objects.get)()).turn_count == 1


async def test_19_a_resend_after_the_session_was_deleted_is_an_error_and_no_row(world: World, engine: Engine) -> None:
    async with world.tab() as tab:
        tab.chat("s", world.path, "hi", clientMsgId="m1")
        await tab.until(lambda: tab.view("s").answered)
        tab.send({"type": "session:delete", "sessionId": "s", "projectId": world.path})
        await tab.until(lambda: tab.view("s").deleted)
        tab.chat("s", world.path, "hi", clientMsgId="m1")
        await tab.until(lambda: "m1" in tab.failed)
        assert tab.failed["m1"] == "Session s was deleted"
        assert not await in_db(Session.objects.exists)()


async def test_17_the_other_tab_is_told_of_a_message_and_the_sender_is_not(world: World, engine: Engine) -> None:
    async with world.tab() as sender, world.tab() as other:
        await in_db(world.session)("s")
        other.open("s", world.path)
        await other.until(lambda: other.view("s").loaded)
        sender.chat("s", world.path, "hello")
        await other.until(lambda: other.received("chat:user"))
        assert other.received("chat:user")[0]["text"] == "hello"
        await sender.until(lambda: sender.view("s").answered)
        assert not sender.received("chat:user")


async def test_3_two_subscribes_on_one_socket_deliver_each_frame_once(world: World, engine: Engine) -> None:
    async with world.tab() as tab, world.tab() as other:
        await in_db(world.session)("s")
        for _ in range(2):
            tab.open("s", world.path)
        await tab.until(lambda: tab.view("s").loaded)
        other.chat("s", world.path, "hello")
        await tab.until(lambda: tab.view("s").answered)
        assert len(tab.received("chat:user")) == 1
        numbered = [frame["seq"] for _, way, frame in tab.log if way == "in" and "seq" in frame]
        assert numbered == sorted(set(numbered))


async def test_4_frames_of_two_sessions_on_one_socket_are_not_mixed_up(world: World, engine: Engine) -> None:
    async with world.tab() as tab:
        tab.chat("a", world.path, "first")
        tab.chat("b", world.path, "second")
        await tab.until(lambda: tab.view("a").answered and tab.view("b").answered)
        assert tab.view("a").rows[0]["user"] == "first"
        assert tab.view("b").rows[0]["user"] == "second"
        texts = await in_db(dict)(Entry.objects.filter(kind="assistant").values_list("session__sid", "text"))
        assert {sid: tab.view(sid).text() for sid in ("a", "b")} == texts


async def test_18_stop_asks_the_run_to_end_and_answers(world: World) -> None:
    """A run of another process: it has the lease, and obeys what is written for it."""
    session = await in_db(world.session)("s", lease_owner="x", lease_until="2999-01-01T00:00Z", activity="turn")
    await in_db(world.turn)(session, "running")
    async with world.tab() as tab:
        name = tab.chat("s", world.path, "and this")
        await tab.until(lambda: tab.received("chat:queued"))
        queued = {"sessionId": "s", "reason": "busy", "message": "and this"}
        assert tab.received("chat:queued") == [{"type": "chat:queued"} | queued]
        tab.send({"type": "chat:interrupt"})  # the active session
        tab.send({"type": "chat:stop", "sessionId": "s"})
        await tab.until(lambda: tab.received("chat:stopped", sessionId="s"))
        await in_db(session.refresh_from_db)()
        assert session.abort_requested == {"tier": "stop", "turn": 0, "upto": tab.acks[name]}


async def test_18_stop_without_a_run_folds_what_waits(world: World, agent_folder: None) -> None:
    async with world.tab() as tab:
        name = tab.chat("s", world.path, "waits")
        await tab.until(lambda: tab.is_acked(name))
        tab.send({"type": "chat:stop"})
        await tab.until(lambda: tab.received("chat:stopped", sessionId="s"))
    assert await in_db(Entry.objects.filter(turn__stop_reason="folded").count)() == 1


async def test_31d_waiting_messages_are_edited_moved_and_taken_back(world: World) -> None:
    """No engine runs: everything waits."""
    async with world.tab() as tab:
        names = [tab.chat("s", world.path, text) for text in ("one", "two", "three")]
        await tab.until(lambda: all(tab.is_acked(name) for name in names))
        one, two, three = (tab.acks[name] for name in names)
        await tab.until(lambda: tab.view("s").loaded)
        tab.send({"type": "queue:edit", "sessionId": "s", "entryId": one, "text": "ONE"})
        tab.send({"type": "queue:move", "sessionId": "s", "entryId": three, "before": one})
        tab.send({"type": "queue:remove", "sessionId": "s", "entryId": two})
        await tab.until(lambda: len(tab.received("queue:changed")) == 3)
        items = tab.received("queue:changed")[-1]["items"]
        assert [(item["entryId"], item["text"]) for item in items] == [(three, "three"), (one, "ONE")]
        assert not tab.errors


async def test_31d_who_is_too_late_gets_an_error_and_the_fresh_list(world: World) -> None:
    session = await in_db(world.session)("s")
    drained = await in_db(world.entry)(session, "user", "read", turn=await in_db(world.turn)(session))
    waiting = await in_db(world.entry)(session, "user", "waits")
    socket = await world.socket()
    for name, more in (("queue:edit", {"text": "x"}), ("queue:remove", {}), ("queue:move", {"before": waiting.pk})):
        answer = await ask(socket, type=name, projectId=world.path, sessionId="s", entryId=drained.pk, **more)
        assert (answer["type"], answer["code"]) == ("error", "conflict")
        fresh = await socket.receive_json()
        assert [item["entryId"] for item in fresh["items"]] == [waiting.pk]


async def test_27_every_viewer_gets_a_fresh_snapshot_after_an_exchange_was_deleted(world: World) -> None:
    session = await in_db(world.session)("s")
    turn = await in_db(world.turn)(session)
    entry = await in_db(world.entry)(session, "user", "oops", turn=turn)
    async with world.tab() as tab, world.tab() as other:
        for one in (tab, other):
            one.open("s", world.path)
            await one.until(lambda one=one: one.view("s").loaded)
        tab.send({"type": "exchange:delete", "sessionId": "s", "entryId": entry.pk})
        for one in (tab, other):
            await one.until(lambda one=one: one.view("s").snapshots == 2)
            snapshot = one.received("state:snapshot")[-1]["snapshot"]
            assert snapshot["recentMessages"][0]["deleted"] is True
            assert "archiveCount" not in snapshot
        other.send({"type": "exchange:restore", "sessionId": "s", "entryId": entry.pk})
        await tab.until(lambda: tab.view("s").snapshots == 3)
        assert "deleted" not in tab.received("state:snapshot")[-1]["snapshot"]["recentMessages"][0]


async def test_an_exchange_is_found_by_its_place_too_and_refused_when_it_is_not_there(world: World) -> None:
    session = await in_db(world.session)("s")
    await in_db(world.entry)(session, "user", "oops", turn=await in_db(world.turn)(session))
    socket = await world.socket()
    answer = await ask(socket, type="exchange:delete", projectId=world.path, sessionId="s", userOrdinal=7)
    assert answer["error"] == "Exchange not found"
    answer = await ask(socket, type="exchange:delete", sessionId="s", entryId=1)
    assert answer["error"] == "No workspace context for exchange:delete"
    await in_db(Session.objects.update)(lease_owner="x", lease_until="2999-01-01T00:00Z", activity="turn")
    answer = await ask(socket, type="exchange:delete", projectId=world.path, sessionId="s", userOrdinal=0)
    assert answer["error"] == "Cannot delete while the agent is running"


async def test_26_delete_tells_every_viewer_and_leaves_an_audit_row(world: World) -> None:
    root = await in_db(world.session)("s")
    await in_db(world.session)("s>a", parent=root, root=root)
    async with world.tab() as viewer:
        viewer.open("s", world.path)
        viewer.open("s>a", world.path)
        await viewer.until(lambda: viewer.view("s").loaded and viewer.view("s>a").loaded)
        socket = await world.socket()
        socket.send_json({"type": "session:delete", "projectId": world.path, "sessionId": "s"})
        assert await skip_to(socket, "session:deleted", "error") == {"type": "session:deleted", "sessionId": "s"}
        await viewer.until(lambda: viewer.view("s").deleted and viewer.view("s>a").deleted)
    event = await in_db(AuditEvent.objects.get)(action="session.delete")
    assert (event.target, event.detail, event.address) == ("s", {"sessions": 2}, "127.0.0.1")


@pytest.mark.parametrize("watching", [True, False])
async def test_20_who_deletes_a_session_hears_of_it_before_the_list_changes_and_once(
    world: World, watching: bool
) -> None:
    await in_db(world.session)("s")
    socket = await world.socket()
    await ask(socket, type="subscribe", projectId=world.path, **({"sessionId": "s"} if watching else {}))
    socket.send_json({"type": "session:delete", "projectId": world.path, "sessionId": "s"})
    socket.send_json({"type": "session:delete", "projectId": world.path, "sessionId": "s"})  # its refusal is the end
    told = [await skip_to(socket, "session:deleted", "session:changed", "error") for _ in range(3)]
    assert [(frame["type"], frame["sessionId"]) for frame in told] == [
        ("session:deleted", "s"),
        ("session:changed", "s"),
        ("error", "s"),
    ]


async def test_20_a_deletion_is_told_to_another_viewer_before_the_list_changes(world: World) -> None:
    await in_db(world.session)("s")
    viewer, other = await world.socket(), await world.socket()
    await ask(viewer, type="subscribe", projectId=world.path, sessionId="s")
    other.send_json({"type": "session:delete", "projectId": world.path, "sessionId": "s"})
    told = [await skip_to(viewer, "session:deleted", "session:changed", "error") for _ in range(2)]
    assert [(frame["type"], frame["sessionId"]) for frame in told] == [
        ("session:deleted", "s"),
        ("session:changed", "s"),
    ]


async def test_delete_says_what_is_missing(world: World) -> None:
    socket = await world.socket()
    assert (await ask(socket, type="session:delete"))["error"] == "session:delete requires sessionId"
    answer = await ask(socket, type="session:delete", sessionId="s")
    assert answer["error"] == "No workspace context for delete"
    answer = await ask(socket, type="session:delete", sessionId="s", projectId=world.path)
    assert answer["error"] == "Session not found"


async def test_what_was_seen_is_kept_per_person_and_never_moves_back(world: World) -> None:
    await in_db(world.session)("s", seq=50)
    socket = await world.socket()
    for seq in (10, 40, 20, 99):
        socket.send_json({"type": "session:seen", "projectId": world.path, "sessionId": "s", "seq": seq})
    await ask(socket, type="session:clear", projectId=world.path, sessionId="s")  # answered after those before it
    assert (await in_db(SessionSeen.objects.get)(user=world.user)).seq == 50  # not past what there is


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), "blue").save(out, "PNG")
    return out.getvalue()


async def test_16_images_come_by_upload_id_or_inside_the_frame(world: World, agent_folder: None) -> None:
    await in_db(Upload.objects.create)(
        id="up1",
        workspace=world.workspace,
        user=world.user,
        path="/x.png",
        mime_type="image/png",
        size=1,
        width=1,
        height=1,
    )
    images = [{"id": "up1"}, {"data": base64.b64encode(picture()).decode(), "mimeType": "image/gif"}]
    async with world.tab() as tab:
        name = tab.chat("s", world.path, "look", images=images)
        await tab.until(lambda: tab.is_acked(name))
    blocks = (await in_db(Entry.objects.get)()).blocks
    assert [(block["upload"], block["media_type"]) for block in blocks] == [("up1", "image/png"), (None, "image/png")]
    with open(blocks[1]["path"], "rb") as saved:
        assert saved.read() == picture()


@pytest.mark.parametrize(
    "images", [[{"id": "nobody"}], [{}], [{"data": "%%%"}], [{"data": "aGk="}], [{"id": "a"}] * 6, "x", [None]]
)
async def test_16_a_wrong_image_is_an_error_and_nothing_is_stored(
    world: World, agent_folder: None, images: object
) -> None:
    socket = await world.socket()
    answer = await ask(
        socket, type="chat", sessionId="s", projectId=world.path, message="x", clientMsgId="m1", images=images
    )
    assert (answer["type"], answer["clientMsgId"]) == ("error", "m1")
    assert not await in_db(Session.objects.exists)()


@pytest.mark.parametrize("project", ["relative", "/nowhere/at/all", "/\0"])
async def test_12_a_workspace_that_is_none_cannot_be_chatted_in(world: World, project: str) -> None:
    socket = await world.socket()
    answer = await ask(socket, type="chat", sessionId="s", projectId=project, message="hi")
    assert answer["error"] == "Cannot resolve project path"


@pytest.mark.parametrize("name", ["command:compact", "command:goal", "command:" + "x" * 500])
async def test_commands_that_do_not_exist_are_named(world: World, agent_folder: None, name: str) -> None:
    socket = await world.socket()
    answer = await ask(socket, type=name, message="", sessionId="s", projectId=world.path)
    assert answer["error"] == f"Unknown command: {name.removeprefix('command:')[:100]}"


async def test_frames_are_handled_one_after_another(world: World, agent_folder: None) -> None:
    async with world.tab() as tab:
        names = [tab.chat("s", world.path, f"line {number}") for number in range(30)]
        await tab.until(lambda: all(tab.is_acked(name) for name in names))
    texts = await in_db(list)(Entry.objects.order_by("pk").values_list("text", flat=True))
    assert texts == [f"line {number}" for number in range(30)]


async def test_a_ping_does_not_wait_for_the_frames_before_it(world: World, agent_folder: None) -> None:
    socket = await world.socket()
    hold = asyncio.Event()

    async def slow(*_: object) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(hold.wait(), test_loop))

    test_loop = asyncio.get_running_loop()
    real = FRAMES["session:clear"]
    object.__setattr__(real, "handle", slow)
    try:
        socket.send_json({"type": "session:clear"})
        socket.send_json({"type": "__ping__"})
        assert await socket.receive_json() == {"type": "__pong__"}
    finally:
        hold.set()
        from sessions_app import frames

        object.__setattr__(real, "handle", frames.on_clear)
