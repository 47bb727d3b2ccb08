"""Files of extensions, answered before Django (spec canvas-extensions 3.6; SECURITY-BAR E3, E4).

`GET /api/extensions/<id>/<version>/<token>/<path>`. A version's files never change under their address, so small ones
are kept in memory until the snapshot changes; large ones are sent in pieces from a thread.
"""

import asyncio
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from halo_site.tokens import BadToken

from . import registry
from .asset_token import Grant, grant_of
from .isolation import Isolation, isolation, policy
from .manifest import is_served
from .scanner import Installed, inside

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Any]

_PATH = re.compile(r"/api/extensions/([^/]+)/([^/]+)/([^/]+)/(.+)", re.S)
KEEP_BELOW = 256 * 1024  # bytes of one file
KEEP_ALL = 32 * 1024 * 1024
CHUNK = 256 * 1024

TYPES = {
    "html": "text/html; charset=utf-8",
    "htm": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "map": "application/json",
    "txt": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "svg": "image/svg+xml",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
}
_OTHER = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of an address. `base`: its path up to the token, with a slash behind."""

    id: str
    version: str
    token: str
    path: str

    @property
    def base(self) -> str:
        return f"/api/extensions/{self.id}/{self.version}/{self.token}/"


def asked_by(scope: Scope) -> Asked | None:
    """What an address asks for; None = it is none of ours."""
    found = _PATH.fullmatch(scope["path"])
    return Asked(*found.groups()) if found else None


class _Kept:
    """Small files by (version as installed, path), until another snapshot."""

    def __init__(self) -> None:
        self._of: object = None
        self._files: OrderedDict[tuple[str, str], tuple[bytes, str]] = OrderedDict()
        self._size = 0

    def get(self, snapshot: object, id: str, path: str) -> tuple[bytes, str] | None:
        if snapshot is not self._of:
            self._of, self._size = snapshot, 0
            self._files.clear()
        return self._files.get((id, path))

    def put(self, snapshot: object, id: str, path: str, data: bytes, kind: str) -> None:
        if snapshot is not self._of or (id, path) in self._files:
            return
        self._files[id, path] = data, kind
        self._size += len(data)
        while self._size > KEEP_ALL:
            _, (old, _) = self._files.popitem(last=False)
            self._size -= len(old)


_kept = _Kept()


async def serve(scope: Scope, send: Send, asked: Asked) -> None:
    """The file, or 401 for a token that does not fit and 404 for everything else that is not there."""
    if scope["method"] not in ("GET", "HEAD"):
        await _refuse(send, 405, "Method not allowed")
        return
    try:
        grant = grant_of(asked.token)
    except BadToken:
        await _refuse(send, 401, "Unauthorized")
        return
    if not grant.covers(asked.id, asked.version):
        await _refuse(send, 401, "Unauthorized")
        return
    known = registry.cached()
    snapshot = known if known is not None else await asyncio.to_thread(registry.snapshot)
    installed = snapshot.find(asked.id)
    if installed is None or installed.manifest.version != asked.version or not _may_be_served(scope, asked):
        await _refuse(send, 404, "Not found")
        return
    kept = _kept.get(snapshot, asked.id, asked.path)
    if kept is None:
        file = await asyncio.to_thread(_open, installed, asked.path)
        if file is None:
            await _refuse(send, 404, "Not found")
            return
        size = os.fstat(file.fileno()).st_size
        if size >= KEEP_BELOW:
            await _stream(scope, send, file, size, _headers(scope, asked, grant, _kind(asked.path), size))
            return
        with file:
            kept = await asyncio.to_thread(file.read), _kind(asked.path)
        _kept.put(snapshot, asked.id, asked.path, *kept)
    data, kind = kept
    headers = _headers(scope, asked, grant, kind, len(data))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else data})


def _may_be_served(scope: Scope, asked: Asked) -> bool:
    """A service worker would outlive the viewer's tab and answer for other pages."""
    worker = any(name == b"service-worker" for name, _ in scope["headers"])
    return not worker and is_served(asked.path)


def _open(installed: Installed, path: str) -> BinaryIO | None:
    """An open regular file of the extension. In a thread."""
    folder = registry.root() / installed.manifest.id
    real = inside(folder, path)
    if real is None or not is_served(str(real.relative_to(os.path.realpath(folder)))):
        return None
    return _regular(real)


def _regular(place: Path) -> BinaryIO | None:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb")


def _kind(path: str) -> str:
    return TYPES.get(path.rpartition(".")[2].lower(), _OTHER)


def _headers(scope: Scope, asked: Asked, grant: Grant, kind: str, size: int) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(size).encode()),
        (b"access-control-allow-origin", b"*"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"public, max-age=31536000, immutable"),
    ]
    mode = isolation()
    if mode is not Isolation.COMPAT and not (grant.compat and mode is Isolation.AUTO):
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin1")
        headers.append((b"content-security-policy", policy(host, asked.base).encode()))
    return headers


async def _stream(scope: Scope, send: Send, file: BinaryIO, size: int, headers: list[tuple[bytes, bytes]]) -> None:
    with file:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        left = 0 if scope["method"] == "HEAD" else size
        while left:
            data = await asyncio.to_thread(file.read, min(CHUNK, left))
            if not data:
                raise ConnectionError("the file became shorter while it was sent")  # ends the connection, not the body
            left -= len(data)
            await send({"type": "http.response.body", "body": data, "more_body": left > 0})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, status: int, text: str) -> None:
    body = b'{"error":"%s"}' % text.encode()
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"access-control-allow-origin", b"*"),  # so that a viewer can tell "reload me" from "no network"
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
