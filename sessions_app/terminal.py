"""Sessions as text for a terminal: what a model or a page wrote must not steer the terminal. Pure."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

OUTPUT_LINES = 10  # of a tool's output
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    """`text` without escape sequences and marks that turn the direction of writing; line breaks and tabs stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str, width: int) -> str:
    line = safe(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def moment(milliseconds: int) -> str:
    """Unix milliseconds -> UTC, to the second."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def message(row: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a display row; none for figures of usage."""
    if row["type"] == "usage":
        return
    who = row.get("agentName") or row["role"]
    mark = " (deleted)" if row.get("deleted") else ""
    yield f"--- {safe(str(who))}, {moment(row['timestamp'])}, entry {row['entryId']}{mark}"
    blocks = row.get("contentBlocks")
    if blocks is None:
        yield safe(row["content"])
        return
    for block in blocks:
        if block["type"] == "tool_call":
            yield from _call(block["toolCall"])
        elif block["type"] == "text":
            yield safe(block["text"])


def _call(call: Mapping[str, Any]) -> Iterator[str]:
    yield f"> {one_line(str(call['name']), 60)} {one_line(str(call['input']), 160)}"
    lines = safe(call.get("output", "")).splitlines()
    yield from (f"  {line}" for line in lines[:OUTPUT_LINES])
    if len(lines) > OUTPUT_LINES:
        yield f"  … {len(lines) - OUTPUT_LINES} more lines"
