"""One server per home (spec deploy 5.1, SECURITY-BAR T9)."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from halo_site.serve.lock import AlreadyRunning, InstanceLock, is_server

HOLD = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from halo_site.serve.lock import InstanceLock
InstanceLock(Path(sys.argv[2])).take(); print("held", flush=True); sys.stdin.read()
"""


def hold(path):
    root = os.getcwd()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, root, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_server_is_refused_and_told_who_runs(tmp_path):
    first = hold(tmp_path / "server.lock")
    try:
        with pytest.raises(AlreadyRunning) as refused:
            InstanceLock(tmp_path / "server.lock").take()
        assert str(refused.value) == f"another halo server is already running (pid {first.pid}). kill it first."
    finally:
        first.kill()
        first.wait()


def test_the_lock_of_a_killed_server_is_taken_over(tmp_path):
    first = hold(tmp_path / "server.lock")
    first.kill()
    first.wait()
    assert (tmp_path / "server.lock").read_text() == f"{first.pid}\n"
    lock = InstanceLock(tmp_path / "server.lock")
    lock.take()
    assert (tmp_path / "server.lock").read_text() == f"{os.getpid()}\n"
    lock.release()


def test_without_lock_support_a_pid_that_is_not_a_server_does_not_block(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    (tmp_path / "server.lock").write_text("1\n")  # alive, but no server of ours
    InstanceLock(tmp_path / "server.lock").take()


def test_a_pid_counts_as_a_server_only_by_its_command_line():
    assert not is_server(os.getpid())
    assert not is_server(2**22 + 1)
