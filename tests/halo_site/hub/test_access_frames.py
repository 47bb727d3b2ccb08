"""C1, C2, C3 for socket frames, over real sockets: the cells of `frames` in tests/access_matrix.yaml."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from sessions_app.models import Entry, Session
from tests.contracts.test_access_matrix import FRAME_ACTORS, MATRIX, rows_mark
from tests.halo_site.hub.conftest import World, login_cookie
from tests.socket_client import WebSocket
from workspaces_app.models import Membership, Workspace

STATUS = {"unauthorized": 401, "forbidden": 403, "not_found": 404}
REFUSALS = (401, 403, 404)
CELLS: dict[str, list[Any]] = MATRIX["frames"]
in_db = sync_to_async


def people(world: World, folder: Any) -> dict[str, User]:
    """Everybody of the matrix who can have a socket."""
    other = Workspace.objects.create(path=str(folder), name="other")
    users = {level.value: world.person(level.value, level)[0] for level in Access}
    users["elsewhere"] = world.person("elsewhere")[0]
    Membership.objects.create(workspace=other, user=users["elsewhere"], level="full")
    users["staff"] = world.person("staff", is_staff=True)[0]
    users["superuser"] = world.user
    return users


def conversation(world: World, name: str) -> tuple[Session, Entry]:
    """A session with the one entry that makes a success of this frame possible."""
    session = world.session()
    origin = {"kind": "person", "sender": world.user.pk, "level": "full"}
    turn = world.turn(session, ended_at=session.created_at) if name.startswith("exchange:") else None
    entry = world.entry(session, "user", "hello", turn=turn, origin=origin, meta={} if turn else {"pos": 1.0})
    if name == "exchange:restore":
        entry.deleted = entry.pk
        entry.save()
    return session, entry


def frame_for(name: str, session: Session, entry: Entry, project: str | None) -> dict[str, Any]:
    frame = {"type": name, "sessionId": session.sid, "projectId": project}
    if name == "chat":
        frame["message"] = "hi"
    if name == "session:seen":
        frame["seq"] = 1
    if name.startswith(("queue:", "exchange:")):
        frame["entryId"] = entry.pk
    if name.startswith("terminal:"):
        frame |= {"workspacePath": project, "terminalId": "t1", "data": "echo hi\n"}
    if name == "queue:edit":
        frame["text"] = "changed"
    return {key: value for key, value in frame.items() if value is not None}


async def outcome(socket: WebSocket, frame: dict[str, Any]) -> tuple[str | int, list[dict[str, Any]]]:
    """("ok" or the status, everything received). Frames are handled in order: a last one, refused, marks the end."""
    socket.send_json(frame)
    socket.send_json({"type": "session:seen", "sessionId": "the_end", "projectId": "/the/end", "seq": 0})
    received: list[dict[str, Any]] = []
    while True:
        answer = await socket.receive_json()
        if answer["type"] == "error" and answer.get("sessionId") == "the_end":
            break
        if answer["type"] != "extension:changed":  # told to everybody when the scanner has looked
            received.append(answer)
    errors = [answer for answer in received if answer["type"] == "error"]
    return (STATUS.get(errors[0].get("code", ""), "other") if errors else "ok"), received


@pytest.mark.parametrize("name", CELLS)
async def test_C1_C2_frame(world: World, agent_folder: None, tmp_path: Any, name: str) -> None:
    (tmp_path / "other").mkdir()
    users = await in_db(people)(world, tmp_path / "other")
    for actor, cell in zip(FRAME_ACTORS, CELLS[name], strict=True):
        session, entry = await in_db(conversation)(world, name)
        socket = await world.socket(await in_db(login_cookie)(users[actor]))
        before = await in_db(rows_mark)()
        found, received = await outcome(socket, frame_for(name, session, entry, world.path))
        if cell == "ok":
            assert found not in REFUSALS, (actor, received)
        else:
            assert found == cell, (actor, received)
            assert await in_db(rows_mark)() == before, actor
            assert all(answer["type"] == "error" for answer in received), (actor, received)
        if cell == 404:
            missing, told = await outcome(socket, frame_for(name, session, entry, "/no/such/workspace"))
            assert (missing, told[0]["error"]) == (404, received[0]["error"])
        await socket.close()


@pytest.mark.parametrize("name", [name for name, cells in CELLS.items() if 404 in cells])
async def test_C2_a_foreign_session_in_the_right_project_is_not_there(
    world: World, agent_folder: None, tmp_path: Any, name: str
) -> None:
    (tmp_path / "other").mkdir()
    users = await in_db(people)(world, tmp_path / "other")
    other = await in_db(Workspace.objects.get)(name="other")
    session = await in_db(world.session)("sid_foreign", workspace=other)
    entry = await in_db(world.entry)(session, "user", "secret words", origin={"kind": "person"}, meta={"pos": 1.0})
    socket = await world.socket(await in_db(login_cookie)(users["full"]))
    _, received = await outcome(socket, frame_for(name, session, entry, world.path))
    assert "secret words" not in str(received)
    entry = await in_db(Entry.objects.get)(pk=entry.pk)
    assert (entry.text, entry.deleted, entry.session_id) == ("secret words", None, session.pk)
    assert await in_db(Entry.objects.filter(session=session).count)() == 1
    await socket.close()


@pytest.mark.parametrize("name", [name for name, cells in CELLS.items() if 404 in cells])
async def test_C3_a_right_that_ended_ends_for_the_next_frame(world: World, agent_folder: None, name: str) -> None:
    user, cookie = await in_db(world.person)("member", Access.FULL)
    session, entry = await in_db(conversation)(world, name)
    socket = await world.socket(cookie)
    assert (await outcome(socket, {"type": "subscribe", "projectId": world.path}))[0] == "ok"
    await in_db(Membership.objects.filter(user=user).update)(level="readonly")  # no signal: nothing closes the socket
    await in_db(Membership.objects.filter(user=user).delete)()
    before = await in_db(rows_mark)()
    try:
        found, _ = await outcome(socket, frame_for(name, session, entry, world.path if name == "chat" else None))
        assert found in REFUSALS
    except ConnectionError:
        assert socket.close_code in (1008, 1006)  # the hub was faster; a close frame is lost when we write meanwhile
    assert await in_db(rows_mark)() == before
