"""What sessions below full access never see, and what they never change. One definition for file tools and sandbox.

Paths are tuples of names below the workspace root. The tables are constants; what the owner adds is
`general.sandbox.hidden_dirs` and `hidden_files` (spec tools 3.2, SECURITY-BAR S1, S3).
"""

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from halo_site.lib import settings_store

TRASH = (".halo", "trash")

# Never shown below full access.
MASKED_DIRS = ((".halo", "sessions"), (".halo", "logs"), (".halo", "evo"), TRASH)
MASKED_FILES = (
    (".halo", "settings.yaml"),
    (".halo", "halo.db"),
    (".halo", "halo.db-wal"),
    (".halo", "halo.db-shm"),
)
MASKED = (*MASKED_DIRS, *MASKED_FILES)

# What an agent may write inside `.halo/` below full access; the rest steers stronger sessions.
WORK_FOLDERS = frozenset({"tmp", "memory", "docs", "uploads", "assets"})
INSTRUCTION_FILES = frozenset({"agents.md", "claude.md", "gemini.md", ".cursorrules"})
GIT_FILES = frozenset({".gitattributes", ".gitmodules"})
# `commondir` names the folder that config and hooks are read from instead.
GIT_CONTROL = frozenset({"config", "hooks", "info", "modules", "worktrees", "config.worktree", "commondir"})
# With these git takes a folder for a repository that has no `.git` (a bare one), and obeys GIT_CONTROL in it.
GIT_MAKES = frozenset({"head", "objects", "refs"})
GIT_PARTS = GIT_CONTROL | GIT_MAKES

HIDDEN_GLOBAL = frozenset({"logs", "internal-sessions"})
# Secrets of the machine that its account may read: with root that is a lot.
SYSTEM_DIRS = ("/etc/ssl/private", "/etc/sudoers.d", "/etc/halo", "/var/spool/cron", "/var/lib/postgresql")
SYSTEM_FILES = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab")


def is_control_file(folded: tuple[str, ...]) -> bool:
    """True for files that steer stronger sessions or git, whether or not they exist (SECURITY-BAR S3).

    folded: components below the workspace root, case-folded. Nested `.halo/` and `.git/` count like those of the root.
    """
    for place, name in enumerate(folded):
        below = folded[place + 1 :]
        if name == ".halo" and (not below or below[0] not in WORK_FOLDERS or len(below) < 2):
            return True
        if name == ".git" and (not below or below[0] in GIT_CONTROL):
            return True
    return bool(folded) and (folded[-1] in INSTRUCTION_FILES or folded[-1] in GIT_FILES)


def is_bare(folded: Set[str]) -> bool:
    """Whether git takes a folder with these names (case-folded) for a bare repository. HEAD has to be no folder."""
    return "head" in folded and ("commondir" in folded or folded >= {"objects", "refs"})


def may_steer(folded: tuple[str, ...]) -> bool:
    """True for control files and for what is one in a bare repository, whether or not the folder is one."""
    return is_control_file(folded) or not GIT_PARTS.isdisjoint(folded)


def is_masked(folded: tuple[str, ...]) -> bool:
    return any(folded[: len(mask)] == mask for mask in MASKED)


@dataclass(frozen=True, slots=True)
class Hidden:
    """Absolute places that sandboxed sessions see empty, as named and as resolved."""

    dirs: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()

    def covers(self, path: Path) -> bool:
        """Whether `path` (resolved) is one of them or lies in one. Case does not count: a file system may ignore it."""
        parts = tuple(name.casefold() for name in path.parts)
        return any(parts[: len(parts_of)] == parts_of for parts_of in self._folded())

    def _folded(self) -> list[tuple[str, ...]]:
        return [tuple(name.casefold() for name in place.parts) for place in (*self.dirs, *self.files)]


_cache: tuple[tuple[object, ...], Hidden] | None = None


def hidden() -> Hidden:
    """The lists of the settings with our constants: keys, databases and logs of the home, secrets of the machine."""
    global _cache
    env = settings.HALO
    key: tuple[object, ...] = (
        settings_store.layer(settings_store.file_of("global", None)).stamp,
        env.home,
        Path.home(),
    )
    if _cache is None or _cache[0] != key:
        _cache = key, _collect(env.home)
    return _cache[1]


def writable_dirs() -> tuple[Path, ...]:
    """`general.sandbox.writable_dirs`, those that are there."""
    return tuple(place for place in _setting("writable_dirs", settings.HALO.home) if place.is_dir())


def _collect(home: Path) -> Hidden:
    shared = home / "global"
    dirs = [*_setting("hidden_dirs", home), home / "secrets", *(shared / name for name in sorted(HIDDEN_GLOBAL))]
    files = [*_setting("hidden_files", home)]
    files += [shared / f"{name}.db{suffix}" for name in ("evo", "cron", "runs") for suffix in ("", "-wal", "-shm")]
    return Hidden(
        _both([*dirs, *map(Path, SYSTEM_DIRS)]),
        _both([*files, *map(Path, SYSTEM_FILES)]),
    )


def _setting(name: str, home: Path) -> list[Path]:
    """`~/.halo` means the home folder of this server, wherever it is; `~` the home of its user."""
    found = settings_store.general(f"sandbox.{name}")
    places = []
    for text in found if isinstance(found, list) else []:
        if text == "~/.halo" or text.startswith("~/.halo/"):
            places.append(home / text[8:])
        path = Path(text).expanduser()
        if path.is_absolute():
            places.append(path)
    return places


def _both(places: list[Path]) -> tuple[Path, ...]:
    """Each as it is named and as it really is: dotfiles are often links."""
    return tuple(dict.fromkeys(path for place in places for path in (place, place.resolve())))
