"""Fork a session from an entry (issue 4.4, ARCHITECTURE 5.9, spec http-api)."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.forms import model_to_dict
from django.test import Client

from halo_site.auth import COOKIE, new_login, token_of
from halo_site.lib.access_level import Access
from halo_site.lib.errors import Conflict, NotFound
from sessions_app import exchanges
from sessions_app.engine.context import load_context
from sessions_app.engine.history import history
from sessions_app.fork import fork
from sessions_app.models import Entry, Session, Turn
from sessions_app.windows import window_before
from workspaces_app.models import AuditEvent, Membership, Workspace

from .search.test_search import LONG_AGO, found, made, said, turn_of

pytestmark = pytest.mark.django_db


def exchange(session: Session, number: int) -> tuple[Entry, Entry]:
    turn = turn_of(session)
    answer = {"kind": "assistant", "blocks": [{"type": "text", "text": f"answer {number}"}]}
    return said(session, f"ask {number}", turn), said(
        session, f"answer {number}", turn, meta={"turn_id": f"c{number}"}, **answer
    )


def everything(session: Session) -> list[dict[str, Any]]:
    rows: list[Any] = [
        Session.objects.get(pk=session.pk),
        *session.turns.order_by("pk"),
        *session.entries.order_by("pk"),
    ]
    return [model_to_dict(row) for row in rows]


def forked(entry: Entry, user: User, level: Access = Access.FULL) -> Session:
    return fork(entry.session_id, entry.pk, user_id=user.pk, level=level)


def texts(session: Session) -> list[str]:
    """Of the copied entries."""
    return [entry.text for entry in session.entries.order_by("pk") if "fork" not in entry.meta]


def test_a_fork_holds_the_entries_up_to_there_and_the_old_one_stays(workspace: Workspace, owner: User) -> None:
    old = made(workspace, title="Plan", cost_micros=7, currency="USD", output_tokens=9, working_dir="sub")
    _, first = exchange(old, 1)
    exchange(old, 2)
    before = everything(old)
    new = forked(first, owner)
    assert everything(old) == before
    assert texts(new) == ["ask 1", "answer 1"]
    new.refresh_from_db()
    assert (new.parent, new.title, new.agent_id, new.working_dir) == (None, "Fork of Plan", "default", "sub")
    assert (new.exchange_count, new.turn_count, new.cost_micros, new.output_tokens) == (1, 1, None, 0)
    assert new.created_by == owner
    assert set(new.entries.exclude(kind="notice").values_list("created_at", flat=True)) == {LONG_AGO}


def test_the_next_message_of_a_fork_goes_on_with_its_context(workspace: Workspace, owner: User, say: Any) -> None:
    old = made(workspace)
    exchange(old, 1)
    _, second = exchange(old, 2)
    new = forked(second, owner)
    assert history(load_context(new.pk)) == history(load_context(old.pk))
    accepted = say("and now?", sid=new.sid)
    assert accepted.session_key == new.pk


def test_tool_results_come_along_with_the_reply_that_asked_for_them(workspace: Workspace, owner: User) -> None:
    old = made(workspace)
    turn = turn_of(old)
    said(old, "run", turn)
    calls = [{"type": "tool_use", "id": "u1", "name": "shell_exec", "input": {}}]
    reply = said(old, "", turn, kind="assistant", blocks=calls, meta={"turn_id": "c1"})
    result = [{"type": "tool_result", "tool_use_id": "u1", "content": "3 passed"}]
    said(old, "3 passed", turn, kind="tool_result", blocks=result, meta={"turn_id": "c1", "tool_use_id": "u1"})
    said(old, "later", turn, kind="assistant", blocks=[{"type": "text", "text": "later"}], meta={"turn_id": "c2"})
    new = forked(reply, owner)
    assert texts(new) == ["run", "", "3 passed"]
    assert history(load_context(new.pk))[-1]["content"][0]["content"] == "3 passed"


def test_deleted_dropped_and_queued_messages_stay_behind(workspace: Workspace, owner: User) -> None:
    old = made(workspace)
    gone, _ = exchange(old, 1)
    exchanges.delete_exchange(old.pk, entry_id=gone.pk)
    said(old, "half", kind="assistant", meta={"reset": True}, in_context=False)
    Entry.objects.create(session=old, kind="user", text="waits", created_at=LONG_AGO)
    _, kept = exchange(old, 2)
    assert texts(forked(kept, owner)) == ["ask 2", "answer 2"]


def compacted(session: Session, covered: list[Entry], text: str) -> Entry:
    """As the engine does it."""
    Entry.objects.filter(pk__in=[entry.pk for entry in covered]).update(in_context=False)
    return said(session, text, turn_of(session), kind="summary", meta={"covers": len(covered)})


def test_a_fork_from_before_a_compaction_has_the_context_of_that_time(workspace: Workspace, owner: User) -> None:
    old = made(workspace)
    one, two, three = exchange(old, 1), exchange(old, 2), exchange(old, 3)
    then = history(load_context(old.pk))
    summary = compacted(old, [*one, *two], "of 1 and 2")
    four = exchange(old, 4)
    between = history(load_context(old.pk))
    compacted(old, [summary, *three], "of 1 to 3")
    five = exchange(old, 5)
    now = history(load_context(old.pk))
    for entry, context in ((three[1], then), (four[1], between), (five[1], now)):
        assert history(load_context(forked(entry, owner).pk)) == context


def test_messages_moved_in_the_queue_keep_the_order_in_which_they_were_read(workspace: Workspace, owner: User) -> None:
    old = made(workspace)
    turn = turn_of(old)
    said(old, "second", turn)
    last = said(old, "first", turn, meta={"pos": 0.5})
    new = forked(last, owner)
    assert history(load_context(new.pk)) == history(load_context(old.pk))


def test_a_fork_never_has_more_access_than_its_session_or_its_maker(workspace: Workspace, owner: User) -> None:
    low = made(workspace, access_level="readonly")
    high = made(workspace, "s2", access_level="full")
    assert forked(exchange(low, 1)[1], owner, Access.FULL).access_level == "readonly"
    assert forked(exchange(high, 1)[1], owner, Access.WORKSPACE).access_level == "workspace"


def test_a_child_becomes_a_root(workspace: Workspace, owner: User) -> None:
    root = made(workspace)
    child = made(workspace, "s1>c", parent=root, root=root, source="delegated", report_due=True)
    new = forked(exchange(child, 1)[1], owner)
    assert (new.parent_id, new.root_id, new.source, new.report_due) == (None, None, "explorer", False)
    assert ">" not in new.sid


def test_nothing_is_forked_while_it_runs_or_from_what_nobody_sees(workspace: Workspace, owner: User) -> None:
    old = made(workspace)
    _, shown = exchange(old, 1)
    hidden = said(old, "kick", meta={"hidden": True})
    other = said(made(workspace, "s2"), "elsewhere")
    for key in (hidden.pk, other.pk, 0):
        with pytest.raises(NotFound):
            fork(old.pk, key, user_id=owner.pk, level=Access.FULL)
    running = {"lease_owner": "x", "lease_until": "2999-01-01T00:00Z", "activity": "turn"}
    Session.objects.filter(pk=old.pk).update(**running)
    with pytest.raises(Conflict):
        forked(shown, owner)
    assert Session.objects.count() == 2


def test_the_words_of_a_fork_are_found_in_both(workspace: Workspace, owner: User) -> None:
    _, entry = exchange(made(workspace), 1)
    new = forked(entry, owner)
    copy = new.entries.get(kind="assistant")
    assert found("answer") == [copy.pk, entry.pk]


def test_the_route_answers_201_and_is_audited(workspace: Workspace, owner: User) -> None:
    _, entry = exchange(made(workspace), 1)
    client = Client(headers={"origin": "http://testserver"})
    client.cookies[COOKIE] = token_of(new_login(owner))

    def post(**body: object) -> Any:
        return client.post("/api/sessions/logs/s1/fork", {"projectId": workspace.path, **body}, "application/json")

    answer = post(entryId=entry.pk)
    assert answer.status_code == 201, answer.content
    assert texts(Session.objects.get(sid=answer.json()["sessionId"])) == ["ask 1", "answer 1"]
    assert AuditEvent.objects.filter(action="session.fork", detail__entry=entry.pk).count() == 1
    assert post(entryId=entry.pk + 1000).status_code == 404
    assert Turn.objects.count() == 2
    Membership.objects.update(level="readonly")
    assert post(entryId=entry.pk).status_code == 403


def test_a_fork_says_where_it_came_from_and_the_model_does_not_hear_it(workspace: Workspace, owner: User) -> None:
    _, answer = exchange(made(workspace, title="Plan"), 1)
    new = forked(answer, owner)
    shown = window_before(new.pk, new.agent_name, None, 10).rows[-1]
    assert shown["fork"] == {"session": answer.session.sid, "entry": answer.pk, "title": "Plan"}
    assert answer.session.sid in shown["content"]
    assert [entry.kind for entry in load_context(new.pk)] == ["user", "assistant"]


def test_a_fork_of_a_fork_names_its_own_origin_only(workspace: Workspace, owner: User) -> None:
    _, answer = exchange(made(workspace), 1)
    first = forked(answer, owner)
    second = forked(first.entries.get(kind="assistant"), owner)
    [notice] = second.entries.filter(kind="notice")
    assert notice.meta["fork"]["session"] == first.sid
