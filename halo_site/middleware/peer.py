"""Who calls and over what: mends REMOTE_ADDR and the scheme by the trusted proxy's headers, before anybody looks."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from halo_site.lib.proxies import client_address, forwarded_scheme
from halo_site.lib.settings_store import general

from . import Next


@async_only_middleware
def peer(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        trusted = trust_proxy()
        meta = request.META
        meta["REMOTE_ADDR"] = client_address(
            meta.get("REMOTE_ADDR") or "",
            meta.get("HTTP_X_FORWARDED_FOR", ""),
            trust_proxy=trusted,
            trusted=settings.HALO.trusted_proxies,
        )
        scheme = forwarded_scheme(request.scheme or "http", meta.get("HTTP_X_FORWARDED_PROTO", ""), trust_proxy=trusted)
        meta["wsgi.url_scheme"] = scheme
        if hasattr(request, "scope"):
            request.scope["scheme"] = scheme
        return await get_response(request)

    return middleware


def scope_peer(scope: Mapping[str, Any]) -> tuple[str, str]:
    """(address, scheme) of an HTTP or WebSocket scope, by the same rules."""
    trusted = trust_proxy()
    address = client_address(
        (scope.get("client") or [""])[0],
        header(scope["headers"], b"x-forwarded-for"),
        trust_proxy=trusted,
        trusted=settings.HALO.trusted_proxies,
    )
    proto = header(scope["headers"], b"x-forwarded-proto")
    return address, forwarded_scheme(scope.get("scheme") or "http", proto, trust_proxy=trusted)


def trust_proxy() -> bool:
    """`general.server.trust_proxy`, as it stands now."""
    return general("server.trust_proxy") is True


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """All values of one header, joined by commas; empty when absent."""
    return ",".join(value.decode("latin1") for key, value in headers if key.lower() == name)
