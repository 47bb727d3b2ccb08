"""Small statistics, and what the kernel says about a process tree."""

import os
import re
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def pct(values: Iterable[float], q: float) -> float | None:
    """The q-quantile (nearest rank), rounded; None when there are no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3)


def summary(values: list[float]) -> dict[str, Any]:
    return {
        "n": len(values),
        "median": round(statistics.median(values), 3) if values else None,
        "p95": pct(values, 0.95),
        "min": round(min(values), 3) if values else None,
        "max": round(max(values), 3) if values else None,
    }


def tree(root: int) -> list[int]:
    """`root` and its living descendants, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        if Path("/proc", str(pid)).exists():
            found.append(pid)
        todo += parents.get(pid, [])
    return found


def usage(pid: int) -> dict[str, float]:
    """Resident memory (MB) and CPU seconds of one process."""
    roll = Path("/proc", str(pid), "smaps_rollup").read_text()
    sizes = dict(re.findall(r"^(Rss|Pss):\s+(\d+)", roll, re.M))
    return {"rss_mb": round(int(sizes["Rss"]) / 1024, 1), "cpu_s": round(cpu_seconds(pid), 2)}


def cpu_seconds(pid: int) -> float:
    """CPU seconds of one process so far, in steps of the kernel's tick (10 ms)."""
    stat = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / float(os.sysconf("SC_CLK_TCK"))


def busy_seconds() -> float:
    """CPU seconds of the whole machine so far, idle and waiting left out."""
    fields = [int(part) for part in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / float(os.sysconf("SC_CLK_TCK"))


def calibration() -> float:
    """CPU milliseconds for a fixed loop. Others on the machine make it grow: divide times by it to compare runs."""
    begun = time.process_time()
    total = 0
    for number in range(2_000_000):
        total += number
    return round((time.process_time() - begun) * 1000)
