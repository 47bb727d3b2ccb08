"""Files an agent sends along: lines of a reply that hold `MEDIA:<absolute path>` and nothing else (spec tools 3.15)."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from workspaces_app.jail import Jail

_MARKER = re.compile(r"^MEDIA:[ \t]*(\S[^\r\n]*?)[ \t]*\r?$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Split:
    """A reply without its markers, "" when nothing else was in it, and the paths in their order."""

    text: str
    paths: tuple[str, ...]


def split_attachments(reply: str) -> Split:
    """A marker with anything before it on its line is plain text. A reply without markers comes back untouched."""
    paths = tuple(_MARKER.findall(reply))
    if not paths:
        return Split(reply, ())
    text = _MARKER.sub("", reply)
    return Split(text.rstrip("\r\n") if text.strip() else "", paths)


def open_attachment(path: str, workspace: Path, level: Access) -> BinaryIO:
    """The file of a marker, open for reading; the caller closes it.

    Full access sends any file it can read; lower levels what their file tools can read of the workspace. Nothing of
    the folder for temporary files is theirs: their shell has one of its own, and what lies in the system's belongs to
    others (SECURITY-BAR D9). Raises BadRequest, NotFound, Forbidden.
    """
    if not os.path.isabs(path):
        raise BadRequest(f"MEDIA: needs an absolute path, not {path!r}")
    return os.fdopen(Jail(workspace, level=level).open_file(path), "rb")
