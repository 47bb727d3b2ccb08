"""Files and folders by a part of their name or path (spec files-git-terminal 6)."""

import os
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ..jail import Jail
from ..protected import TRASH
from ..walk import DIR
from .tree import NOTHING, Unseen, name_key, unseen_in, visible

SCANNED = 50_000  # entries looked at in one search
DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Match:
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Found:
    matches: list[Match]
    truncated: bool  # more match, or not everything was looked at


def search(jail: Jail, query: str, *, limit: int, dirs_only: bool = False, scanned: int = SCANNED) -> Found:
    """The best `limit` matches among the first `scanned` entries, upper folders first; links are not followed.

    Case does not count, nor whether letters are composed. Names that begin with the query come first, then by name.
    An empty query gives the first entries found.
    """
    wanted = folded(query.strip())
    matches: list[Match] = []
    more = False
    for count, (path, is_dir) in enumerate(_entries(jail)):
        if count >= scanned:
            more = True
            break
        if (dirs_only and not is_dir) or wanted not in folded(path):
            continue
        matches.append(Match(path.rpartition("/")[2], path))
        if not wanted and len(matches) > limit:
            break
    if wanted:
        matches.sort(key=lambda match: (not folded(match.name).startswith(wanted), name_key(match.name), match.path))
    return Found(matches[:limit], more or len(matches) > limit)


def folded(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def _entries(jail: Jail) -> Iterator[tuple[str, bool]]:
    """(path, is it a folder) of everything that shows, level by level. Folders are opened without following links."""
    todo: deque[tuple[tuple[str, ...], list[str]]] = deque()
    unseen = _unseen(jail)
    with jail.errors("."), jail.folder(".") as root:
        names: list[str] = []
        for name, is_dir in _scan(unseen, root, ()):
            yield name, is_dir
            if is_dir:
                names.append(name)
        if names:
            todo.append(((), names))
        while todo:
            above, names = todo.popleft()
            parent = _down(root, above)
            if parent is None:
                continue
            try:
                for name in names:
                    below = (*above, name)
                    inner: list[str] = []
                    for path, is_dir in _in_folder(unseen, parent, below):
                        yield "/".join((*below, path)), is_dir
                        if is_dir:
                            inner.append(path)
                    if inner and len(below) < DEEPEST:
                        todo.append((below, inner))
            finally:
                os.close(parent)


def _unseen(jail: Jail) -> Unseen:
    """Nor does anybody find what was deleted."""
    unseen = jail.unseen()
    *above, name = TRASH
    return {**unseen, tuple(above): unseen.get(tuple(above), NOTHING) | {name}}


def _in_folder(unseen: Unseen, parent: int, below: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    try:
        handle = os.open(below[-1], DIR, dir_fd=parent)
    except OSError:  # gone, or not to be read
        return
    try:
        yield from _scan(unseen, handle, below)
    finally:
        os.close(handle)


def _scan(unseen: Unseen, handle: int, below: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    here = unseen_in(unseen, below)
    try:
        with os.scandir(handle) as found:
            for entry in found:
                if visible(entry.name, here):
                    is_dir = entry.is_dir(follow_symlinks=False)
                    if is_dir or entry.is_file(follow_symlinks=False):
                        yield entry.name, is_dir
    except OSError:
        return


def _down(root: int, names: tuple[str, ...]) -> int | None:
    handle = os.dup(root)
    for name in names:
        try:
            lower = os.open(name, DIR, dir_fd=handle)
        except OSError:
            return None
        finally:
            os.close(handle)
        handle = lower
    return handle
