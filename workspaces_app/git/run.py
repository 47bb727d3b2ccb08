"""The one place that starts git: environment from empty, nothing asked, everything of the repository held.

    async with open_git(place, Mode.WRITE) as git:
        await git.run("add", "-A", "--", ...)

Git obeys the repository it works in: filters, hooks, external programs. Flags do not stop all of them, so it runs in
the sandbox at the level of the weakest writer (SECURITY-BAR S4, rule 42). Without a sandbox it runs only where all
writers have full access and the repository makes git run nothing.
"""

import asyncio
import enum
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.errors import Conflict, HaloError, TooLarge, Unavailable

from .. import sandbox
from ..child import Outcome, run_child
from ..sandbox.argv import NETWORK_DIR, environment
from ..sandbox.cell import PORT, Cell
from ..sandbox.held import told_again
from ..sandbox.repositories import is_harmless
from .identity import Person, settings_text
from .parse import without_progress
from .remote_url import shown as without_passwords

LOCAL_SECONDS = 60.0
NETWORK_SECONDS = 120.0
MAX_OUTPUT = 64 << 20  # bytes
MAX_TEXT = 4_000  # characters of an error
LOCKED = "index.lock': File exists"
LOCK_TRIES, LOCK_WAIT = 15, 0.2  # somebody else's git is at work: an agent, a terminal, a second click

SETTINGS_INSIDE = f"{NETWORK_DIR}/gitconfig"
KNOWN_HOSTS_INSIDE = f"{NETWORK_DIR}/known_hosts"
AGENT_INSIDE = f"{NETWORK_DIR}/agent.sock"

# Overrides what the repository says. Hooks are left to the sandbox, except where git has a credential.
_ALWAYS = (
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
    "log.showSignature=false",
    "credential.helper=",
)
_NO_HOOKS = ("core.hooksPath=/dev/null",)


class GitFailed(HaloError):
    """Git said no; the text is git's own, without secrets (spec: 500)."""

    status, code = 500, "git"


class Mode(enum.Enum):
    """READ: nothing can be written. WRITE: as the weakest writer may. SETTINGS: only for commands that edit the
    repository's settings and run nothing of it. NETWORK: as WRITE, without hooks, with the proxy."""

    READ = "read"
    WRITE = "write"
    SETTINGS = "settings"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace as git needs to know it. person: who acts; None = only looks."""

    root: Path
    weakest: Access
    key: int = 0
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one workspace, until the block of `open_git` ends."""

    root: Path
    mode: Mode
    cell: Cell | None  # None = without a sandbox
    environ: Mapping[str, str]

    async def run(
        self,
        *words: str,
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
        live: Callable[[str, bytes], None] | None = None,
        settings: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
        secrets: Sequence[str] = (),
    ) -> bytes:
        """Standard output of `git WORDS`. settings: `name=value` over the repository's.

        secrets: texts that must not be in an error. Raises GitFailed with git's text, TooLarge.
        """
        tries = LOCK_TRIES if self.mode is Mode.WRITE else 1
        while True:
            tries -= 1
            outcome = await self.attempt(words, stdin=stdin, live=live, settings=settings, pass_fds=pass_fds)
            if outcome.ended == "exit" and outcome.code in ok:
                return outcome.stdout
            error = self._failure(words[0], outcome, secrets)
            if not tries or LOCKED not in str(error):
                raise error
            await asyncio.sleep(LOCK_WAIT)

    async def attempt(
        self,
        words: Sequence[str],
        *,
        stdin: bytes | None = None,
        live: Callable[[str, bytes], None] | None = None,
        settings: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
    ) -> Outcome:
        """As `run`, once, without judging the end."""
        argv = self.argv(words, settings)
        with ExitStack() as stack:
            handle = subprocess.DEVNULL
            if stdin is not None:
                file = stack.enter_context(tempfile.TemporaryFile())  # no length is too long for it, unlike a pipe
                file.write(stdin)
                file.seek(0)
                handle = file.fileno()
            try:
                return await run_child(
                    self.cell.wrap(argv, self.environ) if self.cell else argv,
                    cwd=Path("/") if self.cell else self.root,
                    env={} if self.cell else {**environment(Path.home()), **self.environ},
                    timeout=self.seconds,
                    abort=asyncio.Event(),
                    limit=MAX_OUTPUT,
                    live=live,
                    guard=self.cell.guard if self.cell else None,
                    stdin=handle,
                    pass_fds=pass_fds,
                )
            except OSError as error:
                raise GitFailed(f"git cannot be started: {error.strerror or error}") from error

    def argv(self, words: Sequence[str], settings: Sequence[str]) -> list[str]:
        hooks = () if self.mode is Mode.WRITE else _NO_HOOKS
        pairs = [word for setting in (*_ALWAYS, *hooks, *settings) for word in ("-c", setting)]
        return ["git", "--no-pager", "--literal-pathspecs", *pairs, *words]

    @property
    def seconds(self) -> float:
        return LOCAL_SECONDS if self.mode in (Mode.READ, Mode.SETTINGS) else NETWORK_SECONDS

    def _failure(self, verb: str, outcome: Outcome, secrets: Sequence[str]) -> HaloError:
        match outcome.ended:
            case "full":
                return TooLarge(f"git {verb} answered more than {MAX_OUTPUT >> 20} MiB")
            case "timeout":
                return GitFailed(f"git {verb} did not end within {self.seconds:.0f} s and was stopped")
            case "limit" if self.cell and self.cell.again:
                return GitFailed(f"git {verb} was stopped: {told_again(self.cell.again)}")
            case "limit":
                return GitFailed(f"git {verb} was stopped: it took more than 256 processes or 2 GiB of memory")
        parts = [without_progress(part.decode("utf-8", "replace")) for part in (outcome.stderr, outcome.stdout)]
        return GitFailed(safe_text("\n".join(part for part in parts if part), secrets) or f"git {verb} failed")


