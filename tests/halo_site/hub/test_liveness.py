"""Silence, floods, stalled readers, ended rights: what the hub does with sockets that are no longer what they were."""

import asyncio
import json
import random
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_site.hub.app import FRAMES_PER_SECOND, Pace
from halo_site.hub.connection import Connection
from halo_site.hub.outbox import MAX_BYTES
from halo_site.hub.rights import CHECK_EVERY
from halo_site.hub.service import LOGIN_EVERY
from halo_site.lib.access_level import Access
from halo_site.lib.packet import Packet
from halo_site.lib.publish import session_topic
from sessions_app.models import Session
from tests.socket_client import Refused, WebSocket
from workspaces_app.models import Membership

from .conftest import World, login_cookie

in_db = sync_to_async


def connections(world: World) -> list[Connection]:
    return list(world.server.hub.connections)


async def closed(socket: WebSocket, timeout: float = 30.0) -> int | None:
    """The close code; what was sent before it is read away."""

    async def read() -> None:
        while await socket.receive() is not None:
            pass

    await asyncio.wait_for(read(), timeout)
    return socket.close_code


async def fact(check: Any, timeout: float = 60.0) -> None:
    """Wait for something that no frame tells."""
    async with asyncio.timeout(timeout):
        while not check():
            await asyncio.sleep(0.01)


async def watching(
    world: World, sid: str = "s", cookie: str | None = None, limit: int = 1 << 20
) -> tuple[WebSocket, Session]:
    session = await in_db(world.session)(sid)
    socket = await world.socket(cookie, limit=limit)
    socket.send_json({"type": "subscribe", "projectId": world.path, "sessionId": sid})
    assert (await socket.receive_json())["snapshot"]["sessionId"] == sid
    return socket, session


def deliver(world: World, session: Session, *packets: Packet) -> None:
    def act() -> None:
        for packet in packets:
            world.server.hub.deliver(session_topic(session.pk), packet)

    world.server.call(act)


def system(text: str, sid: str = "s") -> Packet:
    return Packet("chat:system", json.dumps({"type": "chat:system", "sessionId": sid, "text": text}).encode(), sid)


async def test_10_listeners_of_a_silent_socket_are_released_and_come_back_with_subscribe(world: World) -> None:
    async with world.tab() as tab:
        session = await in_db(world.session)("s")
        tab.open("s", world.path)
        await tab.until(lambda: tab.view("s").loaded)
        connections(world)[0].last_inbound -= 181
        world.server.call(world.server.hub.ping_all)
        await tab.until(lambda: tab.received("listener:released", sessionId="s"))
        await tab.until(lambda: tab.view("s").snapshots == 2)  # it subscribed again by itself
        deliver(world, session, system("back"))
        await tab.until(lambda: tab.received("chat:system", text="back"))


async def test_10_a_chat_alone_restores_a_released_listener(world: World, agent_folder: None) -> None:
    socket, _ = await watching(world)
    connections(world)[0].last_inbound -= 181
    world.server.call(world.server.hub.ping_all)
    assert await socket.receive_json() == {"type": "listener:released", "sessionId": "s"}
    socket.send_json({"type": "chat", "sessionId": "s", "projectId": world.path, "message": "hi", "clientMsgId": "m"})
    kinds = {(await socket.receive_json())["type"] for _ in range(2)}
    assert kinds == {"chat:ack", "state:snapshot"}


async def test_5_a_draft_leaves_the_session_that_was_open_before_it_subscribed(world: World) -> None:
    socket, session = await watching(world)
    socket.send_json({"type": "subscribe", "projectId": world.path, "sessionId": "draft"})
    assert (await socket.receive_json())["snapshot"]["sessionId"] == "draft"
    deliver(world, session, system("goes on"))
    assert (await asyncio.wait_for(socket.receive_json(), 60))["text"] == "goes on"


async def test_9_a_connection_that_failed_and_then_closes_is_torn_down_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket, _ = await watching(world)
    (connection,) = connections(world)
    left: list[Connection] = []
    leave = world.server.hub.leave

    def count(connection: Connection) -> None:
        left.append(connection)
        leave(connection)

    monkeypatch.setattr(world.server.hub, "leave", count)
    world.server.call(connection.close, 1011)
    assert await closed(socket) == 1011
    world.server.call(connection.tear_down)
    assert left == [connection]
    assert not connection.subscriptions


async def test_40_two_pings_without_an_answer_end_the_socket(world: World) -> None:
    socket, _ = await watching(world)
    world.server.call(world.server.hub.ping_all)
    socket.send_json({"type": "__ping__"})
    await socket.receive_json()  # reads the protocol ping on the way and answers it
    await fact(lambda: connections(world)[0].wire.unanswered == 0)
    socket.pongs = False
    for _ in range(3):
        world.server.call(world.server.hub.ping_all)
    assert await closed(socket) == 1006
    assert connections(world) == []


