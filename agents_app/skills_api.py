"""Routes of skills."""

from typing import Any, Literal, Self

from ninja import Router, Status
from ninja.decorators import decorate_view

from halo_site.lib.etag import answers_etag
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest

from . import skill_actions as actions
from .item_places import find_place
from .settings_actions import place_to_read
from .switch_actions import toggle

router = Router(by_alias=True, tags=["skills"])

Level = Literal["full", "workspace", "readonly"]


class VerbOut(ApiSchema):
    name: str
    desc: str
    builtin: bool
    requires_access: Level | None  # null = what the skill requires


class SkillOut(ApiSchema):
    id: str
    name: str
    description: str
    path: str
    scope: Literal["workspace", "global"]
    command: str | None  # with its slash
    requires_access: Level | None
    verbs: list[VerbOut]
    user_invocable: bool
    model_invocable: bool
    overridden: bool
    disabled: bool
    built_in: bool
    warnings: list[str]
    error: str  # why it cannot load; "" = it can


class SkillsOut(ApiSchema):
    skills: list[SkillOut]


class SkillIn(ApiSchema):
    name: str
    description: str = ""
    command: str = ""
    scope: str | None = None
    project_id: str | None = None


class SkillTextIn(ApiSchema):
    content: str
    scope: str | None = None
    project_id: str | None = None


class SkillTextOut(ApiSchema):
    content: str
    exists: bool
    path: str
    read_only: bool  # it belongs to Halo


class CreatedOut(ApiSchema):
    skill: SkillOut


class WhereIn(ApiSchema):
    """Which of two with the same id. It may stand in the address, or in a body."""

    scope: str | None = None
    project_id: str | None = None

    @classmethod
    def of(cls, body: Self | None, scope: str | None, project_id: str | None) -> Self:
        given = body or cls()
        return cls(scope=scope or given.scope, project_id=project_id or given.project_id)


class DoneOut(ApiSchema):
    ok: bool = True


class ToggledOut(DoneOut):
    disabled: bool


@router.get("/skills", response=SkillsOut, summary="Skills of both scopes")
@decorate_view(answers_etag)
def list_all(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    return {"skills": actions.rows(place_to_read(request.caller, projectId))}


@router.post("/skills", response={201: CreatedOut}, summary="Make a skill")
def create(request: CallerRequest, body: SkillIn) -> Status[dict[str, Any]]:
    skill = actions.create(
        request.caller, body.name, body.description, body.command, body.scope, body.project_id, request
    )
    return Status(201, {"skill": actions.row_of(skill)})


@router.delete("/skills/{skill_id}", response=DoneOut, summary="Delete a skill with its files")
def delete(
    request: CallerRequest,
    skill_id: str,
    scope: str | None = None,
    projectId: str | None = None,
    body: WhereIn | None = None,
) -> dict[str, Any]:
    where = WhereIn.of(body, scope, projectId)
    place = find_place(request.caller, "skill", skill_id, where.scope, where.project_id, writing=True)
    actions.delete(request.caller, place, request)
    return {"ok": True}


@router.patch("/skills/{skill_id}/toggle", response=ToggledOut, summary="Switch a skill off or on in a workspace")
def switch(
    request: CallerRequest,
    skill_id: str,
    scope: str | None = None,
    projectId: str | None = None,
    body: WhereIn | None = None,
) -> dict[str, Any]:
    where = WhereIn.of(body, scope, projectId)
    off = toggle(request.caller, "skill", skill_id, where.scope, where.project_id, request)
    return {"ok": True, "disabled": off}


@router.get("/skills/{skill_id}/md", response=SkillTextOut, summary="The text of a SKILL.md")
def get_text(
    request: CallerRequest, skill_id: str, scope: str | None = None, projectId: str | None = None
) -> dict[str, Any]:
    return actions.text_of(find_place(request.caller, "skill", skill_id, scope, projectId))


@router.put("/skills/{skill_id}/md", response=CreatedOut, summary="Check and save a SKILL.md")
def put_text(request: CallerRequest, skill_id: str, body: SkillTextIn) -> dict[str, Any]:
    place = find_place(request.caller, "skill", skill_id, body.scope, body.project_id, writing=True)
    return {"skill": actions.row_of(actions.write_text(request.caller, place, body.content, request))}
