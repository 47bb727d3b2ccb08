"""What an archive of `/workspace share` may bring into a workspace; everything else is left out and told. Pure.

The list is closed on purpose: an archive comes from a stranger, and what it brings steers agents.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..item_id import is_item_id

Kind = Literal["instructions", "index", "document", "prompt", "agent", "skill"]
Reason = Literal["about", "git", "private", "internal", "foreign"]

# What `stage.py` never ships.
_PRIVATE = re.compile(r"user\.md|settings\.yaml|disabled\.json|\.env.*|.*\.db.*|.*\.sqlite.*", re.IGNORECASE)
_PROMPTS = ("all", "root")


@dataclass(frozen=True, slots=True)
class Item:
    """What is taken or left as a whole. `path` below the workspace: a file, or the folder of an agent or skill.

    files: paths below the workspace, sorted.
    """

    path: str
    kind: Kind
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class LeftOut:
    path: str
    reason: Reason


def sort_out(paths: Iterable[str]) -> tuple[list[Item], list[LeftOut]]:
    """The items that these files make up, and the files that belong to none; both by path."""
    files: dict[tuple[str, Kind], list[str]] = {}
    left: list[LeftOut] = []
    for path in sorted(paths):
        place = _place(path)
        if isinstance(place, tuple):
            files.setdefault(place, []).append(path)
        else:
            left.append(LeftOut(path, place))
    return [Item(path, kind, tuple(found)) for (path, kind), found in sorted(files.items())], left


def is_item_path(path: str) -> bool:
    """Whether an item may have this path: what an older import noted down is not believed blindly."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return False
    whole = parts[:2] in ([".halo", "agents"], [".halo", "skills"]) and len(parts) == 3
    place = _place(f"{path}/x" if whole else path)
    return isinstance(place, tuple) and place[0] == path


def _place(path: str) -> tuple[str, Kind] | Reason:
    """Path and kind of the item a file belongs to, or why it is left out."""
    parts = tuple(path.split("/"))
    if any(part.casefold() == ".git" for part in parts):
        return "git"
    if _PRIVATE.fullmatch(parts[-1]):
        return "private"
    match parts:
        case ("README.md",):
            return "about"
        case (".halo", "INDEX.md"):
            return path, "index"
        case (".halo", "docs", _, *_):
            return path, "document"
        case (".halo", "prompts", scope, _, *_) if scope in _PROMPTS and path.endswith(".md"):
            return path, "prompt"
        case (".halo", ("agents" | "skills") as folder, item, _, *_) if is_item_id(item):
            kind: Kind = "agent" if folder == "agents" else "skill"
            return "internal" if item.startswith("__") else ("/".join(parts[:3]), kind)
        case (*above, ".halo", "INSTRUCTIONS.md") if ".halo" not in (part.casefold() for part in above):
            return path, "instructions"
    return "foreign"
