"""Private keys in `~/.ssh`: which there are, which need a passphrase, and handing one to the agent (rules 38, 40)."""

import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.errors import BadRequest

from ..sandbox.argv import environment

NOT_KEYS = frozenset({"known_hosts", "known_hosts2", "known_hosts.old", "authorized_keys", "config"})
MARK = b"PRIVATE KEY-----"
UNLOCK_SECONDS = 15.0
MAX_KEYS = 100

NO_AGENT = "The ssh agent is not running"
UNREACHABLE = "The ssh agent cannot be reached"
WRONG = "The passphrase is incorrect, or the key could not be unlocked"
SLOW = "The key was not unlocked within 15 s"

# Copies what we give it and ends: asked a second time it has nothing, so a wrong passphrase fails at once.
_HELPER = "#!/bin/sh\nexec cat\n"


@dataclass(frozen=True, slots=True)
class Key:
    """encrypted: an empty passphrase does not open it."""

    name: str
    path: str
    encrypted: bool


def folder() -> Path:
    return Path.home() / ".ssh"


def private_keys() -> list[Key]:
    """By name; none without the folder or without ssh's tools."""
    try:
        names = sorted(os.listdir(folder()))
    except OSError:
        return []
    found = [path for name in names if (path := folder() / name) and _is_key(path)][:MAX_KEYS]
    return [Key(path.name, str(path), _is_encrypted(path)) for path in found]


def _is_key(path: Path) -> bool:
    if path.name in NOT_KEYS or path.suffix == ".pub":
        return False
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with open(path, "rb") as file:
            return MARK in file.readline(256)
    except OSError:
        return False


def _is_encrypted(path: Path) -> bool:
    try:
        words = ["ssh-keygen", "-y", "-P", "", "-f", str(path)]
        return (
            subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, env=_env()).returncode != 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return True


def checked_key(text: str) -> Path:
    """A key that lies directly in `~/.ssh`. Raises BadRequest."""
    path = Path(text)
    if not text or "\0" in text or not path.is_absolute() or ".." in path.parts or path.parent != folder():
        raise BadRequest("keyPath must be a key in ~/.ssh")
    if not _is_key(path):
        raise BadRequest("keyPath is not a private key")
    return path


def unlock(path: Path, passphrase: str, agent: str | None) -> str:
    """Hand a key to the agent; "" = done, else the reason in our words. The passphrase goes through a pipe only.

    Raises BadRequest for one that cannot be typed.
    """
    if len(passphrase) > 1024 or any(char in passphrase for char in "\0\n\r"):
        raise BadRequest("A passphrase is one line of at most 1024 characters")
    if agent is None:
        return NO_AGENT
    helpers = Path(tempfile.mkdtemp(prefix="halo-ask-"))
    try:
        helper = helpers / "ask"
        helper.write_text(_HELPER)
        helper.chmod(0o700)
        asking = {"SSH_AUTH_SOCK": agent, "SSH_ASKPASS": str(helper), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
        code = _add(path, passphrase, _env() | asking)
    finally:
        shutil.rmtree(helpers, ignore_errors=True)
    return {0: "", 2: UNREACHABLE, -1: SLOW}.get(code, WRONG)


def add_open_keys(agent: str) -> None:
    """Keys without a passphrase are at hand for plain ssh; here only what the agent has."""
    open_keys = [key.path for key in private_keys() if not key.encrypted]
    if open_keys:
        with suppress(OSError, subprocess.TimeoutExpired):
            words = ["ssh-add", "-q", "--", *open_keys]
            env = _env() | {"SSH_AUTH_SOCK": agent}
            subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=UNLOCK_SECONDS, env=env)


def _add(path: Path, passphrase: str, env: dict[str, str]) -> int:
    """Exit code of ssh-add; -1 when it did not end in time, 127 when it is not there."""
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "wb") as file:
        file.write(passphrase.encode() + b"\n")
    try:
        words = ["ssh-add", "-q", "--", str(path)]
        done = subprocess.run(
            words, stdin=ours, capture_output=True, timeout=UNLOCK_SECONDS, env=env, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return -1
    except OSError:
        return 127
    finally:
        os.close(ours)
    return done.returncode


def _env() -> dict[str, str]:
    return environment(Path.home()) | {"LC_ALL": "C"}
