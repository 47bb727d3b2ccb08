"""The index follows the rows, and people find only what they may see (issue 4.4, spec http-api, Sessions)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_site.auth import COOKIE, new_login, token_of
from sessions_app import actions, exchanges
from sessions_app.models import Entry, Session, Turn
from sessions_app.search.find import BATCH, find
from sessions_app.search.question import question_of
from workspaces_app.models import Membership, Workspace

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def made(workspace: Workspace, sid: str = "s1", **fields: Any) -> Session:
    at = {"created_at": LONG_AGO, "updated_at": LONG_AGO}
    return Session.objects.create(workspace=workspace, sid=sid, agent_id="default", agent_name="A", **at, **fields)


def turn_of(session: Session, status: str = "done") -> Turn:
    index = session.turns.count()
    return Turn.objects.create(session=session, index=index, status=status, started_at=LONG_AGO)


def said(session: Session, text: str, turn: Turn | None = None, kind: str = "user", **fields: Any) -> Entry:
    turn = turn or turn_of(session)
    return Entry.objects.create(session=session, turn=turn, kind=kind, text=text, created_at=LONG_AGO, **fields)


def found(asked: str, **how: Any) -> list[int]:
    return [hit.entry_id for hit in find(question_of(asked), None, **how).hits]


def indexed(entry: int) -> bool:
    key = "rowid" if connection.vendor == "sqlite" else "entry"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM halo_search WHERE {key} = %s", [entry])
        return cursor.fetchone() is not None


def test_messages_are_found_by_parts_of_words_in_any_case_newest_first(workspace: Workspace) -> None:
    session = made(workspace)
    first, second = said(session, "Fix the Flaky tests"), said(session, "flakiness again", kind="assistant")
    said(session, "nothing here")
    assert found("FLAK") == [second.pk, first.pk]
    assert found("flak tests") == [first.pk]
    assert found('"the flaky"') == [first.pk]
    assert found('"flaky the"') == []


@pytest.mark.parametrize("asked", ["搜", "搜索", "搜索引", "全文搜索引擎", "引擎", "擎", "全文 引擎"])
def test_chinese_is_found_by_one_character_or_more(workspace: Workspace, asked: str) -> None:
    session = made(workspace)
    entry = said(session, "我们需要全文搜索引擎")
    said(session, "今天天气很好")
    assert found(asked) == [entry.pk]


@pytest.mark.parametrize("asked", ["ok", "ÄR", "é", "100%", "a_b", 'x"y', "c++", "(", "*", "AND", "\\"])
def test_short_and_odd_terms_mean_what_they_say(workspace: Workspace, asked: str) -> None:
    session = made(workspace)
    entry = said(session, 'ok 100% a_b x"y c++ (f) * AND \\ Ärger café')
    said(session, "something else, 1000 axb")
    assert entry.pk in found(asked)
    assert len(found(asked)) == 1


def test_a_reply_is_found_once_its_turn_ended_however_it_ended(workspace: Workspace) -> None:
    session = made(workspace)
    turn = turn_of(session, "running")
    entry = said(session, "", turn, kind="assistant", meta={"partial": True, "hidden": True})
    Entry.objects.filter(pk=entry.pk).update(text="half an answer", meta={"partial": True})
    assert not indexed(entry.pk)
    Turn.objects.filter(pk=turn.pk).update(status="interrupted")
    assert found("half answer") == [entry.pk]


def test_an_edited_message_is_found_by_its_new_words_only(workspace: Workspace) -> None:
    entry = said(made(workspace), "yesterday")
    Entry.objects.filter(pk=entry.pk).update(text="tomorrow")
    assert (found("yesterday"), found("tomorrow")) == ([], [entry.pk])


def test_what_waits_is_hidden_or_was_dropped_is_not_found(workspace: Workspace) -> None:
    session = made(workspace)
    said(session, "needle hidden", meta={"hidden": True})
    said(session, "needle reset", kind="assistant", meta={"reset": True})
    said(session, "needle result", kind="tool_result")
    Entry.objects.create(session=session, kind="user", text="needle queued", created_at=LONG_AGO)
    shown = said(session, "needle shown", meta={"hidden": False})
    assert found("needle") == [shown.pk]


def test_a_deleted_exchange_is_not_found_until_it_is_restored(workspace: Workspace) -> None:
    session = made(workspace)
    turn = turn_of(session)
    asked, answered = said(session, "secret plan", turn), said(session, "the plan is", turn, kind="assistant")
    exchanges.delete_exchange(session.pk, entry_id=asked.pk)
    assert found("plan") == []
    exchanges.restore_exchange(session.pk, asked.pk)
    assert found("plan") == [answered.pk, asked.pk]


def test_a_deleted_session_leaves_nothing_in_the_index(workspace: Workspace) -> None:
    root = made(workspace)
    child = made(workspace, "s1>c", parent=root, root=root)
    entries = [said(root, "gone for good").pk, said(child, "gone for good").pk]
    assert all(map(indexed, entries))
    actions.delete(root.pk)
    assert not any(map(indexed, entries))
    assert found("gone") == []


def test_archived_sessions_are_found_only_when_asked_for(workspace: Workspace) -> None:
    session = made(workspace)
    entry = said(session, "old but gold")
    actions.archive(session.pk)
    assert found("gold") == []
    assert found("gold", archived=True) == [entry.pk]


def test_sessions_of_internal_agents_are_not_found(workspace: Workspace) -> None:
    said(made(workspace, source=Session.Source.INTERNAL), "score")
    assert found("score") == []


def test_a_message_that_was_rolled_back_is_not_in_the_index(workspace: Workspace) -> None:
    session = made(workspace)
    with transaction.atomic():
        key = said(session, "never said").pk
        assert indexed(key)
        transaction.set_rollback(True)
    assert not indexed(key)


def pages(asked: str, limit: int) -> Iterable[list[int]]:
    before = None
    while True:
        page = find(question_of(asked), None, before=before, limit=limit)
        yield [hit.entry_id for hit in page.hits]
        if page.before is None:
            return
        before = page.before


def test_pages_skip_and_repeat_nothing(workspace: Workspace) -> None:
    session = made(workspace)
    turn = turn_of(session)
    rows = [
        Entry(session=session, turn=turn, kind="user", text=f"page {n % 3}", created_at=LONG_AGO)
        for n in range(2 * BATCH + 10)
    ]
    keys = [entry.pk for entry in Entry.objects.bulk_create(rows)]
    seen = [key for page in pages("page", 150) for key in page]
    assert seen == keys[::-1]
    assert [len(page) for page in pages("page", len(keys))] == [len(keys)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(text=st.text("ab cdÄ中文搜\n\"%'*", min_size=1, max_size=30), at=st.integers(0, 29), size=st.integers(1, 6))
def test_every_part_of_a_message_finds_it(workspace: Workspace, text: str, at: int, size: int) -> None:
    with transaction.atomic():
        entry = said(made(workspace, f"s{Session.objects.count()}"), text)
        question = question_of(text[at : at + size])
        if question.terms:
            assert entry.pk in [hit.entry_id for hit in find(question, None).hits]
        transaction.set_rollback(True)


# ---- the route


def browser(user: User) -> Client:
    client = Client()
    client.cookies[COOKIE] = token_of(new_login(user))
    return client


def sids(client: Client, **query: Any) -> set[str]:
    response = client.get("/api/sessions/search", query)
    assert response.status_code == 200, response.content
    return {hit["sessionId"] for hit in response.json()["hits"]}


def test_a_hit_says_where_it_stands(workspace: Workspace, owner: User) -> None:
    entry = said(made(workspace, title="First"), "hello world")
    answer = browser(owner).get("/api/sessions/search", {"q": "world"}).json()
    assert answer == {
        "hits": [
            {
                "workspacePath": workspace.path,
                "sessionId": "s1",
                "entryId": entry.pk,
                "title": "First",
                "snippet": "hello world",
                "timestamp": int(LONG_AGO.timestamp() * 1000),
            }
        ],
        "hasMore": False,
        "before": None,
    }


def test_people_find_only_what_lies_in_their_workspaces(workspace: Workspace, owner: User, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Workspace.objects.create(path=str((tmp_path / "other").resolve()), name="other")
    said(made(workspace, "mine"), "needle")
    said(made(other, "theirs"), "needle")
    both = User.objects.create_user("both")
    for place in (workspace, other):
        Membership.objects.create(workspace=place, user=both, level="readonly")
    assert sids(browser(owner), q="needle") == {"mine"}
    assert sids(browser(both), q="needle") == {"mine", "theirs"}
    assert sids(browser(both), q="needle", projectId=other.path) == {"theirs"}
    assert sids(browser(User.objects.create_superuser("root")), q="needle") == {"mine", "theirs"}
    staff = User.objects.create_user("staff", is_staff=True)
    assert sids(browser(staff), q="needle") == set()
    assert browser(owner).get("/api/sessions/search", {"q": "x", "projectId": other.path}).status_code == 404


@pytest.mark.parametrize("q", ["", "  ", '"', "x" * 201])
def test_a_question_that_asks_nothing_is_refused(workspace: Workspace, owner: User, q: str) -> None:
    assert browser(owner).get("/api/sessions/search", {"q": q}).status_code == 400
