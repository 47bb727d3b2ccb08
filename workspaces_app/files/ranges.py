"""Parts of a file: the `Range` header. Pure (RFC 9110, 14)."""

import re
from dataclasses import dataclass

_ONE = re.compile(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.ASCII | re.IGNORECASE)
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Part:
    start: int
    length: int


class Unsatisfiable(Exception):
    """There is nothing to send: 416."""


def part_of(header: str | None, size: int) -> Part | None:
    """The part asked for, cut at the end of the file; None = send all of it (no range, several, or not bytes).

    Raises Unsatisfiable for a range that begins behind the end, is empty, or ends before it begins.
    """
    found = _ONE.fullmatch(header or "")
    if found is None or found.group(1) == found.group(2) == "":
        return None
    first, last = (int(digits[:_DIGITS]) if digits else None for digits in found.groups())
    if first is None:
        assert last is not None
        first, last = max(0, size - last), size - 1
    elif last is None or last >= size:
        last = size - 1 if last is None or last >= first else last
    if first >= size or last < first:
        raise Unsatisfiable
    return Part(first, last - first + 1)
