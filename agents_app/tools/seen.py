"""Which state of a file each session last saw, so that an edit can say that the file changed meanwhile.

The mark is the one the editor's saves go by (workspaces_app/files/version.py): the content, not a time that can be set
back (CASES C64). Kept in memory only: after a restart nothing is known, and nothing is said.
"""

import os
import threading
from collections import OrderedDict
from pathlib import Path

from workspaces_app.files.version import HASHED, hash_of, version_of
from workspaces_app.jail import Jail

from .contract import ToolContext

KEPT = 5_000

Key = tuple[str, str, str]

_lock = threading.Lock()
_seen: OrderedDict[Key, str] = OrderedDict()


def _key(ctx: ToolContext, path: Path) -> Key:
    return str(ctx.workspace), ctx.session_id, str(path)


def version_at(files: Jail, path: str) -> str:
    """The state of a file now. Raises HaloError when it cannot be read."""
    handle = files.open_file(path)
    try:
        return version_of(handle, os.fstat(handle))
    finally:
        os.close(handle)


def version_written(files: Jail, path: str, data: bytes) -> str:
    """The state that `data`, just written, made of a file."""
    return hash_of(data) if len(data) <= HASHED else version_at(files, path)


def remember(ctx: ToolContext, path: Path, version: str) -> None:
    """This session has just read or written this state."""
    with _lock:
        _seen[_key(ctx, path)] = version
        _seen.move_to_end(_key(ctx, path))
        while len(_seen) > KEPT:
            _seen.popitem(last=False)


def changed_since_seen(ctx: ToolContext, path: Path, version: str) -> bool:
    """True when the session saw another state before. False when it saw none."""
    with _lock:
        known = _seen.get(_key(ctx, path))
    return known is not None and known != version
