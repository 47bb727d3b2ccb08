"""A shared archive, unpacked into a folder of ours that goes away again; the workspace is not touched.

Unpacked once and judged there, so that nobody can change the zip between the look and the deed.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from halo_site.lib.errors import BadRequest, TooLarge
from halo_site.lib.zips import MIB, BadArchive, unpack

from .contents import Item, LeftOut, sort_out

MAX_ZIP = 50 * MIB
MOST_BYTES = 50 * MIB  # unpacked
MOST_FILES = 2_000
TEXT = 1 * MIB  # larger files are not searched for placeholders


@dataclass(frozen=True, slots=True)
class Bundle:
    folder: Path
    items: list[Item]
    left_out: list[LeftOut]

    def size(self, item: Item) -> int:
        return sum((self.folder / path).stat().st_size for path in item.files)

    def text(self, path: str) -> str:
        """What a text file holds; "" for one that is no text, too large or not there."""
        file = self.folder / path
        if not file.is_file() or file.stat().st_size > TEXT:
            return ""
        data = file.read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", "replace")


@contextmanager
def opened(file: BinaryIO) -> Iterator[Bundle]:
    """Raises BadRequest for what is no harmless zip, and for one that brings nothing that could be imported."""
    with tempfile.TemporaryDirectory(prefix="halo-import-") as place:
        folder = Path(place)
        try:
            unpack(file, folder, unwrap=False, most=MOST_BYTES)
        except BadArchive as error:
            raise BadRequest(f"Not imported: {error}") from error
        paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        if len(paths) > MOST_FILES:
            raise TooLarge(f"Not imported: the zip holds more than {MOST_FILES} files")
        items, left_out = sort_out(paths)
        if not items:
            raise BadRequest(
                "Not imported: the zip holds nothing that `/workspace share` packs; `.halo/` must be at its top"
            )
        yield Bundle(folder, items, left_out)
