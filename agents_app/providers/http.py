"""The one sender: a request of a dialect out, the vendor's bytes into its fold, deltas to whoever listens.

One connection pool per process (per event loop), so that the next call of a session finds a warm connection. Nothing is
read ahead or gathered: a delta leaves in the same turn of the loop in which its last byte came.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from django.conf import settings

from halo_site.lib.sse import LineTooLong

from .admission import account_of, admitted
from .aws import NoCredentials, signed
from .contract import Delta, ErrorKind, ModelReply, ModelRequest, ProviderError
from .conversation import call_ids
from .errors import Vendor, classify
from .wire import BrokenStream, Dialect, Fold, Wire, WireRequest
from .wire_json import document, start_of

log = logging.getLogger(__name__)

_ERROR_BODY = 64 * 1024  # bytes read of an error answer
_TAIL = 0.25  # seconds to wait for the end of the body once the vendor said it was done


@dataclass(frozen=True, slots=True)
class Limits:
    idle: float = 120.0  # seconds without a byte
    total: float = field(default_factory=lambda: settings.HALO.model_timeout.total_seconds())
    connect: float = 20.0  # seconds to a connection, TLS included
    size: int = 32 * 1024 * 1024  # bytes of one answer


_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]" = WeakKeyDictionary()
_tls: ssl.SSLContext | None = None


async def client() -> httpx.AsyncClient:
    """The connection pool of this event loop. Proxies and keys of the environment are not looked at."""
    loop = asyncio.get_running_loop()
    found = _clients.get(loop)
    if found is None or found.is_closed:
        if _tls is None:
            await asyncio.to_thread(_load)
        if (found := _clients.get(loop)) is None or found.is_closed:  # nobody else was quicker
            found = _clients[loop] = httpx.AsyncClient(
                transport=_transport(),
                trust_env=False,
                follow_redirects=False,
                headers={"user-agent": "halo", "accept-encoding": "identity"},
            )
    return found


def _load() -> None:
    """What takes a tenth of a second and some MiB: not at boot, and not on the event loop."""
    global _tls
    import httpx_aiohttp  # noqa: F401 - brings aiohttp

    _tls = httpx.create_ssl_context(trust_env=False)


def _transport() -> httpx.AsyncBaseTransport:
    """httpx on aiohttp's parser: a stream of many small chunks costs a quarter of httpx's own (docs/benchmarks.md)."""
    import aiohttp
    from httpx_aiohttp import AiohttpTransport

    assert _tls is not None
    tls = _tls

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60.0, ssl=tls)
        return aiohttp.ClientSession(connector=connector, trust_env=False, auto_decompress=False)

    return AiohttpTransport(client=session, verify=tls, trust_env=False)


async def close_client() -> None:
    """At the end of the process (or of a test's event loop)."""
    found = _clients.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.aclose()


class HttpProvider:
    """A vendor reached over HTTP: a dialect, the data of one registry entry, and this sender."""

    def __init__(self, name: str, dialect: Dialect, wire: Wire, limits: Limits | None = None) -> None:
        self.name = name
        self.dialect = dialect
        self.wire = wire
        self.limits = limits or Limits()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """Deltas while they arrive, then exactly one ModelReply. Raises ProviderError.

        Close the iterator (`contextlib.aclosing`) when leaving it early; cancelling the task closes it too.
        """
        config = request.config
        vendor = Vendor(self.name, tuple(value for value in config.secrets.values() if value))
        account = account_of(self.name, config.endpoint, config.secrets)
        async with admitted(account, self.wire.concurrency), aclosing(self._stream(request, vendor)) as items:
            async for item in items:
                yield item

    async def _stream(self, request: ModelRequest, vendor: Vendor) -> AsyncGenerator[Delta | ModelReply, None]:
        began = time.perf_counter()
        wire = self.dialect.request(request, self.wire)
        fold = self.dialect.fold(vendor, call_ids(request.messages))
        first: float | None = None
        with _as_provider_errors(vendor):
            call = _Call(await _signed(wire, vendor), vendor, self.dialect, self.limits)
            try:
                await call.send()
                if call.streams:
                    while (deltas := await call.read(fold)) is not None:
                        if deltas and first is None:
                            first = time.perf_counter()
                        for delta in deltas:
                            yield delta
                else:
                    for delta in fold.whole(await call.whole()):
                        yield delta
            finally:
                await call.close()
            answer = fold.finish()
        yield ModelReply(
            blocks=answer.blocks,
            stop_reason=answer.stop_reason,
            usage=answer.usage,
            ttft_ms=None if first is None else round((first - began) * 1000),
            duration_ms=round((time.perf_counter() - began) * 1000),
            bad_arguments=answer.bad_arguments,
            notes=answer.notes,
        )


class _Call:
    """One request and its answer, within its limits."""

    def __init__(self, wire: WireRequest, vendor: Vendor, dialect: Dialect, limits: Limits) -> None:
        self.vendor = vendor
        self.content_type = dialect.content_type
        self.limits = limits
        self.deadline = asyncio.get_running_loop().time() + limits.total
        self.streams = True
        self.response: httpx.Response | None = None
        self._head = b""
        self._chunks: AsyncIterator[bytes] | None = None
        self._size = 0
        self._reader = dialect.reader()
        self._ended = False
        self._failure: Exception | None = None
        self._wire = wire

    async def send(self) -> None:
        """Wait for the head of the answer and see whether it streams. Raises ProviderError for every other status."""
        limits = self.limits
        pool = await client()
        request = pool.build_request(
            "POST",
            self._wire.url,
            headers=self._wire.headers,
            content=self._wire.body,
            timeout=httpx.Timeout(limits.idle, connect=min(limits.connect, limits.idle), pool=limits.connect),
        )
        async with asyncio.timeout_at(self.deadline):
            self.response = response = await pool.send(request, stream=True)
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        self._chunks = response.aiter_bytes() if encoded else response.aiter_raw()
        if response.status_code != 200:
            raise await self._refusal(response)
        kind = response.headers.get("content-type", "")
        if self.content_type not in kind:
            # Some servers answer plain JSON to `stream: true`, some stream under a wrong content type: look.
            while not self._head.strip() and (chunk := await self._next()) is not None:
                self._head += chunk
            self.streams = not self._head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[", b"<"))

    async def read(self, fold: Fold) -> list[Delta] | None:
        """The deltas of the next bytes, None after the last ones. What came before a failure is given out first."""
        if self._failure is not None:
            raise self._failure
        if self._ended:
            return None
        if self._head:
            chunk: bytes | None = self._head
            self._head = b""
        else:
            chunk = await self._tail() if fold.done else await self._next()
        self._ended = chunk is None
        deltas: list[Delta] = []
        try:
            for event in self._reader.close() if chunk is None else self._reader.feed(chunk):
                deltas += fold.feed(event)
        except (ProviderError, LineTooLong, BrokenStream) as error:
            if not deltas:
                raise
            self._failure = error
        return deltas

    async def whole(self) -> dict[str, Any]:
        """The JSON object of an answer that was not streamed."""
        parts = [self._head]
        while (chunk := await self._next()) is not None:
            parts.append(chunk)
        data = b"".join(parts)
        value = document(data)
        if not isinstance(value, dict):
            raise self.vendor.error(ErrorKind.FATAL, f"non-JSON response (status=200): {start_of(data)}", status=200)
        return value

    async def _next(self) -> bytes | None:
        """The next bytes, None at the end."""
        assert self._chunks is not None
        left = self.deadline - asyncio.get_running_loop().time()
        try:
            if left < self.limits.idle:
                async with asyncio.timeout_at(self.deadline):
                    chunk = await anext(self._chunks)
            else:  # the idle limit of the connection is the nearer one: no timer of our own per chunk
                chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        self._size += len(chunk)
        if self._size > self.limits.size:
            raise self.vendor.error(ErrorKind.FATAL, f"the answer is larger than {self.limits.size} bytes")
        return chunk

    async def _tail(self) -> bytes | None:
        """What follows the vendor's last word: read so that the connection can be used again, but not waited for."""
        try:
            async with asyncio.timeout(_TAIL):
                return await self._next()
        except (TimeoutError, httpx.HTTPError):
            return None

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        parts: list[bytes] = []
        size = 0
        try:
            while size < _ERROR_BODY and (chunk := await self._next()) is not None:
                parts.append(chunk)
                size += len(chunk)
        except (TimeoutError, httpx.HTTPError):
            log.debug("the error answer of %s was cut", self.vendor.name)  # its status says enough
        data = b"".join(parts)
        status = response.status_code
        value = document(data)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            return self.vendor.refused(value, status=status, headers=response.headers)
        if 300 <= status < 400:
            return self.vendor.error(ErrorKind.FATAL, f"API error {status}: the endpoint redirects", status=status)
        plain = self.vendor.refused({"message": start_of(data) or "no body"}, status=status, headers=response.headers)
        if plain.kind is ErrorKind.FATAL:
            text = f"non-JSON response (status={status}): {start_of(data)}"
            return self.vendor.error(classify(status, (), ""), text, status=status)
        return plain

    async def close(self) -> None:
        if self.response is not None:
            await self.response.aclose()


async def _signed(wire: WireRequest, vendor: Vendor) -> WireRequest:
    try:
        ready = await signed(wire)
    except NoCredentials as error:
        raise vendor.error(ErrorKind.ACCOUNT, str(error)) from None
    return replace(ready, headers=_checked(ready.headers, vendor))


def _checked(headers: Any, vendor: Vendor) -> dict[str, str]:
    """A key with a line break or a letter outside ASCII cannot be sent, and the library's complaint would show it."""
    for value in headers.values():
        if not value.isascii() or not value.isprintable():
            raise vendor.error(ErrorKind.ACCOUNT, "the API key holds characters that cannot be sent: enter it again")
    return {name: value.strip() for name, value in headers.items()}


@contextmanager
def _as_provider_errors(vendor: Vendor) -> Iterator[None]:
    """Failures of the connection in the words of spec models 3.8. The libraries' own texts are not shown: they may
    hold header values."""
    try:
        yield
    except ProviderError:
        raise
    except LineTooLong as error:
        raise vendor.error(ErrorKind.FATAL, "sent a line that is too long") from error
    except BrokenStream as error:
        raise vendor.network(str(error)) from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:  # OSError: also TimeoutError
        kind, words = _explain(error)
        raise vendor.error(kind, words) from error
    except Exception as error:
        import aiohttp

        if not isinstance(error, aiohttp.ClientError):
            raise
        kind, words = _explain(error)
        raise vendor.error(kind, words) from error


def _explain(error: BaseException) -> tuple[ErrorKind, str]:
    """Why there was no (whole) answer. The cause below httpx decides: its aiohttp transport calls every failure to
    connect a timeout."""
    import aiohttp

    cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
    network = ErrorKind.NETWORK
    match cause:
        case httpx.InvalidURL() | httpx.UnsupportedProtocol() | aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return ErrorKind.FATAL, "the endpoint is not a valid address"
        case UnicodeError():
            return ErrorKind.FATAL, "the endpoint is not a valid address"
        case aiohttp.ConnectionTimeoutError():
            return network, "no connection in time"
        case aiohttp.ServerTimeoutError():
            return network, "no data in time: the model request timed out"
        case TimeoutError():
            return network, "Model request timed out"
        case aiohttp.ClientConnectorDNSError():
            return network, "cannot be reached: the host name is unknown"
        case aiohttp.ClientConnectorCertificateError():
            return network, "cannot be reached: its certificate is not trusted"
        case aiohttp.ClientSSLError():
            return network, "cannot be reached: the TLS handshake failed"
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            return network, "cannot be reached: connection refused"
        case aiohttp.ClientConnectorError():
            return network, "cannot be reached"
        case aiohttp.ClientResponseError():
            return network, "sent something that is not HTTP"
        case httpx.DecodingError():
            return network, "the answer could not be decompressed"
    return network, "the connection was closed in the middle of the answer"
