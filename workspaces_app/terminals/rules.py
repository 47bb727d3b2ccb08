"""Pure: limits of terminals, and what their shell knows of the server."""

import os
import string
import time
from collections.abc import Callable, Mapping

COLS, ROWS = 80, 24
MAX_COLS, MAX_ROWS = 1000, 500
MAX_PER_USER = 20
MAX_HERE = 200  # in one process
MAX_WAITING = 1 << 20  # bytes typed that the program has not read

# Built from empty: a login shell makes the rest. What is not named here stays with the server.
KEPT = frozenset(
    {
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "PATH",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "HALO_HOME",  # not a secret: `manage.py` in a terminal means this installation
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
    }
)
KEPT_FAMILIES = ("LC_", "XDG_")
_DIGITS = string.digits + string.ascii_lowercase


def clamped(value: int | None, default: int, most: int) -> int:
    return default if value is None else min(max(value, 1), most)


def new_id(now: float | None = None) -> str:
    """`term_` and the time in ms, base 36."""
    number, text = int((time.time() if now is None else now) * 1000), ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return f"term_{text}"


def environment(server: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in server.items() if name in KEPT or name.startswith(KEPT_FAMILIES)}
    return kept | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | dict(more)


def shell(server: Mapping[str, str], works: Callable[[str], bool] = lambda path: os.access(path, os.X_OK)) -> str:
    """Absolute path of `$SHELL`, else of bash, else of sh."""
    asked = server.get("SHELL", "")
    if asked.startswith("/") and works(asked):
        return asked
    return "/bin/bash" if works("/bin/bash") else "/bin/sh"


def as_login(path: str) -> list[str]:
    """The words that run a shell as a login shell: a dash before its own name, as login(1) does."""
    return [path, f"-{path.rpartition('/')[2]}"]


def exit_code(status: int) -> int:
    """As shells say it: a program that a signal ended has 128 + its number."""
    return 128 - status if status < 0 else status
