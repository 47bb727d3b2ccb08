"""Looks at the disk and decides what a sandbox of a workspace shows, hides and keeps read-only."""

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from halo_site.lib.access_level import Access

from ..protected import MASKED_DIRS, MASKED_FILES, hidden, writable_dirs
from .argv import Layout
from .sweep import Found, work_folders

SOCKET_PLACES = ("/run", "/var/run", "/var/tmp")  # noqa: S108 -- emptied, not used
MAX_READ_ONLY = 1_000


def plan(
    workspace: Path,
    level: Access,
    control: Found,
    *,
    proxy_socket: Path | None = None,
    empty: Path | None = None,
    shown: Sequence[tuple[Path, str]] = (),
    masks: bool = True,
) -> Layout:
    """The layout for one command. `workspace` is resolved; `control` is what `sweep.look` found in it just now.

    masks: hide what sessions below full access never see of the workspace; of the machine it is hidden always.
    empty: what hidden files look like; None = a file of ours, made when it is not there yet.
    """
    writable = level is not Access.READONLY
    emptied = _distinct(Path(place).resolve() for place in (*SOCKET_PLACES, tempfile.gettempdir()))
    emptied = [place for place in emptied if place != Path("/tmp")]  # noqa: S108 -- always emptied
    more = [place.resolve() for place in writable_dirs()] if writable else []
    places = hidden()
    gone = [Path("/tmp"), *emptied]  # noqa: S108
    dirs = [place for place in places.dirs if _is(place, stat.S_ISDIR) and _shows(place, workspace, more, gone)]
    files = [place for place in places.files if _is(place, _no_dir) and _shows(place, workspace, more, gone)]
    files += [place for place in sockets() if _shows(place, workspace, more, gone)]
    mask_dirs, mask_files = (MASKED_DIRS, MASKED_FILES) if masks else ((), ())
    masked_dirs = [place for mask in mask_dirs if _is(place := workspace.joinpath(*mask), stat.S_ISDIR)]
    masked_files = [place for mask in mask_files if _is(place := workspace.joinpath(*mask), _no_dir)]
    roots = [workspace, *more]
    return Layout(
        workspace=workspace,
        writable=writable,
        emptied=emptied,
        writable_dirs=more,
        pins=_pins(roots, [*dirs, *files]) + [place for place in control.git if place.is_dir()],
        read_only=_distinct([*control.halo, *control.files, *control.steering()])[:MAX_READ_ONLY],
        work_dirs=[place for halo in control.halo for place in work_folders(halo)],
        masked_dirs=_outermost(masked_dirs),
        masked_files=masked_files,
        hidden_dirs=_outermost(dirs),
        empty=empty or empty_file(),
        hidden_files=[place for place in _distinct(files) if not _below(place, dirs)],
        proxy_socket=proxy_socket,
        shown=shown,
        programs=[place for place in programs() if _below(place, gone)],
    )


def programs() -> list[Path]:
    """Folders of our own interpreter, which runs the forwarder inside, and of the forwarder."""
    python = Path(sys.executable)
    return _distinct([python.parent.parent, python.resolve().parent.parent, Path(__file__).parent])


def empty_file() -> Path:
    """A file of ours without content; the null device where none can be made."""
    path = Path(settings.HALO.global_dir, ".empty")
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444))
        status = path.lstat()
    except OSError:
        return Path(os.devnull)
    return path if stat.S_ISREG(status.st_mode) and not status.st_size else Path(os.devnull)


def sockets() -> list[Path]:
    """Unix sockets somebody listens on, by their path: a read-only mount does not keep anyone from connecting."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    named = (line.split(None, 7) for line in lines)
    paths = {Path(parts[7]).resolve() for parts in named if len(parts) == 8 and parts[7].startswith("/")}
    return sorted(place for place in paths if _is(place, stat.S_ISSOCK))


def _shows(place: Path, workspace: Path, more: Sequence[Path], emptied: Sequence[Path]) -> bool:
    """Whether `place` would be seen at all: what lies in an emptied folder is gone, unless a bind brings it back."""
    return _below(place, [workspace, *more]) or not _below(place, emptied)


def _pins(roots: Sequence[Path], kept: Iterable[Path]) -> list[Path]:
    """Folders strictly between a writable root and a place below it, outer first."""
    found: set[Path] = set()
    for place in kept:
        for root in roots:
            if place.is_relative_to(root) and place != root:
                found.update(parent for parent in place.parents if parent != root and parent.is_relative_to(root))
    return sorted(found, key=lambda path: len(path.parts))


def _is(place: Path, kind: Callable[[int], bool]) -> bool:
    """Of that kind by itself: a link is none."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return False
    return kind(mode)


def _no_dir(mode: int) -> bool:
    return not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode)


def _below(place: Path, folders: Iterable[Path]) -> bool:
    return any(place.is_relative_to(folder) for folder in folders)


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Without those that lie in another: an emptied, read-only folder has no place for a mount."""
    kept: list[Path] = []
    for place in sorted(set(folders), key=lambda path: len(path.parts)):
        if not _below(place, kept):
            kept.append(place)
    return kept


def _distinct(places: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(places))
