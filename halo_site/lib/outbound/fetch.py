"""An HTTP client for addresses that strangers may have written (SECURITY-BAR F5 to F7).

Every hop is parsed and tested anew. Bytes are counted after decoding. Variables and proxies of the environment play no
part, nothing is kept between calls, and cookies are not stored.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urljoin

import httpcore

from ..errors import BadRequest, HaloError
from .address import BadAddress, Rules, Target, parse_place, parse_url
from .door import connect

MAX_REDIRECTS = 5
MAX_HEADER = 64 * 1024  # bytes of the caller's headers
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
# The wire is ours to describe; the rest is the caller's.
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "expect", "accept-encoding"}
    | {"keep-alive", "trailer", "proxy-authorization", "proxy-connection"}
)
# What may follow a redirect to another origin. Any other header may be a key (SECURITY-BAR F6).
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class FetchFailed(HaloError):
    """The other side did not answer as it should."""

    status, code = 502, "fetch_failed"


@dataclass(frozen=True, slots=True)
class Fetched:
    """body: decoded, at most the asked number of bytes; `cut` = there was more. `url`: where it came from at last."""

    status: int
    headers: Mapping[str, str]  # lower case; of repeated ones the last
    body: bytes
    cut: bool
    url: str


async def fetch(
    url: str,
    rules: Rules,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    limit: int,
    total: float = 10.0,
) -> Fetched:
    """Get one address. limit: bytes of body after decoding; total: seconds for everything, redirects included.

    Raises BadAddress, Refused, Unreachable, FetchFailed, BadRequest (headers), TimeoutError.
    """
    sent = _checked(headers or {})
    target = parse_url(url)
    async with asyncio.timeout(total):
        for _ in range(MAX_REDIRECTS + 1):
            answer = await _one(target, rules, method, sent, limit)
            if isinstance(answer, Fetched):
                return answer
            status, following = answer
            if following.origin != target.origin:
                sent = {name: value for name, value in sent.items() if name in _HARMLESS}
            if status == 303 or (status in (301, 302) and method not in ("GET", "HEAD")):
                method = "GET" if method != "HEAD" else method
            target = following
    raise FetchFailed(f"More than {MAX_REDIRECTS} redirects")


@dataclass(frozen=True, slots=True)
class Opened:
    """An answer whose body still comes: `chunks` as they arrive, not unpacked. headers as in Fetched."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


