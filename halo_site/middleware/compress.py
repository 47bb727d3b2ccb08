"""Gzip, or deflate for who takes only that, for JSON above 1 KiB.

Never for streams (they must not wait) and never for what is compressed already.
"""

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import async_only_middleware

from . import Next, is_api

SMALLEST = 1024  # bytes
ON_THE_LOOP = 64 * 1024  # up to here it takes less than a millisecond; larger ones go to a thread
LEVEL = 4
PACK: dict[str, Callable[[bytes], bytes]] = {  # best first
    "gzip": lambda body: gzip.compress(body, LEVEL, mtime=0),
    "deflate": lambda body: zlib.compress(body, LEVEL),
}
_NEVER = re.compile(r"q\s*=\s*0(\.0{0,3})?", re.ASCII | re.IGNORECASE)


@async_only_middleware
def compress(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if not is_api(request) or not isinstance(response, HttpResponse) or not _fits(response):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        coding = coding_for(request.META.get("HTTP_ACCEPT_ENCODING", ""))
        if coding is None:
            return response
        body, pack = response.content, PACK[coding]
        packed = await asyncio.to_thread(pack, body) if len(body) > ON_THE_LOOP else pack(body)
        if len(packed) < len(body):
            response.content = packed
            response["Content-Encoding"] = coding
            response["Content-Length"] = str(len(packed))
            if response.get("ETag", "").startswith('"'):
                response["ETag"] = "W/" + response["ETag"]  # other bytes, same meaning
        return response

    return middleware


def _fits(response: HttpResponse) -> bool:
    if response.has_header("Content-Encoding") or len(response.content) < SMALLEST:
        return False
    return response.get("Content-Type", "").startswith("application/json")


def coding_for(accepted: str) -> str | None:
    """The best coding that an `Accept-Encoding` takes; None = plain. Pure."""
    takes: dict[str, bool] = {}
    for part in accepted.split(","):
        name, _, weight = part.partition(";")
        takes[name.strip().lower()] = _NEVER.fullmatch(weight.strip()) is None
    return next((name for name in PACK if takes.get(name, takes.get("*", False))), None)
