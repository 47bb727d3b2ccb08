"""The title of a session, taken from its first message (spec sessions, "Title"). Pure."""

import re

_VIEWING = re.compile(r"\A\s*\[Currently viewing: [^\]\n]*\]")
_SELECTED = re.compile(r"\A\s*\[Selected text in [^\]\n]*\]\s*(`{3,}|~{3,}).*?\n\1[ \t]*(?:\n|\Z)", re.S)
_REFERENCED = re.compile(r"\A\s*\[Referenced files:\n(?:  - [^\n]*\n)+\]")
LENGTH = 60


def title_of(text: str) -> str | None:
    """At most 60 characters in one line; None when nothing is left, shown as "New session"."""
    while True:
        rest = text
        for block in (_VIEWING, _SELECTED, _REFERENCED):
            rest = block.sub("", rest, count=1)
        if rest == text:
            break
        text = rest
    line = " ".join(text.split())
    return line[:LENGTH].rstrip() or None
