"""A view as csv: UTF-8, commas, CRLF, the names first (RFC 4180). Pure but for the stream it writes to."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from .page import Table

BUFFER = 64 * 1024  # characters


def pieces(table: Table) -> Iterator[bytes]:
    """The whole table. Raises Unreadable in the middle when the file turns out broken."""
    return _written([table.names], table.rows)


def page(body: dict[str, object]) -> bytes:
    """What a page's JSON body shows."""
    columns, rows = body["columns"], body["rows"]
    assert isinstance(columns, list)
    assert isinstance(rows, list)
    return b"".join(_written([[column["name"] for column in columns]], rows))


def _written(head: Iterable[Sequence[object]], rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for part in (head, rows):
        for row in part:
            writer.writerow([_plain(cell) for cell in row])
            if out.tell() >= BUFFER:
                yield out.getvalue().encode("utf-8", "replace")
                out.seek(0)
                out.truncate()
    yield out.getvalue().encode("utf-8", "replace")


def _plain(cell: object) -> object:
    """Nothing for null, and truth as JSON spells it."""
    return "true" if cell is True else "false" if cell is False else cell
