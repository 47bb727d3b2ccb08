"""The log of a server process: one JSON line per event, to stdout and to `global/logs/server.log`.

Line: `{"time": ISO 8601 UTC ms, "level": "info", "logger": "halo.serve", "message": ..., extra fields, "trace"?}`.
JSON escapes control bytes, so nothing an attacker names can start a line of its own (SECURITY-BAR L2). What looks
like one of our secrets is masked. Logging never raises: a full disk loses lines, not turns (spec observability 5).
"""

import json
import logging
import logging.handlers
import os
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from .env import Env

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
MASK = "[masked]"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_TOKENS = re.compile(
    r"(?i)\b(bearer\s+|(?:token|api[_-]?key|password|secret)=)[^\s&\"',;]{6,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|\bsk-[\w-]{12,}"
)


class JsonLines(logging.Formatter):
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._secrets = sorted({secret for secret in secrets if len(secret) >= 6}, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level = "warn" if record.levelname == "WARNING" else record.levelname.lower()
        line: dict[str, object] = {"time": at, "level": level, "logger": record.name}
        line["message"] = self.mask(record.getMessage())
        for key, value in vars(record).items():
            if key not in _STANDARD and not key.startswith("_"):
                line[key] = self.mask(value) if isinstance(value, str) else value
        if record.exc_info:
            line["trace"] = self.mask(self.formatException(record.exc_info))
        return json.dumps(line, default=lambda value: self.mask(str(value)))

    def mask(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _TOKENS.sub(lambda found: (found.group(1) or "") + MASK, text)


class _Noise(logging.Filter):
    """Daphne reports each request that a shutdown cuts off as a lost exception; that is no news (DEPENDENCIES R3)."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and getattr(record.exc_info[0], "__name__", "") == "RequestAborted")


def start(env: Env, *, file: Path | None = None, stream: TextIO | None = None) -> None:
    """Once per process, before it works. `file` rotates by size; None or an unwritable folder = no file.

    stream: where lines go besides, stdout unless told otherwise.
    """
    formatter = JsonLines(known_secrets(env))
    handlers: list[logging.Handler] = [logging.StreamHandler(stream or sys.stdout)]
    trouble = ""
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handlers.append(
                logging.handlers.RotatingFileHandler(
                    file, maxBytes=env.log_max_size, backupCount=env.log_max_files, encoding="utf-8"
                )
            )
        except OSError as error:
            place = "stdout" if stream is None else "stderr"
            trouble = f"{file} cannot be written ({error.strerror}): logging to {place} only"
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(_Noise())
    root = logging.getLogger()
    root.handlers = handlers
    root.setLevel(LEVELS.get(env.log_level, logging.WARNING))
    for name in ("django", "django.server", "daphne", "django_q", "django-q"):  # they bring handlers of their own
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
    # What these say below a warning is about themselves; logins are in the audit trail.
    for name in ("daphne", "axes", "httpx"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.raiseExceptions = False
    if trouble:
        logging.getLogger("halo.serve").warning(trouble)


def known_secrets(env: Env) -> list[str]:
    """Texts that must never appear in a line."""
    urls = [urlsplit(url).password or "" for url in (env.database_url, env.redis_url)]
    return [env.password, env.jwt_secret, *urls, os.environ.get("HALO_PASSWORD", "")]
