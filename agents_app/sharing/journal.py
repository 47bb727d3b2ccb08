"""What an import notes down before it moves anything: enough to take all of it back, after a crash too. Pure."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

from .contents import is_item_path

State = Literal["moving", "done", "undoing"]


@dataclass(frozen=True, slots=True)
class Moved:
    """One item. digest: of what the import puts there. had: something was in its place."""

    path: str
    digest: str
    had: bool


@dataclass(frozen=True, slots=True)
class Journal:
    """at: Unix milliseconds. name: of the zip. made: folders that were not there, those above first."""

    state: State
    at: int
    name: str
    items: Sequence[Moved]
    made: Sequence[str] = ()

    def now(self, state: State) -> "Journal":
        return replace(self, state=state)

    def dump(self) -> bytes:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False).encode()

    @classmethod
    def load(cls, data: bytes) -> Self | None:
        """None for what we did not write: a folder may come from elsewhere with a journal in it, and the undo of that
        must reach no further than an import would."""
        try:
            found: Any = json.loads(data)
            journal = cls(
                found["state"],
                int(found["at"]),
                str(found["name"]),
                [Moved(str(item["path"]), str(item["digest"]), bool(item["had"])) for item in found["items"]],
                [str(path) for path in found["made"]],
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        known = journal.state in ("moving", "done", "undoing")
        return journal if known and all(is_item_path(item.path) for item in journal.items) else None


def missing_above(paths: Sequence[str], there: Sequence[str]) -> list[str]:
    """The folders above these paths that are not among `there`, those above first."""
    above = {"/".join(parts[:end]) for parts in (path.split("/") for path in paths) for end in range(1, len(parts))}
    return sorted(above - set(there))
