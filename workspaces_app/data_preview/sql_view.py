"""A view (view.py) as the WHERE and ORDER BY of SQLite and DuckDB. Pure; every value is a parameter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .view import Condition, Sort, place_of

INT64 = 2**63 - 1
Parameters = list[str | int | float]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a column reads as a number and as text (null where it is none), and the comparison that ignores case."""

    number: Callable[[str], str]
    text: Callable[[str], str]
    like: str


SQLITE = Dialect(
    number=lambda column: f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {column} END",
    text=lambda column: f"CASE WHEN typeof({column}) <> 'blob' THEN CAST({column} AS TEXT) END",
    like="LIKE",
)
DUCKDB = Dialect(
    number=lambda column: f"TRY_CAST(CAST({column} AS VARCHAR) AS DOUBLE)",
    text=lambda column: f"CAST({column} AS VARCHAR)",
    like="ILIKE",
)


def quoted(name: str) -> str:
    """A name out of the file's own list, as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def where(conditions: Sequence[Condition], names: Sequence[str], dialect: Dialect) -> tuple[str, Parameters]:
    """(the clause, "" without conditions; its parameters). Raises Unreadable for an unknown column."""
    parts: list[str] = []
    values: Parameters = []
    for condition in conditions:
        columns = [names[place_of(condition.column, names)]] if condition.column else names
        tests = [_test(quoted(name), condition, dialect) for name in columns]
        parts.append("(" + " OR ".join(text for text, _ in tests) + ")")
        values.extend(value for _, given in tests for value in given)
    return ("WHERE " + " AND ".join(parts) if parts else ""), values


def order(sort: Sort | None, names: Sequence[str], tie: str) -> str:
    """Empty cells last, equal ones by `tie` ("" = none), so that no row is on two pages. "" without a sort."""
    if sort is None:
        return ""
    column = quoted(names[place_of(sort.column, names)])
    return f"ORDER BY {column} {'DESC' if sort.descending else 'ASC'} NULLS LAST{', ' + tie if tie else ''}"


def _test(column: str, condition: Condition, dialect: Dialect) -> tuple[str, Parameters]:
    operator, value, number = condition.operator, condition.value, condition.number
    text, as_number = dialect.text(column), dialect.number(column)
    if operator in ("=", "!="):
        equal, given = f"{text} = ?", Parameters([value])
        if number is not None:
            equal, given = f"{equal} OR {as_number} = ?", [value, _bound(number)]
        elif not value:
            equal = f"{column} IS NULL OR {equal}"
        return f"({equal}) IS {'NOT ' if operator == '!=' else ''}TRUE", given
    if operator == "~":
        pattern = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{text} {dialect.like} ? ESCAPE '\\'", [f"%{pattern}%"]
    if number is not None:
        return f"{as_number} {operator} ?", [_bound(number)]
    return f"{text} {operator} ?", [value]


def _bound(number: int | float) -> int | float:
    """A parameter holds 64 bits."""
    return number if isinstance(number, float) or -INT64 <= number <= INT64 else float(number)
