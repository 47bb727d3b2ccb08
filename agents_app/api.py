"""Routes of agents, and the app's one router (settings are mounted into it)."""

from pathlib import Path
from typing import Any, Literal

from ninja import Router, Status
from ninja.decorators import decorate_view

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from halo_site.lib.etag import answers_etag
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace

from . import agent_actions as actions
from . import tools
from .disabled import disabled_in
from .item_places import check_item_id, find_place
from .mcp_api import router as mcp_router
from .prompt_preview import preview
from .providers.registry import list_providers
from .settings_actions import place_to_read
from .settings_api import router as settings_router
from .sharing.routes import router as sharing_router
from .skills_api import DoneOut, ToggledOut, WhereIn
from .skills_api import router as skills_router
from .switch_actions import toggle

router = Router(by_alias=True, tags=["agents"])


class AgentOut(ApiSchema):
    id: str
    name: str
    description: str
    model: dict[str, Any] | None  # keys as in agent.yaml; null = the file is broken
    path: str
    scope: str
    priority: int
    tools: list[str]
    skills: list[str]
    team: list[str]
    overridden: bool
    disabled: bool
    internal: bool
    built_in: bool
    warnings: list[str]
    error: str  # why it cannot run; "" = it can


class AgentsOut(ApiSchema):
    agents: list[AgentOut]


class ToolOut(ApiSchema):
    name: str
    description: str


class ToolsOut(ApiSchema):
    tools: list[ToolOut]


class YamlOut(ApiSchema):
    yaml: str
    scope: str
    warnings: list[str]
    error: str = ""


class YamlIn(ApiSchema):
    yaml: str
    scope: str | None = None
    project_id: str | None = None


class NewIn(ApiSchema):
    name: str
    description: str = ""
    scope: str | None = None
    project_id: str | None = None


class NewOut(ApiSchema):
    agent: AgentOut
    conflict_scope: Literal["global", "workspace"] | None  # the same id is there too


class MdOut(ApiSchema):
    content: str
    exists: bool
    path: str
    read_only: bool


class MdAllOut(ApiSchema):
    files: dict[str, MdOut]


class MdIn(ApiSchema):
    content: str
    scope: str | None = None
    project_id: str | None = None


class WrittenOut(DoneOut):
    path: str


class PromptOut(ApiSchema):
    text: str
    hash: str
    tools: list[str]
    skills: list[str]
    sources: list[str]  # files it is made of, in order


class SavedOut(ApiSchema):
    agent: AgentOut
    warnings: list[str]


