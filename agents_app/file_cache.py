"""Small text files that steer agents, parsed once and cached by mtime, size and inode (ARCHITECTURE 10).

Files of a workspace are read through the confined door: a link that leads out of the folder is not followed, so that a
foreign repository cannot put a private file of this machine into a prompt.
"""

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.errors import BadRequest, Forbidden, NotFound
from halo_site.lib.remembered import do_not_keep, looking_at
from halo_site.lib.text import decode
from workspaces_app.jail import Jail, Version, as_halo_error
from workspaces_app.sandbox.ledger import is_planted, records

LIMIT = 64 * 1024  # bytes of one file that is put into a prompt
KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Text:
    """`version` tells whether the file changed; `cut` = it was longer than the limit."""

    path: str
    text: str
    version: Version
    cut: bool = False


_lock = threading.Lock()
_kept: OrderedDict[str, Text] = OrderedDict()


def read_text(base: Path, relative: str, *, trusted: bool, limit: int = LIMIT) -> Text | None:
    """The text of a file below `base`, None when there is none (or it leads out of an untrusted base).

    trusted: the home's own files, where people may use links. Others count as absent while a command without full
    access runs that made them. limit: bytes of it, the same at every call for a file; text beyond is cut, with a
    visible note. YAML gets the limit of its reader, which refuses what is longer: half of it would say something else.
    Raises HaloError when it is there but cannot be read.
    """
    if trusted:
        return _read_text(base, relative, limit, trusted=True)
    running = records()
    if running:
        do_not_keep()
    found = _read_text(base, relative, limit, trusted=False)
    if found is None or is_planted(base / relative, found.version.inode, running):
        return None
    return found


def _read_text(base: Path, relative: str, limit: int, *, trusted: bool) -> Text | None:
    path = f"{base}/{relative}"
    looking_at(path)
    files = None if trusted else Jail(base, confined=True)
    try:
        found = Version.of(files.stat(relative) if files else os.stat(path))
    except (FileNotFoundError, NotADirectoryError, NotFound, Forbidden):
        return None
    except OSError as error:
        raise as_halo_error(error, path) from error
    except BadRequest as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return None
        raise
    with _lock:
        known = _kept.get(path)
        if known is not None and known.version == found:
            _kept.move_to_end(path)
            return known
    with os.fdopen((files or Jail(base)).open_file(relative), "rb") as file:
        version = Version.of(os.fstat(file.fileno()))
        data = file.read(limit + 1)
    is_cut = len(data) > limit
    text = decode(data[:limit])
    if is_cut:
        text += f"\n\n[{relative} is cut here: {max(version.size, len(data))} bytes, only the first {limit} are used]"
    fresh = Text(path, text, version, is_cut)
    with _lock:
        _kept[path] = fresh
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return fresh
