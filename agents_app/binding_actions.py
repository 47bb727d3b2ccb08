"""Connect a model: store the key, bind the agent to it, and take along those that still run the demo."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.http import HttpRequest

from halo_site.lib import settings_store, settings_write
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from halo_site.lib.yaml_files import YamlError
from workspaces_app.access import Caller, check_superuser, open_workspace
from workspaces_app.audit import audit

from .agent_actions import FILE, read_yaml
from .agents import default_agent, list_agents
from .disabled import disabled_at
from .item_news import announce_item
from .item_places import Place, find_place, write_file
from .model_binding import WITHOUT_KEY, bind, model_block
from .providers.contract import ModelConfig
from .providers.registry import entry_of, resolve_model
from .settings_actions import announce
from .settings_sections import declared

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A model as a person chose it. Empty model or endpoint: the provider's default."""

    provider: str
    model: str = ""
    endpoint: str = ""
    secrets: Mapping[str, str | None]  # by the provider's own names; null or a mask = keep what is stored


def check_endpoint(endpoint: str) -> None:
    """Raises BadRequest. `demo://` is the scripted provider's own."""
    if endpoint and not endpoint.startswith(("http://", "https://", "demo://")):
        raise BadRequest("endpoint must begin with http:// or https://")
    if len(endpoint) > 2_000 or any(ord(char) < 33 for char in endpoint):
        raise BadRequest("endpoint must be an address without spaces")


def config_to_test(caller: Caller, wanted: Wanted, project_id: str | None) -> ModelConfig:
    """What the Test button calls: the given values over the stored ones. Nothing is saved.

    A stored key goes to whatever endpoint is named, so this needs the same rights as storing one.
    """
    folder: Path | None = None
    if project_id:
        folder = Path(open_workspace(caller, project_id, Access.FULL)[0].path)
    else:
        check_superuser(caller)
    check_endpoint(wanted.endpoint)
    block = model_block(wanted.provider, wanted.model, wanted.endpoint)
    secrets = settings_store.secrets_of(wanted.provider, folder)
    for key, value in _new_secrets(wanted, folder).items():
        secrets[key] = settings_store.expand_env(value)
    return resolve_model(block, secrets=secrets)


def connect(
    caller: Caller, wanted: Wanted, project_id: str | None, agent_id: str | None, request: HttpRequest
) -> list[str]:
    """Bind an agent (default: the one new chats start with) and all that are still on the demo; returns their ids.

    Agents of the home need the server's owner, an agent of the workspace a member with full access. Keys go into the
    layer of the agent. Raises BadRequest, Conflict, Forbidden, StorageFull.
    """
    workspace = open_workspace(caller, project_id)[0] if project_id else None
    folder = Path(workspace.path) if workspace else None
    name = agent_id or default_agent(folder, disabled_at(folder)).id
    place = find_place(caller, "agent", name, None, project_id, writing=True)
    check_endpoint(wanted.endpoint)
    block = model_block(wanted.provider, wanted.model, wanted.endpoint)
    missing = [key for key in ("id", "endpoint") if not block[key]]
    if missing:
        raise BadRequest(f"{' and '.join('model' if key == 'id' else key for key in missing)} required")
    for key, value in _new_secrets(wanted, place.root).items():
        settings_write.write(place.scope, place.root, f"{wanted.provider}.secrets.{key}", value)
    bound = [place, *_on_demo(place)]
    for one in bound:
        _bind(one, block)
    ids = [one.item_id for one in bound]
    detail: dict[str, object] = {"provider": wanted.provider, "model": block["id"], "agents": ids}
    audit("model.connect", actor=caller, target=name, workspace=place.workspace, request=request, detail=detail)
    announce(place.scope, place.workspace)
    announce_item("agent", place.scope, place.workspace)
    return ids


def _new_secrets(wanted: Wanted, folder: Path | None) -> dict[str, str]:
    """The secrets to store: declared ones, that are given and are not just the mask of the stored one."""
    entry = entry_of(wanted.provider)
    names = {part.key for part in entry.secrets}
    found: dict[str, str] = {}
    for key, value in wanted.secrets.items():
        if key not in names:
            raise BadRequest(f"{wanted.provider} has no secret {key}")
        path = f"{wanted.provider}.secrets.{key}"
        stored, _ = settings_store.raw(path, folder)
        if value and not settings_store.is_mask_of(value, stored):
            found[key] = settings_write.check_value(path, value.strip(), declared(folder).get(path), "global")
    return found


def _on_demo(place: Place) -> list[Place]:
    """Agents of the same scope that still run the demo: a person who connects a model wants it for all of them."""
    return [
        Place("agent", entry.scope, entry.id, place.workspace)
        for entry in list_agents(place.root)
        if entry.agent
        and entry.scope == place.scope
        and entry.id != place.item_id
        and entry.agent.config.model.provider == WITHOUT_KEY
    ]


def _bind(place: Place, block: Mapping[str, object]) -> None:
    try:
        write_file(place, FILE, bind(read_yaml(place), block))
    except YamlError as error:
        raise BadRequest(f"{place.folder / FILE} is not valid YAML, mend it first: {error}", line=error.line) from error
