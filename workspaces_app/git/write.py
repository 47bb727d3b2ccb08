"""What changes a repository: stage, unstage, commit, init, remotes (rules 30, 35, 41)."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Conflict, NotFound

from . import remote_url
from .read import checked_path, remotes
from .run import GitFailed, Mode, Place, is_repository, open_git

MAX_PATHS = 100_000
MAX_MESSAGE = 256 * 1024
NOTHING = ("nothing to commit", "nothing added to commit", "no changes added to commit")
IGNORE_FILE = "node_modules/\ndist/\n.next/\n.env\n.env.local\n*.log\n.DS_Store\n"


async def check_repository(place: Place) -> None:
    """Raises Conflict where writes are refused (rule 29)."""
    if not await asyncio.to_thread(is_repository, place.root):
        raise Conflict("Not a git repository root")


async def stage(place: Place, level: Access, paths: Sequence[str]) -> None:
    await _with_paths(place, level, paths, "add", "-A")


async def unstage(place: Place, level: Access, paths: Sequence[str]) -> None:
    await _with_paths(place, level, paths, "reset", "-q")


async def _with_paths(place: Place, level: Access, paths: Sequence[str], *words: str) -> None:
    if not paths:
        raise BadRequest("paths is required")
    if len(paths) > MAX_PATHS:
        raise BadRequest(f"At most {MAX_PATHS} paths at once")
    visible = Access.FULL if level is place.weakest is Access.FULL else Access.WORKSPACE
    listed = "\0".join(checked_path(path, visible) for path in paths)
    await check_repository(place)
    async with open_git(place, Mode.WRITE) as git:
        with _refusals():
            await git.run(*words, "--pathspec-from-file=-", "--pathspec-file-nul", stdin=os.fsencode(listed))


async def commit(place: Place, message: str) -> str:
    """Commit what is staged, and nothing else; the new commit's hash. Raises BadRequest, GitFailed."""
    if not message.strip():
        raise BadRequest("message is required")
    if len(message) > MAX_MESSAGE:
        raise BadRequest(f"A message has at most {MAX_MESSAGE} characters")
    await check_repository(place)
    async with open_git(place, Mode.WRITE) as git:
        with _refusals():
            await git.run("commit", "-q", "-F", "-", stdin=message.encode("utf-8", "replace"))
        return (await git.run("rev-parse", "HEAD")).decode().strip()


@contextmanager
def _refusals() -> Iterator[None]:
    """What git refuses because the list a person saw is old, with its text; every other failure stays one of git's."""
    try:
        yield
    except GitFailed as error:
        text = str(error)
        if "did not match any file" in text:
            raise NotFound(text) from error
        if any(words in text for words in NOTHING):
            raise Conflict(text) from error
        raise


async def init(place: Place) -> bool:
    """A repository with a first commit of everything; False = there was one (rule 30)."""
    if await asyncio.to_thread(is_repository, place.root):
        return False
    async with open_git(place, Mode.WRITE, fresh=True) as git:
        await git.run("init", "-q")
        await asyncio.to_thread(_write_ignore_file, place.root)
        await git.run("add", "-A", "--", ".")
        await git.run("commit", "-q", "--allow-empty", "-m", "Initial commit")
    return True


def _write_ignore_file(root: Path) -> None:
    with suppress(FileExistsError):
        handle = os.open(root / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(IGNORE_FILE)


async def set_remote(place: Place, name: str, url: str) -> None:
    """Add a remote, or give it another address. Raises BadRequest for addresses git would run a program for."""
    if not url:
        raise BadRequest("url is required")
    remote_url.check_name(name)
    remote_url.parse_remote(url)
    await check_repository(place)
    known = dict(await remotes(place))
    async with open_git(place, Mode.SETTINGS) as git:
        await git.run("remote", "set-url" if name in known else "add", "--", name, url)


async def switch_protocol(place: Place, to: Literal["https", "ssh"]) -> str:
    """Rewrite `origin`; the new address. Raises BadRequest, NotFound without an origin."""
    await check_repository(place)
    url = dict(await remotes(place)).get("origin")
    if url is None:
        raise NotFound("There is no remote named origin")
    new = remote_url.switched(url, to)
    if new != url:
        async with open_git(place, Mode.SETTINGS) as git:
            await git.run("remote", "set-url", "--", "origin", new)
    return new


async def track(place: Place, branch: str, remote: str) -> None:
    """From now on `branch` belongs to the branch of the same name on `remote`; what `push -u` would write."""
    async with open_git(place, Mode.SETTINGS) as git:
        with suppress(GitFailed):  # it is pushed; only the next pull has to be told where from
            await git.run("config", f"branch.{branch}.remote", remote)
            await git.run("config", f"branch.{branch}.merge", f"refs/heads/{branch}")
