"""Which session a request means by the ids in its address, with the caller's rights checked (spec http-api)."""

from django.db.models import QuerySet

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, NotFound
from halo_site.lib.ids import is_safe_id
from halo_site.lib.prepared import Param, Select
from workspaces_app.access import Caller, CallerRequest, open_workspace

from .models import Session


def check_sid(sid: str) -> None:
    if not is_safe_id(sid):
        raise BadRequest("Invalid session id")


def check_agent(agent_id: str) -> None:
    if not is_safe_id(agent_id):
        raise BadRequest("Invalid agent id")


def session_at(
    request: CallerRequest, sid: str, project_id: str | None, need: Access = Access.READONLY, *, required: bool = False
) -> Session:
    """Without `project_id` it must be the only one of its name. Raises BadRequest, Forbidden, NotFound."""
    check_sid(sid)
    if project_id or required:
        workspace, _ = open_workspace(request.caller, project_id, need)
        found = _BY_SID.objects(workspace=workspace.pk, sid=sid)
        session = found[0] if found else None
        if session is not None:
            session.workspace = workspace
    else:
        session = _only_one(request.caller, Session.objects.select_related("workspace", "parent").filter(sid=sid))
    if session is None:
        raise NotFound("Session not found")
    return session


_BY_SID = Select(
    lambda: Session.objects.filter(workspace=Param("workspace"), sid=Param("sid")).only(
        *(field.name for field in Session._meta.concrete_fields)
    )
)


def session_of(
    request: CallerRequest, agent_id: str, sid: str, project_id: str | None, need: Access = Access.READONLY
) -> Session:
    """The same, of that agent."""
    check_agent(agent_id)
    session = session_at(request, sid, project_id, need, required=True)
    if session.agent_id != agent_id:
        raise NotFound("Session not found")
    return session


def _only_one(caller: Caller, found: QuerySet[Session]) -> Session | None:
    if not caller.is_superuser:
        found = found.filter(workspace__memberships__user=caller.user_id)
    visible = list(found[:2])
    return visible[0] if len(visible) == 1 else None
