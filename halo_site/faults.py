"""What an unexpected error leaves behind: one JSON line in the log, and an id for the person who saw it.

The line holds everything we know; the answer holds the id only, never a path, a query or a message (SECURITY-BAR L2).
JSON escapes CR, LF and ANSI bytes, so a hostile name cannot forge a second line or colour a terminal.
"""

import logging
import secrets
import traceback

import orjson
from django.http import HttpRequest

from halo_site.lib.token_paths import without_token

logger = logging.getLogger("halo.fault")


def log_fault(request: HttpRequest, error: BaseException) -> str:
    """Log `error` as one line; returns the id to show."""
    fault_id = secrets.token_hex(6)
    caller = getattr(request, "caller", None)
    line = {
        "event": "fault",
        "id": fault_id,
        "method": request.method,
        "path": without_token(request.path),
        "user": getattr(caller, "user_id", None),
        "error": type(error).__name__,
        "text": str(error)[:2000],
        "trace": "".join(traceback.format_exception(error))[-20_000:],
    }
    logger.error("%s", orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode())
    return fault_id
