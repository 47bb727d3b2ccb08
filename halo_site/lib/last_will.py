"""Ends the commands of tools when this process is killed with -9: then nobody else does (SECURITY-BAR I8).

A tiny shell holds the other end of a pipe and a list of process groups and sessions. The kernel closes the pipe when we
die, however we die; the shell then kills what is still on the list. Started with the first command.
"""

import os
import subprocess
import threading
from contextlib import suppress

_SCRIPT = """
trap '' HUP INT TERM
open=
while read -r op group; do
  case $op in
    +) open="$open $group" ;;
    -) rest=; for one in $open; do [ "$one" = "$group" ] || rest="$rest $one"; done; open=$rest ;;
  esac
done
for one in $open; do
  case $one in
    s*)
      for stat in /proc/[0-9]*/stat; do
        read -r line < "$stat" || continue
        pid=${stat#/proc/}
        set -- ${line##*) }
        [ "s$4" = "$one" ] && kill -9 "${pid%/stat}"
      done
      kill -9 "-${one#s}" ;;
    *) kill -9 "-$one" ;;
  esac
done
"""

_lock = threading.Lock()
_executor: "subprocess.Popen[bytes] | None" = None
_owner = 0


def add(group: int) -> None:
    """From now on `group` dies with us."""
    _tell(f"+ {group}\n")


def remove(group: int) -> None:
    """It ended, or may outlive us. Before its number can be used again."""
    _tell(f"- {group}\n")


def add_session(leader: int) -> None:
    """From now on every process of this session dies with us: a shell gives each of its jobs a group of its own."""
    _tell(f"+ s{leader}\n")


def remove_session(leader: int) -> None:
    """Its leader ended; what it left running on purpose may outlive us."""
    _tell(f"- s{leader}\n")


def _tell(line: str) -> None:
    global _executor, _owner
    with _lock:
        if _executor is None or _owner != os.getpid():
            _executor, _owner = _start(), os.getpid()
        assert _executor.stdin is not None
        with suppress(BlockingIOError, BrokenPipeError):  # somebody killed the shell: commands go on without it
            os.write(_executor.stdin.fileno(), line.encode())


def _start() -> "subprocess.Popen[bytes]":
    executor = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
        bufsize=0,
    )
    assert executor.stdin is not None
    os.set_blocking(executor.stdin.fileno(), False)
    return executor