async def test_M9_the_51st_socket_of_a_user_is_429(world: World) -> None:
    sockets = [await world.socket() for _ in range(50)]
    with pytest.raises(Refused) as refused:
        await world.upgrade()
    assert refused.value.status == 429
    _, cookie = await in_db(world.person)("other", Access.FULL)
    await world.socket(cookie)  # another person is not affected
    await sockets[0].close()
    await fact(lambda: world.server.hub.sockets_of(world.user.pk) == 49)
    await world.socket()


async def test_M9_a_stalled_reader_holds_little_gets_resync_and_is_closed_after_a_minute(world: World) -> None:
    stalled, session = await watching(world, limit=4096)
    (connection,) = connections(world)
    text = "x" * 20_000
    for _ in range(30):
        deliver(world, session, *(system(text) for _ in range(100)))
        assert connection.outbox.held <= MAX_BYTES
    assert connection.outbox.blocked_since is not None
    seen: list[str] = []

    async def read() -> None:
        while "and live again" not in seen:
            frame = await stalled.receive_json()
            seen.append(frame.get("reason") or frame.get("text") or frame["type"])

    reading = asyncio.create_task(read())
    await fact(lambda: connection.outbox.idle and connection.subscriptions["s"].feed.live)
    deliver(world, session, system("and live again"))
    await asyncio.wait_for(reading, 60)
    assert seen[-3:] == ["slow", "state:snapshot", "and live again"]

    def is_blocked_by_more() -> bool:
        """What the kernel holds for a reader grew while it read."""
        deliver(world, session, *(system(text) for _ in range(100)))
        return connection.outbox.blocked_since is not None

    await fact(is_blocked_by_more)
    connection.outbox.blocked_since -= 61
    world.server.call(world.server.hub.close_stalled)
    assert connections(world) == []
    assert await closed(stalled) in (1006, 1013)


async def test_18_a_socket_that_breaks_does_not_hurt_the_others(world: World) -> None:
    first, session = await watching(world)
    broken = await world.socket()
    broken.send_json({"type": "subscribe", "projectId": world.path, "sessionId": "s"})
    await broken.receive_json()

    def explode(packet: Packet) -> None:
        raise RuntimeError("this wire is broken")

    victim = next(c for c in connections(world) if c.wire is not None and c.subscriptions and c is not None)
    real = victim.wire.write
    victim.wire.write = explode  # type: ignore[method-assign]
    deliver(world, session, system("hello"))
    victim.wire.write = real  # type: ignore[method-assign]
    texts = []
    for socket in (first, broken):
        text = await asyncio.wait_for(socket.receive(), 60)
        texts.append(json.loads(text)["text"] if text else None)
    assert sorted(texts, key=str) == [None, "hello"]


async def test_M8_a_frame_over_the_cap_ends_the_socket_with_1009(world: World) -> None:
    socket = await world.socket()
    socket.send_text('{"type":"__ping__","x":"' + "x" * (1 << 20) + '"}')
    assert await closed(socket) == 1009


async def test_M8_a_flood_is_slowed_down_and_then_closed_with_1008(world: World) -> None:
    """Faster than the clock of a test: five seconds at the limit."""
    pace = Pace()
    waited = 0.0
    now = 100.0
    for _ in range(FRAMES_PER_SECOND * 10):
        wait = pace.count(now)
        if wait is None:
            break
        waited += wait
        now += wait + 0.0001
    assert wait is None
    assert 3.5 < waited < 6


async def test_M8_ten_thousand_pings_at_once_leave_a_working_socket(world: World) -> None:
    socket = await world.socket()
    other = await world.socket()
    for _ in range(3000):
        socket.send_json({"type": "__ping__"})
    other.send_json({"type": "__ping__"})
    answers: list[Any] = []

    async def read() -> None:
        for _ in range(3000):
            answers.append(await socket.receive_json())

    reading = asyncio.create_task(read())
    assert await other.receive_json() == {"type": "__pong__"}
    assert len(answers) < 3000, "the other one did not wait for them: they are answered at a pace"
    await reading
    assert answers == [{"type": "__pong__"}] * 3000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["subscribe", "chat", "chat:stop", "queue:edit", "session:delete", "exchange:delete", "session:seen", "x"]


async def test_M8_random_frames_never_end_the_socket(world: World) -> None:
    socket = await world.socket()
    frames: list[Any] = []

    @settings(max_examples=300, deadline=None, database=None)
    @given(st.one_of(JSON, st.dictionaries(st.sampled_from(["sessionId", "projectId", "text", "message"]), JSON)))
    def make(body: Any) -> None:
        frames.append(body | {"type": random.choice(NAMES)} if isinstance(body, dict) else body)

    await asyncio.to_thread(make)
    for frame in frames:
        socket.send_text(json.dumps(frame))
    socket.send_json({"type": "__ping__"})
    while (answer := await socket.receive_json())["type"] != "__pong__":
        assert answer["type"] in ("error", "state:snapshot", "chat:stopped")
        assert "internal error" not in answer.get("error", "")
    socket.send_json({"type": "session:clear"})  # whatever is still in the queue comes before its answer
    while (answer := await socket.receive_json()).get("error") != "No active session":
        assert answer["type"] in ("error", "state:snapshot", "chat:stopped")


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "https://127.0.0.1:1", "http://127.0.0.1.evil", ""])
async def test_B2_a_foreign_origin_is_403_before_accept(world: World, origin: str) -> None:
    with pytest.raises(Refused) as refused:
        await world.upgrade(Origin=origin)
    assert refused.value.status == 403


