"""What a workspace announces to those who have it open. Delivered to bound sockets only (hub/fanout.py)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from halo_site.lib.events import Event

FileAction = Literal["add", "change", "unlink", "addDir", "unlinkDir"]
WatchMode = Literal["native", "polling", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged(Event):
    """path: relative to the workspace, `/` on every platform; `.git` = the repository's state moved on."""

    type: ClassVar[str] = "file:changed"
    path: str
    action: FileAction


@dataclass(frozen=True, slots=True, kw_only=True)
class GitProgress(Event):
    """How far a push or pull is. stage: git's own word (`Writing objects`); percent: of this stage, None = unknown.

    done: it ended, however it did; the answer of the route says how.
    """

    type: ClassVar[str] = "git:progress"
    workspace_path: str
    action: Literal["push", "pull"]
    stage: str
    percent: int | None = None
    done: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesResync(Event):
    """Too much changed to name it, or changes may have been missed: read the tree and open files again."""

    type: ClassVar[str] = "files:resync"
    workspace_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesWatching(Event):
    """How changes are noticed from now on. reason: why not natively, or why not all; for people, English.

    native: at once; polling: every few seconds; off: not at all, reload by hand.
    """

    type: ClassVar[str] = "files:watching"
    workspace_path: str
    mode: WatchMode
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalReady(Event):
    type: ClassVar[str] = "terminal:ready"
    terminal_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalOutput(Event):
    """data: valid text, escape sequences included; bytes that are no UTF-8 are shown as U+FFFD."""

    type: ClassVar[str] = "terminal:output"
    terminal_id: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalExit(Event):
    """exit_code: as shells say it, 128 + number for a signal."""

    type: ClassVar[str] = "terminal:exit"
    terminal_id: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalReattached(Event):
    type: ClassVar[str] = "terminal:reattached"
    terminal_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalList(Event):
    """terminals: `{terminalId, cwd, startedAt, attached, detachedAt, exitCode}`; times in Unix ms."""

    type: ClassVar[str] = "terminal:list"
    terminals: list[dict[str, object]]
