"""Files that people drop into a workspace: they never replace one, and their names are ours to choose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from halo_site.lib.errors import Conflict, Forbidden, NotFound

from ..jail import Jail
from .names import numbered, plain_name

FOLDER = ".halo/uploads"
PIECE = 1024 * 1024
MOST_TRIES = 1000


class Incoming(Protocol):
    name: str | None

    def chunks(self, chunk_size: int | None = None) -> Iterable[bytes]: ...


@dataclass(frozen=True, slots=True)
class Stored:
    name: str  # as it is on disk now
    path: str
    size: int
    said: str  # what the client called it


def store(jail: Jail, files: Sequence[Incoming], folder: str) -> list[Stored]:
    """Each file whole and on disk, under its own name or `name (1).ext`, `name (2).ext` ...

    Raises Forbidden with the refused names before anything is written; StorageFull leaves the ones stored so far.
    """
    named = [(file, file.name or "", plain_name(file.name or "")) for file in files]
    refused = [said for _, said, name in named if name is None or not _may(jail, f"{folder}/{name}")]
    if refused:
        raise Forbidden(f"These names are not allowed here: {', '.join(map(repr, refused))}", refused=refused)
    return [_store(jail, file, folder, name, said) for file, said, name in named if name is not None]


def _may(jail: Jail, path: str) -> bool:
    try:
        jail.check_writable(path)
        with jail.errors(path), jail.spot(path, writing=True, keep_link=True):
            return True
    except NotFound:  # the folder is still to be made
        return True
    except Forbidden:
        return False


def _store(jail: Jail, file: Incoming, folder: str, name: str, said: str) -> Stored:
    size = 0
    with jail.draft(f"{folder}/{name}", create=True, keep_link=True) as (spot, draft):
        for piece in file.chunks(PIECE):
            draft.write(piece)
            size += len(piece)
        for number in range(MOST_TRIES):
            # On disk it may be decomposed: then that name is taken.
            free = numbered(name, number) if number else spot.name
            try:
                draft.publish(free, over=False)
            except FileExistsError:
                continue
            path = (spot.where / free).relative_to(jail.root).as_posix()
            return Stored(free, path, size, said)
    raise Conflict(f"There are {MOST_TRIES} files named like {name}; rename yours")
