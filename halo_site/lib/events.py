"""Events are frozen dataclasses; `encode` turns any of them into one wire frame."""

from dataclasses import dataclass, fields
from typing import ClassVar

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a client may be told. `type` is the frame's name in spec ws-protocol."""

    type: ClassVar[str]


def camel(name: str) -> str:
    """`client_msg_id` -> `clientMsgId`."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


_NAMES: dict[str, tuple[tuple[str, str], ...]] = {}


def _names(event: Event) -> tuple[tuple[str, str], ...]:
    names = _NAMES.get(event.type)
    if names is None:
        names = _NAMES[event.type] = tuple((field.name, camel(field.name)) for field in fields(event))
    return names


def as_frame(event: Event) -> dict[str, object]:
    """The frame of any event: `type` first, camelCase keys, None left out."""
    frame: dict[str, object] = {"type": event.type}
    for attribute, key in _names(event):
        value = getattr(event, attribute)
        if value is not None:
            frame[key] = value
    return frame


def encode(event: Event) -> bytes:
    """UTF-8 JSON of `as_frame(event)`. Encoded once, the same bytes go to every reader."""
    return orjson.dumps(as_frame(event))
