"""Any value of any reader as a JSON scalar (spec previews 4). Pure."""

import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import orjson

SAFE_INTEGER = 2**53 - 1  # the largest a browser's number holds exactly

Scalar = str | int | float | bool | None


def fold(value: object) -> Scalar:
    """Big integers and what is no number become text, bytes their size, dates ISO 8601, nested values JSON text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<blob {len(value)} bytes>"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple | set):
        return orjson.dumps(_inside(value)).decode()
    if isinstance(value, timedelta):
        return str(value)
    return str(value)  # Decimal, UUID: exact as text


def _inside(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _inside(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_inside(item) for item in value]
    return fold(value)


def column_letters(index: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA: what a spreadsheet calls a column."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def kind_of(values: Iterable[object]) -> str:
    """One word for the values of a column: number, boolean, text, date, object, list; mixed, or "" without any."""
    found = {_kind(value) for value in values if value is not None}
    return found.pop() if len(found) == 1 else "mixed" if found else ""


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, datetime | date | time):
        return "date"
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, list) else "text"
