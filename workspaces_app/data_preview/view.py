"""Sorting and filtering a table: what was asked, and doing it row by row. Pure.

`sort` is a column, with `-` before it for descending. A filter is column, operator, value: `price>=10`, `city=Rome`,
`note~late`; without a column (`~late`) it means any. A column is its name, or `#3` for the third.
"""

import heapq
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from .page import Ask, Unreadable

MOST_FILTERS = 10
LONGEST = 1_000  # characters of a sort or a filter
PATIENCE = 8.0  # seconds, before the child is ended from outside
CHECK_EVERY = 1_000  # rows
OPERATORS = ("!=", "<=", ">=", "=", "<", ">", "~")
_FILTER = re.compile(f"(.*?)({'|'.join(OPERATORS)})(.*)", re.DOTALL)
NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?\s*", re.ASCII)
_LONGEST_DIGITS = 400  # digits; Python refuses to read more than some thousands

Row = TypeVar("Row")
Pick = Callable[[Row, str], Sequence[object]]  # the cells of a column; of all columns for ""


@dataclass(frozen=True, slots=True)
class Sort:
    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """column: "" = any. value: compared as a number where both sides are one, else as text."""

    column: str
    operator: str
    value: str
    number: int | float | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", number_of(self.value))

    def fits(self, cell: object) -> bool:
        if self.operator == "!=":
            return not self._equals(cell)
        if self.operator == "=":
            return self._equals(cell)
        if cell is None:
            return False
        if self.operator == "~":
            return self.value.casefold() in str(cell).casefold()
        if self.number is not None:
            number = number_of(cell)
            return number is not None and _compared(self.operator, number, self.number)
        return _compared(self.operator, str(cell), self.value)

    def _equals(self, cell: object) -> bool:
        if cell is None or isinstance(cell, bool):
            return self.value.lower() == {None: "", True: "true", False: "false"}[cell]
        return str(cell) == self.value or (self.number is not None and number_of(cell) == self.number)


def asked(ask: Ask) -> tuple[Sort | None, list[Condition]]:
    """The view of the question. Raises Unreadable with what is wrong with it."""
    if len(ask.filters) > MOST_FILTERS or any(len(text) > LONGEST for text in (ask.sort, *ask.filters)):
        raise Unreadable(f"At most {MOST_FILTERS} filters of {LONGEST} characters each")
    sort = Sort(ask.sort.removeprefix("-"), ask.sort.startswith("-")) if ask.sort else None
    if sort and not sort.column:
        raise Unreadable("sort must be a column, such as price or -price")
    return sort, [condition(text) for text in ask.filters if text]


def condition(text: str) -> Condition:
    """Words without an operator are looked for in every column."""
    found = _FILTER.fullmatch(text)
    return Condition(*found.groups()) if found else Condition("", "~", text)


def place_of(column: str, names: Sequence[str]) -> int:
    """Where a column is. Raises Unreadable when there is none of this name, or more than one."""
    numbered = re.fullmatch(r"#([1-9][0-9]{0,5})", column)
    if numbered and int(numbered[1]) <= len(names):
        return int(numbered[1]) - 1
    found = [place for place, name in enumerate(names) if name == column]
    if not found:
        raise Unreadable(f"Column not found: {column}")
    if len(found) > 1:
        raise Unreadable(f"{len(found)} columns are called {column}; write #{found[0] + 1} or #{found[1] + 1}")
    return found[0]


def by_place(names: Sequence[str], sort: Sort | None, conditions: Iterable[Condition]) -> Pick[Sequence[object]]:
    """`Pick` for rows that are lists; a cell that is missing is empty. Raises Unreadable for an unknown column."""
    wanted = [each.column for each in conditions if each.column] + ([sort.column] if sort else [])
    places = {column: place_of(column, names) for column in wanted}

    def pick(row: Sequence[object], column: str) -> Sequence[object]:
        if not column:
            return row
        place = places[column]
        return row[place : place + 1] or ("",)

    return pick


def viewed(rows: Iterable[Row], sort: Sort | None, conditions: list[Condition], pick: Pick[Row]) -> Iterator[Row]:
    """All rows that fit, in order. Raises Unreadable while they come when it takes too long."""
    fitting = _fitting(rows, conditions, pick)
    return fitting if sort is None else iter(_ordered(fitting, sort, pick, None)[0])


def page(
    rows: Iterable[Row], ask: Ask, sort: Sort | None, conditions: list[Condition], pick: Pick[Row]
) -> tuple[list[Row], int, bool]:
    """(rows of the page, how many fit in all, whether that is only a lower bound)."""
    fitting = _fitting(rows, conditions, pick)
    end = ask.offset + ask.limit
    if sort is not None:
        best, total = _ordered(fitting, sort, pick, end)
        return best[ask.offset :], total, False
    found: list[Row] = []
    passed = 0
    for row in fitting:
        if passed >= end:
            return found, passed + 1, True
        if passed >= ask.offset:
            found.append(row)
        passed += 1
    return found, passed, False


def _fitting(rows: Iterable[Row], conditions: list[Condition], pick: Pick[Row]) -> Iterator[Row]:
    end = time.monotonic() + PATIENCE
    for seen, row in enumerate(rows):
        if seen % CHECK_EVERY == 0 and time.monotonic() > end:
            raise Unreadable(f"Only {seen} rows could be looked at in the time a preview may take; this file has more")
        if all(any(map(each.fits, pick(row, each.column))) for each in conditions):
            yield row


def _ordered(rows: Iterable[Row], sort: Sort, pick: Pick[Row], most: int | None) -> tuple[list[Row], int]:
    """The first `most` rows in order, equal ones as they came, empty cells last; and how many there are."""
    empty: list[Row] = []
    total = count()

    def filled() -> Iterator[tuple[tuple[int, int | float | str], Row]]:
        for row in rows:
            next(total)
            key = _rank(pick(row, sort.column)[0])
            if key is not None:
                yield key, row
            elif most is None or len(empty) < most:
                empty.append(row)

    if most is None:
        best = sorted(filled(), key=_key, reverse=sort.descending)
    else:
        best = (heapq.nlargest if sort.descending else heapq.nsmallest)(most, filled(), key=_key)
    return ([row for _, row in best] + empty)[:most], next(total)


def _key(ranked: tuple[tuple[int, int | float | str], object]) -> tuple[int, int | float | str]:
    return ranked[0]


def _rank(cell: object) -> tuple[int, int | float | str] | None:
    """Numbers before text, text without regard to case; None for an empty cell."""
    if cell is None or cell == "":
        return None
    number = number_of(cell)
    return (0, number) if number is not None else (1, str(cell).casefold())


def number_of(cell: object) -> int | float | None:
    if isinstance(cell, int | float):
        return None if isinstance(cell, bool) or cell != cell else cell
    if not isinstance(cell, str) or len(cell) > _LONGEST_DIGITS or not NUMBER.fullmatch(cell):
        return None
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def _compared(operator: str, left: int | float | str, right: int | float | str) -> bool:
    if operator.startswith("<"):
        return left < right or (operator == "<=" and left == right)  # type: ignore[operator]
    return left > right or (operator == ">=" and left == right)  # type: ignore[operator]
