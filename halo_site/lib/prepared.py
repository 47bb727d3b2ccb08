"""Statements that Django builds once, for the few units that run in every turn.

The ORM spends many times longer on building a statement than the database on running it. Here a queryset is compiled
at its first use and kept as SQL; its changing parts are `Param`s. Meaning, dialect and conversions stay Django's.

    _WAITING = Select(lambda: Entry.objects.filter(session_id=Param("session"), turn=None).values_list("pk", "text"))
    rows = _WAITING.rows(session=7)
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

import orjson
from django.db import connection
from django.db.models import DateTimeField, Expression, Field, JSONField, Model, QuerySet
from django.db.models.expressions import Col
from django.db.models.sql import UpdateQuery

M = TypeVar("M", bound=Model)
Bind = Callable[[Mapping[str, Any]], list[Any]]


class Param(Expression):
    """A value that is given when the statement runs. `field`: converts it (times, JSON); not needed for str and int."""

    def __init__(self, name: str, field: "Field[Any, Any] | None" = None) -> None:
        super().__init__(output_field=field)
        self.name = name
        self.convert = field

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", (self,)

    def bound(self, values: Mapping[str, Any]) -> Any:
        value = values[self.name]
        return value if self.convert is None else self.convert.get_db_prep_value(value, connection)


def _binder(params: Sequence[Any]) -> Bind:
    def bind(values: Mapping[str, Any]) -> list[Any]:
        return [param.bound(values) if isinstance(param, Param) else param for param in params]

    return bind


@dataclass(frozen=True, slots=True)
class _Compiled:
    sql: str
    bind: Bind
    converters: Sequence[tuple[int, Callable[[Any], Any]]]
    names: Sequence[str]  # of the model's columns, in their order
    annotations: Mapping[str, int]  # name -> place in the row


class Select(Generic[M]):
    """A queryset, compiled once per kind of database. Use inside a database thread.

    `rows` for one with `values_list(...)`, `objects` for one with `only(...)`: what was left out is loaded when asked.
    limit: name of the value that says how many rows at most (Django itself only takes constants).
    """

    def __init__(self, build: "Callable[[], QuerySet[M, Any]]", *, limit: str | None = None) -> None:
        self._build = build
        self._limit = limit
        self._model: type[M] | None = None
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, **values: Any) -> list[tuple[Any, ...]]:
        """All rows. Raises KeyError when a `Param` has no value."""
        compiled = self._compiled.get(connection.vendor) or self._compile()
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, compiled.bind(values))
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return [_converted(row, compiled.converters) for row in found] if compiled.converters else found

    def first(self, **values: Any) -> tuple[Any, ...] | None:
        """The first row; the statement itself should not find many."""
        found = self.rows(**values)
        return found[0] if found else None

    def objects(self, **values: Any) -> list[M]:
        rows = self.rows(**values)
        if not rows:
            return []
        assert self._model is not None
        compiled = self._compiled[connection.vendor]
        width = len(compiled.names)
        found = [self._model.from_db(connection.alias, compiled.names, row[:width]) for row in rows]
        for name, at in compiled.annotations.items():
            for item, row in zip(found, rows, strict=True):
                setattr(item, name, row[at])
        return found

    def _compile(self) -> _Compiled:
        found = self._build()
        self._model = found.model
        compiler = found.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        if self._limit is not None:
            sql, params = f"{sql} LIMIT %s", (*params, Param(self._limit))
        columns = [expression for expression, *_ in compiler.select[: compiler.col_count]]
        converters = [
            (at, convert)
            for at, (each, expression) in compiler.get_converters(columns).items()
            for convert in _converters(each, expression)
        ]
        # Columns of the model come first, annotations after them (`values_list` has no model columns of its own).
        own = (compiler.klass_info or {}).get("select_fields", ())
        names = [columns[at].target.attname for at in own]
        annotations = compiler.annotation_col_map or {}
        compiled = self._compiled[connection.vendor] = _Compiled(sql, _binder(params), converters, names, annotations)
        return compiled


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, Callable[[Any], Any]]]) -> tuple[Any, ...]:
    values = list(row)
    for at, convert in converters:
        if values[at] is not None:
            values[at] = convert(values[at])
    return tuple(values)


def _converters(each: Sequence[Any], expression: Any) -> Sequence[Callable[[Any], Any]]:
    """Django's own for a column, or quicker ones of the same meaning for what long logs are made of."""
    if connection.vendor == "sqlite" and isinstance(expression, Col):
        if isinstance(expression.output_field, JSONField) and expression.output_field.decoder is None:
            return [_from_json]
        if isinstance(expression.output_field, DateTimeField):
            return [_in_utc]
    return [partial(_as_django, convert, expression) for convert in each]


def _as_django(convert: Any, expression: Any, value: Any) -> Any:
    return convert(value, expression, connection)


