"""What /proc says about a process of this host: what it is for, how much memory it takes, which children it has."""

import os
from pathlib import Path

NAMES = ((" serve", "web and engine"), (" qcluster", "qcluster"), (" runworker", "worker"), ("daphne", "web"))


def children(pid: int) -> list[int]:
    """Direct children of a process, of all its threads; none where /proc does not say."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in listing.read_text().split()]
        except OSError:  # the thread ended while we looked
            continue
    return sorted(found)


def is_ours(pid: int) -> bool:
    return "manage.py" in command_line(pid)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def name_of(pid: int) -> str:
    """What a process of ours is for, from its command line."""
    line = command_line(pid)
    for word, name in NAMES:
        if word in line:
            return name
    return f"pid {pid}" if pid != os.getpid() else "web"


def memory_of(pid: int) -> int | None:
    """Resident memory in bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
