"""The socket frames of sessions (spec ws-protocol): what each holds, and a thin handler that calls one action."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from uuid import uuid4

from django.db import transaction
from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict, NotFound
from halo_site.lib.events import as_frame
from halo_site.lib.ids import LONGEST_SID, is_safe_id
from halo_site.lib.publish import publish, session_topic
from workspaces_app.access import Caller, check_level, level_in, open_workspace
from workspaces_app.audit import audit
from workspaces_app.socket_frames import FRAMES, Bound, Frame, FrameFields, InWorkspace, Socket, Watched, add_frames

from . import actions, exchanges, queue_edits
from .engine.queue import queue_items
from .events import QueueChanged, Resync, SessionDeleted
from .goals.actions import overlay
from .models import Session
from .seen import mark_seen
from .uploads import InlineImage, save_inline
from .views import View, empty_snapshot, first_view

__all__ = ["ALL", "FRAMES", "register"]

T = TypeVar("T")

MAX_ID = (1 << 63) - 1
MAX_ORDINAL = (1 << 31) - 1


class Subscribe(InWorkspace):
    sessionId: str | None = Field(None, min_length=1, max_length=LONGEST_SID)


class Named(InWorkspace):
    """About one session; absent = the active one of the socket."""

    sessionId: str | None = Field(None, min_length=1, max_length=LONGEST_SID)


class About(InWorkspace):
    """About one session that must be named."""

    sessionId: str = Field(min_length=1, max_length=LONGEST_SID)


class Image(FrameFields):
    """Either `id` of an upload, or `data` (base64) with its `mimeType`."""

    id: str | None = Field(None, min_length=1, max_length=64)
    data: str | None = None
    mimeType: str | None = Field(None, max_length=64)


class Chat(FrameFields):
    sessionId: str = Field(min_length=1, max_length=LONGEST_SID)
    projectId: str = Field(min_length=1, max_length=4096)
    message: str
    agentId: str | None = Field(None, min_length=1, max_length=128)
    clientMsgId: str | None = Field(None, min_length=1, max_length=128)
    images: list[Image] = Field(default_factory=list, max_length=actions.MAX_IMAGES)


class ExchangeDelete(About):
    entryId: int | None = Field(None, ge=1, le=MAX_ID)
    userOrdinal: int | None = Field(None, ge=0, le=MAX_ORDINAL)


class ExchangeRestore(About):
    entryId: int = Field(ge=1, le=MAX_ID)


class QueueItem(About):
    entryId: int = Field(ge=1, le=MAX_ID)


class QueueEdit(QueueItem):
    text: str


class QueueMove(QueueItem):
    before: int | None = Field(None, ge=1, le=MAX_ID)


class Seen(About):
    seq: int = Field(ge=0, le=MAX_ID)


def bound_for(caller: Caller, project_id: str | None, bound: Bound | None, need: Access) -> Bound:
    """The workspace a frame acts in: the one it names, else the socket's; with the caller's level of this moment.

    Raises as `open_workspace`, and BadRequest when there is none. A unit of work.
    """
    if project_id is not None:
        workspace, level = open_workspace(caller, project_id, need)
        return Bound(workspace.pk, workspace.path, level)
    if bound is None:
        raise BadRequest("No workspace context")
    present = level_in(caller, bound.key)
    if present is None:
        raise NotFound("Project not found")
    check_level(present, need)
    return Bound(bound.key, bound.path, present)


def session_in(bound: Bound, sid: str) -> Session | None:
    """Raises BadRequest when `sid` cannot be an id."""
    if not is_safe_id(sid):
        raise BadRequest("Invalid session id")
    return Session.objects.select_related("root", "workspace").filter(workspace=bound.key, sid=sid).first()


def known_session(bound: Bound, sid: str) -> Session:
    session = session_in(bound, sid)
    if session is None:
        raise NotFound("Session not found")
    return session


def watched(session: Session) -> Watched:
    root_sid = session.root.sid if session.root else session.sid
    return Watched(session.pk, session.sid, session.root_key, root_sid, session.workspace_id)


async def on_subscribe(socket: Socket, frame: Subscribe) -> None:
    def unit() -> tuple[Bound, Session | None, bytes | None]:
        bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.READONLY)
        session = session_in(bound, frame.sessionId) if frame.sessionId else None
        draft = None
        if frame.sessionId and session is None:
            draft = empty_snapshot(frame.sessionId, bound.path, socket.agent_id)
        return bound, session, draft

    bound, session, draft = await socket.unit(unit)
    socket.bind(bound)
    watching = await socket.watching()  # before the answer: no change after it is lost
    if watching is not None and (frame.sessionId is None or watching.mode != "native" or watching.reason):
        socket.send(as_frame(watching))
    if frame.sessionId:
        socket.active = frame.sessionId
    if session is not None:
        socket.watch(watched(session))
    elif draft is not None:
        socket.unwatch(str(frame.sessionId))
        socket.send_bytes(draft)


async def on_unsubscribe(socket: Socket, frame: Named) -> None:
    if frame.sessionId is not None:
        socket.unwatch(frame.sessionId)


async def on_chat(socket: Socket, frame: Chat) -> None:
    # Named by us when the client does not: so the sender is never told of its own message as if it were another's.
    client_msg_id = frame.clientMsgId or f"hub-{uuid4().hex}"
    socket.wrote(client_msg_id)
    bound, session, accepted, first = await socket.unit(accept, socket.caller, frame, client_msg_id)
    socket.bind(bound)
    socket.active = session.sid
    if session.sid != frame.sessionId:  # a goal leads this session: its words go there
        socket.send({"type": "session:switched", "sessionId": session.sid})
    if frame.agentId:
        socket.agent_id = frame.agentId
    socket.listen(session, idle=not accepted.busy, first=first)
    if frame.clientMsgId:
        socket.send({"type": "chat:ack", "clientMsgId": frame.clientMsgId, "entryId": accepted.entry_id})
        crashpoint("accept.after_ack")
    if accepted.busy and not accepted.duplicate:
        queued = {"sessionId": session.sid, "reason": accepted.busy, "message": frame.message}
        socket.send({"type": "chat:queued", **queued})


def accept(caller: Caller, frame: Chat, client_msg_id: str) -> tuple[Bound, Watched, actions.Accepted, View | None]:
    """Check and store one message: committed when this returns. A unit of work.

    The last part is what a session that was created just now looks like.
    """
    try:
        workspace, level = open_workspace(caller, frame.projectId, CHAT_NEEDS)
    except NotFound as error:
        raise NotFound("Cannot resolve project path") from error
    inline, uploads = _images(frame.images)
    sid = overlay(workspace.pk, frame.sessionId)
    accepted = actions.accept(
        workspace=workspace,
        sid=sid,
        text=frame.message,
        user_id=caller.user_id,
        level=level,
        agent_id=frame.agentId,
        client_msg_id=client_msg_id,
        upload_ids=uploads,
        images=save_inline(workspace, inline),
    )
    bound = Bound(workspace.pk, workspace.path, level)
    # Only roots take messages from people, so root and session are one.
    tree = Watched(accepted.session_key, sid, accepted.root_key, sid, workspace.pk)
    first = None
    if accepted.created:
        agent = frame.agentId or Session.objects.values_list("agent_id", flat=True).get(pk=accepted.session_key)
        first = first_view(accepted.session_key, frame.sessionId, workspace.path, agent)
    return bound, tree, accepted, first


def _images(images: Sequence[Image]) -> tuple[list[InlineImage], list[str]]:
    inline: list[InlineImage] = []
    uploads: list[str] = []
    for image in images:
        if image.data is not None:
            inline.append(InlineImage(image.data))
        elif image.id is not None:
            uploads.append(image.id)
        else:
            raise BadRequest("An image needs the id of an upload, or data")
    return inline, uploads


async def _on_session(socket: Socket, frame: Named, need: Access, act: Callable[[Session], T]) -> tuple[str, T] | None:
    """Do something with the session a frame means; None = it names none, or one that does not exist."""
    sid = frame.sessionId or socket.active
    if sid is None:
        return None

    def unit() -> T | None:
        session = session_in(bound_for(socket.caller, frame.projectId, socket.bound, need), sid)
        return None if session is None else act(session)

    done = await socket.unit(unit)
    return None if done is None else (sid, done)


async def on_stop(socket: Socket, frame: Named) -> None:
    user = socket.caller.user_id
    done = await _on_session(socket, frame, Access.WORKSPACE, lambda session: actions.stop(session.pk, user_id=user))
    if done is not None:
        socket.send({"type": "chat:stopped", "sessionId": done[0]})


async def on_interrupt(socket: Socket, frame: Named) -> None:
    user = socket.caller.user_id
    await _on_session(socket, frame, Access.WORKSPACE, lambda session: actions.interrupt(session.pk, user_id=user))


async def on_clear(socket: Socket, frame: Named) -> None:
    """Everything is saved as it happens; the answer is all that is left of it."""
    done = await _on_session(socket, frame, Access.READONLY, lambda session: session.sid)
    if done is None:
        raise BadRequest("No active session")
    socket.send({"type": "session:cleared", "sessionId": done[0]})


async def on_delete(socket: Socket, frame: Named) -> None:
    if frame.sessionId is None:
        raise BadRequest("session:delete requires sessionId")
    if frame.projectId is None and socket.bound is None:
        raise BadRequest("No workspace context for delete")
    sid = frame.sessionId
    loop = asyncio.get_running_loop()

    def tell() -> None:
        socket.unwatch(sid)  # so that the news of the deletion does not say it again
        socket.send(as_frame(SessionDeleted(session_id=sid)))

    @in_transaction
    def unit() -> None:
        bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.WORKSPACE)
        session = known_session(bound, sid)
        # Asked for before the news of the deletion: whoever deletes hears of it before the list changes, as viewers do.
        transaction.on_commit(partial(loop.call_soon_threadsafe, tell), robust=True)
        count = actions.delete(session.pk, user_id=socket.caller.user_id)
        audit(
            "session.delete",
            actor=socket.caller,
            target=sid,
            workspace=session.workspace,
            address=socket.address,
            detail={"sessions": count},
        )

    await socket.unit(unit)


async def on_exchange_delete(socket: Socket, frame: ExchangeDelete) -> None:
    if frame.entryId is None and frame.userOrdinal is None:
        raise BadRequest(EXCHANGE_USAGE)
    if frame.projectId is None and socket.bound is None:
        raise BadRequest("No workspace context for exchange:delete")

    def unit() -> None:
        session = _for_exchange(socket, frame)
        exchanges.delete_exchange(session.pk, entry_id=frame.entryId, user_ordinal=frame.userOrdinal)
        _show_again(session)

    await socket.unit(unit)


async def on_exchange_restore(socket: Socket, frame: ExchangeRestore) -> None:
    def unit() -> None:
        session = _for_exchange(socket, frame)
        exchanges.restore_exchange(session.pk, frame.entryId)
        _show_again(session)

    await socket.unit(unit)


def _for_exchange(socket: Socket, frame: About) -> Session:
    bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.WORKSPACE)
    session = session_in(bound, frame.sessionId)
    if session is None:
        raise NotFound("Exchange not found")
    return session


def _show_again(session: Session) -> None:
    """A fresh snapshot for every viewer (spec ws-protocol 27)."""
    publish(session_topic(session.root_key), Resync(session_id=session.sid, reason="changed"))


async def _edit_queue(socket: Socket, frame: About, edit: Callable[[int], object]) -> None:
    """All viewers get the new list; whoever was too late gets an error and the list as it is."""

    def unit() -> tuple[Conflict, QueueChanged] | None:
        bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.WORKSPACE)
        session = known_session(bound, frame.sessionId)
        try:
            edit(session.pk)
        except Conflict as error:
            return error, QueueChanged(session_id=session.sid, items=queue_items(session.pk))
        return None

    late = await socket.unit(unit)
    if late is not None:
        error, fresh = late
        socket.send({"type": "error", "error": str(error), "code": error.code, "sessionId": frame.sessionId})
        socket.send(as_frame(fresh))


async def on_queue_edit(socket: Socket, frame: QueueEdit) -> None:
    await _edit_queue(socket, frame, lambda key: queue_edits.edit_queued(key, frame.entryId, frame.text))


async def on_queue_remove(socket: Socket, frame: QueueItem) -> None:
    await _edit_queue(socket, frame, lambda key: queue_edits.remove_queued(key, frame.entryId))


async def on_queue_move(socket: Socket, frame: QueueMove) -> None:
    await _edit_queue(socket, frame, lambda key: queue_edits.move_queued(key, frame.entryId, frame.before))


async def on_seen(socket: Socket, frame: Seen) -> None:
    def unit() -> None:
        bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.READONLY)
        session = session_in(bound, frame.sessionId)
        if session is not None:
            mark_seen(socket.caller.user_id, session, frame.seq)

    await socket.unit(unit)


CHAT_NEEDS = Access.WORKSPACE  # who may only read a workspace does not set its agents to work
EXCHANGE_USAGE = "exchange:delete requires sessionId and entryId or userOrdinal"

_READ, _WORK = Access.READONLY, Access.WORKSPACE

ALL = (
    Frame(name="subscribe", fields=Subscribe, handle=on_subscribe, needs=_READ),
    Frame(name="unsubscribe", fields=Named, handle=on_unsubscribe, needs=_READ),
    Frame(
        name="chat",
        fields=Chat,
        handle=on_chat,
        needs=CHAT_NEEDS,
        usage="chat requires sessionId, projectId, and message",
    ),
    Frame(name="chat:stop", fields=Named, handle=on_stop, needs=_WORK),
    Frame(name="chat:interrupt", fields=Named, handle=on_interrupt, needs=_WORK),
    Frame(name="session:clear", fields=Named, handle=on_clear, needs=_READ),
    Frame(name="session:delete", fields=Named, handle=on_delete, needs=_WORK),
    Frame(name="exchange:delete", fields=ExchangeDelete, handle=on_exchange_delete, needs=_WORK, usage=EXCHANGE_USAGE),
    Frame(name="exchange:restore", fields=ExchangeRestore, handle=on_exchange_restore, needs=_WORK),
    Frame(name="queue:edit", fields=QueueEdit, handle=on_queue_edit, needs=_WORK),
    Frame(name="queue:remove", fields=QueueItem, handle=on_queue_remove, needs=_WORK),
    Frame(name="queue:move", fields=QueueMove, handle=on_queue_move, needs=_WORK),
    Frame(name="session:seen", fields=Seen, handle=on_seen, needs=_READ),
)


def register() -> None:
    """Once, from `SessionsConfig.ready()`."""
    if ALL[0].name not in FRAMES:
        add_frames(*ALL)