async def test_another_path_is_404(world: World) -> None:
    url = world.server.base.replace("http", "ws") + "/other"
    with pytest.raises(Refused) as refused:
        await WebSocket.connect(url, {"Origin": world.server.base, "Cookie": world.cookie})
    assert refused.value.status == 404


def change_password(user: User) -> None:
    user.set_password("another password")
    user.save()


def demote(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True)


def remove(user: User) -> None:
    Membership.objects.filter(user=user).delete()


def lower(user: User) -> None:
    Membership.objects.filter(user=user).update(level="readonly")


def disable(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def delete(user: User) -> None:
    user.delete()


@pytest.mark.parametrize("change", [change_password, demote, remove, lower, disable, delete], ids=lambda f: f.__name__)
async def test_C3_changed_rights_close_the_sockets_with_1008_at_the_next_look(world: World, change: Any) -> None:
    """Half of these changes send no signal at all: the rows are looked at anyway."""
    user, cookie = await in_db(world.person)("member", Access.FULL)
    socket, session = await watching(world, cookie=cookie)
    keeper = await world.socket()
    await in_db(change)(user)
    assert await closed(socket, LOGIN_EVERY / 2) == 1008
    assert CHECK_EVERY <= 1.0, "the bar is two seconds"
    deliver(world, session, system("secret"))
    keeper.send_json({"type": "__ping__"})
    assert await keeper.receive_json() == {"type": "__pong__"}


async def test_C3_nothing_is_delivered_to_whom_it_is_not_for_any_more(world: World) -> None:
    """At the moment of delivery, before anybody has closed the socket."""
    _, cookie = await in_db(world.person)("member", Access.FULL)
    socket, session = await watching(world, cookie=cookie)
    (connection,) = connections(world)
    connection.person.rights.levels.clear()
    deliver(world, session, system("secret"))
    socket.send_json({"type": "__ping__"})
    assert await socket.receive_json() == {"type": "__pong__"}


async def test_a_new_membership_closes_nothing(world: World) -> None:
    user, cookie = await in_db(world.person)("member")
    socket = await world.socket(cookie)
    await in_db(Membership.objects.create)(user=user, workspace=world.workspace, level="full")
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(check_rights(world), world.server.loop))
    socket.send_json({"type": "subscribe", "projectId": world.path})
    socket.send_json({"type": "__ping__"})
    assert await socket.receive_json() == {"type": "__pong__"}


async def check_rights(world: World) -> None:
    from halo_site.auth import authenticate_scope
    from halo_site.hub.service import HubService

    await HubService(world.server.hub, authenticate_scope).check_rights()


async def test_a_login_that_was_revoked_closes_its_sockets_and_no_others(world: World) -> None:
    from halo_site.auth import COOKIE, authenticate_scope, new_login, revoke, token_of
    from halo_site.hub.service import HubService

    login = await in_db(new_login)(world.user)
    gone = await world.socket(f"{COOKIE}={token_of(login)}")
    stays = await world.socket(await in_db(login_cookie)(world.user))
    await in_db(revoke)(login)
    service = HubService(world.server.hub, authenticate_scope)
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(service.check_logins(), world.server.loop))
    assert await closed(gone) == 1008
    stays.send_json({"type": "__ping__"})
    assert await stays.receive_json() == {"type": "__pong__"}


async def test_workspace_news_reach_those_who_may_see_it(world: World) -> None:
    _, member = await in_db(world.person)("member", Access.READONLY)
    _, stranger = await in_db(world.person)("stranger")
    sockets = [await world.socket(cookie) for cookie in (None, member, stranger)]
    packet = Packet("session:changed", b'{"type":"session:changed"}')
    world.server.call(world.server.hub.deliver, f"workspace.{world.workspace.pk}", packet)
    bound_only = Packet("file:changed", b'{"type":"file:changed"}')
    world.server.call(world.server.hub.deliver, f"workspace.{world.workspace.pk}", bound_only)
    for socket, expected in zip(sockets, ["session:changed", "session:changed", "__pong__"], strict=True):
        socket.send_json({"type": "__ping__"})
        assert (await socket.receive_json())["type"] == expected


async def test_shutdown_says_1001_and_lets_nobody_in(world: World) -> None:
    socket = await world.socket()
    hub = world.server.hub
    world.server.call(hub.close_all)
    try:
        assert await closed(socket) == 1001
        with pytest.raises(Refused) as refused:
            await world.upgrade()
        assert refused.value.status == 503
    finally:
        hub.closing = False
