"""Who can act in a workspace: agents as folders, the workspace's own over the home's (spec agents-and-prompts 2, 3.1).

`<ws>/.halo/agents/<id>/` hides `<home>/global/agents/<id>/` as a whole folder, never file by file.
"""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from django.conf import settings

from halo_site.lib.errors import BadRequest, HaloError, NotFound
from halo_site.lib.remembered import looking_at
from halo_site.lib.yaml_files import MAX_BYTES

from . import tools
from .agent_yaml import AgentYaml, parse
from .disabled import NOTHING, Disabled
from .file_cache import Text, read_text
from .item_id import is_item_id
from .model_binding import model_block

Scope = Literal["workspace", "global"]
_WORKING_PARTS = ("model", "system_prompt", "context", "tools", "skills", "team", "mcp")
_INTERNAL_ID = re.compile(r"__.*__")


class AgentNotFound(NotFound):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f'agent "{agent_id}" not found. Look into the agent list for the ids that exist.')


class AgentBroken(HaloError):
    """The agent is there but cannot run. `problem` names file, line and cure."""

    status, code = 422, "agent_broken"

    def __init__(self, agent_id: str, file: Path, problem: str) -> None:
        super().__init__(f'Agent "{agent_id}" cannot run: {problem} ({file})', agent=agent_id, file=str(file))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent as it counts for a build. `persona` is AGENT.md, not rendered; "" when there is none."""

    id: str
    scope: Scope
    folder: Path
    config: AgentYaml
    persona: str = ""
    config_marks: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str = ""  # the file on disk is broken; this is the last version that was not
    persona_cut: bool = False  # AGENT.md is longer

    @property
    def name(self) -> str:
        return self.config.name or self.id

    @property
    def model(self) -> dict[str, Any]:
        """The `model:` block with the keys of the file, as `providers.registry.resolve_model` takes it."""
        return self.config.model.model_dump(by_alias=True, exclude_none=True, exclude={"fallback"})

    @property
    def models(self) -> int:
        return 1 + len(self.config.model.fallback)

    def model_at(self, number: int) -> dict[str, Any]:
        """Like `model`: 0 is the agent's own, 1 its first fallback, and so on. Raises UnknownProvider, BadRequest."""
        if number == 0:
            return self.model
        if number >= self.models:
            raise BadRequest(f"{self.id} names {self.models - 1} fallback models")
        chosen = self.config.model.fallback[number - 1]
        return model_block(chosen.provider, chosen.id, chosen.endpoint)

    @property
    def marks(self) -> dict[str, str]:
        """A short hash per part that decides how it works; kept with a session, so that a later run can compare."""
        return {**self.config_marks, "AGENT.md": _mark(self.persona)}

    @property
    def internal(self) -> bool:
        return self.config.internal or _INTERNAL_ID.fullmatch(self.id) is not None

    @property
    def can_delegate(self) -> bool:
        return bool(self.config.team) and not self.internal

    @property
    def dormant(self) -> bool:
        """True for the agent that goal mode brought into the home while that mode is off: nobody sees or starts it."""
        ours = self.id == "goal" and self.scope == "global" and "goal_context" in self.config.tools
        return ours and not settings.HALO.goal_mode


@dataclass(frozen=True, slots=True)
class Listed:
    """One folder in a list; a broken one is listed with its error instead of its agent."""

    id: str
    scope: Scope
    folder: Path
    agent: Agent | None
    error: str = ""
    overridden: bool = False
    disabled: bool = False

    @property
    def offered(self) -> bool:
        """True when people may pick it and other agents may start it."""
        return self.agent is not None and not (self.agent.internal or self.overridden or self.disabled)

    @property
    def priority(self) -> int:
        return self.agent.config.priority if self.agent else 0


@dataclass(frozen=True, slots=True)
class _Parsed:
    source: Text
    config: AgentYaml
    warnings: tuple[str, ...]
    marks: Mapping[str, str]


_lock = threading.Lock()
_parsed: dict[Path, "_Parsed"] = {}  # agent.yaml -> last good version


def agents_folder(workspace: Path | None, scope: Scope) -> Path:
    """Where the agents of a scope live. Raises BadRequest for scope workspace without one."""
    if scope == "global":
        return Path(settings.HALO.global_dir, "agents")
    if workspace is None:
        raise BadRequest("projectId is required")
    return workspace / ".halo" / "agents"


def locate(workspace: Path | None, agent_id: str) -> tuple[Scope, Path]:
    """The folder that serves an agent. Raises AgentNotFound, for unsafe ids too."""
    if is_item_id(agent_id):
        scopes: tuple[Scope, ...] = ("workspace", "global") if workspace is not None else ("global",)
        for scope in scopes:
            folder = agents_folder(workspace, scope) / agent_id
            looking_at(folder)
            if folder.is_dir():
                return scope, folder
    raise AgentNotFound(agent_id)


