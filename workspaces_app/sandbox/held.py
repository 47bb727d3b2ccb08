"""What a command made under a control name is renamed to `NAME.held`, never deleted."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

NUMBERED = 100  # names that are tried before one by chance; a command may have taken them all


def set_aside(root: Path, path: Path) -> bool:
    """Gives it another name in its folder. False = it is gone, or cannot be reached from `root` without a link."""
    with suppress(OSError), _Parent(root, path) as folder:
        names = (f"{path.name}.held{number or ''}" for number in range(NUMBERED))
        free = next((name for name in names if not _exists(name, folder)), f"{path.name}.held-{uuid4().hex}")
        os.rename(path.name, free, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    return False


def put_back(root: Path, path: Path, target: str) -> bool:
    """A control name that was a link and is something else now: the new thing is set aside, the link made again."""
    with suppress(OSError), _Parent(root, path) as folder:
        if _exists(path.name, folder) and not set_aside(root, path):
            return False
        os.symlink(target, path.name, dir_fd=folder)
        return True
    return False


def _exists(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


class _Parent:
    """The folder of a path as an open handle, reached from the root without following a link."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root, self._parts = root, path.parent.relative_to(root).parts

    def __enter__(self) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handle = os.open(self._root, flags)
        for part in self._parts:
            outer = self._handle
            try:
                self._handle = os.open(part, flags, dir_fd=outer)
            finally:
                os.close(outer)
        return self._handle

    def __exit__(self, *error: object) -> None:
        os.close(self._handle)


def told(held: Iterable[str]) -> str:
    """What the model is told."""
    names = ", ".join(held)
    return f"[set aside, because it steers agents or git and needs full access: {names}; find it as NAME.held]"


def told_again(place: str) -> str:
    """What the model is told of a command that was ended for what it planted."""
    return (
        f"it made {place} again each time that was set aside. This steers agents or git and needs full access; "
        "do not try it another way, ask somebody with full access"
    )
