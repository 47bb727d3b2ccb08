"""JSON at the edge: events and tool arguments as vendors really send them. Pure."""

import json
import math
from typing import Any

import orjson

from halo_site.lib.text import clean, clean_json, decode

DEPTH_LIMIT = 100  # levels of nesting in tool arguments
_LARGEST = 2**63


def load_event(data: bytes) -> Any:
    """The JSON value of one event. Raises ValueError.

    Bad UTF-8, raw control characters and lone surrogates do not end a stream: such an event is read again, slowly.
    Lone surrogates stay in that case, because a vendor may cut a pair between two deltas; the fold joins them.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def load_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a tool call, and the parser's complaint ("" when there is none).

    Nothing at all and `null` mean no arguments. What is not an object is a complaint and `{}`.
    """
    text = text.strip()
    if not text:
        return {}, ""
    try:
        value = json.loads(text, strict=False, parse_constant=_no_constant, parse_float=_float, parse_int=_int)
    except ValueError as error:
        return {}, f"the arguments are not valid JSON: {clean(str(error))}"
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return {}, "the arguments must be a JSON object"
    if not shallow(value):
        return {}, "the arguments are nested too deeply"
    return clean_json(value), ""


def shallow(value: Any, limit: int = DEPTH_LIMIT) -> bool:
    """True when `value` is nested at most `limit` levels deep. Needs no stack of its own."""
    level = [value]
    while level:
        if limit < 0:
            return False
        limit -= 1
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += [part for part in item.values() if isinstance(part, dict | list)]
            elif isinstance(item, list):
                inner += [part for part in item if isinstance(part, dict | list)]
        level = inner
    return True


def dump(value: Any) -> bytes:
    """A request body. History that somebody stored with odd text or huge numbers still goes out."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False).encode()


def document(data: bytes) -> Any:
    """The JSON value of a whole answer, cleaned; None when it is not JSON."""
    try:
        value = load_event(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None
    return clean_json(value) if shallow(value) else None


def start_of(data: bytes, length: int = 200) -> str:
    return decode(data[: 4 * length])[:length]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("number out of range")
    return value


def _int(text: str) -> int | float:
    """Databases and browsers hold 64 bits; a longer number keeps its size, not its last digits."""
    if len(text) > 400:
        raise ValueError("number out of range")
    value = int(text)
    return value if -_LARGEST <= value < _LARGEST else float(value)
