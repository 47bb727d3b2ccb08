"""Refuses requests that name another host (SECURITY-BAR B3). `X-Forwarded-Host` is never looked at."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from halo_site.lib.hosts import AnsweredHosts, host_allowed

from . import Next
from .peer import header

UNKNOWN_HOST = "This server does not answer to that host name; add it to HALO_HOSTS"


@async_only_middleware
def hosts(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if not host_allowed(request.META.get("HTTP_HOST") or _server_name(request), listed()):
            return JsonResponse({"error": UNKNOWN_HOST}, status=400)
        return await get_response(request)

    return middleware


def scope_host_allowed(scope: Mapping[str, Any]) -> bool:
    """The same check for a WebSocket scope."""
    return host_allowed(header(scope["headers"], b"host"), listed())


def listed() -> tuple[str, ...]:
    """Names the operator gave, and those that Django's tests add to its list."""
    return (*settings.HALO.hosts, *(name for name in settings.ALLOWED_HOSTS if not isinstance(name, AnsweredHosts)))


def _server_name(request: HttpRequest) -> str:
    # Django's in-process test client sends no Host header; over a socket there is no such key and "" is refused.
    return str(request.META.get("SERVER_NAME", "")) if getattr(request, "_dont_enforce_csrf_checks", False) else ""