@router.get("/agent-configs", response=AgentsOut, summary="Agents of both scopes, best first")
@decorate_view(answers_etag)
def list_configs(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    return {"agents": actions.rows(place_to_read(request.caller, projectId))}


@router.get("/agent-configs/tools", response=ToolsOut, summary="Tools an agent may list")
@decorate_view(answers_etag)
def list_tools(request: CallerRequest) -> dict[str, Any]:
    offered = [(tool.name, tool.description) for tool in tools.TOOLS.values()]
    if "relay_send" in tools.RELAY:  # one entry stands for the whole set
        offered.append(("relay_send", f"Tasks for other workspaces: {', '.join(tools.RELAY)}."))
    return {"tools": [{"name": name, "description": description} for name, description in offered]}


@router.get("/agent-configs/models", summary="The model registry")
@decorate_view(answers_etag)
def list_models(request: CallerRequest) -> dict[str, Any]:
    return list_providers()


@router.get("/agent-configs/{agent_id}/yaml", response=YamlOut, summary="The text of an agent.yaml")
def get_yaml(
    request: CallerRequest,
    agent_id: str,
    scope: str | None = None,
    projectId: str | None = None,
) -> dict[str, Any]:
    place = find_place(request.caller, "agent", agent_id, scope, projectId)
    text = actions.read_yaml(place)
    try:
        _, warnings = actions.check_yaml(text, place.root)
        error = ""
    except BadRequest as problem:
        warnings, error = [], str(problem)
    return {"yaml": text, "scope": place.scope, "warnings": warnings, "error": error}


@router.put("/agent-configs/{agent_id}/yaml", response=SavedOut, summary="Check and save an agent.yaml")
def put_yaml(request: CallerRequest, agent_id: str, body: YamlIn) -> dict[str, Any]:
    place = find_place(request.caller, "agent", agent_id, body.scope, body.project_id, writing=True)
    entry, warnings = actions.write_yaml(request.caller, place, body.yaml, request)
    return {"agent": actions.row_of(entry), "warnings": warnings}


@router.post("/agent-configs", response={201: NewOut}, summary="Make an agent")
def create(request: CallerRequest, body: NewIn) -> Status[dict[str, Any]]:
    entry, twin = actions.create(request.caller, body.name, body.description, body.scope, body.project_id, request)
    return Status(201, {"agent": actions.row_of(entry), "conflictScope": twin})


@router.delete("/agent-configs/{agent_id}", response=DoneOut, summary="Delete an agent with its files")
def delete(
    request: CallerRequest,
    agent_id: str,
    scope: str | None = None,
    projectId: str | None = None,
    body: WhereIn | None = None,
) -> dict[str, Any]:
    where = WhereIn.of(body, scope, projectId)
    place = find_place(request.caller, "agent", agent_id, where.scope, where.project_id, writing=True)
    actions.delete(request.caller, place, request)
    return {"ok": True}


@router.patch("/agent-configs/{agent_id}/toggle", response=ToggledOut, summary="Switch an agent off or on here")
def switch(
    request: CallerRequest,
    agent_id: str,
    scope: str | None = None,
    projectId: str | None = None,
    body: WhereIn | None = None,
) -> dict[str, Any]:
    where = WhereIn.of(body, scope, projectId)
    off = toggle(request.caller, "agent", agent_id, where.scope, where.project_id, request)
    return {"ok": True, "disabled": off}


@router.get("/agent-configs/{agent_id}/md-all", response=MdAllOut, summary="The markdown files around an agent")
def get_md_all(
    request: CallerRequest, agent_id: str, scope: str | None = None, projectId: str | None = None
) -> dict[str, Any]:
    place = find_place(request.caller, "agent", agent_id, scope, projectId)
    return {"files": {name: actions.md_file(place, name) for name in actions.MD_FILES}}


@router.get("/agent-configs/{agent_id}/md/{file}", response=MdOut, summary="One markdown file around an agent")
def get_md(
    request: CallerRequest, agent_id: str, file: str, scope: str | None = None, projectId: str | None = None
) -> dict[str, Any]:
    return actions.md_file(find_place(request.caller, "agent", agent_id, scope, projectId), file)


@router.put("/agent-configs/{agent_id}/md/{file}", response=WrittenOut, summary="Save AGENT.md or INSTRUCTIONS.md")
def put_md(request: CallerRequest, agent_id: str, file: str, body: MdIn) -> dict[str, Any]:
    place = find_place(request.caller, "agent", agent_id, body.scope, body.project_id, writing=True)
    return {"ok": True, "path": str(actions.write_md(request.caller, place, file, body.content, request))}


@router.get("/agent-configs/{agent_id}/prompt", response=PromptOut, summary="The system prompt a new session would get")
def get_prompt(
    request: CallerRequest,
    agent_id: str,
    projectId: str | None = None,
    level: Access = Access.FULL,
    child: bool = False,
    workingDir: str = "",
) -> dict[str, Any]:
    """Needs full access: the person's profile and parameters of the agent are part of it."""
    check_item_id("agent", agent_id)
    workspace, _ = open_workspace(request.caller, projectId, Access.FULL)
    worn = preview(
        Path(workspace.path),
        agent_id,
        level=level,
        child=child,
        working_dir=workingDir,
        disabled=disabled_in(workspace.pk),
    )
    return {
        "text": worn.prompt.text,
        "hash": worn.prompt.hash,
        "tools": list(worn.tools),
        "skills": [skill.id for skill in worn.skills],
        "sources": list(worn.prompt.sources),
    }


router.add_router("", mcp_router)
router.add_router("", settings_router)
router.add_router("", skills_router)
router.add_router("", sharing_router)
