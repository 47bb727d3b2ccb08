"""The state of the repository whose work tree begins at a folder: `HEAD` and `index`, nothing else (rules 20 to 22)."""

import os

from .tree import mark_of

FILES = ("HEAD", "index")
MAX_LINK = 4096

State = tuple[str, int, int]  # folder of the repository, marks of HEAD and index (0 = not there)


def git_dir(root: str) -> str | None:
    """The folder that holds HEAD and index; for worktrees and submodules where the `.git` file points to."""
    place = f"{root}/.git"
    if os.path.isdir(place):
        return place
    try:
        with open(place, encoding="utf-8", errors="surrogateescape") as link:
            text = link.read(MAX_LINK)
    except OSError:
        return None
    name, _, target = text.partition(":")
    if name != "gitdir" or not target.strip() or "\0" in target:
        return None
    folder = os.path.normpath(os.path.join(root, target.strip()))
    return folder if os.path.isdir(folder) else None


def state(root: str) -> State | None:
    """None = no repository, or one that git has only begun to make."""
    folder = git_dir(root)
    if folder is None:
        return None
    head, index = (_mark(f"{folder}/{name}") for name in FILES)
    return (folder, head, index) if head else None


def _mark(place: str) -> int:
    try:
        return mark_of(os.lstat(place))
    except OSError:
        return 0
