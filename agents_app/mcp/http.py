"""A server behind an address: every message is a POST, the answer one JSON document or a stream of events.

Addresses follow the rules of `web_fetch` (halo_site.lib.outbound). Redirects are not followed: the headers may be keys.
We open no stream of the server's own, as we offer it nothing to ask for.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Any, cast

from halo_site.lib.errors import HaloError
from halo_site.lib.outbound import Opened, exchange
from halo_site.lib.sse import LineTooLong, SseReader
from halo_site.lib.text import decode
from workspaces_app.sandbox.cell import rules

from . import wire
from .errors import McpDown, McpFailed
from .flood import Flood
from .values import Launch

log = logging.getLogger("halo.mcp")

SHORT_SECONDS = 2.0  # for messages that need no answer
REPLIES = 4  # on their way at once, each a connection; a server that asks for more gets none
ERROR_BODY = 2_000  # bytes of an error page that are told
IN_THREAD = 1024 * 1024  # bytes; longer documents are not parsed on the loop


class HttpLink:
    """`open`, then `request` and `notify` from any task, then `close`. `ended`: the server forgot our session."""

    def __init__(self, launch: Launch, *, on_told: Callable[[str], None] = lambda method: None) -> None:
        self.launch = launch
        self.ended = asyncio.Event()
        self.why = ""
        self.version = ""  # agreed on; sent with everything after that
        self._session = ""
        self._number = 0
        self._on_told = on_told
        self._flood = Flood()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Nothing to do: the first request is the connection."""

    async def close(self) -> None:
        """Tells the server that its session may go."""
        if self._session and not self.ended.is_set():
            with suppress(HaloError, TimeoutError):
                async with asyncio.timeout(SHORT_SECONDS), self._exchange(b"", method="DELETE"):
                    pass
        self._end("it was ended by Halo")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def request(self, method: str, params: dict[str, Any], timeout: float) -> wire.Json:
        """As StdioLink.request."""
        if self.ended.is_set():
            raise McpDown(self.why)
        self._number += 1
        number = self._number
        try:
            async with asyncio.timeout(timeout):
                return await self._ask(number, wire.request(number, method, params))
        except (TimeoutError, asyncio.CancelledError):
            if method != "initialize":
                self.notify("notifications/cancelled", {"requestId": number})
            raise
        except McpFailed:
            raise
        except LineTooLong:
            raise McpFailed(_too_long()) from None
        except HaloError as error:  # refused, unreachable, or broken off
            raise McpDown(str(error)) from error

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Sent in the background; whether it came is not known."""
        self._send(wire.notification(method, params))

    def hint(self) -> str:
        return ""

    # -- inside ----------------------------------------------------------------------------------------------------

    def _end(self, why: str) -> None:
        self.why = self.why or why
        self.ended.set()

    def _send(self, message: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self._post(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _post(self, message: bytes) -> None:
        try:
            async with asyncio.timeout(SHORT_SECONDS), self._exchange(message):
                pass
        except (HaloError, TimeoutError) as error:
            log.debug("mcp %s: a message was not taken: %s", self.launch.name, type(error).__name__)

    def _exchange(self, message: bytes, *, method: str = "POST") -> Any:
        headers = dict(self.launch.headers)
        headers |= {"Accept": "application/json, text/event-stream"}
        if message:
            headers["Content-Type"] = "application/json"
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        return exchange(self.launch.url, rules(), method=method, headers=headers, body=message)

    async def _ask(self, number: int, message: bytes) -> wire.Json:
        async with self._exchange(message) as opened:
            answer = cast(Opened, opened)
            await self._check(answer)
            self._session = answer.headers.get("mcp-session-id", "") or self._session
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                messages = self._events(answer.chunks)
            elif kind == "application/json":
                messages = self._document(answer.chunks)
            else:
                raise McpFailed(f"malformed answer: it is {kind[:80] or 'of no kind'}, not JSON or a stream of events")
            async with aclosing(messages):
                async for found in messages:
                    if isinstance(found, wire.Answer) and found.id == number:
                        if found.result is None:
                            raise McpFailed(found.error or "an error without a text")
                        return found.result
                    self._take(found)
                    await self._flood.note()
        raise McpFailed("malformed answer: it ended without the result")

    def _take(self, found: wire.Incoming) -> None:
        if isinstance(found, wire.Asked):
            if len(self._tasks) < REPLIES:
                self._send(wire.reply_to(found))
        elif isinstance(found, wire.Told):
            self._on_told(found.method)

    async def _check(self, answer: Opened) -> None:
        if 200 <= answer.status < 300:
            return
        if answer.status == 404 and self._session:
            self._end("it forgot the session")
            raise McpDown(self.why)
        if 300 <= answer.status < 400:
            raise McpDown(f"status {answer.status}: it wants to be reached at another address; name that one in `url`")
        body = bytearray()
        async for chunk in answer.chunks:
            body += chunk
            if len(body) > ERROR_BODY:
                break
        words = " ".join(decode(bytes(body[:ERROR_BODY])).split())[:300]
        raise McpFailed(f"status {answer.status}{': ' if words else ''}{words}")

    async def _events(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[wire.Incoming, None]:
        reader = SseReader(wire.MESSAGE_LIMIT)
        async for chunk in chunks:
            for event in reader.feed(chunk):
                for found in await _messages(event.data):
                    yield found
        for event in reader.close():
            for found in await _messages(event.data):
                yield found

    async def _document(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[wire.Incoming, None]:
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > wire.MESSAGE_LIMIT:
                raise McpFailed(_too_long())
        for found in await _messages(bytes(body)):
            yield found


async def _messages(data: bytes) -> list[wire.Incoming]:
    try:
        return await asyncio.to_thread(wire.read, data) if len(data) > IN_THREAD else wire.read(data)
    except wire.Malformed as error:
        raise McpFailed(f"malformed answer: {error}") from None


def _too_long() -> str:
    return f"it sent a message of more than {wire.MESSAGE_LIMIT // 1024 // 1024} MiB"
