"""How much one sandboxed command may take: 256 processes, 2 GiB (SECURITY-BAR S8).

A control group where we may make one: the kernel then keeps both limits. Always as well: limits that processes
inherit. Where there is no group, `watch` counts what runs and ends the command: slower than the kernel, but certain.
"""

import asyncio
import os
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAX_PROCESSES = 256
MAX_BYTES = 2 << 30
GROUPS = Path("/sys/fs/cgroup")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS = 0.2

# Joins the groups, sets limits, becomes the command. Everything is data; a group that is gone stops it.
_JOIN = """
while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done
shift
ulimit -c 0; ulimit -d "$1" 2>/dev/null; shift
exec "$@"
"""
# Inside, where the user namespace counts its own processes: not those the server's account has anyway.
_INSIDE = 'ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Group:
    """Folders of control groups made for one command; empty = none could be made."""

    folders: tuple[Path, ...] = ()

    @property
    def holds(self) -> bool:
        return bool(self.folders)

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """`argv`, started inside the groups and with the inherited limits."""
        joins = [str(folder / "cgroup.procs") for folder in self.folders]
        return ["/bin/sh", "-c", _JOIN, "sh", *joins, "--", str(MAX_BYTES // 1024), *argv]

    async def close(self) -> None:
        """Ends what is left in the groups and removes them. Takes milliseconds: the kernel reaps the sandbox first."""
        end = time.monotonic() + 2
        for folder in self.folders:
            while folder.exists() and time.monotonic() < end:
                with suppress(OSError):
                    folder.rmdir()
                    break
                for pid in _numbers(folder / "cgroup.procs"):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, 9)
                await asyncio.sleep(0.005)


def inside(argv: Sequence[str]) -> list[str]:
    return ["/bin/sh", "-c", _INSIDE, "sh", str(MAX_PROCESSES), *argv]


def new_group() -> Group:
    """Fresh groups with both limits, or none."""
    name = f"halo-{uuid.uuid4().hex[:12]}"
    made: list[Path] = []
    try:
        for parent, limits in _parents():
            folder = parent / name
            folder.mkdir()
            made.append(folder)
            for file, value in limits:
                (folder / file).write_text(str(value))
    except OSError:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        return Group()
    return Group(tuple(made))


@cache
def _parents() -> tuple[tuple[Path, tuple[tuple[str, int], ...]], ...]:
    """Where groups can be made, with the files of the limits. Version 1: two trees; version 2: one, if delegated."""
    pids, memory = ("pids.max", MAX_PROCESSES), ("memory.limit_in_bytes", MAX_BYTES)
    if (GROUPS / "pids").is_dir() and (GROUPS / "memory").is_dir():
        places = (_own("pids", GROUPS / "pids"), (pids,)), (_own("memory", GROUPS / "memory"), (memory,))
        return places if all(os.access(place, os.W_OK) for place, _ in places) else ()
    own = _own("", GROUPS)
    with suppress(OSError):
        offered = (own / "cgroup.subtree_control").read_text().split()
        if {"pids", "memory"} <= set(offered) and os.access(own, os.W_OK):
            return ((own, (pids, ("memory.max", MAX_BYTES), ("memory.swap.max", 0))),)
    return ()


def _own(controller: str, root: Path) -> Path:
    """The group this process is in."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if controller in names.split(",") and (place := root / path.lstrip("/")).is_dir():
                return place
    return root


async def watch(pid: int) -> None:
    """Where no group holds: count what runs below the command. Returns when it is too much."""
    while not await asyncio.to_thread(_too_much, pid):  # noqa: ASYNC110 -- the kernel tells nobody
        await asyncio.sleep(_LOOK_SECONDS)


def _too_much(top: int) -> bool:
    todo, count, pages = [top], 0, 0
    while todo:
        one = todo.pop()
        count += 1
        with suppress(OSError, IndexError, ValueError):
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
        with suppress(OSError):
            for task in os.listdir(f"/proc/{one}/task"):
                todo += _numbers(Path(f"/proc/{one}/task/{task}/children"))
        if count > MAX_PROCESSES + 8 or pages * _PAGE > MAX_BYTES:
            return True
    return False


def _numbers(file: Path) -> list[int]:
    try:
        return [int(text) for text in file.read_text().split()]
    except (OSError, ValueError):
        return []
