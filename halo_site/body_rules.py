"""How large a request body may be and of what type, by method and path: one table for the server and the middleware.

A path not listed takes JSON up to 2 MiB. Without a valid login every body ends at 1 MiB.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

MIB = 1024 * 1024
ANONYMOUS_CAP = MIB
UPLOAD_COOKIE = "halo_upload"  # a token of kind UPLOAD


class Body(StrEnum):
    JSON = "application/json"
    FORM = "multipart/form-data"
    ANY = "*/*"


@dataclass(frozen=True, slots=True)
class Rule:
    body: Body
    cap: int  # bytes


DEFAULT = Rule(Body.JSON, 2 * MIB)
OUTSIDE_API = Rule(Body.ANY, MIB)  # the staff site's forms

_RULES: tuple[tuple[str, re.Pattern[str], Rule], ...] = (
    ("PUT", re.compile(r"/api/files"), Rule(Body.JSON, 32 * MIB)),  # 10 MiB of text, escaped
    ("PUT", re.compile(r"/api/files/raw"), Rule(Body.ANY, 100 * MIB)),
    ("POST", re.compile(r"/api/files/upload"), Rule(Body.FORM, 2048 * MIB)),
    ("POST", re.compile(r"/api/sessions/uploads"), Rule(Body.ANY, 6 * MIB)),  # one image of 5 MiB
    ("POST", re.compile(r"/api/extensions/install"), Rule(Body.FORM, 101 * MIB)),  # a zip of 100 MiB
    ("POST", re.compile(r"/api/workspaces/import(/apply)?"), Rule(Body.FORM, 51 * MIB)),  # a zip of 50 MiB
    ("POST", re.compile(r"/admin/extensions_app/extension/upload/"), Rule(Body.FORM, 101 * MIB)),
)


def rule_for(method: str, path: str) -> Rule:
    for wanted, pattern, rule in _RULES:
        if wanted == method and pattern.fullmatch(path):
            return rule
    return DEFAULT if path.startswith("/api/") else OUTSIDE_API
