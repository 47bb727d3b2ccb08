"""Static files and the page of the browser app, answered before Django.

Names of built files carry a hash, so browsers keep them for good; compressed neighbours (.br, .gz) made by the build
are sent as they are. Everything below `/static/` that is no file is 404; every other GET gets the app's page.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from whitenoise.base import WhiteNoise

from extensions_app import assets
from halo_site.middleware.headers import headers_for
from halo_site.middleware.hosts import UNKNOWN_HOST, scope_host_allowed

from . import spa

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Any]

PREFIX = "/static/"
CHUNK = 256 * 1024
NOT_PAGES = re.compile(r"/(?:api|admin|static|ws)(?:/|\Z)")
_HASHED = re.compile(r"^/static/app/(?:.*/)?[^/]+-[\w-]{8}\.\w+$")
_ASKED = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class StaticFiles:
    """An index of all files, made at the first request and again after a new build of the app."""

    def __init__(self) -> None:
        self._index: Any = None
        self._build = -1

    def owns(self, scope: Scope) -> bool:
        return bool(scope["path"].startswith(PREFIX))

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        if not scope_host_allowed(scope):
            await _send_text(scope, send, 400, UNKNOWN_HOST)
            return
        build = _build_stamp()
        if self._index is None or build != self._build:
            self._index, self._build = await asyncio.to_thread(_index), build
        file = self._index.files.get(scope["path"])
        if file is None:
            await _send_text(scope, send, 404, "Not found")
            return
        asked = {
            "HTTP_" + name.decode().upper().replace("-", "_"): value.decode("latin1")
            for name, value in scope["headers"]
            if name in _ASKED
        }
        response = await asyncio.to_thread(file.get_response, scope["method"], asked)
        headers = {name.lower(): value for name, value in response.headers}
        safe = headers_for(scope["path"], headers.get("content-type", ""))
        await send(
            {
                "type": "http.response.start",
                "status": int(response.status),
                "headers": _encoded({name.lower(): value for name, value in safe.items()} | headers),
            }
        )
        await _send_file(send, response.file)


def _index() -> WhiteNoise:
    index = WhiteNoise(
        None,
        max_age=60,
        allow_all_origins=False,
        immutable_file_test=lambda path, url: _HASHED.match(url) is not None,
    )
    for folder in _folders():
        index.add_files(folder, PREFIX)
    if spa.DIST.is_dir():
        index.add_files(spa.DIST, spa.BASE)
    hidden = [url for url in index.files if "/." in url]
    for url in hidden:
        del index.files[url]
    return index


def _folders() -> list[str]:
    """What `collectstatic` gathered, else the folders it would gather from."""
    if Path(settings.STATIC_ROOT).is_dir():
        return [str(settings.STATIC_ROOT)]
    storages = [storage for finder in get_finders() for storage in getattr(finder, "storages", {}).values()]
    return [storage.location for storage in reversed(storages)]


def _build_stamp() -> int:
    try:
        return spa.MANIFEST.stat().st_mtime_ns
    except OSError:
        return 0


async def _send_file(send: Send, file: BinaryIO | None) -> None:
    if file is None:
        await send({"type": "http.response.body", "body": b""})
        return
    try:
        more = True
        while more:
            data = await asyncio.to_thread(file.read, CHUNK)
            more = len(data) == CHUNK
            await send({"type": "http.response.body", "body": data, "more_body": more})
    finally:
        file.close()


def wants_page(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD") and NOT_PAGES.match(scope["path"]) is None


async def serve_page(scope: Scope, receive: Any, send: Send) -> None:
    """The app's page, or a sentence that says how to build it. Never cached: it names the hashed files."""
    if not scope_host_allowed(scope):
        await _send_text(scope, send, 400, UNKNOWN_HOST)
        return
    page = spa.shell()
    headers = {"content-type": page.content_type, "cache-control": "no-cache"}
    await _send(scope, send, page.status, headers, page.body)


async def serve_asset(scope: Scope, send: Send, asked: assets.Asked) -> None:
    """A file of an extension, from a host that is ours."""
    if not scope_host_allowed(scope):
        await _send_text(scope, send, 400, UNKNOWN_HOST)
        return
    await assets.serve(scope, send, asked)


async def _send_text(scope: Scope, send: Send, status: int, text: str) -> None:
    await _send(scope, send, status, {"content-type": "text/plain; charset=utf-8"}, text.encode())


async def _send(scope: Scope, send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    safe = {name.lower(): value for name, value in headers_for(scope["path"], headers["content-type"]).items()}
    found = safe | headers | {"content-length": str(len(body))}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(found)})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@cache
def _name(name: str) -> bytes:
    return name.encode("latin1")


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(_name(name), str(value).encode("latin1")) for name, value in headers.items()]
