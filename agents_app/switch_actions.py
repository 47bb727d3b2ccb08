"""Switching agents and skills off and on in one workspace."""

from django.http import HttpRequest

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from workspaces_app.access import Caller, open_workspace
from workspaces_app.audit import audit

from .disabled import disabled_in, mirror, set_disabled
from .item_news import Kind, announce_item
from .item_places import find_place

# A skill may be switched by whoever works here; agents steer what others start, so they need full access.
NEEDS = {"agent": Access.FULL, "skill": Access.WORKSPACE}


def toggle(
    caller: Caller, kind: Kind, item_id: str, scope: str | None, project_id: str | None, request: HttpRequest
) -> bool:
    """Off when it was on, on when it was off, for this workspace only; returns whether it is off now.

    scope: "" or None = the one that serves the id. Raises BadRequest, NotFound, Forbidden.
    """
    if not project_id:
        raise BadRequest("projectId required")
    workspace, _ = open_workspace(caller, project_id, NEEDS[kind])
    place = find_place(caller, kind, item_id, scope, project_id)
    off = (kind, item_id, place.scope) not in disabled_in(workspace.pk)
    set_disabled(workspace, kind, item_id, place.scope, off=off)
    mirror(workspace)
    audit(
        f"{kind}.disable" if off else f"{kind}.enable",
        actor=caller,
        target=item_id,
        workspace=workspace,
        request=request,
        detail={"scope": place.scope},
    )
    announce_item(kind, place.scope, workspace)
    return off
