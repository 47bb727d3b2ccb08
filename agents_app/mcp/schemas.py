"""Whether a JSON schema is one at all (draft 2020-12, its structure only). Pure.

Vendors of models check it and refuse the whole request for one wrong schema: a careless server would silence its agent.
"""

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

_ONE = ("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames")
_CONDITIONS = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and _are_names(names) and all(name in _TYPES for name in names)


def _are_names(value: Any) -> bool:
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return texts and len(set(value)) == len(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_size(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_VALUES: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _are_names,
    **dict.fromkeys(("enum", "examples"), _is(list)),
    **dict.fromkeys(("title", "description", "pattern", "format", "$ref", "$id", "$schema", "$comment"), _is(str)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_size),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is(bool)),
}


def first_fault(schema: Any, path: str = "") -> str:
    """Where it is wrong, such as `properties.size.type`; "" = nowhere. Depth is the caller's to bound."""
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return path
    for key, fits in _VALUES.items():
        if key in schema and not fits(schema[key]):
            return f"{path}.{key}".lstrip(".")
    for place, inner in _inner(schema):
        if fault := first_fault(inner, f"{path}.{place}".lstrip(".")):
            return fault
    return ""


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas in it, each with its place. What should hold some and cannot stands for itself: it is no schema."""
    for key in (*_ONE, *_CONDITIONS):
        if key in schema:
            yield key, schema[key]
    for key in _LISTS:
        found = schema.get(key, [True])
        yield from ((f"{key}.{number}", item) for number, item in enumerate(found)) if _filled(found) else [(key, None)]
    for key in _MAPS:
        found = schema.get(key, {})
        yield from ((f"{key}.{name}", item) for name, item in found.items()) if _mapping(found) else [(key, None)]


def _filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)
