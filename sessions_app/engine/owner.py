"""Who holds a lease: this process, in a form by which another process of the same host can see that it died."""

import os
from functools import cache
from pathlib import Path


@cache
def boot_and_namespace() -> str:
    """Names this boot of this host and this pid namespace; pids are comparable only inside it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:  # not Linux: leases still run out, only quick takeover on the same host is lost
        return "unknown-0"
    return f"{boot[:8]}-{namespace}"


def started_at(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot; None when it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


@cache
def this_owner() -> str:
    pid = os.getpid()
    return f"{boot_and_namespace()}:{pid}:{started_at(pid) or 0}"


def is_of_this_host(owner: str) -> bool:
    """True when `is_gone` can tell: same boot, same pid namespace."""
    host = owner.partition(":")[0]
    return host == boot_and_namespace() and not host.startswith("unknown")


def is_gone(owner: str) -> bool:
    """True when the owner ran on our host and pid namespace and no longer exists (ARCHITECTURE 5.8)."""
    _, _, process = owner.partition(":")
    pid, _, start = process.partition(":")
    if not is_of_this_host(owner) or not pid.isdigit():
        return False
    return started_at(int(pid)) != start
