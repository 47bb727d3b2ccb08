"""Route of the completion list (spec http-api, Commands)."""

from typing import Any, Literal

from ninja import Router
from ninja.decorators import decorate_view

from halo_site.lib.access_level import Access
from halo_site.lib.etag import answers_etag
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace

from .context import Context
from .registry import descriptors
from .texts import Lang

router = Router(by_alias=True, tags=["commands"])


class CommandVerbOut(ApiSchema):
    name: str
    builtin: bool
    desc: str
    requires_access: Access | None


class CommandOut(ApiSchema):
    """`argHint`: what is written behind it, "" = nothing. `verbs`: those this person may run."""

    name: str
    slash_name: str
    description: str
    type: Literal["server", "client"]
    arg_hint: str
    source: Literal["builtin", "skill"]
    skill_id: str | None
    verbs: list[CommandVerbOut]
    requires_access: Access | None


class CommandsOut(ApiSchema):
    commands: list[CommandOut]


@router.get("/commands", response=CommandsOut, summary="Slash commands you may use here")
@decorate_view(answers_etag)
def list_commands(
    request: CallerRequest,
    projectId: str | None = None,
    sessionId: str | None = None,
    agentId: str | None = None,
    lang: Lang = "en",
) -> dict[str, Any]:
    """Skills only with a session or an agent, whose they are."""
    workspace, level = open_workspace(request.caller, projectId)
    context = Context(
        workspace=workspace,
        caller=request.caller,
        level=level,
        lang=lang,
        active=sessionId.partition(">")[0] if sessionId else None,
        guest=level is Access.READONLY,
        draft_agent=agentId,
    )
    return {"commands": descriptors(context, skills=bool(sessionId or agentId))}
