"""A PostgreSQL of our own that a test may stop, kill and start again; the machine's is shared."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .several import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))


def available() -> bool:
    """PostgreSQL refuses to run as root, so root needs the user `postgres` and `su`."""
    if not BINARIES:
        return False
    return os.geteuid() != 0 or bool(shutil.which("su") and Path("/etc/passwd").read_text().count("\npostgres:"))


class PrivatePostgres:
    def __enter__(self) -> "PrivatePostgres":
        self.folder = Path(tempfile.mkdtemp(prefix="halo-pg-"))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")
        self.port = free_port()
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -k {self.data} -c listen_addresses=127.0.0.1 -c max_connections=100"
        self._run("pg_ctl", "-D", str(self.data), "-w", "-o", options, "-l", str(self.data / "log"), "start")

    def stop(self, mode: str) -> None:
        """fast: connections are cut, work is rolled back; immediate: as after a crash, recovery at the next start."""
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop", check=False)

    def kill(self) -> None:
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        command = [str(BINARIES[-1] / program), *arguments]
        if os.geteuid() == 0:
            command = ["su", "postgres", "-s", "/bin/sh", "-c", shlex.join(command)]
        subprocess.run(command, cwd="/", check=check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
