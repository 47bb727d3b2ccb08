"""Routes of sessions: list, windows, rename, delete, images for a message (spec http-api, Sessions)."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import File, Router, Status
from ninja.decorators import decorate_view
from ninja.files import UploadedFile
from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, NotFound, TooLarge
from halo_site.lib.etag import answers_etag, json_with_etag
from halo_site.lib.schema import ApiSchema, Ok
from workspaces_app.access import CallerRequest, open_workspace
from workspaces_app.audit import audit
from workspaces_app.files.download import disposition

from . import actions
from .addressed import check_agent, check_sid, session_at, session_of
from .commands.api import router as commands_router
from .commands.texts import Lang
from .delegation.actions import output
from .fork import fork
from .goals.api import router as goals_router
from .listing import MAX_LIMIT, NEW_SESSION, page_of, position_of
from .markdown import Head, document, file_name
from .models import Session
from .needs import Kind, needs_of
from .search.api import router as search_router
from .spending_api import router as spending_router
from .uploads import MAX_UPLOAD, save_upload
from .windows import inputs_before, newest_window, rows_after, segment, window_before

router = Router(by_alias=True, tags=["sessions"])

MAX_ID = (1 << 63) - 1
MARKDOWN = {"responses": {200: {"description": "Text", "content": {"text/markdown": {"schema": {"type": "string"}}}}}}

Limit = Annotated[int, Field(ge=1)]
Before = Annotated[int | None, Field(ge=0, le=MAX_ID)]


class SessionRow(ApiSchema):
    """One line of the list. Times are Unix milliseconds; `startedAt` of the running turn.

    `model`: id that the newest ended turn asked last; a few turns that asked none are passed over, empty = unknown.
    `descendants`: how many sub-sessions, at any depth, go when it is deleted.
    """

    id: str
    agent_id: str
    agent_name: str
    title: str
    source: str
    created_at: int
    updated_at: int
    exchange_count: int
    parent_session_id: str | None
    stopped_at: int | None
    archived_at: int | None
    parked_at: int | None
    context_tokens: int
    total_output_tokens: int
    goal_session_id: str | None
    status: str
    running: bool
    compacting: bool
    started_at: int | None
    activity: str
    unseen: bool
    model: str
    descendants: int
    cost_micros: int | None = None
    currency: str | None = None


class SessionPage(ApiSchema):
    sessions: list[SessionRow]
    next_cursor: str | None


class LogWindow(ApiSchema):
    """`messages`: display rows, oldest first. `before`: entry id that asks for older ones."""

    messages: list[dict[str, Any]]
    has_more: bool
    before: int | None


class Segment(ApiSchema):
    messages: list[dict[str, Any]]


class Title(ApiSchema):
    title: str | None = None
    project_id: str | None = None


class Deleted(Ok):
    deleted: int


class ForkIn(ApiSchema):
    project_id: str | None = None
    entry_id: Annotated[int, Field(ge=0, le=MAX_ID)]


class Forked(ApiSchema):
    session_id: str


class UploadOut(ApiSchema):
    id: str
    mime_type: str
    size: int
    width: int
    height: int


class NeedOut(ApiSchema):
    """`at`: Unix milliseconds. `text`: the error in the server's words, empty for a parked session."""

    kind: Kind
    project_id: str
    workspace: str
    session_id: str
    title: str
    at: int
    text: str


class NeedsOut(ApiSchema):
    needs: list[NeedOut]


@router.get("/needs", response=NeedsOut, summary="What waits for you, over all workspaces you may write in")
@decorate_view(answers_etag)
def list_needs(request: CallerRequest) -> dict[str, Any]:
    return {"needs": needs_of(request.caller)}


@router.get("/sessions/logs", response=SessionPage)
def list_sessions(
    request: CallerRequest,
    projectId: str | None = None,
    rootOnly: str = "",
    parentId: str | None = None,
    includeArchived: str = "",
    cursor: str = "",
    limit: Limit = 50,
) -> HttpResponse:
    """Newest first. Without `parentId` roots, each page followed by all their descendants (not with `rootOnly=1`)."""
    workspace, _ = open_workspace(request.caller, projectId)
    if parentId and parentId != "*":
        check_sid(parentId)
    page = page_of(
        workspace.pk,
        request.caller.user_id,
        parent=parentId or None,
        root_only=rootOnly == "1",
        archived=includeArchived == "1",
        after=position_of(cursor) if cursor else None,
        limit=limit,
    )
    return json_with_etag(request, {"sessions": page.rows, "nextCursor": page.next_cursor})


