"""The ssh agent of this server process: an inherited one that answers, else our own, which ends with us (rule 39)."""

import atexit
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from halo_site.lib import last_will
from halo_site.lib.env import child_environment

from ..sandbox.argv import environment
from . import ssh_keys

START_SECONDS = 3.0

_lock = threading.Lock()
_ours: "tuple[subprocess.Popen[bytes], Path] | None" = None


def running() -> str | None:
    """The socket of an agent that answers; starts nothing."""
    inherited = child_environment().get("SSH_AUTH_SOCK")
    for socket in (inherited, str(_ours[1]) if _ours else None):
        if socket and loaded(socket) is not None:
            return socket
    return None


def ensure() -> str | None:
    """As `running`, and starts one when there is none; None where ssh's tools are missing."""
    with _lock:
        return running() or _start()


def for_connection() -> Path | None:
    """The agent for a push or fetch over ssh, with the keys that need no passphrase."""
    socket = ensure()
    if socket is not None:
        ssh_keys.add_open_keys(socket)
    return Path(socket) if socket else None


def loaded(socket: str) -> list[str] | None:
    """Fingerprints and comments of the keys it holds; None when it does not answer."""
    env = environment(Path.home()) | {"SSH_AUTH_SOCK": socket, "LC_ALL": "C"}
    try:
        done = subprocess.run(["ssh-add", "-l"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode == 1:  # it answers, and holds none
        return []
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else None


def _start() -> str | None:
    global _ours
    _stop()
    _ours = start()
    return str(_ours[1]) if _ours else None


def start() -> "tuple[subprocess.Popen[bytes], Path] | None":
    """An agent without keys and its socket; None where ssh's tools are missing. `end` it."""
    if shutil.which("ssh-agent") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="halo-agent-"))
    socket = folder / "agent.sock"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(Path.home()),
        cwd="/",
        start_new_session=True,
    )
    last_will.add(process.pid)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if loaded(str(socket)) is not None:
            return process, socket
        time.sleep(0.02)
    end(process, socket)
    return None


def end(process: "subprocess.Popen[bytes]", socket: Path) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(2)
    last_will.remove(process.pid)
    shutil.rmtree(socket.parent, ignore_errors=True)


@atexit.register
def _stop() -> None:
    """End our own; an inherited one is not ours to end."""
    global _ours
    if _ours is None:
        return
    ours, _ours = _ours, None
    end(*ours)
