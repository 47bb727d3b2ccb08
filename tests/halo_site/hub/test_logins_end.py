"""A2, A3, A4 over real sockets: what a logout and a new password end, and what a forged cookie is answered."""

import asyncio

import httpx
import pytest
from asgiref.sync import sync_to_async

from halo_site.hub.service import LOGIN_EVERY
from sessions_app.models import Entry
from tests.halo_site.hub.conftest import World, login_cookie
from tests.halo_site.test_tokens import FORGED
from tests.socket_client import Refused, WebSocket

pytestmark = [pytest.mark.django_db(transaction=True)]


def web(world: World, cookie: str) -> httpx.AsyncClient:
    headers = {"origin": world.server.base, "cookie": cookie}
    return httpx.AsyncClient(base_url=world.server.base, headers=headers, trust_env=False)


async def closed_with(socket: WebSocket) -> int:
    """The close code of a socket that is closed long before anybody looks at all logins."""
    async with asyncio.timeout(LOGIN_EVERY / 2):
        while await socket.receive() is not None:
            pass
    return socket.close_code or 0


async def answers(socket: WebSocket) -> bool:
    socket.send_json({"type": "__ping__"})
    return (await socket.receive_json())["type"] == "__pong__"


async def test_A2_a_logout_closes_the_sockets_of_that_login_and_no_others(world: World):
    other = await sync_to_async(login_cookie)(world.user)
    here, elsewhere = await world.socket(), await world.socket(other)
    async with web(world, world.cookie) as browser:
        assert (await browser.post("/api/auth/logout")).status_code == 200
        assert await closed_with(here) == 1008
        assert (await browser.get("/api/workspaces")).status_code == 401
    with pytest.raises(Refused) as refused:
        await world.upgrade()
    assert refused.value.status == 401
    assert await answers(elsewhere)


async def test_logging_out_everywhere_closes_every_socket_of_the_person(world: World):
    other = await sync_to_async(login_cookie)(world.user)
    here, elsewhere = await world.socket(), await world.socket(other)
    async with web(world, world.cookie) as browser:
        assert (await browser.post("/api/auth/logout-everywhere")).json() == {"ok": True}
        assert await closed_with(here) == await closed_with(elsewhere) == 1008


async def test_A3_a_password_change_closes_every_other_socket_at_once(world: World):
    other = await sync_to_async(login_cookie)(world.user)
    elsewhere = await world.socket(other)
    async with web(world, world.cookie) as browser:
        body = {"oldPassword": "a good password", "newPassword": "fresh pass 2"}
        changed = await browser.post("/api/auth/change-password", json=body)
        assert changed.json() == {"ok": True}
        assert await closed_with(elsewhere) == 1008
    fresh = changed.headers["set-cookie"].partition(";")[0]
    assert await answers(await world.socket(fresh))


@pytest.mark.parametrize("name", [name for name in FORGED if FORGED[name].isascii() and len(FORGED[name]) < 8000][::4])
async def test_A4_a_forged_cookie_is_401_at_the_upgrade(world: World, name: str):
    with pytest.raises(Refused) as refused:
        await world.upgrade("halo_token=" + FORGED[name].replace(";", "").replace('"', ""))
    assert refused.value.status == 401


async def test_X6_a_message_sent_while_the_login_ends_is_taken_once_after_the_next_login(
    world: World, agent_folder: None
):
    chat = {
        "type": "chat",
        "sessionId": "sid_x6",
        "projectId": world.path,
        "message": "typed before the login ended",
        "clientMsgId": "x6-1",
    }
    socket = await world.socket()
    async with web(world, world.cookie) as browser:
        await asyncio.gather(browser.post("/api/auth/logout"), sync_to_async(socket.send_json)(chat))
    assert await closed_with(socket) == 1008
    with pytest.raises(Refused):
        await world.upgrade()
    again = await world.socket(await sync_to_async(login_cookie)(world.user))
    for _ in range(2):
        again.send_json(chat)
        while (answer := await again.receive_json()).get("clientMsgId") != "x6-1":
            continue
        assert answer["type"] == "chat:ack", answer
    assert await sync_to_async(Entry.objects.filter(client_msg_id="x6-1").count)() == 1
