"""The verbs of a conversation: accept, stop, interrupt, rename, archive, delete. Those of one message have modules of
their own: queue_edits, exchanges.

Each is one transaction that locks the session's row first (ARCHITECTURE 5); what others should hear is published
after its commit. Call from a database thread. Raises HaloErrors whose texts a person may read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents_app.agents import default_agent, load_agent
from agents_app.disabled import disabled_in
from agents_app.scope_marks import Scoped, expand
from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, Conflict, NotFound, StorageFull
from halo_site.lib.ids import is_safe_id
from halo_site.lib.prepared import Param, Plus, Select, insert_if_new, insert_row, update_row
from halo_site.lib.publish import publish, session_topic, signal, workspace_topic
from halo_site.lib.text import clean
from workspaces_app.models import Workspace

from . import debts
from .delegation import reports
from .engine import kept_trees, manual_compact
from .engine.lease import is_live, lease_is_live, locked, queued
from .engine.queue import announce_queue
from .engine.turn_end import fold
from .events import AgentDone, ChatUser, SessionChanged, SessionDeleted
from .message_text import for_model, warn
from .models import Entry, Session, Tombstone, Turn, Upload
from .title import title_of
from .transcripts.records import file_of
from .transcripts.removal import remove_files_of_deleted

MAX_IMAGES = 5


class SessionDeletedError(NotFound):
    def __init__(self, sid: str) -> None:
        super().__init__(f"Session {sid} was deleted")


class SessionArchivedError(Conflict):
    def __init__(self, sid: str) -> None:
        super().__init__(f"Session {sid} is archived and cannot be resumed")


@dataclass(frozen=True, slots=True)
class Accepted:
    """busy: "" = an engine will claim it, "busy" = a turn runs, "compact" = a compaction runs."""

    session_key: int
    root_key: int
    entry_id: int
    created: bool
    duplicate: bool
    busy: str


def accept(
    *,
    workspace: Workspace,
    sid: str,
    text: str,
    user_id: int,
    level: Access,
    agent_id: str | None = None,
    client_msg_id: str | None = None,
    upload_ids: Sequence[str] = (),
    images: Sequence[dict[str, Any]] = (),
    model_text: str | None = None,
    runner: str = "",
) -> Accepted:
    """Store a person's message. Returned = committed: acknowledge then, the engine is already told.

    images: blocks of files already saved below the workspace, besides those named by upload id.
    model_text: what the model gets in place of `text`, as it is.
    runner: a terminal process that runs the tree itself, unless somebody else does just now (`engine.kept_trees`).
    A resend with the same `client_msg_id` finds its first row (`duplicate`). Raises SessionDeletedError,
    SessionArchivedError, BadRequest, StorageFull, Unavailable.
    """
    if not is_safe_id(sid) or ">" in sid:
        raise BadRequest("Invalid session id")
    if client_msg_id is not None and not 0 < len(client_msg_id) <= 128:
        raise BadRequest("clientMsgId must have 1 to 128 characters")
    if len(upload_ids) + len(images) > MAX_IMAGES:
        raise BadRequest(f"At most {MAX_IMAGES} images per message")
    message = _Message(
        workspace,
        sid,
        clean(text),
        user_id,
        level,
        agent_id,
        client_msg_id,
        tuple(upload_ids),
        tuple(images),
        None if model_text is None else clean(model_text),
        runner,
    )
    if not message.text.strip() and not upload_ids and not images:
        raise BadRequest("The message is empty")
    accepted = _accept(message)
    crashpoint("accept.after_commit")
    return accepted


@dataclass(frozen=True, slots=True)
class _Message:
    workspace: Workspace
    sid: str
    text: str
    user_id: int
    level: Access
    agent_id: str | None
    client_msg_id: str | None
    upload_ids: tuple[str, ...]
    images: tuple[dict[str, Any], ...]
    model_text: str | None = None
    runner: str = ""


_EARLIER = Select(lambda: Entry.objects.filter(session=Param("session"), client_msg_id=Param("id")).values_list("pk"))


@in_transaction
def _accept(message: _Message) -> Accepted:
    session, created = _session_for(message)
    if message.client_msg_id is not None and not created:
        earlier = _EARLIER.first(session=session.pk, id=message.client_msg_id)
        if earlier:
            return Accepted(session.pk, session.root_key, earlier[0], False, True, _busy(session))
    if session.archived_at:
        raise SessionArchivedError(session.sid)
    if message.runner:
        kept_trees.take(session, message.runner)
    now = timezone.now()
    if message.model_text is None:
        scoped = expand(Path(message.workspace.path), message.text)
    else:
        scoped = Scoped(message.model_text)
    entry = insert_row(
        Entry,
        session_id=session.pk,
        kind=Entry.Kind.USER,
        text=message.text,
        meta=for_model(message.text, scoped),
        blocks=[*_uploads(message), *message.images],
        origin={"kind": "person", "sender": message.user_id, "level": message.level.value},
        client_msg_id=message.client_msg_id,
        created_at=now,
    )
    changes: dict[str, Any] = {
        "updated_at": now,
        "stopped_at": None,
        "parked_at": None,  # a person's message unparks
        "exchange_count": Plus(1),
    }
    if session.parked_at:
        changes["deaths"] = 0
    if session.title is None and (title := title_of(message.text)):
        changes["title"] = title
    update_row(Session, session.pk, **changes)
    busy = _busy(session)
    after_commit(
        session,
        ChatUser(session_id=session.sid, text=message.text, entry_id=entry, client_msg_id=message.client_msg_id),
        queue=bool(busy),
        listed=created,
    )
    warn(session, scoped.warnings)
    transaction.on_commit(partial(signal, "engine.wake", session=session.pk))
    crashpoint("accept.before_commit")
    return Accepted(session.pk, session.root_key, entry, created, False, busy)


_OF_MESSAGE = Select(
    lambda: (
        Session.objects.select_for_update(of=("self",))
        .annotate(live=lease_is_live())
        .filter(workspace=Param("workspace"), sid=Param("sid"))
        .only("workspace_id", "sid", "root_id", "title", "archived_at", "parked_at", "activity")
    )
)
_TOMBSTONE = Select(lambda: Tombstone.objects.filter(workspace=Param("workspace"), sid=Param("sid")).values_list("pk"))


def _session_for(message: _Message) -> tuple[Session, bool]:
    """The locked session a message is for, made now if it was a draft."""
    for _ in range(2):
        found = _OF_MESSAGE.objects(workspace=message.workspace.pk, sid=message.sid)
        if found:
            return found[0], False
        if _TOMBSTONE.rows(workspace=message.workspace.pk, sid=message.sid):
            raise SessionDeletedError(message.sid)
        workspace = message.workspace
        folder, disabled = Path(workspace.path), disabled_in(workspace.pk)
        agent = load_agent(folder, message.agent_id, disabled) if message.agent_id else default_agent(folder, disabled)
        now = timezone.now()
        new: dict[str, Any] = {
            "workspace_id": workspace.pk,
            "sid": message.sid,
            "agent_id": agent.id,
            "agent_name": agent.name,
            "description": "Explorer chat",
            "source": Session.Source.EXPLORER,
            "created_by_id": message.user_id,
            "access_level": message.level.value,
            "created_at": now,
            "updated_at": now,
        }
        key = insert_if_new(Session, **new)
        if key is None:
            continue  # another process created it in this instant
        session = Session(pk=key, **new)
        session.workspace = workspace
        return session, True
    raise Conflict("The session is being created elsewhere, send again")


def _uploads(message: _Message) -> list[dict[str, Any]]:
    if not message.upload_ids:
        return []
    rows = {row.pk: row for row in Upload.objects.filter(pk__in=message.upload_ids, workspace=message.workspace.pk)}
    unknown = [name for name in message.upload_ids if name not in rows or rows[name].user_id != message.user_id]
    if unknown:
        raise BadRequest(f"Unknown upload {unknown[0]}: send the image again")
    Upload.objects.filter(pk__in=rows).update(used=True)
    return [
        {"type": "image", "upload": name, "path": rows[name].path, "media_type": rows[name].mime_type}
        for name in message.upload_ids
    ]


def _busy(session: Session) -> str:
    if not getattr(session, "live", False):  # a session made just now is not
        return ""
    return "compact" if session.activity == "compact" else "busy"


def after_commit(
    session: Session, *events: AgentDone | ChatUser | SessionDeleted, queue: bool = False, listed: bool = False
) -> None:
    """Tell the viewers of a session, once the rows are really there. `listed`: its list row changed."""
    topic = session_topic(session.root_key)
    for event in events:
        transaction.on_commit(partial(publish, topic, event))
    if queue:
        transaction.on_commit(partial(announce_queue, session))
    if listed:
        changed = SessionChanged(workspace_path=session.workspace.path, session_id=session.sid)
        transaction.on_commit(partial(publish, workspace_topic(session.workspace_id), changed))


def stop(session_key: int, *, user_id: int | None = None) -> bool:
    """The person's Stop: abort the running turn and fold what waits; its `stopped_at` stays null.

    Descendants stop in the same transaction. True when a run was live.
    """
    try:
        live = _stop(session_key)
    except StorageFull:  # nothing can be written, but what runs can be ended
        signal("engine.abort", session=session_key)
        return True
    crashpoint("interrupt.folded")
    return live


@in_transaction
def _stop(session_key: int) -> bool:
    session = found(session_key)
    if session.activity == manual_compact.COMPACT:
        return _cancel_compaction(session)
    live = ask_to_abort(session, "stop")
    for child in _descendants(session):
        _stop_for_good(child)
    after_commit(session, queue=True)
    return live


@in_transaction
def stop_tree(session_key: int) -> None:
    """An agent's stop of a session of its tree: like a person's, and the session itself counts as stopped, too."""
    session = found(session_key)
    for row in (session, *_descendants(session)):
        _stop_for_good(row)


def _stop_for_good(session: Session) -> None:
    """Nobody hears a report of it; whoever watched it run is told that it does not any more."""
    if ask_to_abort(session, "stop") and session.parent_id:
        after_commit(
            session,
            AgentDone(session_id=session.sid.partition(">")[0], task_id=session.sid, agent_name=session.agent_name),
        )
    update_row(Session, session.pk, stopped_at=timezone.now(), report_due=False)
    after_commit(session, queue=True)


def interrupt(session_key: int, *, user_id: int | None = None) -> bool:
    """Esc: abort the running turn now; what waits runs next. False = nothing runs."""
    return _interrupt(session_key)


@in_transaction
def _interrupt(session_key: int) -> bool:
    session = found(session_key)
    if session.activity == manual_compact.COMPACT:
        return _cancel_compaction(session)
    return is_live(session.pk) and ask_to_abort(session, "hard")


def _cancel_compaction(session: Session) -> bool:
    """What waits is neither folded nor stopped: it runs next (spec ws-protocol 18, 19)."""
    return manual_compact.cancel(session) or ask_to_abort(session, "hard")


def ask_to_abort(session: Session, tier: str) -> bool:
    """Write the wish for the turn that runs now; without a live run the queue of a stop is folded here."""
    newest = Entry.objects.filter(queued(session.pk)).order_by("-pk").values_list("pk", flat=True).first() or 0
    running = Turn.objects.filter(session=session, status=Turn.Status.RUNNING).values_list("index", flat=True).first()
    if is_live(session.pk) and running is not None:
        asked = {"tier": tier, "turn": running, "upto": newest}
        Session.objects.filter(pk=session.pk).update(abort_requested=asked)
        transaction.on_commit(partial(signal, "engine.control", session=session.pk))
        return True
    if tier == "stop":
        fold(session, newest)
    return False


def _descendants(session: Session) -> list[Session]:
    """The subtree below a session, top down, each row locked."""
    below = Session.objects.filter(workspace=session.workspace_id, sid__startswith=session.sid + ">")
    return list(below.select_for_update(of=("self",)).order_by("pk"))


def found(session_key: int) -> Session:
    """The session, its row locked for this transaction. Raises NotFound."""
    session = locked(session_key)
    if session is None:
        raise NotFound("Session not found")
    return session


@in_transaction
def rename(session_key: int, title: str) -> None:
    """Raises BadRequest for an empty title. `updated_at` stays: a rename does not move the row."""
    cleaned = " ".join(clean(title).split())
    if not cleaned:
        raise BadRequest("title required")
    session = found(session_key)
    Session.objects.filter(pk=session.pk).update(title=cleaned[:255])
    after_commit(session, listed=True)


@in_transaction
def archive(session_key: int) -> int:
    """Irreversible: work is aborted, queues become history, nothing runs any more. Number of sessions archived."""
    session = found(session_key)
    now = timezone.now()
    tree = [session, *_descendants(session)]
    for row in tree:
        ask_to_abort(row, "stop")
        debts.lost(row, "The session was archived.")
    Session.objects.filter(pk__in=[row.pk for row in tree], archived_at=None).update(archived_at=now, report_due=False)
    after_commit(session, queue=True, listed=True)
    return len(tree)


@in_transaction
def delete(session_key: int, *, user_id: int | None = None) -> int:
    """Rows of the subtree are gone and stay gone (tombstones); a run elsewhere stops at its next write. Count."""
    session = found(session_key)
    tree = [session, *_descendants(session)]
    Tombstone.objects.bulk_create(
        (Tombstone(workspace_id=row.workspace_id, sid=row.sid, file=file_of(row.agent_id, row.sid)) for row in tree),
        ignore_conflicts=True,
    )
    parent = locked(session.parent_id) if session.parent_id and session.report_due else None
    if parent is not None:
        reports.pay(parent, session, aborted="It was deleted.")
    after_commit(session, SessionDeleted(session_id=session.sid), listed=True)
    for row in tree:
        debts.lost(row, "The session was deleted.")
        transaction.on_commit(partial(signal, "engine.control", session=row.pk))
    keys = [row.pk for row in tree]
    transaction.on_commit(partial(remove_files_of_deleted, session.workspace_id, [row.sid for row in tree]))
    Session.objects.filter(pk__in=keys).delete()
    return len(keys)