_LONG_NUMBER = re.compile(r"[0-9]{19}")  # more than 64 bits: orjson would make a float of it


def _from_json(text: str) -> Any:
    return json.loads(text) if len(text) > 18 and _LONG_NUMBER.search(text) else orjson.loads(text)


def _in_utc(value: datetime | str) -> datetime:
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    return found.replace(tzinfo=UTC)


class Update:
    """`queryset.update(**changes)`, compiled once per kind of database."""

    def __init__(self, build: "Callable[[], QuerySet[Any, Any]]", **changes: Any) -> None:
        self._build = build
        self._changes = changes
        self._compiled: dict[str, tuple[str, Bind]] = {}

    def run(self, **values: Any) -> int:
        """The number of rows that were changed."""
        sql, bind = self._compiled.get(connection.vendor) or self._compile()
        with connection.cursor() as cursor:
            cursor.execute(sql, bind(values))
            return int(cursor.rowcount)

    def _compile(self) -> tuple[str, Bind]:
        query: Any = self._build().query.chain(UpdateQuery)
        query.add_update_values(self._changes)
        sql, params = query.get_compiler(connection=connection).as_sql()
        compiled = self._compiled[connection.vendor] = (sql, _binder(params))
        return compiled


class Plus(int):
    """A change for `update_row`: add to what the column holds; null counts as 0."""


def update_row(model: type[Model], key: int, /, **changes: Any) -> int:
    """`UPDATE ... WHERE pk = key`; the number of rows changed (0 = it is gone). Names are fields or `<field>_id`."""
    added = tuple(name for name, value in changes.items() if isinstance(value, Plus))
    sql, fields = _update_row(model, tuple(changes), added, connection.vendor)
    values = [_stored(field, value) for field, value in zip(fields, changes.values(), strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, key])
        return int(cursor.rowcount)


@lru_cache(maxsize=500)
def _update_row(
    model: type[Model], names: tuple[str, ...], added: tuple[str, ...], vendor: str
) -> tuple[str, list["Field[Any, Any]"]]:
    fields = [_field(model, name) for name in names]
    sets = []
    for name, field in zip(names, fields, strict=True):
        column = _quoted(field)
        sets.append(f"{column} = COALESCE({column}, 0) + %s" if name in added else f"{column} = %s")
    meta = model._meta
    table = connection.ops.quote_name(meta.db_table)
    return f"UPDATE {table} SET {', '.join(sets)} WHERE {_quoted(_key(model))} = %s", fields  # noqa: S608 - names of columns


def insert_row(model: type[Model], /, **values: Any) -> int:
    """Insert one row, the model's defaults for what is not named; its key. No signals, no `auto_now`."""
    row = _insert(model, values, "")
    assert row is not None
    return row


def insert_if_new(model: type[Model], /, **values: Any) -> int | None:
    """The same, but None, and nothing written, when a unique constraint has such a row already."""
    return _insert(model, values, " ON CONFLICT DO NOTHING")


def _insert(model: type[Model], values: Mapping[str, Any], conflict: str) -> int | None:
    sql, fields, defaults = _insert_row(model, tuple(values), conflict, connection.vendor)
    given = [*values.values(), *(field.get_default() for field in defaults)]
    stored = [_stored(field, value) for field, value in zip(fields, given, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(sql, stored)
        row = cursor.fetchone()
    return None if row is None else int(row[0])


@lru_cache(maxsize=200)
def _insert_row(
    model: type[Model], names: tuple[str, ...], conflict: str, vendor: str
) -> tuple[str, list["Field[Any, Any]"], list["Field[Any, Any]"]]:
    meta = model._meta
    key = _key(model)
    named = [_field(model, name) for name in names]
    defaults = [field for field in meta.concrete_fields if field is not key and field not in named]
    if clocks := [field.name for field in defaults if getattr(field, "auto_now_add", False)]:
        raise TypeError(f"{model.__name__}: give {', '.join(clocks)}")
    fields = [*named, *defaults]
    columns = ", ".join(_quoted(field) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    table = connection.ops.quote_name(meta.db_table)
    into = f"INSERT INTO {table} ({columns}) VALUES ({marks}){conflict} RETURNING {_quoted(key)}"  # noqa: S608 - columns
    return into, fields, defaults


def _field(model: type[Model], name: str) -> "Field[Any, Any]":
    for field in model._meta.concrete_fields:
        if name in (field.name, field.attname):
            return field
    raise TypeError(f"{model.__name__} has no column {name}")


def _quoted(field: "Field[Any, Any]") -> str:
    return connection.ops.quote_name(str(field.column))


def _key(model: type[Model]) -> "Field[Any, Any]":
    key = model._meta.pk
    assert key is not None
    return key


def _stored(field: "Field[Any, Any]", value: Any) -> Any:
    return field.get_db_prep_save(value, connection)
