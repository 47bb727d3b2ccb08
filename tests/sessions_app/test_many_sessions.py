"""However many sessions there are and however long they grow: a list, a session, a snapshot cost as many queries."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Entry, Session, Turn
from sessions_app.views import read_view
from sessions_app.windows import SEGMENT

from .test_api import LONG_AGO, Shop, shop  # noqa: F401


def trees(shop: Shop, count: int) -> None:  # noqa: F811
    """`count` roots with a sub-session each, and one that the sub-session has itself."""
    for _ in range(count):
        root = shop.session()
        child = shop.session(f"{root.sid}>a", parent=root, root=root)
        shop.session(f"{child.sid}>b", parent=child, root=root, lease_owner="x")


def grow(session: Session, exchanges: int) -> None:
    """Questions, each answered by way of a tool."""
    first = Turn.objects.filter(session=session).count()
    times = {"started_at": LONG_AGO, "ended_at": LONG_AGO + timedelta(seconds=1)}
    numbers = range(first, first + exchanges)
    turns = Turn.objects.bulk_create(Turn(session=session, index=at, status="done", **times) for at in numbers)
    Entry.objects.bulk_create(entry for turn in turns for entry in exchange(session, turn))


def exchange(session: Session, turn: Turn) -> list[Entry]:
    call = f"call_{turn.index}"
    said: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = [
        ("user", [], {}),
        ("assistant", [{"type": "tool_use", "id": call, "name": "file_list", "input": {}}], {"turn_id": f"{call}a"}),
        ("tool_result", [{"type": "tool_result", "tool_use_id": call, "content": "a.txt"}], {}),
        ("assistant", [{"type": "text", "text": "one file"}], {"turn_id": f"{call}b", "final": True}),
    ]
    return [
        Entry(session=session, turn=turn, kind=kind, text=kind, blocks=blocks, meta=meta, created_at=LONG_AGO)
        for kind, blocks, meta in said
    ]


def statements(browser: Client, shop: Shop, path: str, **more: int) -> tuple[list[str], Any]:  # noqa: F811
    """What one answer asks the database, and the answer. The first is not looked at: it fills what a process keeps."""
    browser.get(path, {"projectId": shop.workspace.path, **more})
    with CaptureQueriesContext(connection) as asked:
        answer = browser.get(path, {"projectId": shop.workspace.path, **more})
    assert answer.status_code == 200
    return [query["sql"] for query in asked], answer.json()


def queries(browser: Client, shop: Shop, path: str) -> tuple[int, Any]:  # noqa: F811
    """How many one answer takes, and the answer."""
    asked, document = statements(browser, shop, path)
    return len(asked), document


def test_T14_a_list_asks_as_often_for_many_sessions_as_for_few(shop: Shop) -> None:  # noqa: F811
    browser = shop.browser()
    trees(shop, 3)
    few, listed = queries(browser, shop, "/api/sessions/logs")
    assert len(listed["sessions"]) == 9
    trees(shop, 60)
    many, listed = queries(browser, shop, "/api/sessions/logs")
    assert len(listed["sessions"]) == 150
    assert listed["nextCursor"]
    assert 0 < many == few


@pytest.mark.parametrize("limit", [50, 500])
def test_33_a_page_out_of_500_roots_is_one_query_like_one_out_of_few(shop: Shop, limit: int) -> None:  # noqa: F811
    browser = shop.browser()
    shop.session()
    few, listed = statements(browser, shop, "/api/sessions/logs", limit=limit)
    assert len(listed["sessions"]) == 1
    with transaction.atomic():
        for _ in range(499):
            shop.session()
    many, listed = statements(browser, shop, "/api/sessions/logs", limit=limit)
    assert len(listed["sessions"]) == limit
    assert bool(listed["nextCursor"]) is (limit < 500)
    assert len(many) == len(few)
    assert len([sql for sql in many if 'FROM "sessions_app_session"' in sql]) == 1


def test_T14_a_session_is_opened_with_as_many_queries_however_long_it_is(shop: Shop) -> None:  # noqa: F811
    browser, session = shop.browser(), shop.session("s")
    grow(session, SEGMENT // 2)
    short, document = queries(browser, shop, "/api/sessions/logs/s")
    assert document["archiveCount"] == 1
    grow(session, SEGMENT)
    long, document = queries(browser, shop, "/api/sessions/logs/s")
    assert document["archiveCount"] == 4
    assert 0 < long == short


def test_T14_a_snapshot_takes_as_many_queries_however_long_the_session_is(shop: Shop) -> None:  # noqa: F811
    session, asked = shop.session("s"), []
    for exchanges in (SEGMENT // 2, SEGMENT):
        grow(session, exchanges)
        read_view(session.pk, with_archive_count=True)
        with CaptureQueriesContext(connection) as counted:
            view = read_view(session.pk, with_archive_count=True)
        assert view is not None
        asked.append(len(counted))
    assert 0 < asked[0] == asked[1]
