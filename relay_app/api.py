"""Dispatches between workspaces for the app: who waits for whom, and the end of a wait (spec relay, "beyond")."""

from typing import Annotated

from ninja import Router
from pydantic import Field

from halo_site.lib.errors import Forbidden, NotFound
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace
from workspaces_app.audit import audit

from . import actions, look
from .models import ReplyTo

router = Router(by_alias=True, tags=["relay"])
MAX_ID = (1 << 63) - 1


class SideOut(ApiSchema):
    """Null when the person may not enter that workspace."""

    workspace: str | None
    session_id: str | None
    title: str | None


class DispatchOut(ApiSchema):
    id: int
    caller: SideOut
    target: SideOut
    state: str  # pending, working; closed: completed, aborted, stopped, cancelled, undelivered
    reason: str
    hop: int
    sends: int
    interims: int
    created_at: int
    closed_at: int | None


class DispatchesOut(ApiSchema):
    dispatches: list[DispatchOut]


class DispatchWhere(ApiSchema):
    project_id: str


@router.get("/relay/dispatches", response=DispatchesOut, summary="Tasks handed between workspaces, newest first")
def list_dispatches(
    request: CallerRequest,
    projectId: str | None = None,
    open: bool = False,
    before: Annotated[int | None, Field(ge=0, le=MAX_ID)] = None,
) -> dict[str, object]:
    """Of the workspaces the person may enter, closed ones of 30 days included; `before` an id, 100 at a time."""
    workspace = open_workspace(request.caller, projectId)[0] if projectId else None
    return {"dispatches": look.dispatches(request.caller, workspace=workspace, only_open=open, before=before)}


@router.post("/relay/dispatches/{number}/cancel", response=DispatchOut, summary="End the wait for a report")
def cancel_dispatch(
    request: CallerRequest, number: Annotated[int, Field(ge=0, le=MAX_ID)], where: DispatchWhere
) -> look.Row:
    """The caller gets its report with `status: aborted`; the target goes on with what it reads already."""
    workspace, _ = open_workspace(request.caller, where.project_id)
    row = ReplyTo.objects.filter(pk=number).first()
    allowed = look.may_cancel(request.caller, row) if row else None
    if row is None or allowed is None or workspace.pk not in (row.caller_workspace_id, row.target_workspace_id):
        raise NotFound("No such relay")
    if not allowed:
        raise Forbidden("This needs workspace access on one side of the relay")
    closed = actions.cancel(number, request.caller.username)
    audit("relay.cancel", actor=request.caller, target=str(closed), workspace=workspace, request=request)
    return look.row_for(request.caller, closed)
