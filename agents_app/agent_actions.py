"""Looking at and changing agents from the app."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.http import HttpRequest

from halo_site.lib.errors import BadRequest, NotFound, TooLarge
from halo_site.lib.text import clean
from halo_site.lib.yaml_edit import dump
from halo_site.lib.yaml_files import MAX_BYTES, YamlError, load_with_lines
from workspaces_app.access import Caller

from . import tools
from .agent_yaml import AgentYaml, parse
from .agents import Agent, Listed, list_agents, read_agent
from .disabled import NOTHING, disabled_at
from .item_places import (
    Place,
    check_may_write,
    make,
    new_place,
    other_scope,
    read_below,
    read_file,
    remove,
    told,
    write_below,
    write_file,
)
from .model_binding import default_provider, model_block
from .providers.registry import registry
from .seed import AGENTS, CONTEXT
from .skills import list_skills

FILE = "agent.yaml"
MD_FILES = ("AGENT.md", "INSTRUCTIONS.md", "INDEX.md")


def read_yaml(place: Place) -> str:
    """The text of agent.yaml. Raises NotFound when the folder has none."""
    text = read_file(place, FILE)
    if text is None:
        raise NotFound("Agent not found")
    return text


def check_yaml(text: str, workspace: Path | None = None) -> tuple[AgentYaml, list[str]]:
    """The agent and its warnings. Raises BadRequest `Invalid YAML: ...` with the line in `extra`."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise TooLarge(f"agent.yaml has at most {MAX_BYTES // 1024} KiB")
    try:
        config, warnings = parse(clean(text))
    except YamlError as error:
        raise BadRequest(f"Invalid YAML: {error}", line=error.line) from error
    _, lines = load_with_lines(clean(text))
    missing = [(lines.near(path), said) for path, said in _what_is_missing(config, workspace)]
    return config, [*warnings, *(f"line {line}: {said}" if line else said for line, said in missing)]


def _what_is_missing(config: AgentYaml, workspace: Path | None) -> Iterator[tuple[tuple[str, ...], str]]:
    """Things that are allowed to be wrong for now, each with where it stands: the agent is saved all the same."""
    model = config.model
    for name in model.missing:
        yield ("model",), f"{name} missing: the agent cannot run"
    provider = registry().providers.get(model.provider)
    if model.provider and provider is None:
        yield ("model", "provider"), f'model.provider: there is no provider "{model.provider}"'
    if provider is not None and model.id and provider.models and provider.model(model.id) is None:
        yield ("model", "id"), f'model.id: {provider.id} does not list "{model.id}"; it is sent as it stands'
    for place, other in enumerate(model.fallback):
        if other.provider not in registry().providers:
            said = f'model.fallback: there is no provider "{other.provider}"; it is passed over'
            yield ("model", "fallback", str(place), "provider"), said
    known = {*tools.TOOLS, *tools.ACCEPTED_NAMES, *tools.GIVEN}
    skills = {skill.id for skill in list_skills(workspace)}
    agents = {entry.id for entry in list_agents(workspace)}
    for key, names, there, said in (
        ("tools", config.tools, known, 'tools: there is no tool "{}"; it is ignored'),
        ("skills", config.skills, skills, 'skills: there is no skill "{}" here'),
        ("team", config.team, agents, 'team: there is no agent "{}" here'),
    ):
        for place, name in enumerate(names):
            if name not in there:
                yield (key, str(place)), said.format(name)


def write_yaml(caller: Caller, place: Place, text: str, request: HttpRequest) -> tuple[Listed, list[str]]:
    """Check, then store. Raises BadRequest, and what write_file raises."""
    _, warnings = check_yaml(text, place.root)
    write_file(place, FILE, text)
    told(caller, place, "change", request)
    return _listed(place), warnings


def create(
    caller: Caller, name: str, description: str, scope: str | None, project_id: str | None, request: HttpRequest
) -> tuple[Listed, str | None]:
    """A new agent with a model that works, and the other scope if it has the same id. Raises BadRequest, Conflict."""
    name, description = " ".join(clean(name).split()), " ".join(clean(description).split())
    place = new_place(caller, "agent", name, scope, project_id)
    document = {
        "name": name,
        "description": description,
        "model": model_block(default_provider(place.root)),
        "system_prompt": f"You are {name}. {description}".strip(),
        **CONTEXT,
        "tools": [],
        "skills": [],
    }
    persona = f"# {name}\n\n{description}".strip() + "\n"
    make(place, {FILE: dump(document), "AGENT.md": persona})
    told(caller, place, "create", request)
    return _listed(place), other_scope(place, project_id)


def delete(caller: Caller, place: Place, request: HttpRequest | None, address: str = "") -> None:
    """Raises BadRequest for agents that belong to Halo, and for the last one of the home."""
    if place.workspace is None:
        if place.item_id in AGENTS:
            raise BadRequest(f"{place.item_id} belongs to Halo and would come back. Disable it in a workspace instead.")
        if len(list_agents(None)) <= 1:
            raise BadRequest("The last global agent cannot be deleted")
    remove(place)
    told(caller, place, "delete", request, address)


def _listed(place: Place) -> Listed:
    agent = read_agent(place.root, place.item_id, place.scope, place.folder)
    off = ("agent", agent.id, agent.scope) in disabled_at(place.root)
    return Listed(agent.id, agent.scope, agent.folder, agent, disabled=off)


# -- markdown beside it --------------------------------------------------------------------------------------------


def md_file(place: Place, name: str) -> dict[str, Any]:
    """One of the texts around an agent, with its path. Raises BadRequest for any other name."""
    base, inside, in_workspace = _md_place(place, name)
    text = read_below(base, inside, in_workspace=in_workspace)
    return {
        "content": text or "",
        "exists": text is not None,
        "path": str(base / inside),
        "readOnly": name == "INDEX.md",
    }


def write_md(caller: Caller, place: Place, name: str, content: str, request: HttpRequest) -> Path:
    """Raises BadRequest for INDEX.md, which agents keep."""
    base, inside, in_workspace = _md_place(place, name)
    if name == "INDEX.md":
        raise BadRequest("INDEX.md is read-only here; agents keep it")
    check_may_write(caller, place)
    write_below(base, inside, content, in_workspace=in_workspace)
    told(caller, place, f"write.{name.removesuffix('.md').lower()}", request)
    return base / inside


def _md_place(place: Place, name: str) -> tuple[Path, str, bool]:
    if name not in MD_FILES:
        raise BadRequest(f"file must be one of {', '.join(MD_FILES)}")
    in_workspace = place.workspace is not None
    if name == "AGENT.md":
        return place.base, f"{place.inside}/{name}", in_workspace
    return place.base, f".halo/{name}" if in_workspace else name, in_workspace


# -- lists ---------------------------------------------------------------------------------------------------------


def rows(workspace: Path | None) -> list[dict[str, Any]]:
    """The agents of both scopes for a list; broken ones with `error`."""
    disabled = disabled_at(workspace) if workspace else NOTHING
    return [row_of(entry) for entry in list_agents(workspace, disabled)]


def row_of(entry: Listed) -> dict[str, Any]:
    agent: Agent | None = entry.agent
    return {
        "id": entry.id,
        "name": agent.name if agent else entry.id,
        "description": agent.config.description if agent else "",
        "model": agent.model if agent else None,
        "path": str(entry.folder),
        "scope": entry.scope,
        "priority": entry.priority,
        "tools": list(agent.config.tools) if agent else [],
        "skills": list(agent.config.skills) if agent else [],
        "team": list(agent.config.team) if agent else [],
        "overridden": entry.overridden,
        "disabled": entry.disabled,
        "internal": bool(agent and agent.internal),
        "builtIn": entry.scope == "global" and entry.id in AGENTS,
        "warnings": list(agent.warnings) if agent else [],
        "error": entry.error,
    }
