"""Entry point for HTTP and the socket. What needs no Django does not pass it: health, files, the page.

Works under `manage.py serve`, under `daphne halo_site.asgi:application`, and under other ASGI servers (with their
own back-pressure and pings).
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_site.settings")
django.setup(set_prefix=False)  # loads the apps: everything below may import models

from extensions_app import assets  # noqa: E402
from halo_site.auth import authenticate_scope  # noqa: E402
from halo_site.files import StaticFiles, serve_asset, serve_page, wants_page  # noqa: E402
from halo_site.health import health, is_health  # noqa: E402
from halo_site.http_threads import HttpThreads  # noqa: E402
from halo_site.hub.app import Gate, SocketApp  # noqa: E402
from halo_site.hub.daphne_protocol import install  # noqa: E402
from halo_site.hub.service import the_hub  # noqa: E402
from halo_site.long_messages import Handler, serve  # noqa: E402
from halo_site.long_messages import install as hand_over_files  # noqa: E402
from halo_site.middleware.hosts import scope_host_allowed  # noqa: E402
from halo_site.middleware.origin import scope_origin_allowed  # noqa: E402
from halo_site.middleware.peer import scope_peer  # noqa: E402
from halo_site.request_class import install as cap_bodies  # noqa: E402
from halo_site.transport import start_web  # noqa: E402

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

install()
cap_bodies()
hand_over_files()


def _address(scope: Mapping[str, Any]) -> str:
    return scope_peer(scope)[0]


http_threads = HttpThreads(Handler())
_files = StaticFiles()
_sockets = SocketApp(
    the_hub(),
    Gate(
        host_allowed=scope_host_allowed,
        origin_allowed=scope_origin_allowed,
        authenticate=authenticate_scope,
        address=_address,
    ),
)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    kind = scope["type"]
    if kind == "http" and is_health(scope):
        await health(scope, receive, send)
        return
    if kind == "lifespan":
        await _lifespan(receive, send)
        return
    start_web(authenticate_scope)
    if kind == "websocket":
        await _sockets(scope, receive, send)
    elif _files.owns(scope):
        await _files(scope, receive, send)
    elif (asset := assets.asked_by(scope)) is not None:
        await serve_asset(scope, send, asset)
    elif wants_page(scope):
        await serve_page(scope, receive, send)
    else:
        await serve(http_threads, scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    """daphne has none of this; other servers ask."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
