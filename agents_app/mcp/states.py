"""How servers are, as rows: people look from other processes than the one that runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from django.db.models import Q
from django.utils import timezone

from halo_site.lib.access_level import Access
from halo_site.lib.db import in_light_transaction
from workspaces_app.models import Workspace

from ..agents import Agent
from ..models import McpState

State = Literal["starting", "ready", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Key:
    """What one server is started for. `name` is its name in agent.yaml."""

    workspace: Path
    agent_id: str
    level: Access
    name: str


@dataclass(frozen=True, slots=True)
class Known:
    key: Key
    state: State
    error: str = ""
    tools: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@in_light_transaction
def store(known: Known) -> None:
    """Nothing when the workspace is gone."""
    key = known.key
    workspace = Workspace.objects.filter(path=str(key.workspace)).first()
    if workspace is None:
        return
    now = timezone.now()
    values = {"state": known.state, "error": known.error, "changed_at": now, "seen_at": now}
    if known.state == "ready":
        values |= {"tools": list(known.tools), "warnings": list(known.warnings)}
    McpState.objects.update_or_create(
        workspace=workspace, agent_id=key.agent_id, level=key.level.value, name=key.name, defaults=values
    )


@in_light_transaction
def seen(keys: Sequence[Key]) -> None:
    wanted = Q()
    for key in keys:
        wanted |= Q(workspace__path=str(key.workspace), agent_id=key.agent_id, level=key.level.value, name=key.name)
    McpState.objects.filter(wanted).update(seen_at=timezone.now())


def servers_of(agent: Agent, workspace: Workspace, level: Access) -> list[dict[str, Any]]:
    """The servers of an agent in the order of its file, each with how it is for every level up to `level`.

    `states` is empty while nobody needed it. What a server said to a stronger session is not shown to a weaker person.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    rows = McpState.objects.filter(workspace=workspace, agent_id=agent.id)
    for row in sorted(rows, key=lambda row: Access.stored(row.level).rank):
        if level.covers(Access.stored(row.level)):
            shown = {"level": row.level, "state": row.state_now, "error": row.error, "tools": row.tools}
            shown |= {"warnings": row.warnings, "changedAt": int(row.changed_at.timestamp() * 1000)}
            found.setdefault(row.name, []).append(shown)
    return [
        {
            "name": server.name,
            "transport": server.transport,
            "requiresAccess": server.needs.value,
            "timeoutSec": server.timeout,
            "only": None if server.tools is None else list(server.tools),
            "states": found.get(server.name, []),
        }
        for server in agent.config.mcp
    ]
