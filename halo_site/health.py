"""GET /api/health: answered before Django, so it passes no middleware and costs next to nothing.

asgi.py calls `health(scope, receive, send)` for `is_health(scope)`.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

PATH = "/api/health"
_started = time.monotonic()


def is_health(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["path"] == PATH)


async def health(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers GET and HEAD; 405 for anything else."""
    if scope["method"] not in ("GET", "HEAD"):
        status, body = 405, orjson.dumps({"error": "Method not allowed"})
    else:
        await asyncio.to_thread(git_sha)  # runs git once, off the loop; a cached answer afterwards
        status, body = 200, orjson.dumps(state())
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def state() -> dict[str, object]:
    """`timestamp` in Unix milliseconds, `uptime` in seconds; `gitSha` null in packages, `-dirty` when changed."""
    return {
        "status": "ok",
        "timestamp": time.time_ns() // 1_000_000,
        "uptime": round(time.monotonic() - _started, 3),
        "engine": "agent",
        "version": program_version(),
        "gitSha": git_sha(),
    }


@cache
def program_version() -> str:
    try:
        return version("halo-on-django")
    except PackageNotFoundError:  # run from a checkout
        return "0.1.0"


@cache
def git_sha() -> str | None:
    """Asked of git once per process."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None

    def git(*args: str) -> str:
        environment = {"PATH": os.defpath, "GIT_OPTIONAL_LOCKS": "0"}
        done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, timeout=5, env=environment)
        return done.stdout.decode(errors="replace").strip()

    try:
        sha = git("rev-parse", "--short=12", "HEAD")
        return f"{sha}-dirty" if sha and git("status", "--porcelain", "-uno") else sha or None
    except (OSError, subprocess.SubprocessError):
        return None
