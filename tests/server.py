"""A real `manage.py serve` (or worker) process for tests: own home, own port, ended whatever happens.

    with RunningServer(home) as server:            # or: prepared_home(tmp_path) first, to skip the slow first start
        httpx.get(server.base + "/api/health")

Imports no product code, so that tests, crash cases, benchmarks and browser tests can all use it.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "halo-test-1"
# A key that never leaves tests; 32 bytes and no pattern.
SECRET = "c2VydmVyIHRlc3RzOiBrZXkgbm8uIDEsIDMyIGJ5dGVz"
START = 60.0  # seconds; a shared machine may be slow, a fact ends the wait


def environment(home: Path, **extra: str) -> dict[str, str]:
    """What a server of a test gets: no HALO_ variable of ours, a home, a known password; debug output on stdout."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HALO_")}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    clean |= {
        "HALO_HOME": str(home),
        "HALO_PASSWORD": PASSWORD,
        "HALO_JWT_SECRET": SECRET,
        "HALO_LOG_LEVEL": "info",
        "PYTHONUNBUFFERED": "1",
    }
    return clean | extra


class Lines:
    """Collects the lines of a pipe and lets a test wait for one."""

    def __init__(self, stream: "os.PathLike[str] | object") -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: object) -> None:
        for line in stream:  # type: ignore[attr-defined]
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern: str, timeout: float = START, *, nth: int = 1) -> re.Match[str]:
        """The nth line that matches. Raises AssertionError with everything said when it does not come."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._changed:
            while True:
                for line in self.lines[seen:]:
                    if found := re.search(pattern, line):
                        nth -= 1
                        if not nth:
                            return found
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    raise AssertionError(f"no line like {pattern!r} in:\n" + "\n".join(self.lines))
                self._changed.wait(left)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


MANAGE = (sys.executable, str(ROOT / "manage.py"))
DAPHNE = (sys.executable, "-m", "daphne")


class Process:
    """One child with its output collected; `command` is what follows `manage.py` (or another `program`)."""

    def __init__(self, *command: str, env: Mapping[str, str], program: Sequence[str] = MANAGE) -> None:
        self.popen = subprocess.Popen(
            [*program, *command],
            env=dict(env),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.out = Lines(self.popen.stdout)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def events(self) -> list[dict[str, object]]:
        """The JSON lines of its log."""
        found = []
        for line in self.out.lines:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [event for event in found if isinstance(event, dict)]

    def wait(self, timeout: float = 60.0) -> int:
        code = self.popen.wait(timeout)
        self.out._thread.join(5)
        return code

    def terminate(self, timeout: float = 60.0) -> int:
        """SIGTERM and its exit code."""
        self.popen.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self) -> None:
        if self.popen.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.popen.send_signal(signal.SIGCONT)
            self.popen.kill()
        self.wait()


class RunningServer(Process):
    """`manage.py serve` that listens; `base` is its address."""

    def __init__(self, home: Path, *args: str, qcluster: bool = False, wait: bool = True, **env: str) -> None:
        options = [] if qcluster else ["--no-qcluster"]
        super().__init__("serve", "-p", env.pop("port", "0"), *options, *args, env=environment(home, **env))
        self.home, self.base = home, ""
        if wait:
            self.wait_until_it_listens()

    def wait_until_it_listens(self) -> None:
        self.base = self.out.wait_for(r"Halo is running at (http://\S+)").group(1)

    def __enter__(self) -> "RunningServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def children(pid: int) -> list[int]:
    """Pids of the processes whose parent is `pid`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(folder.name))
    return found


def family(pid: int) -> list[int]:
    """`pid` and all its descendants."""
    return [pid, *(member for child in children(pid) for member in family(child))]


class Deaths:
    """Waits for processes that are not our children to end; take it while they live."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._handles = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                self._handles.append(os.pidfd_open(pid))

    def wait(self, timeout: float = 60.0) -> None:
        """Raises AssertionError when one still lives after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        for handle in self._handles:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            os.close(handle)
            assert ready, "a process did not end"


def get_json(url: str, timeout: float = 60.0) -> dict[str, object]:
    with urlopen(url, timeout=timeout) as answer:
        return json.loads(answer.read())


def is_up(base: str) -> bool:
    try:
        return get_json(base + "/api/health", 10.0)["status"] == "ok"
    except (URLError, OSError):
        return False


_prepared: dict[str, Path] = {}


def prepared_home(target: Path, **env: str) -> Path:
    """A home after its first start (migrated, seeded, admin made), copied from one made once per test process."""
    key = json.dumps(env, sort_keys=True)
    if key not in _prepared:
        made = Path(tempfile.mkdtemp(prefix="halo-prepared-")) / "home"
        with RunningServer(made, **env) as server:
            assert server.terminate() == 0, server.out.text
        _prepared[key] = made
    shutil.copytree(_prepared[key], target, dirs_exist_ok=True)
    return target


@contextlib.contextmanager
def serving(home: Path, **options: object) -> Iterator[RunningServer]:
    with RunningServer(home, **options) as server:  # type: ignore[arg-type]
        yield server


def bind_agent(
    home: Path, endpoint: str, *, provider: str = "openai", model: str = "fake", agent: str = "default"
) -> None:
    """Make a built-in agent of this home talk to `endpoint` (FakeModelServer.chat or .messages)."""
    path = home / "global" / "agents" / agent / "agent.yaml"
    kept: list[str] = []
    inside = False
    for line in path.read_text(encoding="utf-8").splitlines():
        inside = line.startswith("model:") or (inside and line.startswith((" ", "\t")))
        if not inside:
            kept.append(line)
    block = ["model:", f"  provider: {provider}", f"  id: {model}", f"  endpoint: {endpoint}"]
    path.write_text("\n".join([*kept, *block]) + "\n", encoding="utf-8")
