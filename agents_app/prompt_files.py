"""Collects the texts of a prompt from the home and the workspace (spec agents-and-prompts 2.3, 2.4, 3.2, 3.6)."""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError
from halo_site.lib.remembered import looking_at

from .agents import Agent, list_agents
from .disabled import NOTHING, Disabled
from .file_cache import read_text
from .frontmatter import split
from .placeholders import render
from .prompts import PromptParts, compose, roster

log = logging.getLogger(__name__)

SEEDS = Path(__file__).parent / "seeds"
SCOPES = ("bootstrap", "all", "root")


class Size(NamedTuple):
    """What a file adds to every request."""

    bytes: int
    cut: bool = False  # the file is longer: only its beginning is used


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """`sources`: the files that were read, in order, for `/session context`. `hash` names this very text.

    `files_hash` names what it was built from except the time, so that a run can tell whether to keep the frozen time.
    `values`: the built-in placeholders by name, for skills that are activated in this run. `sizes`: of the sources that
    are files.
    """

    text: str
    hash: str
    files_hash: str
    sources: tuple[str, ...]
    values: Mapping[str, str]
    sizes: Mapping[str, Size]


@dataclass(frozen=True, slots=True)
class PromptMaterial:
    """Everything a prompt is built from, except the time. `parts` lack the persona, `values` lack `now`."""

    agent: Agent
    parts: PromptParts
    params: Mapping[str, str]
    values: Mapping[str, str]
    sources: tuple[str, ...]
    sizes: Mapping[str, Size]

    def at(self, now: str) -> BuiltPrompt:
        """now: ISO 8601 UTC as frozen for the session (README 34)."""
        values = {**self.values, "now": now}
        persona = render(self.agent.persona, values, own_id=self.agent.id, param=self.params.get)
        text = compose(replace(self.parts, persona=persona))
        timeless = text.replace(now, "") if "{{now}}" in self.agent.persona.replace(" ", "") else text
        return BuiltPrompt(text, _hash(text), _hash(timeless), self.sources, values, self.sizes)


