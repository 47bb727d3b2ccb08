"""The home folder: made when missing, and its modes put right at every start (SECURITY-BAR L3)."""

import errno
import os
import stat
from pathlib import Path

from .env import Env
from .errors import HaloError


class HomeUnusable(HaloError):
    def __init__(self, path: Path, error: OSError) -> None:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "Free some space, then start again." if full else "Make it writable or set HALO_HOME."
        super().__init__(f"The home folder {path} cannot be used: {error.strerror}. {advice}")


def prepare_home(env: Env) -> None:
    """Folders exist; `secrets/` is 0700 and its files 0600, whatever umask or backup tool touched them.

    Also takes write rights for others off our umask, so that a careless one does not reach files of workspaces.
    Raises HomeUnusable.
    """
    os.umask(os.umask(0o077) | 0o022)
    folder = env.home
    try:
        if not env.home.exists():
            env.home.mkdir(parents=True, mode=0o700)
        for folder in (env.global_dir, env.global_dir / "logs", env.secrets_dir):
            folder.mkdir(mode=0o700, exist_ok=True)
        restrict(env.secrets_dir)
        if not env.database_url:
            # SQLite gives its journal files the mode of the database, so make that file first.
            os.close(os.open(env.sqlite_file, os.O_RDWR | os.O_CREAT, 0o600))
        probe = env.global_dir / ".write-probe"
        try:
            probe.write_bytes(bytes(4096))  # an empty file fits on a full disk; a start writes more than this
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise HomeUnusable(folder, error) from error


def restrict(folder: Path) -> None:
    """0700 for the folder and those below, 0600 for files; links are left alone."""
    for place, _, files in os.walk(folder):
        _chmod(Path(place), 0o700)
        for name in files:
            _chmod(Path(place, name), 0o600)


def _chmod(path: Path, mode: int) -> None:
    status = path.lstat()
    if not stat.S_ISLNK(status.st_mode) and stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)
