"""JSON that a client need not fetch again while it is the same."""

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]


def answers_etag(view: View) -> View:
    """For `ninja.decorators.decorate_view`: a list whose answer is checked against its schema first."""

    @wraps(view)
    def tagged(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        return _tagged(request, response.content) if response.status_code == 200 else response

    return tagged


def json_with_etag(request: HttpRequest, document: object) -> HttpResponse:
    """The document, or 304 when the client has it."""
    return _tagged(request, orjson.dumps(document))


def has_etag(request: HttpRequest, etag: str) -> bool:
    asked = request.headers.get("If-None-Match", "")
    return etag in (tag.strip().removeprefix("W/") for tag in asked.split(","))


def _tagged(request: HttpRequest, body: bytes) -> HttpResponse:
    etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    if has_etag(request, etag):
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(body, content_type="application/json; charset=utf-8")
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    return response
