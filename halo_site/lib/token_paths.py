"""Paths that hold a token: the route checks it, no login is asked for, and no log shows it (SECURITY-BAR E3).

A new kind of such a path is added here, and gate, fault log and access log know it.
"""

import re

_PATHS = re.compile(r"(/api/(?:preview|extensions/[^/?]+/[^/?]+)/)([^/?]+)(/.+)", re.DOTALL)


def holds_token(path: str) -> bool:
    return _PATHS.fullmatch(path) is not None


def without_token(path: str) -> str:
    """The path as a log may show it; a query stays."""
    return _PATHS.sub(r"\1***\3", path, count=1)
