"""Routes: look at a shared archive, import it, take that back."""

from typing import Annotated, Any, BinaryIO, Literal, cast

from ninja import File, Form, Router
from ninja.files import UploadedFile
from pydantic import Field, ValidationError

from halo_site.lib.errors import BadRequest
from halo_site.lib.schema import ApiSchema
from halo_site.lib.settings_schema import FieldType
from workspaces_app.access import CallerRequest

from . import actions
from .contents import Kind, Reason
from .plan import Choice, Verdict

router = Router(by_alias=True, tags=["workspaces"])
Paths = Annotated[list[str], Field(max_length=2_000)]


class ImportItemOut(ApiSchema):
    path: str  # below the workspace: a file, or the folder of an agent or skill
    kind: Kind
    verdict: Verdict
    files: list[str]
    size: int  # bytes


class ImportLeftOutOut(ApiSchema):
    path: str
    reason: Reason


class ImportNeedOut(ApiSchema):
    key: str
    item: str  # path of the item that declares or uses it
    type: FieldType
    options: list[str]
    description: str
    description_zh: str
    default: str | None
    secret: bool
    required: bool  # used, without a default
    has_value: bool


class ImportLastOut(ApiSchema):
    name: str
    at: int  # Unix milliseconds
    items: list[str]


class ImportPreviewOut(ApiSchema):
    plan: str  # send it back to import exactly this
    items: list[ImportItemOut]
    left_out: list[ImportLeftOutOut]
    needs: list[ImportNeedOut]
    last: ImportLastOut | None  # the import that can be taken back


class ImportChoices(ApiSchema):
    replace: Paths = []
    leave: Paths = []
    values: dict[str, str | int | float | bool | None] = {}


class ImportedOut(ApiSchema):
    ok: Literal[True] = True
    imported: list[str]
    kept: list[str]
    missing: list[str]  # required parameters without a value


class ImportUndoIn(ApiSchema):
    project_id: str | None = None
    force: bool = False


class ImportUndoneOut(ApiSchema):
    ok: Literal[True] = True
    restored: list[str]


@router.post("/workspaces/import", response=ImportPreviewOut, summary="What a shared archive would bring")
def preview_import(request: CallerRequest, file: File[UploadedFile], projectId: str | None = None) -> dict[str, Any]:
    """Multipart `file`. Nothing is written."""
    workspace = actions.workspace_for(request.caller, projectId)
    seen = actions.preview(workspace, _zip(file))
    return {
        "plan": seen.id,
        "items": [
            {
                "path": step.item.path,
                "kind": step.item.kind,
                "verdict": step.verdict,
                "files": list(step.item.files),
                "size": step.size,
            }
            for step in seen.steps
        ],
        "leftOut": [{"path": one.path, "reason": one.reason} for one in seen.left_out],
        "needs": [
            {
                "key": need.key,
                "item": need.item,
                "type": need.field.type,
                "options": list(need.field.options),
                "description": need.field.description,
                "descriptionZh": need.field.description_zh,
                "default": need.field.default,
                "secret": need.field.secret,
                "required": need.required,
                "hasValue": need.key not in seen.unset,
            }
            for need in seen.needs
        ],
        "last": {"name": seen.last.name, "at": seen.last.at, "items": [item.path for item in seen.last.items]}
        if seen.last
        else None,
    }


@router.post("/workspaces/import/apply", response=ImportedOut, summary="Import a shared archive: all of it, or nothing")
def apply_import(
    request: CallerRequest,
    file: File[UploadedFile],
    plan: Form[str] = "",
    choices: Form[str] = "{}",
    projectId: str | None = None,
) -> dict[str, Any]:
    """Multipart: `file`, `plan` of the preview, and `choices`.

    `choices` is JSON: `{replace?: [path], leave?: [path], values?: {key: value}}`.

    What differs, and what would hide something of the home, comes only when `replace` names it; 409 when the archive
    or the workspace are not as in the preview.
    """
    workspace = actions.workspace_for(request.caller, projectId)
    if not plan:
        raise BadRequest("plan is required: look at the archive first")
    chosen = _choices(choices)
    wanted = actions.Wanted(plan, Choice(chosen.replace, chosen.leave), chosen.values)
    actor = actions.Actor(request.caller, request)
    done = actions.do_import(workspace, _zip(file), wanted, name=file.name or "", actor=actor)
    return {"imported": done.paths, "kept": done.kept, "missing": done.missing}


@router.post("/workspaces/import/undo", response=ImportUndoneOut, summary="Take the last import back")
def undo_import(request: CallerRequest, body: ImportUndoIn) -> dict[str, Any]:
    """409 with `changed` when what it brought was changed since; with `force` those changes are lost."""
    workspace = actions.workspace_for(request.caller, body.project_id)
    restored = actions.do_undo(workspace, force=body.force, actor=actions.Actor(request.caller, request))
    return {"restored": restored}


def _zip(upload: UploadedFile) -> BinaryIO:
    actions.check_size(upload.size or 0)
    return cast(BinaryIO, upload.file)


def _choices(text: str) -> ImportChoices:
    try:
        return ImportChoices.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "choices"
        raise BadRequest(f"choices cannot be read: {where}: {first['msg']}") from error
