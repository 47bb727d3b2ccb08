"""Tool file_read: numbered lines of a text file."""

import os
from typing import BinaryIO

from pydantic import Field

from halo_site.lib.text import decode
from workspaces_app.files.version import version_of

from .contract import Tool, ToolContext, ToolParams, ToolResult, refused
from .door import door, in_thread
from .seen import remember

WHOLE_LIMIT = 2 * 1024 * 1024  # bytes; larger files are read by range only
TAKEN_LIMIT = 4 * 1024 * 1024  # bytes of text one call gives back at most
LINE_LIMIT = 256 * 1024  # bytes shown of one line
SCAN_LIMIT = 512 * 1024 * 1024  # bytes looked through to count lines
DEFAULT_LINES = 2000


class Params(ToolParams):
    """Read a text file. Every line comes with its number. Read large files in ranges."""

    path: str = Field(description="File, relative to the workspace root")
    offset: int | None = Field(default=None, ge=1, description="First line, from 1")
    limit: int | None = Field(default=None, ge=1, description=f"Number of lines (default {DEFAULT_LINES})")


def _taken(file: BinaryIO, first: int, count: int, ctx: ToolContext) -> tuple[list[str], int, bool]:
    """The wanted lines, the number of lines, and whether the file was looked through to its end.

    Memory stays small whatever the file holds: a line is read in pieces, and only its first piece is kept.
    """
    taken: list[str] = []
    size = scanned = total = 0
    begins = True
    while piece := file.readline(LINE_LIMIT):
        scanned += len(piece)
        if begins:
            total += 1
            if first <= total < first + count and size < TAKEN_LIMIT:
                cut = len(piece) == LINE_LIMIT and not piece.endswith(b"\n")
                taken.append(decode(piece).rstrip("\n") + (f" [line cut after {LINE_LIMIT} bytes]" if cut else ""))
                size += len(piece)
        begins = piece.endswith(b"\n")
        if scanned > SCAN_LIMIT or (total % 4096 == 0 and ctx.abort.is_set()):
            return taken, total, False
    return taken, total, True


def _read(params: Params, ctx: ToolContext) -> ToolResult:
    files = door(ctx)
    with os.fdopen(files.open_file(params.path), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > WHOLE_LIMIT and params.offset is None and params.limit is None:
            return refused(
                f"{params.path} is large ({found.st_size / 1024 / 1024:.1f} MiB). "
                "Read a range with offset and limit, or search it with grep."
            )
        if b"\0" in file.read(512):
            return refused(f"{params.path} is a binary file ({found.st_size} bytes) and cannot be read as text.")
        file.seek(0)
        first, count = params.offset or 1, params.limit or DEFAULT_LINES
        taken, total, whole = _taken(file, first, count, ctx)
        version = version_of(file.fileno(), found)
    if ctx.abort.is_set():
        return refused("Reading was stopped.")
    remember(ctx, files.full_path(params.path), version)
    if not total:
        return ToolResult("(empty file)")
    if not taken:
        return ToolResult(f"(empty: file has {total} lines, offset={first} is past end)")
    last = first + len(taken) - 1
    width = len(str(last))
    lines = [f"{first + i:>{width}}\t{line}" for i, line in enumerate(taken)]
    if total > last:
        more = f"{total - last}" if whole else f"at least {total - last}"
        lines.append(f"... {more} more line(s) — use `offset={last + 1}` to continue.")
    return ToolResult("\n".join(lines))


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    return await in_thread(_read, params, ctx)


TOOL = Tool(name="file_read", params=Params, run=run, read_only=True)
