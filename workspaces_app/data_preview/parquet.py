"""parquet by DuckDB, which reads the footer and the row groups of the page only."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import duckdb

from . import sql_view, view
from .cells import fold
from .page import Answer, Ask, Table, Unreadable, columns
from .sql_view import Parameters

NUMBER = "file_row_number"  # DuckDB's own column; not in `*`
AT_A_TIME = 500  # rows of an export

# Nothing but this one file can be reached, and no statement can undo that.
_LOCK = ("SET enable_external_access=false", "SET lock_configuration=true")
_CONFIG: dict[str, Any] = {
    "threads": 1,
    "memory_limit": "256MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_unsigned_extensions": False,
}
_SCHEMA = "SELECT name, num_children, type, converted_type, logical_type FROM parquet_schema(?)"


def read(file: BinaryIO, ask: Ask) -> Answer:
    """A page of the rows. Raises Unreadable when it is no parquet file, or one that needs too much memory."""
    with _opened(file, ask) as (database, place):
        kinds = dict(_kinds(database.execute(_SCHEMA, [place]).fetchall()))
        names, fits, values, order = _view(database, place, ask)
        total = ask.total
        if total is None:
            counted = database.execute(f"SELECT count(*) FROM read_parquet(?) {fits}", [place, *values])  # noqa: S608
            (total,) = counted.fetchone() or (0,)
        found = database.execute(
            f"SELECT * FROM read_parquet(?) {fits} {order} LIMIT ? OFFSET ?",  # noqa: S608
            [place, *values, ask.limit, ask.offset],
        )
        rows = [[fold(value) for value in row] for row in found.fetchall()]
    body = {
        "columns": columns(names, [kinds.get(name, "") for name in names]),
        "rows": rows,
        "totalRows": total,
        "offset": ask.offset,
        "limit": ask.limit,
    }
    return Answer(body, total=total)


def whole(file: BinaryIO, ask: Ask) -> Table:
    with _opened(file, ask) as (database, place):
        names, fits, values, order = _view(database, place, ask)

    def rows() -> Iterator[Sequence[object]]:
        with _opened(file, ask) as (database, place):
            found = database.execute(
                f"SELECT * FROM read_parquet(?) {fits} {order}",  # noqa: S608
                [place, *values],
            )
            while some := found.fetchmany(AT_A_TIME):
                yield from ([fold(value) for value in row] for row in some)

    return Table(names, rows())


@contextmanager
def _opened(file: BinaryIO, ask: Ask) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    place = f"/proc/self/fd/{file.fileno()}"
    try:
        yield locked(place), place
    except duckdb.OutOfMemoryException as error:
        raise Unreadable("This page of the Parquet file needs too much memory") from error
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].replace(place, ask.name)
        raise Unreadable(f"Not a readable Parquet file: {reason}") from error


def _view(database: duckdb.DuckDBPyConnection, place: str, ask: Ask) -> tuple[list[str], str, Parameters, str]:
    """(names, WHERE, its values, ORDER BY)."""
    described = database.execute("SELECT * FROM read_parquet(?) LIMIT 0", [place]).description or ()
    names = [column[0] for column in described]
    sort, conditions = view.asked(ask)
    fits, values = sql_view.where(conditions, names, sql_view.DUCKDB)
    return names, fits, values, sql_view.order(sort, names, NUMBER)


def locked(place: str) -> duckdb.DuckDBPyConnection:
    """A database in memory that can read `place` and nothing else."""
    database = duckdb.connect(config=_CONFIG)
    database.execute("SET allowed_paths=[$place]", {"place": place})
    for statement in _LOCK:
        database.execute(statement)
    return database


def _kinds(schema: list[tuple[str, int | None, str | None, str | None, str | None]]) -> Iterator[tuple[str, str]]:
    """Name and type of each top-level column; the schema lists every node, parents first."""
    nodes = iter(schema)
    root = next(nodes, None)
    for _ in range((root[1] or 0) if root else 0):
        node = next(nodes, None)
        if node is None:
            return
        name, children, physical, converted, logical = node
        yield name, "GROUP" if children else _word(logical) or converted or physical or ""
        below = children or 0
        while below:
            inner = next(nodes, None)
            if inner is None:
                return
            below += (inner[1] or 0) - 1


def _word(logical: str | None) -> str:
    """`TimestampType(isAdjustedToUTC=0, ...)` -> TIMESTAMP."""
    found = re.match(r"[A-Za-z0-9]+?(?=Type\b|\(|$)", logical or "")
    return found[0].upper() if found else ""
