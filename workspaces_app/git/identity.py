"""Who commits, and which of the owner's own git settings hold inside, where ~/.gitconfig is hidden."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..sandbox.argv import environment

SECONDS = 5.0
# How git behaves, nothing that runs or connects.
KEPT = frozenset(
    (
        "user.name",
        "user.email",
        "pull.rebase",
        "pull.ff",
        "merge.ff",
        "merge.conflictstyle",
        "push.default",
        "core.autocrlf",
        "core.eol",
        "core.excludesfile",
        "init.defaultbranch",
        "rebase.autostash",
    )
)
_FILES = (".gitconfig", ".config/git/config")


@dataclass(frozen=True, slots=True)
class Person:
    """is_author: commits carry this name, whatever the settings say; False for the owner, who has settings."""

    name: str
    email: str
    is_author: bool


async def settings_text(person: Person | None) -> str:
    """A global git configuration: ours, the kept settings of the owner, and a name where there is none."""
    return settings_file(await asyncio.to_thread(_owners), person)


def settings_file(owners: dict[str, str], person: Person | None) -> str:
    """Pure. Every value is quoted, so nothing in it can begin a new line."""
    values = {"safe.directory": "*", "safe.barerepository": "explicit", "init.defaultbranch": "main", **owners}
    if person:
        values.setdefault("user.name", person.name)
        values.setdefault("user.email", person.email)
    lines = []
    for key, value in sorted(values.items()):
        section, _, name = key.partition(".")
        lines.append(f"[{section}]\n\t{name} = {_quoted(value)}\n")
    return "".join(lines)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{"".join(char for char in escaped if char >= " ")}"'


_known: tuple[tuple[object, ...], dict[str, str]] | None = None


def _owners() -> dict[str, str]:
    """The kept settings of the server's own user; read again when a file changed."""
    global _known
    stamp = tuple(_stamp(Path.home() / name) for name in _FILES)
    if _known is None or _known[0] != stamp:
        _known = stamp, _read() if any(stamp[1:]) or stamp[0] else {}
    return dict(_known[1])


def _stamp(path: Path) -> tuple[object, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return (path, found.st_mtime_ns, found.st_size, found.st_ino)


def _read() -> dict[str, str]:
    try:
        done = subprocess.run(
            ["git", "config", "--global", "--list", "-z"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            cwd="/",
            env=environment(Path.home()) | {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = {}
    for entry in done.stdout.decode("utf-8", "replace").split("\0"):
        key, newline, value = entry.partition("\n")
        if key in KEPT:
            found[key] = value if newline else "true"
    return found
