"""Files on their way out: streamed in pieces, whole or in part, never read whole."""

import asyncio
import os
from dataclasses import dataclass
from email.utils import formatdate
from typing import Self
from urllib.parse import quote

import orjson
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from halo_site.lib.errors import BadRequest
from halo_site.lib.etag import has_etag
from halo_site.lib.streams import Shrunk

from ..jail import Jail
from .ranges import Part, Unsatisfiable, part_of
from .types import BINARY, shown_as

PIECE = 256 * 1024

# A file shown in place is caged like a page of a stranger, whatever it is (SECURITY-BAR D5).
CAGE = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; media-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class Opened:
    handle: int
    found: os.stat_result
    name: str

    @property
    def etag(self) -> str:
        found = self.found
        return f'"{found.st_mtime_ns:x}-{found.st_ctime_ns:x}-{found.st_size:x}-{found.st_ino:x}"'


class Pieces:
    """The bytes of a part, for an asynchronous response: read in threads, closed with the response."""

    def __init__(self, handle: int, part: Part) -> None:
        self._handle = handle
        self._at = part.start
        self._left = part.length

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        try:
            data = await asyncio.to_thread(os.pread, self._handle, min(PIECE, self._left), self._at)
            if not data:
                raise Shrunk
        except BaseException:  # then nobody closes the response
            self.close()
            raise
        self._at += len(data)
        self._left -= len(data)
        return data

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:  # a client that hung up before the first piece
        self.close()


def open_for_download(jail: Jail, path: str) -> Opened:
    """Raises BadRequest for a folder, NotFound, Forbidden. The response closes the handle."""
    try:
        handle = jail.open_file(path)
    except BadRequest as error:
        if isinstance(error.__cause__, IsADirectoryError):
            raise BadRequest("Cannot download a directory") from error
        raise
    return Opened(handle, os.fstat(handle), path.rstrip("/").rpartition("/")[2])


def as_download(request: HttpRequest, file: Opened, *, inline: bool) -> HttpResponseBase:
    """An attachment of no type, or with `inline` the file as what it is, caged, when a browser may show it."""
    kind = shown_as(file.name) if inline else None
    response = send(request, file, kind or BINARY)
    response["Content-Disposition"] = disposition(file.name, inline=kind is not None)
    if kind is not None:
        response["Content-Security-Policy"] = CAGE
    return response


def send(request: HttpRequest, file: Opened, content_type: str) -> HttpResponseBase:
    """200, 206, 304 or 416 by the headers of the request."""
    size = file.found.st_size
    response: HttpResponseBase
    try:
        part = part_of(request.headers.get("Range"), size) if _range_holds(request, file) else None
    except Unsatisfiable:
        os.close(file.handle)
        body = orjson.dumps({"error": f"There is no such part: the file has {size} bytes"})
        response = HttpResponse(body, status=416, content_type="application/json; charset=utf-8")
        response["Content-Range"] = f"bytes */{size}"
        return response
    if has_etag(request, file.etag):
        os.close(file.handle)
        response = HttpResponse(status=304)
    else:
        sent = part or Part(0, size)
        response = StreamingHttpResponse(Pieces(file.handle, sent), status=206 if part else 200)
        response["Content-Type"] = content_type
        response["Content-Length"] = str(sent.length)
        if part:
            response["Content-Range"] = f"bytes {part.start}-{part.start + part.length - 1}/{size}"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = file.etag
    response["Last-Modified"] = formatdate(int(file.found.st_mtime), usegmt=True)
    response["Cache-Control"] = "private, no-cache"
    return response


def _range_holds(request: HttpRequest, file: Opened) -> bool:
    """False when `If-Range` names another state than the one on disk: then the whole file goes out."""
    condition = request.headers.get("If-Range", "").strip()
    return not condition or condition in (file.etag, formatdate(int(file.found.st_mtime), usegmt=True))


def disposition(name: str, *, inline: bool) -> str:
    """`Content-Disposition` for any name: plain ASCII for old clients, the very name after RFC 5987."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%' else "_" for char in name)
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
