"""The process that reads one file and ends. Imports nothing of Django; starts in hundredths of a second.

Given: the file as handle 3, the question as JSON on standard input. Answers on standard output: one line of JSON with
`status` (200 or 400), `marks` and `total`, then the body as it goes to the browser. An export comes in pieces; it is
whole when the process ends with 0.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

import orjson

from . import export
from .page import Answer, Ask, Table, Unreadable

FILE = 3
MEMORY = 512 * 1024 * 1024
SECONDS = 10
EXPORT_SECONDS = 120  # by the clock: a slow client holds up an export, which may compute no longer than a page
LARGEST = 32 * 1024 * 1024  # bytes of an answer
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # linux/sched.h

Reader = Callable[[BinaryIO, Ask], Answer]
Whole = Callable[[BinaryIO, Ask], Table]
# Loaded when asked for: DuckDB alone takes a tenth of a second.
READERS = {
    "csv": ("delimited", "read"),
    "jsonl": ("json_lines", "read"),
    "parquet": ("parquet", "read"),
    "xlsx": ("workbook", "read"),
    "sqlite-tables": ("sqlite", "tables"),
    "sqlite-rows": ("sqlite", "rows"),
}
EXPORTED = {"csv", "jsonl", "parquet", "xlsx", "sqlite-rows"}  # their modules have a `whole` too


def main() -> None:
    asked = orjson.loads(sys.stdin.buffer.read())
    ask = Ask(**{**asked, "mark": tuple(asked["mark"]), "filters": tuple(asked["filters"])})
    limit(EXPORT_SECONDS if ask.export else SECONDS + 5)
    try:
        for piece in exported(ask) if ask.export == "all" else answer(ask):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except MemoryError:
        if ask.export == "all":
            os._exit(1)  # part of it may be out
        sys.stdout.buffer.write(head(400) + error("Reading this file needs more memory than a preview may take"))
        sys.stdout.buffer.flush()
    os._exit(0)  # nothing to tidy up; a library's own end may take long


def answer(ask: Ask) -> tuple[bytes, bytes]:
    """(head, body)."""
    try:
        with os.fdopen(FILE, "rb", closefd=False) as file:
            found = reader(ask.format)(file, ask)
    except Unreadable as reason:
        return head(400, reason.marks), error(str(reason))
    body = export.page(found.body) if ask.export else orjson.dumps(found.body)
    if len(body) > LARGEST:
        return head(400, found.marks), error("These rows hold more than 32 MB; ask for fewer rows")
    return head(200, found.marks, found.total), body


def exported(ask: Ask) -> Iterator[bytes]:
    """Head and pieces. What is wrong with the first piece is an answer; later it can only end the process."""
    with os.fdopen(FILE, "rb", closefd=False) as file:
        try:
            pieces = export.pieces(whole(ask.format)(file, ask))
            first = next(pieces)
        except (Unreadable, MemoryError) as reason:
            yield head(400) + error(str(reason) or "Reading this file needs more memory than a preview may take")
            return
        yield head(200) + first
        yield from pieces


def head(status: int, marks: list[tuple[int, int]] | None = None, total: int | None = None) -> bytes:
    return orjson.dumps({"status": status, "marks": marks or [], "total": total}) + b"\n"


def reader(format: str) -> Reader:
    module, name = READERS[format]
    found: Reader = getattr(import_module(f"{__package__}.{module}"), name)
    return found


def whole(format: str) -> Whole:
    found: Whole = import_module(f"{__package__}.{READERS[format][0]}").whole
    return found


def error(text: str) -> bytes:
    return orjson.dumps({"error": text.encode("utf-8", "replace").decode()[:1000]})


def limit(seconds: int = SECONDS + 5) -> None:
    """Little memory, little time, no files written, no network. The parent also watches the clock."""
    for what, most in (
        (resource.RLIMIT_DATA, MEMORY),  # what is really taken; libraries reserve far more addresses than they use
        (resource.RLIMIT_AS, 8 * MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 1024 * 1024),  # SQLite may have to make the index of a log that is there
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(what, (most, most))
    signal.alarm(seconds)  # also when the server died meanwhile
    with suppress(OSError, AttributeError):  # where the system allows it; the readers ask for no network anyway
        unshare = ctypes.CDLL(None, use_errno=True).unshare
        # Alone first: in a user namespace of its own root loses the right to read files of others.
        if unshare(_NEW_NET):
            unshare(_NEW_USER | _NEW_NET)