def safe_text(text: str, secrets: Sequence[str] = ()) -> str:
    """Git's words for people: no password, no token, not endless."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return without_passwords(text)[:MAX_TEXT].strip()


@asynccontextmanager
async def open_git(
    place: Place, mode: Mode, *, agent: Path | None = None, only_agent: bool = False, fresh: bool = False
) -> AsyncIterator[Git]:
    """Git, ready to run. agent: socket of an ssh-agent, for NETWORK; only_agent: no key of the account besides.
    fresh: there is no repository yet.

    Raises Conflict with the reason when git must not run here.
    """
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="halo-git-"))
    try:
        text = await settings_text(place.person)
        (folder / "gitconfig").write_text(text, encoding="utf-8")
        state = await asyncio.to_thread(sandbox.status)
        if not state.available:
            await asyncio.to_thread(_check_unheld, place, state.reason, fresh)
            environ = _environ(place, mode, folder / "gitconfig", agent, held=False)
            if only_agent:
                environ["GIT_SSH_COMMAND"] += " -o IdentityFile=none"
            yield Git(place.root, mode, None, environ)
            return
        trusted = mode is Mode.SETTINGS or place.weakest is Access.FULL
        shown = [(folder / "gitconfig", SETTINGS_INSIDE)]
        if mode is Mode.NETWORK:
            hosts = Path.home() / ".ssh" / "known_hosts"
            shown += [(hosts, KNOWN_HOSTS_INSIDE)] if hosts.is_file() else []
            shown += [(agent, AGENT_INSIDE)] if agent else []
        async with sandbox.cell(
            place.root,
            Access.FULL if trusted else Access.WORKSPACE,
            session_id="git",
            read_only=mode is Mode.READ,
            network=mode is Mode.NETWORK,
            open_control=trusted,
            shown=shown,
        ) as made:
            environ = _environ(place, mode, Path(SETTINGS_INSIDE), Path(AGENT_INSIDE) if agent else None, held=True)
            yield Git(place.root, mode, made, environ)
    except Unavailable as error:
        raise Conflict(f"git cannot run here: {error}") from error
    except FileNotFoundError as error:
        raise Conflict(f"git cannot run here: {error.filename} is gone") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_unheld(place: Place, reason: str, fresh: bool) -> None:
    if place.weakest is not Access.FULL:
        raise Conflict(f"Members without full access write in this workspace, so git needs a sandbox: {reason}")
    if not fresh and not is_harmless(place.root / ".git"):
        raise Conflict(
            "This repository has hooks or settings by which git would run programs, and there is no sandbox to hold "
            f"them: {reason}. Use git in a terminal."
        )


def _environ(place: Place, mode: Mode, settings: Path, agent: Path | None, *, held: bool) -> dict[str, str]:
    values = {
        "GIT_DIR": str(place.root / ".git"),
        "GIT_WORK_TREE": str(place.root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",  # set and empty: neither core.askPass nor SSH_ASKPASS is asked
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_MERGE_AUTOEDIT": "no",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
        "LC_ALL": "C",
    }
    if mode is Mode.READ:
        values["GIT_OPTIONAL_LOCKS"] = "0"
    if mode is Mode.NETWORK:
        values |= {"GIT_SSH_COMMAND": _ssh_command(held), "GIT_SSH_VARIANT": "ssh"}
        if held:  # loopback, too, is reached by the proxy only, where the owner allows it
            values |= {"no_proxy": "", "NO_PROXY": ""}
        if agent:
            values["SSH_AUTH_SOCK"] = str(agent)
    if place.person and place.person.is_author:
        values |= {"GIT_AUTHOR_NAME": place.person.name, "GIT_AUTHOR_EMAIL": place.person.email}
    return values


def _ssh_command(held: bool) -> str:
    """Never asks: a host that is not known fails. Inside there is no ~/.ssh, and the only way out is the proxy."""
    words = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=15"
    if not held:
        return words
    script = Path(sandbox.__file__).with_name("connect.py")
    proxy = f"'{sys.executable}' -I -S '{script}' {PORT} %h %p"
    return f'{words} -F none -o UserKnownHostsFile={KNOWN_HOSTS_INSIDE} -o "ProxyCommand={proxy}"'


def is_repository(root: Path) -> bool:
    """Whether `root` itself has a `.git` (rule 29: a repository above it does not count)."""
    with suppress(OSError):
        return (root / ".git").is_dir() or (root / ".git").is_file()
    return False