@router.get("/sessions/logs/{path:sid}/entries", response=LogWindow)
def list_entries(
    request: CallerRequest,
    sid: str,
    projectId: str | None = None,
    before: Before = None,
    limit: Limit = 100,
) -> HttpResponse:
    """Display rows older than entry `before`; without it the newest."""
    session = session_at(request, sid, projectId)
    window = window_before(session.pk, session.agent_name, before, min(limit, MAX_LIMIT))
    return json_with_etag(request, {"messages": window.rows, "hasMore": window.has_more, "before": window.before})


@router.get("/sessions/logs/{path:sid}/archive/{number}", response=Segment)
def read_segment(request: CallerRequest, sid: str, number: str, projectId: str | None = None) -> HttpResponse:
    """For clients that page by segments of 500 rows, counted from the oldest; they never change."""
    if not projectId:
        raise BadRequest("projectId required")
    check_sid(sid)
    if not (number.isascii() and number.isdigit()) or not 1 <= int(number[:10]) <= 10**9:
        raise BadRequest("Invalid segment number")
    session = session_at(request, sid, projectId)
    rows = segment(session.pk, session.agent_name, int(number[:10]))
    if rows is None:
        raise NotFound("Segment not found")
    return json_with_etag(request, {"messages": rows})


@router.get("/sessions/logs/{path:sid}/export", openapi_extra=MARKDOWN, summary="A session as a Markdown document")
def export_session(request: CallerRequest, sid: str, projectId: str | None = None, lang: Lang = "en") -> HttpResponse:
    """All that was said, from the first message to now; no outputs of tools."""
    session = session_at(request, sid, projectId)
    title = session.title or NEW_SESSION
    rows = rows_after(session.pk, session.agent_name, 0)
    body = "".join(document(Head(sid, title, session.agent_name, session.created_at), rows, lang))
    response = HttpResponse(body, content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = disposition(file_name(title), inline=False)
    response["Cache-Control"] = "private, no-cache"
    return response


@router.post("/sessions/logs/{path:sid}/fork", response={201: Forked})
def fork_session(request: CallerRequest, sid: str, body: ForkIn) -> Status[Forked]:
    """A new session that begins with the entries up to `entryId`; 409 while the old one runs."""
    session = session_at(request, sid, body.project_id, Access.WORKSPACE, required=True)
    _, level = open_workspace(request.caller, body.project_id)
    new = fork(session.pk, body.entry_id, user_id=request.caller.user_id, level=level)
    detail = {"from": sid, "entry": body.entry_id}
    audit(
        "session.fork",
        actor=request.caller,
        target=new.sid,
        workspace=session.workspace,
        request=request,
        detail=detail,
    )
    return Status(201, Forked(session_id=new.sid))


@router.get("/sessions/logs/{path:sid}", response=dict[str, Any])
def read_session(request: CallerRequest, sid: str, projectId: str | None = None) -> HttpResponse:
    """A session as one document, with its newest window. Times inside are ISO 8601."""
    return json_with_etag(request, _document(session_at(request, sid, projectId)))


def _document(session: Session) -> dict[str, Any]:
    newest = newest_window(session.pk, session.agent_name, None)
    document: dict[str, Any] = {
        "version": 1,
        "id": session.sid,
        "agentId": session.agent_id,
        "agentName": session.agent_name,
        "title": session.title or NEW_SESSION,
        "description": session.description,
        "source": session.source,
        "createdAt": _iso(session.created_at),
        "updatedAt": _iso(session.updated_at),
        "stoppedAt": _iso(session.stopped_at),
        "archivedAt": _iso(session.archived_at),
        "workingDir": session.working_dir,
        "accessLevel": session.access_level,
        "exchangeCount": session.exchange_count,
        "messageCount": len(newest.rows),
        "contextTokens": session.context_tokens,
        "totalOutputTokens": session.output_tokens,
        "archiveCount": newest.archive_count,
        "archivedUserCount": inputs_before(session.pk, newest.before),
        "hasMore": newest.before is not None,
        "before": newest.before,
        "messages": newest.rows,
        "rawMessages": [],
        "output": output(session.pk),
    }
    if session.parent is not None:
        document["parentSessionId"] = session.parent.sid
    return document


@router.patch("/sessions/logs/{path:sid}", response=Ok)
def rename_session(request: CallerRequest, sid: str, body: Title, projectId: str | None = None) -> Ok:
    session = session_at(request, sid, projectId or body.project_id, Access.WORKSPACE, required=True)
    if not (body.title or "").strip():
        raise BadRequest("title required")
    actions.rename(session.pk, body.title or "")
    audit("session.rename", actor=request.caller, target=sid, workspace=session.workspace, request=request)
    return Ok()


@router.delete("/sessions/logs/{path:sid}", response=Deleted)
def delete_session(request: CallerRequest, sid: str, projectId: str | None = None) -> Deleted:
    """With all descendants and transcripts. The id is never used again."""
    return _delete(request, session_at(request, sid, projectId, Access.WORKSPACE, required=True))


def _delete(request: CallerRequest, session: Session) -> Deleted:
    count = actions.delete(session.pk, user_id=request.caller.user_id)
    audit(
        "session.delete",
        actor=request.caller,
        target=session.sid,
        workspace=session.workspace,
        request=request,
        detail={"sessions": count},
    )
    return Deleted(deleted=count)


@router.get("/agent-configs/{agent_id}/sessions", response=SessionPage)
def list_agent_sessions(
    request: CallerRequest,
    agent_id: str,
    projectId: str | None = None,
    source: str = "",
    cursor: str = "",
    limit: Limit = 50,
) -> HttpResponse:
    """The sessions that one agent runs, at any depth, archived ones too; newest first.

    `source`: only those that began so (`explorer`, `delegated`).
    """
    check_agent(agent_id)
    workspace, _ = open_workspace(request.caller, projectId)
    after = position_of(cursor) if cursor else None
    page = page_of(
        workspace.pk,
        request.caller.user_id,
        agent=agent_id,
        source=source or None,
        archived=True,
        after=after,
        limit=limit,
    )
    return json_with_etag(request, {"sessions": page.rows, "nextCursor": page.next_cursor})


@router.get("/agent-configs/{agent_id}/sessions/{path:sid}", response=dict[str, Any])
def read_agent_session(request: CallerRequest, agent_id: str, sid: str, projectId: str | None = None) -> HttpResponse:
    """The same document as GET /sessions/logs/{sid}."""
    return json_with_etag(request, _document(session_of(request, agent_id, sid, projectId)))


@router.delete("/agent-configs/{agent_id}/sessions/{path:sid}", response=Deleted)
def delete_agent_session(request: CallerRequest, agent_id: str, sid: str, projectId: str | None = None) -> Deleted:
    """With all descendants and transcripts."""
    return _delete(request, session_of(request, agent_id, sid, projectId, Access.WORKSPACE))


@router.delete("/agent-configs/{agent_id}/sessions", response=Deleted)
def delete_agent_sessions(
    request: CallerRequest, agent_id: str, projectId: str | None = None, source: str = "", all: str = ""
) -> Deleted:
    """Every session of the agent in the workspace, each with all descendants; only with `all=1`.

    `source`: as for the list.
    """
    check_agent(agent_id)
    workspace, _ = open_workspace(request.caller, projectId, Access.WORKSPACE)
    if all != "1":
        raise BadRequest("Name a session, or ask for all of them with all=1")
    count = 0
    found = Session.objects.filter(workspace=workspace, agent_id=agent_id)
    if source:
        found = found.filter(source=source)
    for session in found.order_by("pk").select_related("workspace"):  # upper ones first
        with suppress(NotFound):  # it went with one above it
            count += _delete(request, session).deleted
    return Deleted(deleted=count)


@router.post("/agent-configs/{agent_id}/sessions", response={410: dict[str, str]})
def keep_agent_session(request: CallerRequest, agent_id: str) -> Status[dict[str, str]]:
    """Gone: a test chat is an ordinary session and keeps itself."""
    return Status(410, {"error": "Test chats are ordinary sessions: start one with a chat frame, it is kept by itself"})


@router.post("/sessions/uploads", response={201: UploadOut})
def upload_image(
    request: CallerRequest,
    file: File[UploadedFile],
    projectId: str | None = None,
) -> Status[UploadOut]:
    """An image for a chat frame: png, jpeg, gif or webp by its bytes, at most 5 MiB."""
    project = projectId or request.POST.get("projectId")
    workspace, _ = open_workspace(request.caller, project, Access.WORKSPACE)
    if (file.size or 0) > MAX_UPLOAD:
        raise TooLarge(f"The image has {file.size} bytes; the limit is {MAX_UPLOAD}")
    saved = save_upload(workspace, request.caller.user_id, file.read())
    return Status(
        201,
        UploadOut(id=saved.pk, mime_type=saved.mime_type, size=saved.size, width=saved.width, height=saved.height),
    )


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


router.add_router("", commands_router)
router.add_router("", search_router)
router.add_router("", goals_router)
router.add_router("", spending_router)
