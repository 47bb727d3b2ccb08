"""Unsafe requests must come from our own pages (SECURITY-BAR B1, B2): no other site can use a visitor's login.

A browser says where a request comes from in `Origin` or `Sec-Fetch-Site`. A request with a login cookie that says
neither is refused; one without a cookie (curl, a script with its own token) has no login to abuse and passes.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from halo_site.auth import COOKIE, scope_cookies
from halo_site.lib.origins import origin_allowed, same_site_host

from . import Next
from .peer import header, scope_peer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
FOREIGN = "This request comes from another site"


@async_only_middleware
def origin(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        # Django's switch for its in-process test client; a request from a socket never has it.
        checked = request.method not in SAFE and not getattr(request, "_dont_enforce_csrf_checks", False)
        if checked and not from_own_page(request):
            return JsonResponse({"error": FOREIGN}, status=403)
        return await get_response(request)

    return middleware


def from_own_page(request: HttpRequest) -> bool:
    meta = request.META
    cookies = bool({COOKIE, settings.SESSION_COOKIE_NAME} & request.COOKIES.keys())
    if not cookies and ("HTTP_X_TOKEN" in meta or "HTTP_AUTHORIZATION" in meta):
        return True
    return decide(
        meta.get("HTTP_ORIGIN"),
        meta.get("HTTP_SEC_FETCH_SITE"),
        scheme=request.scheme or "",
        host=meta.get("HTTP_HOST", ""),
        with_login=cookies,
    )


def decide(origin: str | None, fetch_site: str | None, *, scheme: str, host: str, with_login: bool) -> bool:
    """Whether an unsafe request may pass. Pure."""
    if origin is not None:
        if origin_allowed(origin, scheme=scheme, host=host, listed=settings.HALO.cors_origins):
            return True
        # A proxy that ends TLS without `trust_proxy`: the browser itself vouches that page and server are one site.
        return fetch_site == "same-origin" and same_site_host(origin, host)
    if fetch_site is not None:
        return fetch_site in ("same-origin", "none")
    return not with_login


def scope_origin_allowed(scope: Mapping[str, Any]) -> bool:
    """For a WebSocket upgrade: an `Origin` must be ours; a client without one must not use a login cookie.

    Browsers always send it, so a missing one is a program; that must bring the cookie knowingly and is told to.
    """
    said = header(scope["headers"], b"origin")
    if not said:
        return not scope_cookies(scope["headers"]).keys() & {COOKIE, settings.SESSION_COOKIE_NAME}
    host = header(scope["headers"], b"host")
    return origin_allowed(said, scheme=scope_peer(scope)[1], host=host, listed=settings.HALO.cors_origins)
