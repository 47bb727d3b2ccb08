"""One level of the file tree (spec files-git-terminal 5)."""

import os
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from halo_site.lib.atomic_file import PREFIX
from halo_site.lib.errors import HaloError, TooLarge

from ..jail import Jail
from ..walk import DIR

HIDDEN = frozenset({".git", ".DS_Store", "node_modules", "__pycache__"})
MOST = 100_000  # entries of one folder


class Node(NamedTuple):
    name: str
    path: str
    is_dir: bool
    has_children: bool = False


Unseen = dict[tuple[str, ...], frozenset[str]]
NOTHING: frozenset[str] = frozenset()


def visible(name: str, unseen: frozenset[str] = NOTHING) -> bool:
    """Whether the tree shows a name: neither hidden, nor half written by us, nor unfit for text."""
    if name in HIDDEN or name.startswith(PREFIX) or (unseen and name.casefold() in unseen):
        return False
    return name.isascii() or _is_text(name)


def unseen_in(unseen: Unseen, below: tuple[str, ...]) -> frozenset[str]:
    """The names in one folder that a caller never sees; see `Jail.unseen`."""
    return unseen.get(tuple(name.casefold() for name in below), NOTHING) if unseen else NOTHING


def level(jail: Jail, path: str) -> list[Node]:
    """Folders first, then files, each by name. A folder that may not be read is empty.

    Links appear as what they point to inside the workspace; those that leave it, and all but folders and regular
    files, do not appear. Raises NotFound, BadRequest (no folder), Forbidden (outside), TooLarge.
    """
    try:
        with jail.errors(path), jail.spot(path) as spot:
            handle = os.open(spot.name, DIR, dir_fd=spot.folder)
            below = (spot.where / spot.name).relative_to(jail.root).parts  # links resolved
    except HaloError as error:
        if isinstance(error.__cause__, PermissionError):
            return []
        raise
    try:
        shown = jail.full_path(path).relative_to(jail.root)
        return _nodes(jail, handle, "" if shown == Path() else f"{shown.as_posix()}/", below)
    finally:
        os.close(handle)


def _nodes(jail: Jail, handle: int, prefix: str, below: tuple[str, ...]) -> list[Node]:
    unseen = jail.unseen()
    here = unseen_in(unseen, below)
    folders, files, links = [], [], []
    with os.scandir(handle) as found:
        for count, entry in enumerate(found):
            if count >= MOST:
                raise TooLarge(f"This folder has more than {MOST} entries")
            name = entry.name
            if not visible(name, here):
                continue
            if entry.is_symlink():
                links.append(name)
            elif entry.is_dir(follow_symlinks=False):
                inner = unseen_in(unseen, (*below, name))
                folders.append(Node(name, prefix + name, True, _has_children(handle, name, inner)))
            elif entry.is_file(follow_symlinks=False):
                files.append(Node(name, prefix + name, False))
    for name in links:
        node = _link(jail, prefix + name, name)
        if node is not None:
            (folders if node.is_dir else files).append(node)
    return sorted_by_name(folders) + sorted_by_name(files)


def _link(jail: Jail, path: str, name: str) -> Node | None:
    try:
        found = jail.stat(path)
    except HaloError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return Node(name, path, True, True)
    return Node(name, path, False) if stat.S_ISREG(found.st_mode) else None


def _has_children(parent: int, name: str, unseen: frozenset[str]) -> bool:
    try:
        handle = os.open(name, DIR, dir_fd=parent)
    except OSError:  # not to be read, or gone
        return False
    try:
        with os.scandir(handle) as found:
            return any(visible(entry.name, unseen) for entry in found)
    except OSError:
        return False
    finally:
        os.close(handle)


def sorted_by_name(nodes: Iterable[Node]) -> list[Node]:
    """As people expect: `a`, `B`, `ä`; the code points decide between equals."""
    return sorted(nodes, key=lambda node: name_key(node.name))


def name_key(name: str) -> tuple[str, str]:
    if name.isascii():
        return name.casefold(), name
    plain = unicodedata.normalize("NFD", name.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char)), name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
