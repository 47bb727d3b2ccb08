"""Routes of the trash: look, put back, delete for good. `DELETE /files` fills it."""

from typing import Annotated, Any

from ninja import Router
from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.schema import ApiSchema

from ..access import CallerRequest
from ..audit import audit
from . import trash
from .door import enter, texts
from .routes import FileDoneOut
from .trash import NOT_THERE

router = Router(by_alias=True, tags=["files"])

Number = Annotated[int, Field(ge=0, le=10**15)]


class DiscardedOut(ApiSchema):
    id: int
    path: str
    type: str  # directory, file
    size: int  # of a file
    deleted_at: int  # Unix milliseconds, like the next
    gone_at: int
    deleted_by: str


class TrashOut(ApiSchema):
    items: list[DiscardedOut]


class RestoreIn(ApiSchema):
    project_id: str | None = None
    id: Number
    new_path: str | None = None


@router.get("/files/trash", response=TrashOut, summary="What was deleted within a week, newest first")
def list_trash(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    """At most 1,000, of what the caller may write."""
    _, jail = enter(request.caller, projectId, Access.WORKSPACE)
    return {
        "items": [
            {
                "id": one.id,
                "path": one.path,
                "type": "directory" if one.is_dir else "file",
                "size": one.size,
                "deletedAt": one.id,
                "goneAt": one.gone_at,
                "deletedBy": one.by,
            }
            for one in trash.listed(jail)
        ]
    }


@router.post("/files/trash/restore", response=FileDoneOut, summary="Put back what was deleted")
def restore(request: CallerRequest, body: RestoreIn) -> dict[str, Any]:
    """To where it was, or to `newPath`. Never onto something that is there: 409."""
    workspace, jail = enter(request.caller, body.project_id, Access.WORKSPACE)
    with texts(NOT_THERE):
        path = trash.restore(jail, body.id, body.new_path or None)
    audit("file.restore", actor=request.caller, target=path, workspace=workspace, request=request)
    return {"ok": True, "path": path}


@router.delete("/files/trash/{id}", response=FileDoneOut, summary="Delete for good what is in the trash")
def purge(request: CallerRequest, id: Number, projectId: str | None = None) -> dict[str, Any]:
    workspace, jail = enter(request.caller, projectId, Access.WORKSPACE)
    with texts(NOT_THERE):
        what = trash.purge(jail, id)
    audit("file.purge", actor=request.caller, target=what.path, workspace=workspace, request=request)
    return {"ok": True, "path": what.path}
