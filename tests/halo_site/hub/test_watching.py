"""Changes of files, from the disk to the sockets of those who have the workspace open."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async

from halo_site.lib.access_level import Access
from halo_site.lib.events import Event
from tests.halo_site.hub.conftest import World
from tests.socket_client import WebSocket
from workspaces_app.events import FileChanged, FilesResync, FilesWatching
from workspaces_app.models import Membership, Workspace
from workspaces_app.watch import Watches

in_db = sync_to_async


async def looking(world: World, path: str | None = None, cookie: str | None = None) -> WebSocket:
    """A socket bound to a workspace, past the answer of its subscribe."""
    socket = await world.socket(cookie)
    socket.send_json({"type": "subscribe", "projectId": path or world.path})
    answer = await socket.receive_json()
    assert answer == {"type": "files:watching", "workspacePath": path or world.path, "mode": "native"}
    return socket


async def changes(socket: WebSocket, path: str) -> list[tuple[str, str]]:
    """All changes up to that of `path`, which is left out."""
    found: list[tuple[str, str]] = []
    while True:
        frame = await socket.receive_json()
        if frame["type"] == "file:changed":
            if frame["path"] == path:
                return found
            found.append((frame["path"], frame["action"]))


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not fact():
            await asyncio.sleep(0.01)


async def test_no_change_after_the_answer_to_subscribe_is_lost(world: World) -> None:
    for number in range(15):
        socket = await looking(world)
        Path(world.path, f"f{number}").write_text("")
        await changes(socket, f"f{number}")
        await socket.close()
        await until(lambda: not len(world.server.hub.watches))


async def test_two_sockets_share_one_watcher_and_the_last_one_ends_it(world: World) -> None:
    first, second = await looking(world), await looking(world)
    assert len(world.server.hub.watches) == 1
    await first.close()
    await until(lambda: len(world.server.hub.connections) == 1)
    Path(world.path, "a").write_text("")
    await changes(second, "a")
    await second.close()
    await until(lambda: not len(world.server.hub.watches))


async def test_after_a_switch_nothing_of_the_old_workspace_comes(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await in_db(Workspace.objects.create)(path=str(other), name="other")
    socket = await looking(world)
    Path(world.path, "late").write_text("")
    socket.send_json({"type": "subscribe", "projectId": str(other)})
    frames = [await socket.receive_json()]
    while frames[-1]["type"] != "files:watching":
        frames.append(await socket.receive_json())
    Path(world.path, "later").write_text("")
    (other / "new").write_text("")
    assert await changes(socket, "new") == []
    assert len(world.server.hub.watches) == 1
    await socket.close()


async def test_C3_who_may_not_see_the_workspace_any_more_gets_nothing(world: World) -> None:
    user, cookie = await in_db(world.person)("member", Access.READONLY)
    member, owner = await looking(world, cookie=cookie), await looking(world)
    await in_db(Membership.objects.filter(user=user).delete)()
    await until(lambda: len(world.server.hub.connections) == 1)
    Path(world.path, "secret").write_text("")
    await changes(owner, "secret")
    assert await member.receive() is None
    await owner.close()


async def test_names_that_are_masked_below_full_access_are_not_told_either(world: World) -> None:
    folder = Path(world.path, ".halo", "sessions")
    folder.mkdir()
    _, cookie = await in_db(world.person)("member", Access.WORKSPACE)
    member, owner = await looking(world, cookie=cookie), await looking(world)
    (folder / "secret.jsonl").write_text("")
    await changes(owner, ".halo/sessions/secret.jsonl")
    Path(world.path, "after").write_text("")
    assert await changes(member, "after") == []
    await member.close()
    await owner.close()


async def test_who_does_not_keep_up_reads_again_and_stays_connected(world: World) -> None:
    socket = await looking(world)
    hub = world.server.hub
    connection = next(iter(hub.connections))
    event = FileChanged(path="x" * 200, action="change")

    def flood() -> int:
        for _ in range(50_000):
            hub._changed(world.workspace.pk, event)
        return connection.outbox.held

    assert world.server.call(flood) < 1 << 20
    kinds = []
    while "files:resync" not in kinds:
        kinds.append((await socket.receive_json())["type"])
    assert len(kinds) < 50_000
    Path(world.path, "after").write_text("")
    await changes(socket, "after")
    await socket.close()


async def test_a_session_of_a_folder_that_is_watched_begins_with_its_snapshot(world: World) -> None:
    socket = await world.socket()
    socket.send_json({"type": "subscribe", "projectId": world.path, "sessionId": "sid_draft"})
    assert (await socket.receive_json())["type"] == "state:snapshot"
    await socket.close()


async def test_a_root_that_goes_and_comes_back_is_told(world: World) -> None:
    socket = await looking(world)
    shutil.rmtree(world.path)
    kinds: list[Any] = []
    while ("files:watching", "off") not in kinds:
        frame = await socket.receive_json()
        kinds.append((frame["type"], frame.get("mode")))
    Path(world.path).mkdir()
    while ("files:watching", "native") not in kinds:
        frame = await socket.receive_json()
        kinds.append((frame["type"], frame.get("mode")))
    assert ("files:resync", None) in kinds
    Path(world.path, "b").write_text("")
    await changes(socket, "b")
    await socket.close()


# ---- the pool alone


class Slow:
    """A watcher that arms when the test says so."""

    made: list["Slow"] = []

    def __init__(self, root: str, tell: Callable[[Sequence[Event]], None]) -> None:
        self.root, self.tell, self.stopped = root, tell, False
        Slow.made.append(self)

    def start(self) -> None:
        return

    def stop(self) -> None:
        self.stopped = True


async def test_who_did_not_wait_for_a_slow_folder_is_told_to_read_again() -> None:
    told: list[tuple[int, Event]] = []
    pool = Watches(lambda key, event: told.append((key, event)), Slow)  # type: ignore[arg-type]
    pool.hold(1, "/srv/a", "socket")
    assert await pool.armed(1, 0.01) is None
    native = FilesWatching(workspace_path="/srv/a", mode="native")
    Slow.made[-1].tell([native])
    await until(lambda: told)
    assert told == [(1, native), (1, FilesResync(workspace_path="/srv/a"))]
    assert await pool.armed(1) == native


async def test_news_of_a_watcher_that_was_ended_are_dropped() -> None:
    told: list[tuple[int, Event]] = []
    pool = Watches(lambda key, event: told.append((key, event)), Slow)  # type: ignore[arg-type]
    pool.hold(1, "/srv/a", "one")
    old = Slow.made[-1]
    pool.hold(1, "/srv/b", "two")  # staff gave the workspace another folder: both look at the new one
    assert old.stopped
    new = Slow.made[-1]
    old.tell([FileChanged(path="old", action="add")])
    new.tell([FilesWatching(workspace_path="/srv/b", mode="native")])
    new.tell([FileChanged(path="new", action="add")])
    await until(lambda: told)
    assert told == [(1, FileChanged(path="new", action="add"))]
    pool.let_go(1, "two")
    assert not new.stopped
    pool.let_go(1, "one")
    assert new.stopped
    assert len(pool) == 0


async def test_a_watcher_that_cannot_start_leaves_the_connection_without_live_refresh() -> None:
    def broken(root: str, tell: Any) -> Any:
        raise RuntimeError("can't start new thread")

    pool = Watches(lambda key, event: None, broken)
    pool.hold(1, "/srv/a", "socket")
    state = await pool.armed(1)
    assert state is not None
    assert state.mode == "off"
    pool.close()
