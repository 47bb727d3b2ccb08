"""Repositories as git sees them: whether it would run something of one, and what makes a folder one without a `.git`.

A bare repository steers git like a `.git` does: its `config` and `hooks` are obeyed by whoever calls git in it.
"""

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from ..protected import GIT_CONTROL, GIT_PARTS, is_bare

MAX_CONFIG = 64 * 1024  # bytes

# One line of a configuration that git writes by itself. Anything else, however it may be read, is not harmless.
_SECTION = re.compile(r"\[(core|user|remote \"[\w./-]+\"|branch \"[\w./-]+\")\]")
_KEYS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"}
    | {"symlinks"},
    "user": {"name", "email"},
    "remote": {"url", "fetch", "tagopt"},
    "branch": {"remote", "merge", "rebase"},
}
_LINE = re.compile(r"\t?(\w+) = ([^\"\\;#\x00-\x1f]*)")
_URL = re.compile(r"(https?://|git://|ssh://|[\w.-]+@[\w.-]+:)\S*|\.{0,2}/.*")


def is_harmless(git: Path, *, finished: bool = True) -> bool:
    """Whether git, started with full rights in this repository, would run nothing of it.

    finished: False for one in the making, which has no configuration at first.
    """
    try:
        if not stat.S_ISDIR(git.lstat().st_mode):
            return False
        listed = os.listdir(git)
        names = {name.casefold(): git / name for name in listed}
        if len(names) < len(listed):  # one could hide another
            return False
        if "config" not in names and finished:
            return False
        if any(name in names for name in ("config.worktree", "commondir", "gitdir")):
            return False
        if any(os.listdir(names[name]) for name in ("modules", "worktrees") if name in names):
            return False
        if "hooks" in names and not all(name.endswith(".sample") for name in os.listdir(names["hooks"])):
            return False
        if any(names[name].is_symlink() for name in ("hooks", "info", "modules", "worktrees") if name in names):
            return False
        if "info" in names and "attributes" in {name.casefold() for name in os.listdir(names["info"])}:
            return False
        if "config" not in names:
            return True
        if not stat.S_ISREG((git / "config").lstat().st_mode):
            return False
        with open(git / "config", "rb") as file:
            text = file.read(MAX_CONFIG + 1)
        return len(text) <= MAX_CONFIG and is_plain_config(text.decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def is_plain_config(text: str) -> bool:
    section = ""
    for line in text.split("\n"):
        if not line:
            continue
        if named := _SECTION.fullmatch(line):
            section = named[1].partition(" ")[0]
            continue
        setting = _LINE.fullmatch(line)
        if setting is None or setting[1].lower() not in _KEYS.get(section, ()):
            return False
        if setting[1].lower() == "url" and (not _URL.fullmatch(setting[2]) or "::" in setting[2]):
            return False
    return True


def steering(root: Path, changes: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Those that together complete a bare repository, or change what steers one. Names below `root`."""
    parts: dict[Path, dict[str, list[tuple[str, ...]]]] = {}
    for change in changes:
        for place, name in _parts(root, change):
            parts.setdefault(place.parent, {}).setdefault(name, []).append(change)
    found = []
    for folder, by_name in parts.items():
        present = _present(folder)
        if is_bare(present | by_name.keys()):
            found += [
                change
                for name, changes_of in by_name.items()
                if name in GIT_CONTROL or name not in present
                for change in changes_of
            ]
    return list(dict.fromkeys(found))


def unfinished(root: Path, reached: tuple[str, ...]) -> list[Path]:
    """What of `reached` can be a part of a bare repository, in folders that are none yet."""
    return [place for place, _ in _parts(root, reached) if not is_bare_folder(place.parent)]


def is_bare_folder(folder: Path) -> bool:
    return is_bare(_present(folder))


def _parts(root: Path, reached: tuple[str, ...]) -> list[tuple[Path, str]]:
    folded = [name.casefold() for name in reached]
    return [(root.joinpath(*reached[: at + 1]), name) for at, name in enumerate(folded) if name in GIT_PARTS]


def _present(folder: Path) -> set[str]:
    """Which names that make a repository are there, case-folded."""
    found = {name.casefold() for name in ("HEAD", "objects", "refs", "commondir") if os.path.lexists(folder / name)}
    if "head" in found and (folder / "HEAD").is_dir() and not (folder / "HEAD").is_symlink():
        found.discard("head")
    return found
