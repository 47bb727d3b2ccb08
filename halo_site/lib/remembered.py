"""Results that are kept as long as the files they were made from are as they were.

Whoever looks at a file or a folder says so first (`looking_at`). A `Remembered` collects that while it makes a result;
the next time it asks the disk about each of them, one `stat` a path, instead of making the result again.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

Stamp = tuple[int, int, int, int] | None  # None = there is nothing, or nothing that may be looked at


@dataclass(slots=True)
class _Looks:
    """At what one result was made from, and what it was like just before it was read. `settled`: may be kept."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    settled: bool = True


_looks: ContextVar[_Looks | None] = ContextVar("looks", default=None)


def looking_at(path: str | Path) -> None:
    """Before every look at a file or folder that may go into a remembered result. Costs nothing elsewhere."""
    if (looks := _looks.get()) is not None:
        looks.stamps.setdefault(str(path), _stamp(str(path)))


def do_not_keep() -> None:
    """The result that is being made hangs on more than files."""
    if (looks := _looks.get()) is not None:
        looks.settled = False


class Remembered(Generic[T]):
    """The newest `size` results by key. Safe to share among threads; two may make the same result at once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[dict[str, Stamp], T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for `key`, or is made now. What `make` raises is raised, and nothing is kept."""
        with self._lock:
            known = self._kept.get(key)
        if known is not None and all(_stamp(path) == stamp for path, stamp in known[0].items()):
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
            return known[1]
        looks = _Looks()
        token = _looks.set(looks)
        try:
            made = make()
        finally:
            _looks.reset(token)
        with self._lock:
            if looks.settled:
                self._kept[key] = looks.stamps, made
                self._kept.move_to_end(key)
                if len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            else:
                self._kept.pop(key, None)
        return made


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
