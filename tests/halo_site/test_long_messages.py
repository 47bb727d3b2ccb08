"""Long bodies are handed over as files, and senders wait for their client (docs/decisions/0017)."""

import asyncio
from functools import partial
from io import BytesIO
from types import SimpleNamespace

import pytest
from django.core.exceptions import RequestAborted

from halo_site import long_messages
from halo_site.lib.streams import Shrunk
from halo_site.long_messages import BodyInFile, Handler, serve
from halo_site.request_class import CappedRequest


@pytest.fixture
def request_of_daphne():
    """As much of one as a sender sees: a connection whose client has stopped to read."""
    request = CappedRequest.__new__(CappedRequest)
    aborted: list[bool] = []
    transport = SimpleNamespace(abortConnection=lambda: aborted.append(True))
    request.channel = SimpleNamespace(flowing=asyncio.Event(), transport=transport)
    request.aborted = aborted
    return request


def sender(request, sent):
    async def handle_reply(protocol, message):
        sent.append(message)

    return partial(handle_reply, request)


PART = {"type": "http.response.body", "body": b"x", "more_body": True}
LAST = {"type": "http.response.body", "body": b""}


async def test_a_sender_goes_on_when_its_client_reads_again(request_of_daphne):
    sent: list[dict] = []

    async def application(scope, receive, send):
        await send(PART)
        await send(PART)
        await send(LAST)

    task = asyncio.create_task(serve(application, {}, None, sender(request_of_daphne, sent)))
    while not sent:
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert sent == [PART], "the second part waits"
    request_of_daphne.channel.flowing.set()
    await task
    assert sent == [PART, PART, LAST]
    assert not request_of_daphne.aborted


async def test_a_client_that_never_reads_again_is_cut_off(request_of_daphne, monkeypatch):
    monkeypatch.setattr(long_messages, "STALLED", 0.01)

    async def application(scope, receive, send):
        await send(PART)

    await serve(application, {}, None, sender(request_of_daphne, []))
    assert request_of_daphne.aborted


async def test_a_promise_that_cannot_be_kept_ends_the_connection(request_of_daphne):
    async def application(scope, receive, send):
        raise Shrunk

    await serve(application, {}, None, sender(request_of_daphne, []))
    assert request_of_daphne.aborted


async def test_under_another_server_nothing_is_held_back():
    sent: list[dict] = []

    async def send(message):
        sent.append(message)

    async def application(scope, receive, send):
        assert receive is None
        await send(PART)

    await serve(application, {}, None, send)
    assert sent == [PART]


async def test_django_reads_a_stored_body_from_its_file_and_then_hears_of_the_hang_up():
    messages = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    handed = BodyInFile(BytesIO(b"long body"), receive)
    handler = Handler.__new__(Handler)
    assert (await handler.read_body(handed)).read() == b"long body"
    assert await handed() == {"type": "http.disconnect"}


async def test_a_client_that_hung_up_before_leaves_no_open_file():
    async def receive():
        return {"type": "http.disconnect"}

    handed = BodyInFile(BytesIO(b"x"), receive)
    with pytest.raises(RequestAborted):
        await Handler.__new__(Handler).read_body(handed)
    assert handed.file.closed


async def test_a_short_body_arrives_as_ever():
    async def receive():
        return {"type": "http.request", "body": b"short", "more_body": False}

    assert (await Handler.__new__(Handler).read_body(receive)).read() == b"short"
