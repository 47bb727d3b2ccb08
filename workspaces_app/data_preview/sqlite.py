"""Tables of an SQLite file, also of one that is being written (spec previews 4). Never writes, leaves no lock."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import BinaryIO
from urllib.parse import quote

from . import sql_view, view
from .cells import fold
from .page import Answer, Ask, Mark, Table, Unreadable, columns
from .sql_view import Parameters, quoted
from .text_lines import TOO_FAR

MAGIC = b"SQLite format 3\0"
COUNT_SECONDS = 2.0  # for counting rows, in all; what is not counted by then has no number
LONGEST = 16 * 1024 * 1024  # bytes of one value
PATIENCE = 5.0  # seconds for the rows of a page
STRIDE = 50_000  # rows between two places that are remembered
NOT_SQLITE = "File is not a SQLite database"
TIMED_OUT = "The query timed out; filter by less, or sort by a column with an index"
ORDINARY, WITHOUT_ROWID, VIEW = "ordinary", "without rowid", "view"


def tables(file: BinaryIO, ask: Ask) -> Answer:
    """Ordinary tables by name, then views. `rowCount` is null when counting took too long, and for views."""
    with _opened(file) as database:
        end = time.monotonic() + COUNT_SECONDS
        kinds = _kinds(database)
        listed: list[dict[str, object]] = [
            {"name": name, "rowCount": _count(database, f"SELECT count(*) FROM {quoted(name)}", [], end)}  # noqa: S608
            for name, kind in kinds.items()
            if kind != VIEW
        ]
        listed += [{"name": name, "rowCount": None, "view": True} for name, kind in kinds.items() if kind == VIEW]
    return Answer({"tables": listed})


def rows(file: BinaryIO, ask: Ask) -> Answer:
    """A page of a table or view. `hasMore` is there when counting took too long: `totalRows` is a lower bound then."""
    with _opened(file) as database:
        table = _Table(database, ask)
        total = _total(database, table, ask)
        page, marks = table.page(ask, total)
    settled = _is_settled(file)
    body: dict[str, object] = {
        "table": ask.part,
        "columns": columns(table.names, table.kinds),
        "rows": [[fold(value) for value in row] for row in page[: ask.limit]],
        "totalRows": ask.offset + len(page) if total < 0 else total,
        "offset": ask.offset,
        "limit": ask.limit,
    }
    if total < 0:
        body["hasMore"] = len(page) > ask.limit
    return Answer(body, marks if settled else [], total if settled else None)


def whole(file: BinaryIO, ask: Ask) -> Table:
    with _opened(file) as database:
        names = _Table(database, ask).names

    def every() -> Iterator[Sequence[object]]:
        with _opened(file) as database:
            table = _Table(database, ask)
            yield from ([fold(value) for value in row] for row in table.every())

    return Table(names, every())


class _Table:
    """One table of the file with the view that was asked for. Raises Unreadable when there is none of this name."""

    def __init__(self, database: sqlite3.Connection, ask: Ask) -> None:
        kind = _kinds(database).get(ask.part)
        if kind is None:
            raise Unreadable(f"Table not found: {ask.part}")
        self.database, self.source = database, quoted(ask.part)
        described = database.execute("SELECT name, type FROM pragma_table_xinfo(?)", (ask.part,))
        declared = {str(name): str(word or "") for name, word in described}
        found = database.execute(f"SELECT * FROM {self.source} LIMIT 0")  # noqa: S608
        self.names = [column[0] for column in found.description]
        self.kinds = [declared.get(name, "") for name in self.names]
        sort, conditions = view.asked(ask)
        self.fits, self.values = sql_view.where(conditions, self.names, sql_view.SQLITE)
        taken = {name.lower() for name in declared}
        free = [name for name in ("rowid", "_rowid_", "oid") if name not in taken and kind == ORDINARY]
        self.order = sql_view.order(sort, self.names, "".join(free[:1]))
        plain = not sort and not conditions
        self.key = free[0] if plain and free else ""  # by which a page is found without passing all before it

    def count_query(self) -> str:
        return f"SELECT count(*) FROM {self.source} {self.fits}"  # noqa: S608

    def page(self, ask: Ask, total: int) -> tuple[list[tuple[object, ...]], list[Mark]]:
        """The rows, one more than asked for when there is one; and places for later pages."""
        end = time.monotonic() + PATIENCE
        with _until(self.database, end):
            if self.key:
                return self._by_key(ask, total, end)
            found = self.database.execute(
                f"SELECT * FROM {self.source} {self.fits} {self.order} LIMIT ? OFFSET ?",  # noqa: S608
                (*self.values, ask.limit + 1, ask.offset),
            )
            return found.fetchall(), []

    def _by_key(self, ask: Ask, total: int, end: float) -> tuple[list[tuple[object, ...]], list[Mark]]:
        passed, after = self._start(ask, total)
        marks: list[Mark] = []
        while ask.offset - passed >= STRIDE:  # far down, the first time: leave places on the way
            try:
                step = self._execute(f"SELECT {self.key}", after, 1, STRIDE - 1).fetchone()
            except sqlite3.OperationalError as error:
                if "interrupted" not in str(error):
                    raise
                raise Unreadable(TOO_FAR.format(rows=passed), marks) from error
            if step is None:
                return [], marks
            passed, after = passed + STRIDE, step[0]
            marks.append((passed, after))
            if time.monotonic() > end:
                raise Unreadable(TOO_FAR.format(rows=passed), marks)
        found = self._execute(f"SELECT {self.key}, *", after, ask.limit + 1, ask.offset - passed).fetchall()
        if len(found) > ask.limit:
            marks.append((ask.offset + ask.limit, found[ask.limit - 1][0]))
        return [row[1:] for row in found], marks

    def _start(self, ask: Ask, total: int) -> tuple[int, int | None]:
        """(rows before, the key they end with). Keys without a gap tell the place at once."""
        edges = f"SELECT (SELECT min({self.key}) FROM {self.source}), (SELECT max({self.key}) FROM {self.source})"  # noqa: S608
        least, most = self.database.execute(edges).fetchone()
        if least is not None and most - least + 1 == total and ask.offset:
            return ask.offset, min(least + ask.offset - 1, most)
        passed, after = ask.mark
        return (passed, after) if passed else (0, None)

    def _execute(self, select: str, after: int | None, limit: int, skip: int) -> sqlite3.Cursor:
        since = "" if after is None else f"WHERE {self.key} > ?"
        query = f"{select} FROM {self.source} {since} ORDER BY {self.key} LIMIT ? OFFSET ?"
        return self.database.execute(query, (*([] if after is None else [after]), limit, skip))

    def every(self) -> Iterator[tuple[object, ...]]:
        query = f"SELECT * FROM {self.source} {self.fits} {self.order}"  # noqa: S608
        yield from self.database.execute(query, self.values)


def _total(database: sqlite3.Connection, table: _Table, ask: Ask) -> int:
    """How many rows the view has; -1 = counting takes too long."""
    if ask.total is not None:
        return ask.total
    found = _count(database, table.count_query(), table.values, time.monotonic() + COUNT_SECONDS)
    return -1 if found is None else found


def _is_settled(file: BinaryIO) -> bool:
    """Nobody writes: what was counted holds as long as the file is the same."""
    place = os.readlink(f"/proc/self/fd/{file.fileno()}")
    return not _size(f"{place}-wal") and not _size(f"{place}-journal")


@contextmanager
def _opened(file: BinaryIO) -> Iterator[sqlite3.Connection]:
    """SQLite opens by name, so what it really opened is compared with the handle that came through the jail."""
    file.seek(0)
    head = file.read(100)
    if not head.startswith(MAGIC):
        raise Unreadable(NOT_SQLITE)
    place = os.readlink(f"/proc/self/fd/{file.fileno()}")
    is_wal = head[18:20] == b"\2\2"
    # Without a log nobody writes now, and to look would make one.
    mode = "immutable=1" if is_wal and not _size(f"{place}-wal") else "mode=ro"
    before = open_handles()
    try:
        with closing(sqlite3.connect(f"file:{quote(place)}?{mode}", uri=True, isolation_level=None)) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            for pragma in (
                "trusted_schema=OFF",
                "cell_size_check=ON",
                "query_only=ON",
                "mmap_size=0",
                "temp_store=MEMORY",
            ):
                database.execute(f"PRAGMA {pragma}")
            database.execute("BEGIN")
            database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            check_opened(file.fileno(), place, before)
            yield database
    except sqlite3.DatabaseError as error:
        text = str(error)
        if text == "interrupted":
            raise Unreadable(TIMED_OUT) from error
        raise Unreadable(NOT_SQLITE if "not a database" in text else f"SQLite: {text}") from error


def open_handles() -> set[int]:
    """Of this process. The one that listed them is closed again, and its number free for the next file."""
    return {number for number in map(int, os.listdir("/proc/self/fd")) if _is_open(number)}


def check_opened(handle: int, place: str, before: set[int]) -> None:
    """Raises Unreadable when the name led elsewhere meanwhile, for the file itself or for its log."""
    wanted = os.fstat(handle)
    logs = (f"{place}-wal", f"{place}-shm", f"{place}-journal")
    for number in open_handles() - before:
        found, target = os.fstat(number), os.readlink(f"/proc/self/fd/{number}")
        is_it = target == place and (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)
        if not is_it and target not in logs:
            raise Unreadable("The file changed while it was opened; try again")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _kinds(database: sqlite3.Connection) -> dict[str, str]:
    """Names of tables and views, sorted, with what they are."""
    query = "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view')"
    found = {
        name: VIEW if type == "view" else WITHOUT_ROWID if wr else ORDINARY
        for name, type, wr in database.execute(query)
        if not name.lower().startswith("sqlite_")
    }
    return dict(sorted(found.items()))


def _count(database: sqlite3.Connection, query: str, values: Parameters, end: float) -> int | None:
    if time.monotonic() >= end:
        return None
    try:
        with _until(database, end):
            found: tuple[int] = database.execute(query, values).fetchone()
            return found[0]
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            return None
        raise


@contextmanager
def _until(database: sqlite3.Connection, end: float) -> Iterator[None]:
    database.set_progress_handler(lambda: time.monotonic() >= end, 10_000)
    try:
        yield
    finally:
        database.set_progress_handler(None, 0)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
