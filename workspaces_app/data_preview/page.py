"""What the readers are asked and what they answer. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_ROW = 1_000_000  # characters of one row of a text file
Mark = tuple[int, int]  # (number of a data row, byte where it begins)


class Unreadable(Exception):
    """The file is not what its name says, or holds more than we show; the text is for the person.

    marks: places found on the way, from which the next try goes on.
    """

    def __init__(self, text: str, marks: Sequence[Mark] = ()) -> None:
        super().__init__(text)
        self.marks = list(marks)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. `format` names the reader; `part` is a table of a database or a sheet of a workbook.

    sort, filters: see view.py. encoding: one of text_lines.ENCODINGS, "" = found out. export: "page" or "all" as csv.
    total: how many rows the view has, when that is known from before; -1 = counting them takes too long.
    """

    format: str
    name: str = ""  # of the file: its suffix decides the delimiter
    offset: int = 0
    limit: int = 100
    part: str = ""
    mark: Mark = (0, 0)  # where to begin in a text file (byte) or a table (rowid); (0, 0) = at its head
    sort: str = ""
    filters: tuple[str, ...] = ()
    encoding: str = ""
    export: str = ""
    total: int | None = None


@dataclass(slots=True)
class Answer:
    """`body`: the JSON of the route. `marks`: bytes or rowids, so that a later page need not read up to them.

    total: worth remembering for the next page; see Ask.
    """

    body: dict[str, Any]
    marks: list[Mark] = field(default_factory=list)
    total: int | None = None


@dataclass(slots=True)
class Table:
    """A whole view, read while it is written out. The cells are JSON scalars."""

    names: list[str]
    rows: Iterator[Sequence[object]]


def columns(names: list[str], kinds: list[str]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