@asynccontextmanager
async def exchange(
    url: str, rules: Rules, *, method: str = "POST", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> AsyncIterator[Opened]:
    """One request with a body, for an answer that streams. Size and time are the caller's to bound.

    Redirects are answers here, none is followed. Raises what `fetch` raises, FetchFailed for a packed body too.
    """
    sent = _checked(headers or {})
    async with _opened(parse_url(url), rules, method, sent, packing="identity", body=body) as answer:
        if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise FetchFailed("The answer is packed, which was not asked for")
        yield answer


async def _one(
    target: Target, rules: Rules, method: str, headers: Mapping[str, str], limit: int
) -> Fetched | tuple[int, Target]:
    async with _opened(target, rules, method, headers, packing="gzip, deflate") as answer:
        found = answer.headers
        if answer.status in _REDIRECTS and found.get("location"):
            return answer.status, parse_url(urljoin(str(target), _location(found["location"])))
        body, cut = await _body(answer.chunks, found.get("content-encoding", ""), limit)
        return Fetched(answer.status, found, body, cut, str(target))


@asynccontextmanager
async def _opened(
    target: Target, rules: Rules, method: str, headers: Mapping[str, str], *, packing: str, body: bytes = b""
) -> AsyncIterator[Opened]:
    wire = [(b"Host", target.authority.encode()), (b"Accept-Encoding", packing.encode()), (b"Connection", b"close")]
    wire += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if method not in ("GET", "HEAD"):
        wire.append((b"Content-Length", str(len(body)).encode()))
    url = httpcore.URL(
        scheme=target.scheme.encode(),
        host=target.place.host.encode(),
        port=target.place.port,
        target=target.path.encode("ascii"),
    )
    secure = await asyncio.to_thread(_tls) if target.scheme == "https" else None
    async with httpcore.AsyncConnectionPool(
        ssl_context=secure, network_backend=_Backend(rules), max_connections=1, retries=0
    ) as pool:
        try:
            async with pool.stream(method, url, headers=wire, content=body or None) as response:
                found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                yield Opened(response.status, found, response.aiter_stream())
        except (httpcore.ProtocolError, httpcore.NetworkError, ssl.SSLError) as error:
            raise FetchFailed(f"{target.place.host} did not answer properly: {_said(error)}") from error
        except httpcore.TimeoutException as error:
            raise TimeoutError from error


def _location(text: str) -> str:
    """A header is bytes; servers put UTF-8 in it."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        raise BadAddress("The redirect names no valid address") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


async def _body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """At most `limit` decoded bytes, and whether there was more. Unpacking stops there too: a bomb never explodes."""
    unpack = _decoder(encoding)
    body = bytearray()
    async for chunk in chunks:
        for piece in unpack.feed(chunk, limit + 1 - len(body)):
            body += piece
        if len(body) > limit:
            return bytes(body[:limit]), True
        if unpack.done:
            break
    return bytes(body), False


class _Plain:
    done = False

    def feed(self, data: bytes, room: int) -> Iterable[bytes]:
        yield data[:room]


class _Zlib:
    """gzip, or deflate with and without its header. `room` bounds what one call may unpack."""

    def __init__(self, name: str) -> None:
        self._wbits = zlib.MAX_WBITS | 32 if name != "deflate" else zlib.MAX_WBITS
        self._zip = zlib.decompressobj(self._wbits)
        self._first = True
        self.done = False

    def feed(self, data: bytes, room: int) -> Iterable[bytes]:
        try:
            piece = self._zip.decompress(data, room)
        except zlib.error as error:
            if not (self._first and self._wbits == zlib.MAX_WBITS):
                raise FetchFailed("The answer is packed wrongly") from error
            self._wbits = -zlib.MAX_WBITS
            self._zip = zlib.decompressobj(self._wbits)
            try:
                piece = self._zip.decompress(data, room)
            except zlib.error as second:
                raise FetchFailed("The answer is packed wrongly") from second
        self._first = False
        self.done = self._zip.eof
        yield piece


def _decoder(encoding: str) -> _Plain | _Zlib:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip" | "deflate" as name:
            return _Zlib(name)
    raise FetchFailed(f"The answer is packed as {encoding[:40]!r}, which was not asked for")


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The caller's headers, names in lower case. Raises BadRequest that names the wrong one."""
    checked: dict[str, str] = {"user-agent": "halo", "accept": "*/*"}
    for raw, value in headers.items():
        name = raw.strip().lower()
        if not name or not set(name) <= _TOKEN or any(char in value for char in "\r\n\0"):
            raise BadRequest(f"headers: {raw!r} is not a header")
        if name in _OURS:
            raise BadRequest(f"headers: {name} cannot be set")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError as error:
            raise BadRequest(f"headers: the value of {name} must be Latin-1") from error
        checked[name] = value.strip()
    if sum(len(name) + len(value) for name, value in checked.items()) > MAX_HEADER:
        raise BadRequest("headers: too long")
    return checked


@cache
def _tls() -> ssl.SSLContext:
    """Reads the certificates once; takes some ten milliseconds, so never on the event loop."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class _Backend(httpcore.AsyncNetworkBackend):
    """httpcore's network, with our door as the only way to connect."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    async def connect_tcp(self, host: str, port: int, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        name = f"[{host}]" if ":" in host else host
        sock = await connect(parse_place(f"{name}:{port}"), self._rules)
        reader, writer = await asyncio.open_connection(sock=sock)
        return _Stream(reader, writer)


class _Stream(httpcore.AsyncNetworkStream):
    """asyncio's streams as httpcore wants them. Time is bounded by the caller of `fetch`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.transport.abort()  # nothing of it is wanted any more, a polite TLS end included

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except OSError as error:  # SSLError and refused certificates are some
            raise httpcore.ConnectError(_said(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._writer.get_extra_info("ssl_object") if info == "ssl_object" else None
