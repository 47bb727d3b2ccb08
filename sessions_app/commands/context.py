"""What a command gets and gives back (spec commands, "Data")."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from halo_site.lib.access_level import Access
from workspaces_app.access import Caller
from workspaces_app.models import Workspace

from .texts import Lang, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Made by the surface for each line.

    caller: the person, or whoever stands behind an account. level: of person or account, now. active: id of the
    session the surface has open, None = none; the newest one with `prefix` stands in for it. prefix: ids of the
    caller's own sessions begin with it; "" = a browser, where sessions belong to the workspace. label: description of
    sessions made here. guest: may only read the sessions here. draft: id of a session that the first skill may make.
    address: of the caller, for the audit trail. channel: type, account_id, chat_id, as skills may ask for them.
    runner: the terminal process that runs what a skill sets to work, "" = a server does.
    """

    workspace: Workspace
    caller: Caller
    level: Access
    lang: Lang = "en"
    active: str | None = None
    prefix: str = ""
    label: str = "WS"
    guest: bool = False
    draft: str | None = None
    draft_agent: str | None = None
    address: str = ""
    channel: Mapping[str, str] = field(default_factory=dict)
    runner: str = ""

    @property
    def folder(self) -> Path:
        return Path(self.workspace.path)

    @property
    def is_browser(self) -> bool:
        return not self.prefix

    def say(self, key: str, **values: object) -> str:
        """A text in the caller's language."""
        return text(self.lang, key, **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the surface does: show `text`; make `switch_to` the active session; move to the folder `workspace`.

    started_turn: a skill set the agent of `session_id` to work: keep the way for its answer open. compaction: what
    became of `/session compact` (started, nothing, running, already, no_session), for surfaces with frames for it;
    context_tokens: size of the conversation then.
    """

    text: str
    switch_to: str | None = None
    workspace: str | None = None
    started_turn: bool = False
    session_id: str | None = None
    compaction: str = ""
    context_tokens: int = 0
