"""Prepared statements mean what the ORM means, on whichever database the suite runs."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import DateTimeField, F
from django.test.utils import CaptureQueriesContext

from halo_site.lib.prepared import Param, Plus, Select, Update, insert_if_new, insert_row, update_row
from sessions_app.models import Entry, Session, Upload
from workspaces_app.models import Workspace

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 4, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def session() -> Session:
    workspace = Workspace.objects.create(path="/w", name="w")
    user = User.objects.create(username="ann")
    return Session.objects.create(
        workspace=workspace,
        sid="s1",
        agent_id="a",
        agent_name="A",
        created_by=user,
        created_at=NOON,
        updated_at=NOON,
    )


def test_a_row_that_was_inserted_reads_as_one_the_orm_made(session: Session):
    values = {
        "session_id": session.pk,
        "kind": "user",
        "text": "100 % — “quoted” \U0001f600",
        "blocks": [{"type": "text", "text": "x"}],
        "meta": {"pos": 1.5, "deep": {"a": None}},
        "created_at": NOON,
    }
    key = insert_row(Entry, **values)
    other = Entry.objects.create(**values)
    fields = [field.attname for field in Entry._meta.concrete_fields if field.attname != "id"]
    assert Entry.objects.values(*fields).get(pk=key) == Entry.objects.values(*fields).get(pk=other.pk)


def test_a_row_that_is_there_already_is_not_inserted_twice(session: Session):
    values = {
        "workspace_id": session.workspace_id,
        "agent_id": "a",
        "agent_name": "A",
        "created_at": NOON,
        "updated_at": NOON,
    }
    assert insert_if_new(Session, sid="s1", **values) is None
    assert insert_if_new(Session, sid="s2", **values)
    assert Session.objects.count() == 2


def test_defaults_are_made_anew_for_each_row(session: Session):
    keys = [insert_row(Entry, session_id=session.pk, kind="user", created_at=NOON) for _ in range(2)]
    assert list(Entry.objects.filter(pk__in=keys).values_list("blocks", "meta", "in_context")) == [([], {}, True)] * 2


def test_a_clock_of_the_model_is_not_forgotten_silently():
    with pytest.raises(TypeError, match="created_at"):
        insert_row(Upload, id="x")


def test_an_unknown_column_is_an_error(session: Session):
    with pytest.raises(TypeError, match="no column colour"):
        update_row(Session, session.pk, colour="red")


def test_update_row_sets_adds_and_counts(session: Session):
    assert update_row(Session, session.pk, cost_micros=Plus(5), title="t", prompt={"at": "x"}, updated_at=NOON) == 1
    assert update_row(Session, session.pk, cost_micros=Plus(2), prompt=None) == 1
    session.refresh_from_db()
    assert (session.cost_micros, session.title, session.prompt, session.updated_at) == (7, "t", None, NOON)
    assert Session.objects.filter(prompt__isnull=True).exists()  # SQL null, not JSON null
    assert update_row(Session, session.pk + 1000, title="x") == 0


def test_a_select_gives_what_values_list_gives(session: Session):
    Entry.objects.create(session=session, kind="user", meta={"a": [1]}, created_at=NOON)
    columns = ("kind", "meta", "created_at", "session__sid", "in_context")
    select = Select(lambda: Entry.objects.filter(session=Param("session")).values_list(*columns))
    for _ in range(2):  # compiled, then kept
        assert select.rows(session=session.pk) == list(Entry.objects.values_list(*columns))
    assert select.first(session=0) is None


@pytest.mark.parametrize(
    "meta",
    [
        {"n": 10**30},
        {"n": 2**63},
        {"n": -(2**63)},
        {"n": 1.5e15},
        {"t": "\u2028\U0001f600 \\ud83d"},
        {},
        {"a": [None, True, 1e-9]},
    ],
)
def test_json_comes_back_as_it_was_written(session: Session, meta: dict[str, object]):
    key = insert_row(Entry, session_id=session.pk, kind="user", meta=meta, created_at=NOON)
    select = Select(lambda: Entry.objects.filter(pk=Param("key")).values_list("meta"))
    assert select.rows(key=key) == [(meta,)] == list(Entry.objects.filter(pk=key).values_list("meta"))


def test_values_are_given_anew_each_time_and_times_are_converted(session: Session):
    select = Select(
        lambda: Session.objects.filter(updated_at__lte=Param("now", DateTimeField())).values_list("sid"), limit="most"
    )
    assert select.rows(now=NOON, most=5) == [("s1",)]
    assert select.rows(now=NOON - timedelta(microseconds=1), most=5) == []
    assert select.rows(now=NOON, most=0) == []
    with pytest.raises(KeyError):
        select.rows(now=NOON)


def test_objects_hold_what_was_asked_for_and_load_the_rest(session: Session):
    select = Select(lambda: Session.objects.annotate(twice=F("turn_count") * 2).filter(pk=Param("key")).only("sid"))
    [found] = select.objects(key=session.pk)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert (found.pk, found.sid, found.twice) == (session.pk, "s1", 0)  # type: ignore[attr-defined]
    assert len(queries) == 0
    assert found.agent_id == "a"


def test_an_update_changes_what_its_queryset_finds(session: Session):
    update = Update(
        lambda: Session.objects.filter(sid=Param("sid"), archived_at=None),
        turn_count=F("turn_count") + 1,
        archived_at=Param("now", DateTimeField()),
    )
    assert update.run(sid="s1", now=NOON) == 1
    assert update.run(sid="s1", now=NOON) == 0
    session.refresh_from_db()
    assert (session.turn_count, session.archived_at) == (1, NOON)
