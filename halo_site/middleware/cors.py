"""Which other origins may read the API (spec http-api).

No list: any origin may read, without the login. `HALO_CORS_ORIGINS` set: only those, with the login. So credentials
are never offered to an origin nobody listed (SECURITY-BAR B4).
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import async_only_middleware

from halo_site.lib.origins import parse_origin

from . import Next, is_api

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
ALLOWED_HEADERS = "Content-Type, Authorization, x-token, x-workspace, x-session-id, x-agent-id"


@async_only_middleware
def cors(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if not is_api(request):
            return await get_response(request)
        origin = request.META.get("HTTP_ORIGIN", "")
        preflight = request.method == "OPTIONS" and origin and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
        response = HttpResponse(status=204) if preflight else await get_response(request)
        patch_vary_headers(response, ["Origin"])
        place = parse_origin(origin)
        if place is None:
            return response
        allowed = settings.HALO.cors_origins
        if allowed and not any(place == parse_origin(other) for other in allowed):
            return response
        response["Access-Control-Allow-Origin"] = origin.strip()
        if allowed:
            response["Access-Control-Allow-Credentials"] = "true"
        if preflight:
            response["Access-Control-Allow-Methods"] = METHODS
            response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
            response["Access-Control-Max-Age"] = "86400"
        return response

    return middleware
