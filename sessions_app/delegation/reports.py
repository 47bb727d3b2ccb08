"""What a child owes its parent at the end of its work: paid once (spec sessions 9.7, ARCHITECTURE 5.7).

The debt is `report_due` on the child. Clearing it and inserting the parent's entry are one transaction; idle sessions
with a debt are found again with every scan.
"""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from halo_site.lib import settings_store
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_transaction
from halo_site.lib.prepared import insert_row, update_row
from halo_site.lib.publish import publish, session_topic, signal

from .. import debts
from ..display import from_session
from ..engine.lease import locked, queued, something_waits
from ..engine.queue import announce_queue, count_arrival
from ..events import AgentDone, ChatUser
from ..models import Entry, Session, Turn
from .handed_on import handed_on
from .rules import origin, report_body, root_of


def owing(runner: str = "") -> list[int]:
    """Idle sessions with a debt that nothing holds back; at most 200. runner: of the trees a terminal process keeps."""
    children = Session.objects.filter(parent=OuterRef("pk"), stopped_at=None, archived_at=None)
    waiting = Entry.objects.filter(queued(OuterRef("pk")))
    found = Session.objects.filter(
        ~Exists(children),
        ~Exists(waiting),
        report_due=True,
        lease_owner=None,
        stopped_at=None,
        archived_at=None,
        runner=runner,
    )
    return list(found.order_by("pk").values_list("pk", flat=True)[:200])


def sweep(runner: str = "") -> int:
    """Settle what was left behind by a crash, or by a child that was stopped; how many."""
    return sum(settle(key) for key in owing(runner)) + (0 if runner else debts.settle_idle())


@in_transaction
def settle(session_key: int) -> bool:
    """Report to the parent and stop, if the session owes it and is quiet: nothing queued, no child at work.

    A run that started meanwhile keeps the debt for its own end.
    """
    parent_key = Session.objects.filter(pk=session_key).values_list("parent", flat=True).first()
    if parent_key is None:
        return False
    parent, session = locked(parent_key), locked(session_key)  # in the order of keys
    if parent is None or session is None or not session.report_due or session.lease_owner is not None:
        return False
    if session.stopped_at or session.archived_at or something_waits(session.pk) or at_work(session.pk):
        return False
    pay(parent, session)
    return True


def at_work(session_key: int) -> bool:
    """Whether a child is neither stopped nor archived."""
    return Session.objects.filter(parent=session_key, stopped_at=None, archived_at=None).exists()


def pay(parent: Session, session: Session, aborted: str = "") -> None:
    """The report becomes the parent's entry, the session stops. Both rows are locked.

    aborted: the session ends without a turn of its own that says why.
    """
    now = timezone.now()
    update_row(Session, session.pk, stopped_at=now, report_due=False)
    transaction.on_commit(
        partial(
            publish,
            session_topic(session.root_key),
            AgentDone(session_id=root_of(session.sid), task_id=session.sid, agent_name=session.agent_name),
        )
    )
    if parent.archived_at:
        return
    tell(parent, session, _body(session, aborted))


def tell(parent: Session, session: Session, body: str) -> None:
    """A report becomes an entry of the parent. Both rows are locked."""
    now = timezone.now()
    told = origin("report", session.access_level, name=session.agent_name, sid=session.sid, **handed_on(session.pk))
    entry = insert_row(
        Entry,
        session_id=parent.pk,
        kind=Entry.Kind.AGENT,
        text=body,
        source_session_id=session.pk,
        origin=told,
        created_at=now,
    )
    count_arrival(parent, now)
    crashpoint("report.before_commit")
    announce(parent, entry, body, told)


def announce(target: Session, entry: int, text: str, told: dict[str, Any]) -> None:
    """After the commit: viewers see an agent's message arrive, and an engine runs it. told: its origin."""
    shown = ChatUser(
        session_id=root_of(target.sid),
        task_id=target.sid if target.parent_id else None,
        text=from_session(told["session"], text),
        entry_id=entry,
        origin={"kind": told["kind"], "name": told["name"]},
    )
    transaction.on_commit(partial(publish, session_topic(target.root_key), shown))
    transaction.on_commit(partial(announce_queue, target))
    transaction.on_commit(partial(signal, "engine.wake", session=target.pk))


def _body(session: Session, aborted: str) -> str:
    turn = Turn.objects.filter(session=session.pk).order_by("-index").first()
    output, final = said_in(turn.pk) if turn else ("", "")
    error = aborted or str((turn.error or {}).get("message", "") if turn else "")
    status = "aborted" if aborted or turn is None else turn.status
    limit = settings_store.number("limits.auto_report_chars")
    return report_body(final=final, output=output, status=status, error=error, sid=session.sid, limit=limit)


def said_in(turn_key: int) -> tuple[str, str]:
    """(all text of a turn, text of its replies that asked for no tool)."""
    replies = Entry.objects.filter(turn=turn_key, kind=Entry.Kind.ASSISTANT).order_by("id")
    parts = [(text, bool(meta.get("final"))) for text, meta in replies.values_list("text", "meta") if text]
    output = "\n\n".join(text for text, _ in parts)
    return output, "\n\n".join(text for text, final in parts if final)
