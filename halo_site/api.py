"""The JSON API: one DescribedAPI that mounts each app's router and maps errors to one shape, `{"error": text, ...}`.

An app adds routes by a module `api.py` with `router = Router(by_alias=True)`; paths in it start below `/api`. By the
time a route runs, the gate (halo_site/middleware/gate.py) has set `request.caller` on all but the public paths.
"""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import orjson
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Router
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from halo_site.lib.errors import BadRequest, HaloError, StorageFull, Unavailable

from .faults import log_fault
from .openapi import DescribedAPI

# Mounted in this order below /api; a module that does not exist yet is skipped, a broken one is an error at boot.
ROUTERS = (
    "halo_site.login_api",
    "workspaces_app.api",
    "workspaces_app.git.routes",
    "agents_app.api",
    "sessions_app.api",
    "relay_app.api",
    "cron_app.api",
    "channels_app.api",
    "evolution_app.api",
    "extensions_app.api",
)

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # the escape, not a backslash before "u0000"
INVALID_JSON = "Invalid JSON body"
NAMED_IDS = {"agent-configs": "agent id", "skills": "skill id", "extensions": "id"}  # of folders, below these areas


class OrjsonParser(Parser):
    """Takes an object. Refuses what JSON has not (NaN, lone surrogates) and NUL, which PostgreSQL cannot store."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        body = request.body
        if b"\\u0000" in body and _NUL.search(body):
            raise ValueError("NUL")
        parsed = orjson.loads(body)
        if not isinstance(parsed, dict):  # ninja would take a list for an object without fields
            raise ValueError("not an object")
        return parsed


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: object, *, response_status: int) -> bytes:
        return orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS)


api = DescribedAPI(
    title="Halo",
    version="1",
    openapi_url="/openapi.json",
    docs_url="/docs",
    parser=OrjsonParser(),
    renderer=OrjsonRenderer(),
)


def error_response(error: HaloError) -> HttpResponse:
    """The answer for an expected failure; also used by the middleware, outside ninja."""
    body = orjson.dumps({"error": str(error), **error.extra}, default=str)
    response = HttpResponse(body, status=error.status, content_type="application/json; charset=utf-8")
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    return response


def plain_error(status: int, text: str) -> HttpResponse:
    return JsonResponse({"error": text}, status=status)


@api.exception_handler(HaloError)
def on_expected(request: HttpRequest, error: HaloError) -> HttpResponse:
    return error_response(error)


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return error_response(BadRequest(describe(error.errors)))


@api.exception_handler(HttpError)
def on_ninja_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    unreadable = str(error).startswith("Cannot parse request body")
    return plain_error(error.status_code, INVALID_JSON if unreadable else str(error))


@api.exception_handler(Http404)
def on_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return plain_error(404, "Not found")


@api.exception_handler(OperationalError)
def on_database_trouble(request: HttpRequest, error: OperationalError) -> HttpResponse:
    """Locked or full is expected and says so; every other one is a fault."""
    text = str(error).lower()
    if "locked" in text or "server closed the connection" in text or "could not connect" in text:
        return error_response(Unavailable("The database is busy or gone; try again in a few seconds"))
    if "full" in text or "readonly" in text or "disk i/o" in text:
        return error_response(StorageFull("Storage cannot be written"))
    return on_fault(request, error)


@api.exception_handler(Exception)
def on_fault(request: HttpRequest, error: Exception) -> HttpResponse:
    return JsonResponse({"error": "internal error", "id": log_fault(request, error)}, status=500)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500, for everything outside ninja."""
    fault_id = log_fault(request, sys.exc_info()[1] or RuntimeError("unknown"))
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = JsonResponse({"error": "internal error", "id": fault_id}, status=500)
    else:
        text = f"<!doctype html><meta charset=utf-8><title>Halo</title><p>Internal error. Its id is {fault_id}.</p>"
        response = HttpResponse(text, status=500)
    response._has_been_logged = True  # type: ignore[attr-defined]  # by us, as one line
    return response


def unknown_route(request: HttpRequest) -> HttpResponse:
    """An id with slashes in it (`..%2F..%2Fetc`) reaches no route; one that would climb is refused by name."""
    area, *rest = request.path_info.removeprefix("/api/").split("/")
    if area in NAMED_IDS and {".", ".."} & set(rest):
        return plain_error(400, f"Invalid {NAMED_IDS[area]}")
    return plain_error(404, "Not found")


def describe(errors: list[dict[str, Any]]) -> str:
    """One sentence that names each wrong field: `title required; limit: Input should be a valid integer`."""
    parts = []
    for error in errors[:5]:
        # ninja: (source, argument name, field, ...); a plain parameter is its own argument.
        place = [str(step) for step in error["loc"][1:]]
        if error["loc"][0] == "body" and len(place) > 1:
            place = place[1:]
        name = ".".join(place)[:200] or "body"
        parts.append(f"{name} required" if error["type"] == "missing" else f"{name}: {error['msg']}"[:500])
    return "; ".join(parts) or "Invalid request"


def mount_routers() -> None:
    for module in ROUTERS:
        if find_spec(module) is not None:
            api.add_router("", cast(Router, import_module(module).router))


mount_routers()
