"""csv and tsv (spec previews 4, CSV rules 1 to 5): one pass, memory of one page, whatever the file's size."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from . import view
from .page import MAX_ROW, Answer, Ask, Table, Unreadable, columns
from .text_lines import ENCODINGS, TOO_LONG, Lines, Marks, encoding_of

HEAD = 64 * 1024
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?", re.ASCII)


def read(file: BinaryIO, ask: Ask) -> Answer:
    """A page of the table. Raises Unreadable for a row of more than a million characters."""
    opened = _Opened(file, ask)
    sort, conditions = view.asked(ask)
    if sort or conditions:
        pick = view.by_place(opened.header, sort, conditions)
        found, total, more = view.page(_rows(opened.lines, opened.mark), ask, sort, conditions, pick)
        return Answer(_body(opened, found, ask, total, more))
    passed, start = ask.mark
    lines = opened.lines
    if start and lines.counted:
        lines = Lines(file, opened.encoding, start=start)
    marks = Marks(lines)
    page: list[list[str]] = []
    has_more = False
    for row in _rows(lines, opened.mark):
        if passed >= ask.offset + ask.limit:
            has_more = True
            break
        if passed >= ask.offset:
            page.append(row)
        passed += 1
        marks.passed(passed)
    return Answer(_body(opened, page, ask, passed + has_more, has_more), marks.found)


def whole(file: BinaryIO, ask: Ask) -> Table:
    opened = _Opened(file, ask)
    sort, conditions = view.asked(ask)
    rows = _rows(opened.lines, opened.mark)
    if sort or conditions:
        rows = view.viewed(rows, sort, conditions, view.by_place(opened.header, sort, conditions))
    return Table(opened.header, rows)


class _Opened:
    """A file whose header was read; `lines` stand at the first row."""

    def __init__(self, file: BinaryIO, ask: Ask) -> None:
        csv.field_size_limit(MAX_ROW + 1)
        head = file.read(HEAD)
        self.encoding, skip = encoding_of(head, ask.encoding)
        self.mark = delimiter(head.decode(ENCODINGS[self.encoding], "replace"), ask.name)
        self.lines = Lines(file, self.encoding, start=skip)
        self.header = next(_rows(self.lines, self.mark), [])


def _rows(lines: Lines, mark: str) -> Iterator[list[str]]:
    try:
        for row in csv.reader(lines, delimiter=mark):
            lines.restart_row()
            if row:
                yield row
    except csv.Error as error:
        raise Unreadable(TOO_LONG if "field limit" in str(error) else f"Not readable as a table: {error}") from error


def _body(opened: _Opened, page: list[list[str]], ask: Ask, total: int, has_more: bool) -> dict[str, object]:
    header = opened.header
    width = max(map(len, [header, *page]), default=0)
    names = header + [""] * (width - len(header))
    rows = [row + [""] * (width - len(row)) for row in page]
    kinds = [column_kind([row[place] for row in rows]) for place in range(width)]
    return {
        "columns": columns(names, kinds),
        "rows": rows,
        "totalRows": total,
        "hasMore": has_more,
        "offset": ask.offset,
        "limit": ask.limit,
        "encoding": opened.encoding,
    }


def column_kind(cells: list[str]) -> str:
    """What the cells of a page look like: number, boolean, date or text. They stay text."""
    filled = [cell for cell in cells if cell.strip()]
    if not filled:
        return "text"
    if all(view.NUMBER.fullmatch(cell) for cell in filled):
        return "number"
    if all(cell.strip().lower() in ("true", "false") for cell in filled):
        return "boolean"
    return "date" if all(_DATE.fullmatch(cell.strip()) for cell in filled) else "text"


def delimiter(head: str, name: str) -> str:
    """Tab for .tsv; else what the first line has most of outside quotes; a comma wins ties."""
    if name.lower().endswith(".tsv"):
        return "\t"
    counts: Counter[str] = Counter()
    quoted = False
    for char in head:
        if char == '"':
            quoted = not quoted
        elif not quoted:
            if char in "\r\n":
                break
            counts[char] += 1
    comma, semicolon, tab = counts[","], counts[";"], counts["\t"]
    if semicolon > comma and semicolon >= tab:
        return ";"
    return "\t" if tab > comma and tab > semicolon else ","
