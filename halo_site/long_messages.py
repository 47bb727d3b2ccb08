"""Long bodies and long answers under daphne, without holding either in memory.

daphne reads a stored body back and queues all of it before the application runs, and it writes an answer into Twisted's
buffer however slowly the client reads. So a body that Twisted has put into a file is handed to Django as that file,
and whoever sends a long answer waits for the client: 64 KiB are on their way at most. Under other servers, which do
both themselves, nothing changes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import IO, Any

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler

from halo_site.lib.streams import Shrunk
from halo_site.request_class import CappedRequest

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

STALLED = 60.0  # seconds in which a client read nothing: its connection ends


class BodyInFile:
    """The `receive` of a request whose body lies in a file already."""

    def __init__(self, file: IO[bytes], receive: Receive) -> None:
        self.file = file
        self._receive = receive

    async def __call__(self) -> dict[str, Any]:
        return await self._receive()


class Handler(ASGIHandler):
    """Django, which takes such a file as it is instead of copying it."""

    async def read_body(self, receive: Any) -> IO[bytes]:
        if not isinstance(receive, BodyInFile):
            body: IO[bytes] = await super().read_body(receive)
            return body
        message = await receive()  # daphne's: an empty body
        if message["type"] == "http.disconnect":
            receive.file.close()
            raise RequestAborted
        return receive.file


def install() -> None:
    """From now on daphne hands over long bodies as files. Only for an application that runs under `serve`."""
    CappedRequest.hands_over_files = True


async def serve(application: Application, scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Run an HTTP application, with what the request class of daphne offers."""
    request = _request_of(send)
    if request is None:
        await application(scope, receive, send)
        return

    async def paced(message: dict[str, Any]) -> None:
        await send(message)
        if message.get("more_body"):
            await _flowing(request)

    try:
        await application(scope, BodyInFile(request.stored, receive) if request.stored else receive, paced)
    except Shrunk:
        _abort(request)


def _request_of(send: object) -> CappedRequest | None:
    """daphne passes `partial(handle_reply, protocol)`."""
    if isinstance(send, partial) and send.args and isinstance(send.args[0], CappedRequest):
        return send.args[0]
    return None


async def _flowing(request: CappedRequest) -> None:
    channel = request.channel
    if channel is None or channel.flowing.is_set():
        return
    try:
        await asyncio.wait_for(channel.flowing.wait(), STALLED)
    except TimeoutError:
        _abort(request)


def _abort(request: CappedRequest) -> None:
    if request.channel is not None:
        request.channel.transport.abortConnection()
