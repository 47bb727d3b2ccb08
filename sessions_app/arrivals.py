"""Messages that another part of the system puts into a session, and sessions made for them.

For features above: each call is part of the caller's transaction, which holds the rows. What viewers and the engine
should hear follows the commit.
"""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents_app.agents import Agent
from halo_site.lib.access_level import Access
from halo_site.lib.prepared import insert_if_new, insert_row
from halo_site.lib.publish import publish, session_topic, signal, workspace_topic
from workspaces_app.models import Workspace

from .actions import SessionDeletedError
from .delegation.rules import PREVIEW, root_of
from .engine.lease import locked
from .engine.queue import announce_queue, count_arrival
from .events import ChatSystem, ChatUser, SessionChanged
from .models import Entry, Session, Tombstone
from .title import title_of


def arrive(target: Session, text: str, origin: dict[str, Any], *, model_text: str | None = None) -> int:
    """Queue a message in a locked session; the key of its entry. model_text: what the model gets in place of it."""
    now = timezone.now()
    entry = insert_row(
        Entry,
        session_id=target.pk,
        kind=Entry.Kind.USER,
        text=text,
        meta={} if model_text is None else {"model_text": model_text},
        origin=origin,
        created_at=now,
    )
    count_arrival(target, now)
    shown = ChatUser(
        session_id=root_of(target.sid),
        task_id=target.sid if target.parent_id else None,
        text=text,
        entry_id=entry,
        origin={key: origin[key] for key in ("kind", "name") if key in origin},
    )
    transaction.on_commit(partial(publish, session_topic(target.root_key), shown))
    transaction.on_commit(partial(announce_queue, target))
    transaction.on_commit(partial(signal, "engine.wake", session=target.pk))
    return entry


def leave_notice(session: Session, text: str, code: str) -> None:
    """A line in the log of a session for whoever looks at it; the model does not get it."""
    insert_row(
        Entry,
        session_id=session.pk,
        kind=Entry.Kind.NOTICE,
        text=text,
        meta={"level": "system", "code": code},
        in_context=False,
        created_at=timezone.now(),
    )
    shown = ChatSystem(
        session_id=root_of(session.sid), task_id=session.sid if session.parent_id else None, text=text, code=code
    )
    transaction.on_commit(partial(publish, session_topic(session.root_key), shown))


def make_root(
    workspace: Workspace, sid: str, agent: Agent, *, user_id: int | None, level: Access, title: str, text: str
) -> Session:
    """A new root session, locked. level: its own, for good. Raises SessionDeletedError for an id that was deleted.

    One that somebody else made in this instant is returned as it is.
    """
    if Tombstone.objects.filter(workspace=workspace, sid=sid).exists():
        raise SessionDeletedError(sid)
    now = timezone.now()
    key = insert_if_new(
        Session,
        workspace_id=workspace.pk,
        sid=sid,
        agent_id=agent.id,
        agent_name=agent.name,
        title=title[:255] or title_of(text),
        description=" ".join(text.split())[:PREVIEW],
        source=Session.Source.EXPLORER,
        created_by_id=user_id,
        access_level=level.value,
        created_at=now,
        updated_at=now,
    )
    if key is None:
        key = Session.objects.values_list("pk", flat=True).get(workspace=workspace, sid=sid)
    changed = SessionChanged(workspace_path=workspace.path, session_id=sid)
    transaction.on_commit(partial(publish, workspace_topic(workspace.pk), changed))
    session = locked(key)
    assert session is not None  # we wrote it, or it is there
    return session
