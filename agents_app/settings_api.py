"""Routes of settings and model providers."""

from typing import Any, Literal

from asgiref.sync import sync_to_async
from ninja import Router

from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError
from halo_site.lib.schema import ApiSchema, Ok
from halo_site.lib.settings_schema import FieldType
from workspaces_app import sandbox
from workspaces_app.access import CallerRequest

from . import settings_actions as actions
from .agents import default_agent
from .binding_actions import Wanted, config_to_test, connect
from .disabled import disabled_at
from .model_binding import WITHOUT_KEY, has_key
from .providers.connection import test_connection
from .providers.registry import list_providers, registry
from .settings_sections import masked, orphans, sections, shown

router = Router(by_alias=True, tags=["settings"])


class FieldOut(ApiSchema):
    key: str
    path: str  # the key to PATCH and DELETE
    kind: Literal["param", "secret"]
    type: FieldType
    options: list[str]
    option_labels: list[str]
    description: str
    description_zh: str
    default: str | None
    secret: bool
    global_only: bool
    unit: str
    min: float | None
    max: float | None
    needs_restart: bool
    value: str | int | float | bool | list[str] | None  # null = unset; secrets masked
    has_value: bool
    source: Literal["workspace", "global", "unset"]
    inherited_from_global: bool
    error: str  # why the stored value is not used


class SectionOut(ApiSchema):
    id: str
    group: Literal["general", "provider", "skill", "agent"]
    title: str
    title_zh: str
    fields: list[FieldOut]


class OrphanOut(ApiSchema):
    key: str
    kind: str
    scope: str


class FileErrorOut(ApiSchema):
    scope: str
    path: str
    error: str
    line: int


class SandboxOut(ApiSchema):
    """What holds commands below full access, as this server found it. program "" = nothing; `reason` says why."""

    program: str
    version: str
    reason: str
    network: str


class SchemaOut(ApiSchema):
    scope: Literal["global", "workspace"]
    sections: list[SectionOut]
    orphans: list[OrphanOut]
    errors: list[FileErrorOut]
    sandbox: SandboxOut
    versions: dict[str, str]  # of the file of each scope, for PUT


class CurrentOut(ApiSchema):
    agent_id: str
    scope: str
    provider: str
    model: str
    endpoint: str
    demo: bool


class ProvidersOut(ApiSchema):
    providers: list[dict[str, Any]]  # the registry entry with the keys of its file, and hasKey
    broken: list[dict[str, str]]
    current: CurrentOut | None


class PutIn(ApiSchema):
    scope: str = "global"
    project_id: str | None = None
    settings: dict[str, Any]
    version: str | None = None  # 409 when the file is another by now


class PutOut(Ok):
    version: str


class PatchIn(ApiSchema):
    scope: str = "global"
    project_id: str | None = None
    key: str
    value: Any = None


class DeleteIn(ApiSchema):
    scope: str = "global"
    project_id: str | None = None
    key: str


class TestIn(ApiSchema):
    project_id: str | None = None
    model: str = ""
    endpoint: str = ""
    secrets: dict[str, str | None] = {}


class ModelIn(TestIn):
    provider: str
    agent_id: str | None = None


class BoundOut(ApiSchema):
    agents: list[str]


class ReportOut(ApiSchema):
    ok: bool
    reach_ms: int | None
    first_token_ms: int | None
    duration_ms: int | None
    models: list[str]
    tokens: int
    cost_micros: int | None
    currency: str | None
    error: str
    error_kind: str


@router.get("/settings", summary="All stored values, secrets masked")
def get_settings(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    return masked(actions.place_to_read(request.caller, projectId))


@router.get("/settings/schema", response=SchemaOut, summary="Every field with its value and where it comes from")
def get_schema(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    """`errors` lists settings files that do not parse: their last good values are in force, saving is refused."""
    folder = actions.place_to_read(request.caller, projectId)
    held = sandbox.status()
    return {
        "scope": "workspace" if folder else "global",
        "sections": [
            {
                "id": section.id,
                "group": section.group,
                "title": section.title,
                "titleZh": section.title_zh,
                "fields": [shown(section, part, folder) for part in section.fields],
            }
            for section in sections(folder)
        ],
        "orphans": orphans(folder),
        "errors": settings_store.errors(folder),
        "sandbox": {
            "program": held.program,
            "version": held.version,
            "reason": held.reason,
            "network": settings_store.general("sandbox.network"),
        },
        "versions": actions.versions(folder),
    }


@router.put("/settings", response=PutOut, summary="Replace one settings file")
def put_settings(request: CallerRequest, body: PutIn) -> dict[str, Any]:
    scope = actions.check_scope(body.scope)
    version = actions.put_all(request.caller, scope, body.project_id, body.settings, body.version, request)
    return {"ok": True, "version": version}


@router.patch("/settings", response=Ok, summary="Set one value")
def patch_settings(request: CallerRequest, body: PatchIn) -> dict[str, Any]:
    scope = actions.check_scope(body.scope)
    actions.set_one(request.caller, scope, body.project_id, body.key, body.value, request)
    return {"ok": True}


@router.delete("/settings", response=Ok, summary="Unset one value")
def delete_settings(request: CallerRequest, body: DeleteIn) -> dict[str, Any]:
    scope = actions.check_scope(body.scope)
    actions.unset(request.caller, scope, body.project_id, body.key, request)
    return {"ok": True}


@router.get(
    "/settings/providers", response=ProvidersOut, summary="Model providers, which have a key, and what new chats use"
)
def get_providers(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    """`{providers: [{...registry entry, hasKey}], broken: [{file, error}], current: {...} | null}`."""
    folder = actions.place_to_read(request.caller, projectId)
    listed = list_providers()
    known = registry().providers
    for entry in listed["providers"]:
        entry["hasKey"] = has_key(known[entry["id"]], folder)
    try:
        agent = default_agent(folder, disabled_at(folder))
    except HaloError:
        current = None
    else:
        model = agent.config.model
        current = {
            "agentId": agent.id,
            "scope": agent.scope,
            "provider": model.provider,
            "model": model.id,
            "endpoint": model.endpoint,
            "demo": model.provider == WITHOUT_KEY,
        }
    return {**listed, "current": current}


@router.post("/settings/providers/{provider_id}/test", response=ReportOut, summary="Call a model once")
async def test_provider(request: CallerRequest, provider_id: str, body: TestIn) -> dict[str, Any]:
    """Uses what is given over what is stored; saves nothing. Costs a few tokens."""
    wanted = Wanted(provider=provider_id, model=body.model, endpoint=body.endpoint, secrets=body.secrets)
    config = await sync_to_async(config_to_test)(request.caller, wanted, body.project_id)
    report = await test_connection(config)
    return report.as_dict()


@router.put("/settings/model", response=BoundOut, summary="Connect a model to the agent new chats start with")
def put_model(request: CallerRequest, body: ModelIn) -> dict[str, Any]:
    """Stores the key and binds the agent, and every other agent that still runs the demo. Answers their ids."""
    wanted = Wanted(provider=body.provider, model=body.model, endpoint=body.endpoint, secrets=body.secrets)
    return {"agents": connect(request.caller, wanted, body.project_id, body.agent_id, request)}
