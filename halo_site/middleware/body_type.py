"""JSON routes take JSON: a body that calls itself text or a form is refused with 415.

A foreign page can send those types without asking first (no preflight), so accepting them would be a hole.
"""

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from halo_site.body_rules import Body, rule_for

from . import Next, is_api
from .origin import SAFE


@async_only_middleware
def body_type(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.method not in SAFE and is_api(request) and has_body(request):
            expected = rule_for(request.method or "", request.path_info).body
            if not fits(expected, request.META.get("CONTENT_TYPE", "")):
                return JsonResponse({"error": f"Content-Type must be {expected.value}"}, status=415)
        return await get_response(request)

    return middleware


def has_body(request: HttpRequest) -> bool:
    return request.META.get("CONTENT_LENGTH", "0") not in ("", "0") or "HTTP_TRANSFER_ENCODING" in request.META


def fits(expected: Body, content_type: str) -> bool:
    if expected is Body.ANY:
        return True
    kind, _, rest = content_type.partition(";")
    charset = rest.strip().lower().replace('"', "")
    if expected is Body.JSON and charset.startswith("charset=") and charset != "charset=utf-8":
        return False
    return kind.strip().lower() == expected.value
