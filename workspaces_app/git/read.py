"""What a repository is like: status, ignored files, diffs, log. Nothing on disk changes (SECURITY-BAR C6)."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Forbidden, NotFound, TooLarge

from ..jail import Jail
from ..protected import is_masked
from .parse import (
    LOG_FORMAT,
    Change,
    Commit,
    Named,
    Status,
    is_hash,
    parse_log,
    parse_name_status,
    parse_remotes,
    parse_status,
)
from .run import Git, GitFailed, Mode, Place, is_repository, open_git

MAX_FILE = 10 << 20  # bytes, as for text files
MAX_CHANGES = 10_000
MAX_LOG = 2_000
NOT_A_REPOSITORY = "not a git repository"

# What git leaves in its folder while something is unfinished, and what to call that.
_UNFINISHED = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True, slots=True)
class Sides:
    """The two texts of a diff; both empty when either is binary. A side that is not there is empty."""

    original: str
    modified: str
    binary: bool = False


def checked_path(text: str, level: Access) -> str:
    """A path below the root, as git spells it. Raises BadRequest, Forbidden."""
    if not text or "\0" in text:
        raise BadRequest("path is required" if not text else "A path must not contain NUL")
    if len(os.fsencode(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))) > 4096:
        raise BadRequest("A path has at most 4096 bytes")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    folded = tuple(part.casefold() for part in parts)
    if text.startswith("/") or ".." in parts or ".git" in folded or not parts:
        raise Forbidden("Path traversal not allowed")
    if level is not Access.FULL and is_masked(folded):
        raise Forbidden("This needs full access")
    return "/".join(parts)


async def status(place: Place) -> Status | None:
    """None = the folder is not the root of a repository. Files nobody below full access sees are left out there."""
    words = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    output = await _look(place, *words)
    if output is None:
        return None
    found = await asyncio.to_thread(parse_status, output)
    if place.weakest is not Access.FULL:  # the sandbox shows them as deleted
        found.changes = [change for change in found.changes if not _is_masked(change)]
    return found


def _is_masked(change: Change) -> bool:
    return is_masked(tuple(part.casefold() for part in change.path.split("/")))


def unfinished(root: Path) -> str | None:
    """What is under way: merge, rebase, cherry-pick, revert or bisect; None = nothing."""
    folder = root / ".git"
    if folder.is_file():
        with open(folder, "rb") as file:
            text = file.read(4096).decode("utf-8", "replace").strip()
        folder = root / text.removeprefix("gitdir:").strip()
    return next((name for file, name in _UNFINISHED if os.path.lexists(folder / file)), None)


async def ignored(place: Place) -> list[str] | None:
    words = ("status", "--porcelain=v2", "-z", "--ignored=matching", "--untracked-files=normal")
    output = await _look(place, *words, "--ignore-submodules=all")
    return None if output is None else (await asyncio.to_thread(parse_status, output)).ignored


async def log(place: Place, limit: int) -> list[tuple[Commit, bool]] | None:
    """The newest commits of HEAD, and whether each is on a remote (rule 33)."""
    if not await asyncio.to_thread(is_repository, place.root):
        return None
    async with open_git(place, Mode.READ) as git:
        asked = [git.attempt(("log", "-z", f"--max-count={limit}", f"--format={LOG_FORMAT}", "HEAD", "--"))]
        upstream = ("rev-list", f"--max-count={limit}", "@{upstream}..HEAD", "--")
        others = ("rev-list", f"--max-count={limit}", "HEAD", "--not", "--remotes")
        asked += [git.attempt(upstream), git.attempt(others), git.attempt(("remote",))]
        logged, tracked, untracked, remotes = await asyncio.gather(*asked)
    if logged.code != 0:
        return []  # no commit yet
    local = set()
    if tracked.code == 0:
        local = set(tracked.stdout.decode().split())
    elif remotes.stdout.strip():
        local = set(untracked.stdout.decode().split())
    commits = await asyncio.to_thread(parse_log, logged.stdout)
    return [(commit, commit.hash not in local) for commit in commits]


async def commit_files(place: Place, name: str) -> list[Named] | None:
    """Files of a commit against its first parent. Raises BadRequest for what is no hash, NotFound."""
    if not is_hash(name):
        raise BadRequest("hash must be the hexadecimal name of a commit")
    if not await asyncio.to_thread(is_repository, place.root):
        return None
    words = ("diff-tree", "--root", "-r", "-M", "-z", "--name-status", "--no-commit-id", "--diff-merges=first-parent")
    async with open_git(place, Mode.READ) as git:
        try:
            output = await git.run(*words, "--no-ext-diff", "--no-textconv", "--end-of-options", name, "--")
        except GitFailed as error:
            if "bad object" in str(error) or "bad revision" in str(error) or "ambiguous" in str(error):
                raise NotFound("There is no such commit") from error
            raise
    return parse_name_status(output)


async def remotes(place: Place) -> list[tuple[str, str]]:
    """Name and address of each; none when the folder is not a repository."""
    output = await _look(place, "config", "-z", "--get-regexp", r"^remote\..*\.url$", ok=(0, 1))
    return parse_remotes(output) if output else []


async def diff(
    place: Place, level: Access, path: str, source: str | None, *, staged: bool, commit: str | None
) -> Sides:
    """Both sides of a file (rule 32). Empty when the folder is not a repository. Raises as `checked_path`, TooLarge."""
    path = checked_path(path, level)
    old = checked_path(source, level) if source else path
    if commit is not None and not is_hash(commit):
        raise BadRequest("commit must be the hexadecimal name of a commit")
    if not await asyncio.to_thread(is_repository, place.root):
        return Sides("", "")
    async with open_git(place, Mode.READ) as git:
        if commit is not None:
            sides = _blob(git, f"{commit}^1:{old}"), _blob(git, f"{commit}:{path}")
        elif staged:
            sides = _blob(git, f"HEAD:{old}"), _blob(git, f":0:{path}")
        else:
            sides = _blob(git, f"HEAD:{old}"), asyncio.to_thread(_on_disk, place.root, level, path)
        original, modified = await asyncio.gather(*sides)
    if b"\0" in original or b"\0" in modified:
        return Sides("", "", binary=True)
    return Sides(original.decode("utf-8", "replace"), modified.decode("utf-8", "replace"))


async def _blob(git: Git, name: str) -> bytes:
    """Content of a file in history; nothing when it is not there. No filter and no converter runs."""
    outcome = await git.attempt(("cat-file", "blob", name))
    if outcome.ended == "full" or len(outcome.stdout) > MAX_FILE:
        raise TooLarge(f"This file has more than {MAX_FILE >> 20} MiB")
    return outcome.stdout if outcome.code == 0 else b""


def _on_disk(root: Path, level: Access, path: str) -> bytes:
    try:
        return Jail(root, level=level, confined=True).read(path, limit=MAX_FILE)[0]
    except (NotFound, BadRequest):  # deleted, or a folder now
        return b""


async def _look(place: Place, *words: str, ok: tuple[int, ...] = (0,)) -> bytes | None:
    if not await asyncio.to_thread(is_repository, place.root):
        return None
    async with open_git(place, Mode.READ) as git:
        try:
            return await git.run(*words, ok=ok)
        except GitFailed as error:
            if NOT_A_REPOSITORY in str(error):
                return None
            raise