def load_agent(workspace: Path | None, agent_id: str, disabled: Disabled = NOTHING) -> Agent:
    """The agent, ready to be built: its yaml is valid and its model is named.

    A broken edit leaves the last good version active (`error` says so). Raises AgentNotFound, for disabled and dormant
    ones too, and AgentBroken.
    """
    scope, folder = locate(workspace, agent_id)
    if ("agent", agent_id, scope) in disabled:
        raise AgentNotFound(agent_id)
    agent = read_agent(workspace, agent_id, scope, folder)
    if agent.dormant:
        raise AgentNotFound(agent_id)
    missing = agent.config.model.missing
    if missing:
        problem = f"{', '.join(missing)} missing; set provider, id and endpoint under `model:`"
        raise AgentBroken(agent_id, folder / "agent.yaml", problem)
    return agent


def read_agent(workspace: Path | None, agent_id: str, scope: Scope, folder: Path) -> Agent:
    """Like load_agent, for a known folder and without asking for a model."""
    base = workspace if scope == "workspace" and workspace is not None else folder.parent
    inside = folder.relative_to(base)
    trusted = scope == "global"
    file = folder / "agent.yaml"
    found = read_text(base, str(inside / "agent.yaml"), trusted=trusted, limit=MAX_BYTES)
    if found is None:
        raise AgentBroken(agent_id, file, "agent.yaml is missing; it names the model and the tools")
    parsed, error = _parsed_of(agent_id, file, found)
    persona = read_text(base, str(inside / "AGENT.md"), trusted=trusted)
    text = persona.text.strip() if persona else ""
    cut = persona is not None and persona.cut
    return Agent(agent_id, scope, folder, parsed.config, text, parsed.marks, parsed.warnings, error, cut)


def _parsed_of(agent_id: str, file: Path, found: Text) -> tuple[_Parsed, str]:
    with _lock:
        known = _parsed.get(file)
    if known is not None and known.source is found:
        return known, ""
    try:
        config, ignored = parse(found.text)
    except HaloError as error:
        if known is not None:
            return known, f"{file}: {error}; the version before stays active"
        raise AgentBroken(agent_id, file, str(error)) from error
    parts = config.model_dump(mode="json", include=set(_WORKING_PARTS))
    marks = {name: _mark(part) for name, part in parts.items()}
    parsed = _Parsed(found, config, (*ignored, *_unknown_tools(config)), marks)
    with _lock:
        _parsed[file] = parsed
    return parsed, ""


def _mark(part: object) -> str:
    return sha256(json.dumps(part).encode()).hexdigest()[:8]


def _unknown_tools(config: AgentYaml) -> list[str]:
    unknown = [name for name in config.tools if name not in tools.TOOLS and name not in tools.ACCEPTED_NAMES]
    return [f'tools: there is no tool "{name}"; it is ignored' for name in unknown]


def list_agents(workspace: Path | None, disabled: Disabled = NOTHING) -> list[Listed]:
    """Every agent folder of both scopes, highest priority first, then by id; hidden global ones are `overridden`.

    Dormant ones are left out.
    """
    listed: list[Listed] = []
    scopes: tuple[Scope, ...] = ("workspace", "global") if workspace is not None else ("global",)
    seen: set[str] = set()
    for scope in scopes:
        folder = agents_folder(workspace, scope)
        for place in _folders(folder):
            entry = _listed(workspace, scope, place, overridden=scope == "global" and place.name in seen)
            if entry.agent is None or not entry.agent.dormant:
                listed.append(replace(entry, disabled=("agent", place.name, scope) in disabled))
        seen |= {entry.id for entry in listed}
    listed.sort(key=lambda entry: (-entry.priority, entry.id, entry.scope == "global"))
    return listed


def _folders(folder: Path) -> list[Path]:
    looking_at(folder)
    try:
        return [place for place in folder.iterdir() if is_item_id(place.name) and place.is_dir()]
    except OSError:
        return []


def _listed(workspace: Path | None, scope: Scope, folder: Path, *, overridden: bool) -> Listed:
    entry = Listed(folder.name, scope, folder, None, overridden=overridden)
    try:
        agent = read_agent(workspace, folder.name, scope, folder)
    except HaloError as error:
        return replace(entry, error=error.problem if isinstance(error, AgentBroken) else str(error))
    missing = agent.config.model.missing
    return replace(entry, agent=agent, error=agent.error or (f"{', '.join(missing)} missing" if missing else ""))


def default_agent(workspace: Path | None, disabled: Disabled = NOTHING) -> Agent:
    """The agent a new chat starts with: the highest priority among those that people may pick and that can run.

    Raises AgentNotFound when there is none.
    """
    for entry in list_agents(workspace, disabled):
        agent = entry.agent
        if agent and entry.offered and not agent.config.model.missing:
            return agent
    raise AgentNotFound("default")
