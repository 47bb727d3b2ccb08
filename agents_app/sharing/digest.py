"""What has the place of an item, in one comparable word."""

import hashlib
import os
import stat

from halo_site.lib.errors import BadRequest, Forbidden, NotFound
from workspaces_app.jail import Jail

from .bundle import MOST_BYTES, MOST_FILES
from .plan import BLOCKED

PIECE = 64 * 1024
# Words for what is never the same as an item of an archive; it can still be put aside as a whole.
LINK, SPECIAL, LARGE = "link", "special", "large"


class _TooMuch(Exception):
    pass


def digest_of(jail: Jail, path: str) -> str | None:
    """Of names and bytes of a file, or of a folder with all in it; None = nothing is there. No link is followed."""
    try:
        with jail.errors(path), jail.spot(path, keep_link=True) as spot:
            mode = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False).st_mode
    except NotFound:
        return None
    except (BadRequest, Forbidden):  # on the way to it is a file, or a link that leads out
        return BLOCKED
    if stat.S_ISLNK(mode):
        return LINK
    left = [MOST_FILES, MOST_BYTES]
    try:
        found = _folder(jail, path, "", left) if stat.S_ISDIR(mode) else [("", _file(jail, path, left))]
    except _TooMuch:
        return LARGE
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def _folder(jail: Jail, path: str, below: str, left: list[int]) -> list[tuple[str, str]]:
    """Each file below with its digest. Empty folders do not count: a zip has none."""
    found: list[tuple[str, str]] = []
    for entry in jail.entries(path):
        name = f"{below}{entry.name}"
        if entry.is_link:
            found.append((name, LINK))
        elif entry.is_dir:
            found += _folder(jail, f"{path}/{entry.name}", f"{name}/", left)
        else:
            found.append((name, _file(jail, f"{path}/{entry.name}", left)))
    return found


def _file(jail: Jail, path: str, left: list[int]) -> str:
    """left: files and bytes that may still come. Raises _TooMuch."""
    left[0] -= 1
    try:
        handle = jail.open_file(path)
    except BadRequest:
        return SPECIAL
    mark = hashlib.sha256()
    with os.fdopen(handle, "rb") as file:
        while piece := file.read(PIECE):
            left[1] -= len(piece)
            if min(left) < 0:
                raise _TooMuch
            mark.update(piece)
    return mark.hexdigest()
