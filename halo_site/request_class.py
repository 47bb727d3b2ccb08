"""daphne's HTTP side with limits that hold before Django runs (SECURITY-BAR D8).

daphne stores a whole request body, in memory or on disk, before the application sees the first byte. So the size is
checked here, by `Content-Length` and again by counted bytes: 1 MiB without a login, else by the table in
body_rules.py. Headers must be complete within 10 s, and a body may not dawdle. A refusal is answered, then the rest
of what the client sends is thrown away for a moment, so that it can read the answer, and the connection ends.

`install()` makes every daphne server of this process use it, also one started by the `daphne` command.
"""

import asyncio
from io import BytesIO
from typing import IO, Any

import daphne.server
import orjson
from daphne.http_protocol import HTTPFactory, WebRequest
from django.http.cookie import parse_cookie
from twisted.web import http

from halo_site.lib.token_paths import without_token

from . import tokens
from .auth import COOKIE
from .body_rules import ANONYMOUS_CAP, UPLOAD_COOKIE, rule_for
from .tokens import BadToken, Kind

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0  # plus the time the body takes at SLOWEST
SLOWEST = 16 * 1024  # bytes per second
DRAIN_SECONDS = 3.0
DRAIN_BYTES = 64 * 1024 * 1024

_TEXTS = {408: "The request took too long", 413: "Request body too large"}
_REASONS = {408: b"Request Timeout", 413: b"Content Too Large"}


class CappedRequest(WebRequest):  # type: ignore[misc]
    received = 0
    content: Any
    uri: bytes
    stored: IO[bytes] | None = None  # a long body, when the application takes it as a file
    hands_over_files = False  # set by halo_site/long_messages.py

    def __init__(self, *args: Any) -> None:
        # Twisted would read a form and parse it in memory, on the event loop; Django does that, from the file.
        super().__init__(*args, parsePOSTFormSubmission=False)

    def process(self) -> Any:
        if self.hands_over_files and not isinstance(self.content, BytesIO):  # Twisted: from 100,000 bytes on
            self.stored, self.content = self.content, BytesIO()
            self.stored.seek(0)
        return super().process()

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            # daphne writes it into its access log after the last part.
            self.uri = without_token(self.uri.decode("latin1")).encode("latin1")
        super().handle_reply(message)

    def handleContentChunk(self, data: bytes) -> None:
        channel = self.channel
        if channel is None or channel.refused:
            return
        self.received += len(data)
        if self.received > channel.cap:
            channel.refuse(413)
            return
        super().handleContentChunk(data)


_Channel: Any = http.HTTPChannel


class CappedChannel(_Channel):  # type: ignore[misc]
    """One connection. `cap` and the deadline belong to the request being read."""

    cap = ANONYMOUS_CAP
    refused = False
    drained = 0
    _deadline: Any = None

    def connectionMade(self) -> None:
        super().connectionMade()
        self.flowing = asyncio.Event()  # the client reads what we write
        self.flowing.set()
        self._arm(HEADER_SECONDS)

    def dataReceived(self, data: bytes) -> None:
        if self.refused:
            self.drained += len(data)
            if self.drained > DRAIN_BYTES:
                self.transport.abortConnection()
            return
        if self.line_mode and self._deadline is None:  # the first bytes of a next request
            self._arm(HEADER_SECONDS)
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:
        self._disarm()
        headers = self.requests[-1].requestHeaders
        self.cap = body_cap(self._command, self._path, headers.getRawHeaders(b"cookie", []))
        if self.length is not None and self.length > self.cap:
            self.refuse(413)
            return
        if self.length != 0:
            self._arm(BODY_SECONDS + (self.cap if self.length is None else self.length) / SLOWEST)
        super().allHeadersReceived()

    def rawDataReceived(self, data: bytes) -> None:
        if not self.refused:
            super().rawDataReceived(data)

    def allContentReceived(self) -> None:
        self._disarm()
        if not self.refused:
            super().allContentReceived()

    def pauseProducing(self) -> None:
        super().pauseProducing()
        self.flowing.clear()

    def resumeProducing(self) -> None:
        super().resumeProducing()
        self.flowing.set()

    def connectionLost(self, reason: Any) -> None:
        self._disarm()
        self.flowing.set()
        super().connectionLost(reason)

    def refuse(self, status: int) -> None:
        """Answer `status`, read no more, and close once the client could have read it."""
        if self.refused:
            return
        self.refused = True
        self._disarm()
        extra = {"maxBytes": self.cap} if status == 413 else {}
        body = orjson.dumps({"error": _TEXTS[status], **extra})
        self.transport.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n"
            b"X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n%s"
            % (status, _REASONS[status], len(body), body)
        )
        if hasattr(self.transport, "loseWriteConnection"):
            self.transport.loseWriteConnection()
        self.setTimeout(None)
        self._deadline = self.callLater(DRAIN_SECONDS, self.transport.abortConnection)

    def _late(self) -> None:
        self._deadline = None
        self.refuse(408)

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._deadline = self.callLater(seconds, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None


class CappedHTTPFactory(HTTPFactory):  # type: ignore[misc]
    # Twisted wraps the channel to negotiate HTTP/2 over TLS; we speak neither.
    protocol = CappedChannel

    def buildProtocol(self, addr: Any) -> CappedChannel:
        channel: CappedChannel = super().buildProtocol(addr)
        channel.requestFactory = CappedRequest
        return channel


class CappedServer(daphne.server.Server):  # type: ignore[misc]
    """daphne's server with the limits above."""

    def run(self) -> None:
        install()
        super().run()


def install() -> None:
    daphne.server.HTTPFactory = CappedHTTPFactory


def body_cap(method: bytes, uri: bytes, cookie_headers: list[bytes]) -> int:
    """Most bytes the body of this request may have.

    The login is checked by its signature alone: the database is asked later, by the gate. A made-up cookie is nothing.
    """
    path = uri.partition(b"?")[0].decode("latin1")
    cap = rule_for(method.decode("latin1").upper(), path).cap
    if cap <= ANONYMOUS_CAP:
        return cap
    cookies = parse_cookie("; ".join(value.decode("latin1") for value in cookie_headers))
    # Who signed in at the staff site has a session, which only the database knows; its upload page gives a token.
    given = (Kind.LOGIN, COOKIE), (Kind.UPLOAD, UPLOAD_COOKIE)
    return cap if any(_is_good(kind, cookies.get(name, "")) for kind, name in given) else ANONYMOUS_CAP


def _is_good(kind: Kind, token: str) -> bool:
    try:
        tokens.read(kind, token)
    except BadToken:
        return False
    return True
