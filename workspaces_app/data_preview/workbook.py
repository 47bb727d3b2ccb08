"""xlsx, xls, xlsb and ods by calamine. A workbook is read whole, within the child's memory."""

from dataclasses import replace
from typing import Any, BinaryIO

import python_calamine

from . import view
from .cells import column_letters, fold, kind_of
from .page import Answer, Ask, Table, Unreadable, columns


def read(file: BinaryIO, ask: Ask) -> Answer:
    """A page of one sheet, the first by default. Raises Unreadable when it is no workbook or has no such sheet."""
    sheet = _Sheet(file, ask)
    sort, conditions = view.asked(ask)
    page, total = sheet.rows[ask.offset : ask.offset + ask.limit], len(sheet.rows)
    if sort or conditions:
        every = map(sheet.shown, sheet.rows)
        ask_all = replace(ask, limit=max(total, 1), offset=0)  # it is in memory anyway: the total is exact
        found, total, _ = view.page(every, ask_all, sort, conditions, view.by_place(sheet.names, sort, conditions))
        shown = found[ask.offset : ask.offset + ask.limit]
        kinds = [kind_of(row[place] for row in shown if row[place] != "") for place in range(len(sheet.names))]
    else:
        shown = [sheet.shown(row) for row in page]
        kinds = [kind_of(row[place] for row in page if row[place] != "") for place in range(len(sheet.names))]
    body = {
        "sheets": sheet.sheets,
        "sheet": sheet.chosen,
        "columns": columns(sheet.names, kinds),
        "rows": shown,
        "totalRows": total,
        "offset": ask.offset,
        "limit": ask.limit,
    }
    return Answer(body)


def whole(file: BinaryIO, ask: Ask) -> Table:
    sheet = _Sheet(file, ask)
    sort, conditions = view.asked(ask)
    pick = view.by_place(sheet.names, sort, conditions)
    return Table(sheet.names, view.viewed(map(sheet.shown, sheet.rows), sort, conditions, pick))


class _Sheet:
    """The sheet that was asked for: a rectangle, its first row the names."""

    def __init__(self, file: BinaryIO, ask: Ask) -> None:
        try:
            book = python_calamine.CalamineWorkbook.from_filelike(file)
            self.sheets = list(book.sheet_names)
            self.chosen = ask.part or (self.sheets[0] if self.sheets else "")
            if self.chosen not in self.sheets:
                raise Unreadable(f"Sheet not found: {self.chosen}" if self.chosen else "This workbook has no sheet")
            table: list[list[Any]] = book.get_sheet_by_name(self.chosen).to_python(skip_empty_area=False)
        except (python_calamine.CalamineError, OSError, ValueError) as error:
            raise Unreadable(f"Not a readable workbook: {error}") from error
        header, self.rows = (table[0], table[1:]) if table else ([], [])
        self.names = [str(_plain(cell)) if cell != "" else column_letters(place) for place, cell in enumerate(header)]

    def shown(self, row: list[Any]) -> list[Any]:
        return [_plain(cell) for cell in row]


def _plain(cell: object) -> Any:
    """A spreadsheet's numbers are all floats; whole ones are shown without a point."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return fold(cell)
