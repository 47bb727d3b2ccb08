"""Route of an agent's MCP servers: what its file lists, and how they are."""

from pathlib import Path
from typing import Any, Literal

from ninja import Router

from halo_site.lib.access_level import Access
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace

from .agents import locate, read_agent
from .item_places import check_item_id
from .mcp.states import servers_of

router = Router(by_alias=True, tags=["agents"])


class McpStateOut(ApiSchema):
    level: Access  # of the sessions it runs for
    state: Literal["starting", "ready", "failed", "ended"]
    error: str  # why it failed at the last try
    tools: list[str]  # as models call them
    warnings: list[str]  # tools that were dropped, and why
    changed_at: int  # Unix milliseconds


class McpServerOut(ApiSchema):
    name: str
    transport: Literal["stdio", "http"]
    requires_access: Access
    timeout_sec: float
    only: list[str] | None  # names its list of tools is limited to; null = all
    states: list[McpStateOut]  # empty = no run needed it yet


class McpServersOut(ApiSchema):
    servers: list[McpServerOut]


@router.get("/agent-configs/{agent_id}/mcp", response=McpServersOut, summary="The MCP servers of an agent")
def list_servers(request: CallerRequest, agent_id: str, projectId: str | None = None) -> dict[str, Any]:
    check_item_id("agent", agent_id)
    workspace, level = open_workspace(request.caller, projectId)
    scope, folder = locate(Path(workspace.path), agent_id)
    agent = read_agent(Path(workspace.path), agent_id, scope, folder)
    return {"servers": servers_of(agent, workspace, level)}
