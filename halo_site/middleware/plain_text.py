"""No NUL in an address: PostgreSQL cannot store it, and no path or id has one. JSON bodies: OrjsonParser in api.py."""

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from . import Next

NUL = "NUL is not allowed here"


@async_only_middleware
def plain_text(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return JsonResponse({"error": NUL}, status=400)
        return await get_response(request)

    return middleware
