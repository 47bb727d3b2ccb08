"""Write static/app/src/api/frames.gen.ts: the TypeScript types of frames that events become.

    python scripts/gen_frames.py          write the file
    python scripts/gen_frames.py --check  exit 1 when the file is not what the classes say

Needs no database and no settings: event classes are plain dataclasses.
"""

import sys
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agents_app import events as agent_events  # noqa: E402  (the path above comes first)
from extensions_app import events as extension_events  # noqa: E402
from halo_site.lib.events import Event, camel  # noqa: E402  (the path above comes first)
from sessions_app import events as session_events  # noqa: E402
from workspaces_app import events as workspace_events  # noqa: E402

TARGET = ROOT / "static/app/src/api/frames.gen.ts"
SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", object: "unknown", typing.Any: "unknown"}


def ts_type(hint: object) -> str:
    """The TypeScript spelling of a field's type. Raises TypeError for a kind no event uses yet."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(ts_type(part) for part in arguments if part is not type(None))
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin is dict:
        return f"Record<{ts_type(arguments[0])}, {ts_type(arguments[1])}>"
    if isinstance(origin, type) and issubclass(origin, typing.Iterable):
        return f"{ts_type(arguments[0])}[]"
    raise TypeError(f"no TypeScript type for {hint!r}")


def optional(hint: object, has_default: bool) -> bool:
    return type(None) in typing.get_args(hint) and has_default


def event_classes() -> Iterator[type[Event]]:
    for module in (session_events, workspace_events, agent_events, extension_events):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Event) and "type" in vars(value):
                yield value


def interface(event: type[Event]) -> str:
    hints = typing.get_type_hints(event)
    lines = [f"export interface {event.__name__} {{", f'  type: "{event.type}";']
    for field in fields(event):
        hint = hints[field.name]
        has_default = field.default is not MISSING or field.default_factory is not MISSING
        mark = "?" if optional(hint, has_default) else ""
        lines.append(f"  {camel(field.name)}{mark}: {ts_type(hint)};")
    return "\n".join([*lines, "}"])


def render() -> str:
    classes = list(event_classes())
    union = "\n".join(f"  | {event.__name__}" for event in classes)
    head = "// Made by scripts/gen_frames.py from the events.py of our apps. Do not edit."
    return "\n\n".join([head, *map(interface, classes), f"export type SessionEventFrame =\n{union};"]) + "\n"


def main() -> int:
    text = render()
    if "--check" in sys.argv[1:]:
        if TARGET.exists() and TARGET.read_text() == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is stale: run python scripts/gen_frames.py", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
