"""Gzip for JSON above 1 KiB. Never for streams (they must not wait) and never for what is compressed already."""

import asyncio
import gzip

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import async_only_middleware

from . import Next, is_api

SMALLEST = 1024  # bytes
ON_THE_LOOP = 64 * 1024  # up to here it takes less than a millisecond; larger ones go to a thread
LEVEL = 4


@async_only_middleware
def compress(get_response: Next) -> Next:
    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if not is_api(request) or not isinstance(response, HttpResponse) or not _fits(response):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        if "gzip" not in request.META.get("HTTP_ACCEPT_ENCODING", ""):
            return response
        body = response.content
        packed = await asyncio.to_thread(_pack, body) if len(body) > ON_THE_LOOP else _pack(body)
        if len(packed) < len(body):
            response.content = packed
            response["Content-Encoding"] = "gzip"
            response["Content-Length"] = str(len(packed))
            if response.get("ETag", "").startswith('"'):
                response["ETag"] = "W/" + response["ETag"]  # other bytes, same meaning
        return response

    return middleware


def _fits(response: HttpResponse) -> bool:
    if response.has_header("Content-Encoding") or len(response.content) < SMALLEST:
        return False
    return response.get("Content-Type", "").startswith("application/json")


def _pack(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)
