"""Pure: joins changes, so that a burst costs a few frames. The first change waits for nobody (spec README 27)."""

from ..events import FileAction

JOIN = 0.3  # seconds from one telling to the next


def merged(pending: FileAction | None, new: FileAction) -> FileAction | None:
    """What two changes of one path are together; None = nothing happened (spec files-git-terminal 16)."""
    if pending in ("add", "addDir"):
        if new == "change":
            return pending
        if new == "unlink":
            return None
    return new


class Window:
    """Times are monotonic seconds. The kernel's side collects for 20 to 50 ms before anything comes here."""

    __slots__ = ("_next", "_pending", "join")

    def __init__(self, join: float = JOIN) -> None:
        self.join = join
        self._pending: dict[str, FileAction] = {}
        self._next = 0.0

    def add(self, path: str, action: FileAction) -> None:
        found = merged(self._pending.pop(path, None), action)
        if found is not None:
            self._pending[path] = found

    def wait(self, now: float) -> float | None:
        """Seconds until something may be told, 0 = now; None = there is nothing."""
        return max(0.0, self._next - now) if self._pending else None

    def take(self, now: float) -> list[tuple[str, FileAction]]:
        """Everything, in the order of the newest news of each path; [] while it has to wait."""
        if not self._pending or now < self._next:
            return []
        taken, self._pending = list(self._pending.items()), {}
        self._next = now + self.join
        return taken
