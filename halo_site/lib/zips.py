"""A zip from a stranger into an empty folder: all of it, or nothing and a reason (SECURITY-BAR E1).

Python's own extractor is not used: it turns links into text files and bends bad names into good ones, silently.
Standard library only: see `extensions_app.steps`. Everything is judged from the archive's list before the first byte is
written, and bytes are counted while they come.
"""

import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

MIB = 1024 * 1024
MOST_ENTRIES = 10_000
MOST_BYTES = 500 * MIB
MOST_LIST = 2 * MIB  # of the archive's own list: a small file could hold a list that fills the memory
RATIO = 200  # unpacked to packed, of an entry above RATIO_FROM
RATIO_FROM = MIB
CHUNK = 64 * 1024
_END = b"PK\x05\x06"
_END_SIZE, _LONGEST_COMMENT = 22, 65_535
_DRIVE = re.compile(r"[A-Za-z]:")
_JUNK = {"__MACOSX"}
_JUNK_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}


class BadArchive(Exception):
    """Why nothing was unpacked; names the entry."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A file to write. `parts`: its place below the target, a wrapper folder taken away."""

    info: zipfile.ZipInfo
    parts: tuple[str, ...]


def unpack(file: BinaryIO, target: Path, *, unwrap: bool = True, most: int | None = None) -> None:
    """Write the files of the zip below `target`, an empty folder of ours. Raises BadArchive.

    unwrap: take away a folder that holds everything. most: bytes of all files together; None = MOST_BYTES.
    """
    most = MOST_BYTES if most is None else most
    _check_list(file)
    try:
        with _opened(file) as archive:
            left = most
            for planned in plan(archive.infolist(), unwrap=unwrap, most=most):
                left -= _write(archive, planned, target, left)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError) as error:
        raise BadArchive(f"the zip is damaged or of a kind we do not read: {error}") from error


def _opened(file: BinaryIO) -> zipfile.ZipFile:
    """Nothing is written yet, so an OSError can only mean places in the archive that are not there."""
    try:
        return zipfile.ZipFile(file)
    except OSError as error:
        raise BadArchive("the zip is damaged: its list leads nowhere") from error


def plan(infos: list[zipfile.ZipInfo], *, unwrap: bool = True, most: int | None = None) -> list[Planned]:
    """Which files go where. Pure. Raises BadArchive for the first entry that is not plainly harmless."""
    most = MOST_BYTES if most is None else most
    if len(infos) > MOST_ENTRIES:
        raise BadArchive(f"the zip has more than {MOST_ENTRIES} entries")
    _check_overlap(infos)
    kept = [(info, parts) for info in infos if not _is_junk(parts := _parts(info))]
    files = [(info, parts) for info, parts in kept if not info.is_dir()]
    _check_clashes([parts for _, parts in kept], {parts for _, parts in files})
    if sum(info.file_size for info, _ in files) > most:
        raise _too_much(most)
    cut = 1 if unwrap and _wrapper([parts for _, parts in kept], [parts for _, parts in files]) else 0
    return [Planned(info, parts[cut:]) for info, parts in files]


def _too_much(most: int) -> BadArchive:
    return BadArchive(f"the zip unpacks to more than {most // MIB} MiB")


def _check_list(file: BinaryIO) -> None:
    """Read the archive's end ourselves: Python would load a list of any size first."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_SIZE - _LONGEST_COMMENT))
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_SIZE:
        raise BadArchive("this is not a zip file")
    end = tail[place : place + _END_SIZE]
    count, length = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if count == 0xFFFF or count > MOST_ENTRIES:
        raise BadArchive(f"the zip has more than {MOST_ENTRIES} entries")
    if length > MOST_LIST:
        raise BadArchive(f"the list of the zip's entries is larger than {MOST_LIST // MIB} MiB")
    file.seek(0)


def _parts(info: zipfile.ZipInfo) -> tuple[str, ...]:
    """The names of an entry's path, judged."""
    raw = info.orig_filename  # as stored: `filename` ends at a NUL and has slashes turned
    shown = ascii(raw)[:120]
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadArchive(f"{shown} is a link or a special file")
    if info.flag_bits & 0x1:
        raise BadArchive(f"{shown} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadArchive(f"{shown} is packed in a way we do not read; use deflate")
    if info.file_size > RATIO_FROM and info.file_size > RATIO * max(info.compress_size, 1):
        raise BadArchive(f"{shown} unpacks to more than {RATIO} times its size")
    if raw.startswith("/") or "\\" in raw or _DRIVE.match(raw):
        raise BadArchive(f"{shown} is not a relative path with forward slashes")
    parts = tuple(raw.removesuffix("/").split("/"))
    for part in parts:
        if part in ("", ".", "..") or part != part.rstrip(". ") or not _is_plain(part):
            raise BadArchive(f"{shown} has a part that no file may be called")
        if len(part.encode()) > 255:
            raise BadArchive(f"{shown} has a part of more than 255 bytes")
    if len(parts) > 32 or len(raw.encode()) > 1024:
        raise BadArchive(f"{shown} is too long or too deep")
    return parts


def _is_plain(part: str) -> bool:
    """No control, format (bidi, zero width), unassigned or half characters."""
    return not any(unicodedata.category(char).startswith("C") for char in part)


def _is_junk(parts: tuple[str, ...]) -> bool:
    """What Finder and Explorer leave in folders."""
    return parts[0] in _JUNK or parts[-1] in _JUNK_FILES or parts[-1].startswith("._")


def _check_clashes(all_parts: list[tuple[str, ...]], files: set[tuple[str, ...]]) -> None:
    """No two entries are one file where case or composition of letters does not count; no file is also a folder."""
    entries: set[tuple[str, ...]] = set()
    spelt: dict[tuple[str, ...], tuple[str, ...]] = {}
    for parts in all_parts:
        folded = tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)
        same = [spelt.setdefault(folded[:end], parts[:end]) == parts[:end] for end in range(1, len(parts) + 1)]
        if folded in entries or not all(same):
            raise BadArchive(f"{_shown(parts)} is there twice, or differs from another only by case")
        entries.add(folded)
    for folded, parts in spelt.items():
        if any(spelt[folded[:end]] in files for end in range(1, len(folded))):
            raise BadArchive(f"{_shown(parts)} lies in something that is no folder")


def _shown(parts: tuple[str, ...]) -> str:
    return ascii("/".join(parts))[:120]


def _check_overlap(infos: list[zipfile.ZipInfo]) -> None:
    """Entries that share bytes unpack to far more than the file holds."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise BadArchive(f"{ascii(info.orig_filename)[:120]} overlaps another entry")
        end = info.header_offset + 30 + info.compress_size


def _wrapper(all_parts: list[tuple[str, ...]], files: list[tuple[str, ...]]) -> bool:
    """Whether everything lies in one folder."""
    return len({parts[0] for parts in all_parts}) == 1 and bool(files) and all(len(parts) > 1 for parts in files)


def _write(archive: zipfile.ZipFile, planned: Planned, target: Path, left: int) -> int:
    """Unpack one file; returns its bytes."""
    path = target.joinpath(*planned.parts)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    written = 0
    with os.fdopen(handle, "wb") as out, archive.open(planned.info) as packed:
        for chunk in _chunks(packed):
            written += len(chunk)
            if written > left:
                raise BadArchive("the zip unpacks to more than it says, and to more than is allowed")
            out.write(chunk)
    return written


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk
