"""Push and pull: what is on the way is told as it goes, and nothing ever waits for an answer (rules 35, 42).

The network part runs without hooks and gets the one credential of that host, through a pipe. The part that changes
files (a pull's merge) runs after it, without network and credential, with the repository's hooks.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.errors import Conflict
from halo_site.lib.outbound.door import tested

from ..protected import is_control_file
from ..sandbox.cell import rules
from ..sandbox.repositories import steering
from . import credentials, deploy_key, ssh_agent
from .parse import fields, parse_progress
from .quiet_settings import loud_settings
from .remote_url import Remote, parse_remote
from .run import Git, GitFailed, Mode, Place, open_git
from .write import check_repository, track

Tell = Callable[[str, int | None], None]  # stage, percent
TELL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Branch:
    """name: "" = HEAD is detached. upstream: full ref, "" = none. remote: where it is pulled from, "" = none."""

    name: str
    upstream: str = ""
    remote: str = ""
    push_remote: str = ""


async def push(place: Place, tell: Tell) -> None:
    """Push the branch; the first time, to `origin`, which it then tracks."""
    await check_repository(place)
    async with open_git(place, Mode.READ) as git:
        branch = await _branch(git)
        if not branch.name:
            raise GitFailed("You are not currently on a branch: there is nothing to push to")
        remote = branch.push_remote or branch.remote or "origin"
        url = await _url(git, remote, push=True)
        target = await _check(git, url)
        await _refuse_push_hook(git, place.root)
    words = ["push", "--progress"]
    if not branch.upstream:
        words += ["--", remote, f"refs/heads/{branch.name}:refs/heads/{branch.name}"]
    await _transfer(place, target, words, tell)
    if not branch.upstream:
        await track(place, branch.name, remote)


async def pull(place: Place, tell: Tell) -> None:
    """Fetch and bring in what the settings of the repository say (merge, rebase, fast forward only).

    Raises GitFailed with git's text: then the status says whether a merge is unfinished.
    """
    await check_repository(place)
    async with open_git(place, Mode.READ) as git:
        branch = await _branch(git)
        if not branch.upstream:
            await git.run("rev-parse", "--abbrev-ref", "@{upstream}")  # fails, in git's words
            raise GitFailed("There is no tracking information for the current branch")
        target = None
        if branch.remote != ".":
            target = await _check(git, await _url(git, branch.remote, push=False))
    if target is not None:
        await _transfer(place, target, ["fetch", "--progress", "--end-of-options", branch.remote], tell)
    tell("Merging", None)
    if place.weakest is not Access.FULL:
        await _check_incoming(place, branch.upstream)
    async with open_git(place, Mode.WRITE) as git:
        await git.run("pull", "--quiet", "--no-stat", ".", branch.upstream)


async def _check_incoming(place: Place, upstream: str) -> None:
    """Below full access nobody changes what steers agents and git, by a pull neither. Before anything is touched."""
    async with open_git(place, Mode.READ) as git:
        outcome = await git.attempt(("diff", "--name-only", "--no-renames", "-z", f"HEAD...{upstream}", "--"))
    changed = [tuple(name.split("/")) for name in fields(outcome.stdout)]
    bare = set(await asyncio.to_thread(steering, place.root, changed))
    names = [
        "/".join(parts)
        for parts in changed
        if parts in bare or is_control_file(tuple(part.casefold() for part in parts))
    ]
    if names:
        listed = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
        raise Conflict(
            f"Fetched, but not merged: the new commits change files that steer agents or git ({listed}), and members "
            "without full access write in this workspace. Review and merge them in a terminal."
        )


async def _branch(git: Git) -> Branch:
    outcome = await git.attempt(("symbolic-ref", "--quiet", "--short", "HEAD"))
    name = outcome.stdout.decode("utf-8", "replace").strip()
    if outcome.code != 0 or not name:
        return Branch("")
    form = "%(upstream)%00%(upstream:remotename)%00%(push:remotename)"
    found = await git.run("for-each-ref", f"--format={form}", "--", f"refs/heads/{name}")
    if not found.strip():  # no commit yet
        return Branch(name)
    return Branch(name, *found.decode("utf-8", "replace").strip("\n").split("\0"))


async def _url(git: Git, remote: str, *, push: bool) -> str:
    """Where git would really connect: with its own rewriting of addresses."""
    words = ("remote", "get-url", *(("--push",) if push else ()), "--", remote)
    return (await git.run(*words)).decode("utf-8", "replace").split("\n")[0]


async def _check(git: Git, url: str) -> Remote:
    """Whether we go there at all, and whether this repository may use saved credentials. Raises HaloError."""
    target = parse_remote(url)
    if target.place is None:
        return target
    await tested(target.place, rules())
    if target.kind == "http" and await asyncio.to_thread(credentials.find, target) is None:
        return target
    listed = await git.run("config", "--list", "--show-scope", "--name-only", "-z")
    if loud := loud_settings(fields(listed)):
        raise Conflict(
            f"The settings of this repository ({', '.join(loud[:5])}) could send your saved credentials elsewhere. "
            "Remove them, or use git in a terminal."
        )
    return target


async def _refuse_push_hook(git: Git, root: Path) -> None:
    """It would run with network and credential; leaving it out silently would be worse (LFS uploads in it)."""
    configured = await git.attempt(("config", "--local", "--type=path", "core.hooksPath"))
    folder = configured.stdout.decode("utf-8", "replace").strip()
    hook = root / folder / "pre-push" if folder else root / ".git" / "hooks" / "pre-push"
    if await asyncio.to_thread(os.access, hook, os.X_OK):
        raise Conflict("This repository has a pre-push hook, which would get your credentials. Push in a terminal.")


async def _transfer(place: Place, target: Remote, words: list[str], tell: Tell) -> None:
    """The part with network. Raises GitFailed."""
    found = await asyncio.to_thread(credentials.find, target) if target.kind == "http" else None
    live = _Live(tell)
    async with AsyncExitStack() as stack:
        own = await _own_agent(stack, place) if target.kind == "ssh" else None
        agent = own
        if target.kind == "ssh" and own is None:
            agent = await asyncio.to_thread(ssh_agent.for_connection)
        git = await stack.enter_async_context(open_git(place, Mode.NETWORK, agent=agent, only_agent=own is not None))
        with _pipe(found) as handle:
            settings: tuple[str, ...] = ()
            handles: tuple[int, ...] = ()
            if found is not None and handle is not None:
                helper = f'!f() {{ test "$1" = get && cat /dev/fd/{handle}; }}; f'
                settings = (f"credential.{target.scheme}://{target.authority}.helper={helper}",)
                handles = (handle,)
            secrets = (found.token,) if found else ()
            await git.run(*words, live=live, settings=settings, pass_fds=handles, secrets=secrets)


async def _own_agent(stack: AsyncExitStack, place: Place) -> Path | None:
    """With the deploy key of this workspace and nothing else; None = it has none."""
    opened = deploy_key.agent(place.key)
    socket = await asyncio.to_thread(opened.__enter__)
    stack.push_async_callback(asyncio.to_thread, opened.__exit__, None, None, None)
    return socket


@contextmanager
def _pipe(found: credentials.Credential | None) -> Iterator[int | None]:
    """The reading end of a pipe that holds the credential once; it is on no disk and no command line."""
    if found is None:
        yield None
        return
    ours, theirs = os.pipe()
    try:
        with os.fdopen(theirs, "wb") as file:
            file.write(found.as_answer())
        yield ours
    finally:
        os.close(ours)


class _Live:
    """Cuts git's standard error into lines of progress and passes on not more than people can read."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._rest = ""
        self._stage = ""
        self._next = 0.0

    def __call__(self, pipe: str, data: bytes) -> None:
        if pipe != "err":
            return
        *lines, self._rest = (self._rest + data.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
        self._rest = self._rest[-1000:]
        for line in lines:
            found = parse_progress(line)
            now = time.monotonic()
            if found and (found.stage != self._stage or now >= self._next or found.percent == 100):
                self._stage, self._next = found.stage, now + TELL_SECONDS
                self._tell(found.stage, found.percent)
