"""The login gate: below /api everything needs a login, except exactly these paths.

Sets `request.caller` (a Caller) and `request.login`. A login older than a day leaves with a fresh cookie.
"""

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from halo_site.auth import COOKIE, Login, identify, renewed, set_login_cookie
from halo_site.lib.token_paths import holds_token

from . import Next, is_api

PUBLIC = frozenset({"/api/auth/login", "/api/auth/check", "/api/auth/logout", "/api/health", "/api/ready"})


@async_only_middleware
def gate(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if not is_api(request):
            return await get_response(request)
        login = await login_of(request)
        if login is None and not is_public(request.path_info):
            return JsonResponse({"error": "Unauthorized"}, status=401)
        response = await get_response(request)
        fresh = renewed(login) if login else None
        if fresh is not None and COOKIE not in response.cookies:
            set_login_cookie(response, fresh, https=request.is_secure())
        return response

    return middleware


def is_public(path: str) -> bool:
    return path in PUBLIC or holds_token(path)


async def login_of(request: HttpRequest) -> Login | None:
    """Looks once per request; also sets `request.login` and `request.caller`."""
    login = None
    if {COOKIE, settings.SESSION_COOKIE_NAME} & request.COOKIES.keys():
        login = await sync_to_async(identify)(request.COOKIES)
    request.login = login  # type: ignore[attr-defined]
    if login is not None:
        request.caller = login.caller  # type: ignore[attr-defined]
    return login
