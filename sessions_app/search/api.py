"""GET /sessions/search: messages in all sessions the caller may see (spec http-api, Sessions)."""

from typing import Annotated

from ninja import Router
from pydantic import Field

from halo_site.lib.errors import BadRequest
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import Caller, CallerRequest, open_workspace
from workspaces_app.models import Membership

from ..display import milliseconds
from ..listing import MAX_LIMIT, NEW_SESSION
from .find import find
from .question import LONGEST, question_of

router = Router(by_alias=True, tags=["sessions"])

MAX_ID = (1 << 63) - 1


class HitOut(ApiSchema):
    """`snippet`: one line around the first hit. `timestamp`: Unix milliseconds."""

    workspace_path: str
    session_id: str
    entry_id: int
    title: str
    snippet: str
    timestamp: int


class HitsOut(ApiSchema):
    """`before`: entry id that asks for older hits."""

    hits: list[HitOut]
    has_more: bool
    before: int | None


@router.get("/sessions/search", response=HitsOut)
def search_sessions(
    request: CallerRequest,
    q: str = "",
    projectId: str | None = None,
    includeArchived: str = "",
    before: Annotated[int | None, Field(ge=0, le=MAX_ID)] = None,
    limit: Annotated[int, Field(ge=1)] = 50,
) -> HitsOut:
    """Newest first. Every word and "quoted phrase" must occur in the message; parts of words count.

    Without `projectId`: in all workspaces the caller is a member of.
    """
    if projectId:
        workspace, _ = open_workspace(request.caller, projectId)
        keys: list[int] | None = [workspace.pk]
    else:
        keys = _workspaces_of(request.caller)
    if len(q) > LONGEST:
        raise BadRequest(f"q has more than {LONGEST} characters")
    question = question_of(q)
    if not question.terms:
        raise BadRequest("q required")
    found = find(question, keys, archived=includeArchived == "1", before=before, limit=min(limit, MAX_LIMIT))
    hits = [
        HitOut(
            workspace_path=hit.workspace_path,
            session_id=hit.sid,
            entry_id=hit.entry_id,
            title=hit.title or NEW_SESSION,
            snippet=hit.snippet,
            timestamp=milliseconds(hit.at),
        )
        for hit in found.hits
    ]
    return HitsOut(hits=hits, has_more=found.before is not None, before=found.before)


def _workspaces_of(caller: Caller) -> list[int] | None:
    """None = all, for the owner of the server."""
    if caller.is_superuser:
        return None
    return list(Membership.objects.filter(user=caller.user_id).values_list("workspace", flat=True))
