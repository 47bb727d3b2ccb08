"""The upgrade and the plain life of a socket (spec ws-protocol 1 to 5, 40 to 42)."""

import json

import pytest

from tests.socket_client import Refused

from .conftest import World


async def test_a_valid_cookie_is_accepted_and_the_first_frame_is_an_empty_snapshot(world: World) -> None:
    socket = await world.upgrade()
    frame = await socket.receive_json()
    assert frame["type"] == "state:snapshot"
    assert frame["snapshot"]["recentMessages"] == []
    assert frame["snapshot"]["agents"] == []
    assert frame["snapshot"]["activePlan"] is None
    assert frame["snapshot"]["maxContextTokens"] == 200_000


@pytest.mark.parametrize("cookie", ["", "halo_token=nonsense"])
async def test_without_a_good_cookie_the_upgrade_is_401(world: World, cookie: str) -> None:
    with pytest.raises(Refused) as refused:
        await world.upgrade(cookie, Origin="" if not cookie else world.server.base)
    assert refused.value.status == 401


async def test_a_ping_is_answered_at_once(world: World) -> None:
    socket = await world.socket()
    socket.send_json({"type": "__ping__"})
    assert await socket.receive_json() == {"type": "__pong__"}


@pytest.mark.parametrize("text", ["", "no json", "[1]", '"x"', "{}", '{"type":5}', "[" * 100_000, "null"])
async def test_what_is_no_frame_gets_an_error_and_the_socket_lives(world: World, text: str) -> None:
    socket = await world.socket()
    socket.send_text(text)
    assert await socket.receive_json() == {"type": "error", "error": "Invalid JSON message"}
    socket.send_text(json.dumps({"type": "__ping__"}))
    assert await socket.receive_json() == {"type": "__pong__"}


async def test_an_unknown_type_is_named(world: World) -> None:
    socket = await world.socket()
    socket.send_json({"type": "terminal:dance"})
    assert (await socket.receive_json())["error"] == "Unknown message type: terminal:dance"
