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
READ_LIMIT = 1024 * 1024  # larger ones are not even read
KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Text:
    """`version` tells whether the file changed; `cut` = it was longer than LIMIT."""

    path: str
    text: str
    version: Version
    cut: bool = False


_lock = threading.Lock()
_kept: OrderedDict[str, Text] = OrderedDict()


def read_text(base: Path, relative: str, *, trusted: bool) -> Text | None:
    """The text of a file below `base`, None when there is none (or it leads out of an untrusted base).

    trusted: the home's own files, where people may use links. Others count as absent while a command without full
    access runs that made them. Text beyond LIMIT is cut, with a visible note.
    Raises HaloError when it is there but cannot be read.
    """
    if trusted:
        return _read_text(base, relative, trusted=True)
    running = records()
    if running:
        do_not_keep()
    found = _read_text(base, relative, trusted=False)
    if found is None or is_planted(base / relative, found.version.inode, running):
        return None
    return found


def _read_text(base: Path, relative: str, *, trusted: bool) -> Text | None:
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
    data, version = (files or Jail(base)).read(relative, limit=READ_LIMIT)
    text = decode(data[:LIMIT])
    if len(data) > LIMIT:
        text += f"\n\n[{relative} is cut here: {len(data)} bytes, only the first {LIMIT} are used]"
    fresh = Text(path, text, version, len(data) > LIMIT)
    with _lock:
        _kept[path] = fresh
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return fresh