class _Reader:
    """Reads files and remembers which."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.home = Path(settings.HALO.global_dir)
        self.sources: list[str] = []
        self.sizes: dict[str, Size] = {}

    def text(self, base: Path, relative: str) -> str:
        try:
            found = read_text(base, relative, trusted=base != self.workspace)
        except HaloError as error:
            log.warning("prompt file left out: %s", error)
            return ""
        if found is None or not found.text.strip():
            return ""
        self.sources.append(found.path)
        text = found.text.strip()
        self.sizes[found.path] = Size(len(text.encode("utf-8", "replace")), found.cut)
        return text

    def either(self, in_workspace: str, in_home: str) -> str:
        """The workspace's file when it is not empty, else the home's."""
        return self.text(self.workspace, in_workspace) or self.text(self.home, in_home)

    def scope(self, scope: str) -> str:
        """All files of a prompt scope, the workspace's folder replacing the home's; the seeds when there is none.

        They may name one place, `{{global_dir}}`.
        """
        return self._scope(scope).replace("{{global_dir}}", str(self.home))

    def _scope(self, scope: str) -> str:
        for base, folder in ((self.workspace, f".halo/prompts/{scope}"), (self.home, f"prompts/{scope}")):
            looking_at(base / folder)
            if not (base / folder).is_dir():
                continue
            texts = [self.text(base, f"{folder}/{name}") for name in _for_platform(_names(base / folder))]
            joined = "\n\n".join(text for text in texts if text)
            if joined:
                return joined
            break  # an empty folder of the workspace replaces the home's too
        log.info("prompt scope %s has no files: the built-in texts are used", scope)
        self.sources.append(f"prompt/{scope} (built-in fallback)")
        return built_in_scope(scope)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
    except OSError:
        return []


def _for_platform(names: Sequence[str], platform: str = sys.platform) -> list[str]:
    """`X.windows.md` takes the place of `X.md` on Windows and counts for nothing elsewhere."""
    special = {name for name in names if name.endswith(".windows.md")}
    if platform != "win32":
        return [name for name in names if name not in special]
    replaced = {name.replace(".windows.md", ".md") for name in special}
    return [name for name in names if name not in replaced]


@cache
def built_in_scope(scope: str) -> str:
    folder = SEEDS / "prompts" / scope
    texts = [(folder / name).read_text(encoding="utf-8").strip() for name in _for_platform(_names(folder))]
    return "\n\n".join(text for text in texts if text)


def chain(workspace: Path, working_dir: str, reader: _Reader) -> str:
    """INSTRUCTIONS.md of every folder from below the root down to `working_dir` (relative), outer first."""
    parts: list[str] = []
    place = ""
    for name in Path(working_dir).parts:
        place = f"{place}/{name}" if place else name
        text = reader.text(workspace, f"{place}/.halo/INSTRUCTIONS.md")
        if text:
            parts.append(f"### {place}\n\n{text}")
    return "\n\n".join(parts)


def folder_instructions(workspace: Path, folder: str) -> str:
    """The chain for one folder, relative to the workspace; "" when no file lies along the path."""
    return chain(workspace, folder, _Reader(workspace))


def prompt_material(
    agent: Agent,
    workspace: Path,
    *,
    is_root: bool,
    tools: Sequence[str],
    working_dir: str = "",
    channel: Mapping[str, str] | None = None,
    skills: str = "",
    disabled: Disabled = NOTHING,
) -> PromptMaterial:
    """The texts of one system prompt.

    working_dir: relative to the workspace, "" = none. channel: type, account_id, chat_id. skills: the block of
    agents-and-prompts 3.9.
    """
    reader = _Reader(workspace)
    user_text = reader.either(".halo/USER.md", "USER.md")
    names, _ = split(user_text)
    absolute = str(workspace / working_dir) if working_dir else ""
    values = {
        "args": "",
        "workspace_root": str(workspace),
        "working_dir": absolute,
        "global_dir": str(reader.home),
        "user_name": names.get("user_name", ""),
        "ai_name": names.get("ai_name", ""),
        "agent_name": agent.name,
        **{f"channel.{key}": (channel or {}).get(key, "") for key in ("type", "account_id", "chat_id")},
    }
    outside = not agent.internal
    parts = PromptParts(
        workspace=str(workspace),
        is_root=is_root,
        internal=agent.internal,
        system_prompt=agent.config.system_prompt,
        # The roster comes with the tools that start its members, never without (spec 3.3).
        roster=team_roster(agent, workspace, disabled) if "start_session" in tools else "",
        user=user_text if is_root and outside else "",
        instructions=reader.either(".halo/INSTRUCTIONS.md", "INSTRUCTIONS.md") if outside else "",
        working_dir=absolute,
        chain=chain(workspace, working_dir, reader) if working_dir and outside else "",
        index=reader.text(workspace, ".halo/INDEX.md") if outside else "",
        bootstrap=reader.scope("bootstrap") if is_root and outside and not user_text else "",
        root_scope=reader.scope("root") if is_root and outside else "",
        all_scope=reader.scope("all") if outside else "",
        skills=skills,
        tools=tuple(tools),
    )
    persona = Size(len(agent.persona.encode("utf-8", "replace")), agent.persona_cut)
    own = {str(agent.folder / "AGENT.md"): persona} if agent.persona else {}
    params = settings_store.params_of(agent.id, workspace)
    return PromptMaterial(agent, parts, params, values, (*own, *reader.sources), own | reader.sizes)


def present_time() -> str:
    """As `{{now}}` shows it: ISO 8601, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def team_members(agent: Agent, workspace: Path, disabled: Disabled = NOTHING) -> list[Agent]:
    """Whom an agent may start and ask: of its `team` those that exist here, not disabled, not internal; self first.

    The one membership test: for the roster, and for the tools that start or ask a session.
    """
    if not agent.can_delegate:
        return []
    team = set(agent.config.team)
    members = [
        entry.agent for entry in list_agents(workspace, disabled) if entry.id in team and entry.agent and entry.offered
    ]
    members.sort(key=lambda member: member.id != agent.id)  # stable: the rest keeps its order by priority
    return members


def team_roster(agent: Agent, workspace: Path, disabled: Disabled = NOTHING) -> str:
    """Section 3 for an agent that may delegate."""
    members = team_members(agent, workspace, disabled)
    return roster([(member.id, member.name, member.config.description) for member in members], agent.id)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
