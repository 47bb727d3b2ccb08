"""JSON lines: one value per line. Columns are the keys met on the page, in the order they came."""

from collections.abc import Iterator
from typing import BinaryIO

import orjson

from . import view
from .cells import fold, kind_of
from .page import Answer, Ask, Table, Unreadable, columns
from .text_lines import TOO_LONG, Lines, Marks, encoding_of, is_counted

VALUE = "value"  # column of a line that is no object
MOST_COLUMNS = 10_000  # of an export
Record = dict[str, object]


def read(file: BinaryIO, ask: Ask) -> Answer:
    """A page of the lines. Raises Unreadable for a line that is not JSON, naming it."""
    encoding, skip = encoding_of(file.read(65_536), ask.encoding)
    sort, conditions = view.asked(ask)
    if sort or conditions:
        records = _records(Lines(file, encoding, start=skip))
        found, total, more = view.page(records, ask, sort, conditions, _pick)
        return Answer(_body(found, ask, total, more, encoding))
    passed, start = ask.mark
    lines = Lines(file, encoding, start=start if start and is_counted(encoding) else skip)
    marks = Marks(lines)
    page: list[Record] = []
    has_more = False
    for line in _lines(lines):
        if passed >= ask.offset + ask.limit:
            has_more = True
            break
        if passed >= ask.offset:
            page.append(_record(line, passed + 1))
        passed += 1
        marks.passed(passed)
    return Answer(_body(page, ask, passed + has_more, has_more, encoding), marks.found)


def whole(file: BinaryIO, ask: Ask) -> Table:
    """Reads the file twice: the columns are the keys of all records that fit, known when the last was seen."""
    encoding, skip = encoding_of(file.read(65_536), ask.encoding)
    sort, conditions = view.asked(ask)

    def fitting() -> Iterator[Record]:
        return view.viewed(_records(Lines(file, encoding, start=skip)), sort, conditions, _pick)

    names: dict[str, None] = {}
    for record in view.viewed(_records(Lines(file, encoding, start=skip)), None, conditions, _pick):
        names.update(dict.fromkeys(record))
        if len(names) > MOST_COLUMNS:
            raise Unreadable(f"These records have more than {MOST_COLUMNS} different keys")
    return Table(list(names), ([fold(record.get(name)) for name in names] for record in fitting()))


def _body(page: list[Record], ask: Ask, total: int, has_more: bool, encoding: str) -> dict[str, object]:
    names = list(dict.fromkeys(name for record in page for name in record))
    kinds = [kind_of(record.get(name) for record in page) for name in names]
    return {
        "columns": columns(names, kinds),
        "rows": [[fold(record.get(name)) for name in names] for record in page],
        "totalRows": total,
        "hasMore": has_more,
        "offset": ask.offset,
        "limit": ask.limit,
        "encoding": encoding,
    }


def _pick(record: Record, column: str) -> list[object]:
    return [fold(record.get(column))] if column else [fold(value) for value in record.values()]


def _lines(lines: Lines) -> Iterator[str]:
    """Those with something on them."""
    try:
        for line in lines:
            lines.restart_row()
            if line.strip():
                yield line
    except Unreadable as error:
        raise Unreadable("A line exceeds 1 MB: not JSON lines") if str(error) == TOO_LONG else error from None


def _records(lines: Lines) -> Iterator[Record]:
    for number, line in enumerate(_lines(lines), 1):
        yield _record(line, number)


def _record(line: str, number: int) -> Record:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"Record {number} is not JSON: {error}") from error
    return value if isinstance(value, dict) else {VALUE: value}
