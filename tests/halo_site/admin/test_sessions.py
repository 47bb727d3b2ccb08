"""Stop, archive and delete from the staff site: what they do, what they say first, and the rows they leave."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.engine.owner import this_owner
from sessions_app.models import Entry, Session, Tombstone, Turn
from sessions_app.staff_state import FILTERS, in_state, state_of, with_state
from workspaces_app.models import AuditEvent, Workspace

from .seed import conversation, session_in

pytestmark = pytest.mark.django_db

LIST = "/admin/sessions_app/session/"


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    return Workspace.objects.create(path=str(tmp_path), name="harbour")


@pytest.fixture
def who(db) -> User:
    return User.objects.create_user("ines")


@pytest.fixture
def talk(workspace, who) -> Session:
    return session_in(workspace, "talk", "Export timeout", who, timezone.now())


@pytest.fixture
def child(workspace, who, talk) -> Session:
    return session_in(workspace, "talk>sub", "Search", who, timezone.now(), parent=talk, root=talk)


def run(session: Session) -> Turn:
    """The session is at work, as the engine of this process would have it."""
    Session.objects.filter(pk=session.pk).update(
        lease_owner=this_owner(),
        lease_until=timezone.now() + timedelta(seconds=30),
        lease_epoch=1,
        activity="turn",
    )
    return Turn.objects.create(session=session, index=0, started_at=timezone.now())


def act(client, action: str, *sessions: Session, **more: str):
    data = {"action": action, "index": "0", "_selected_action": [str(session.pk) for session in sessions], **more}
    return client.post(LIST, data, follow=True)


def events(prefix: str = "session.") -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(action__startswith=prefix).order_by("pk")
    return list(rows.values_list("action", "detail__sid"))


def test_stop_asks_the_running_turn_to_end_and_says_who_asked(signed_in, talk):
    client = signed_in("staff")
    run(talk)
    page = act(client, "stop_sessions", talk).content.decode()
    talk.refresh_from_db()
    assert talk.abort_requested["tier"] == "stop"
    assert "Stopped 1 session." in page
    event = AuditEvent.objects.get(action="session.stop")
    assert (event.actor, event.workspace, event.detail["sid"]) == (client.user, talk.workspace, "talk")


def test_stop_of_an_idle_session_says_that_nothing_ran(signed_in, talk):
    assert "1 session ran nothing" in act(signed_in("staff"), "stop_sessions", talk).content.decode()


def test_archive_asks_with_counts_and_then_archives_the_tree(signed_in, talk, child, who):
    client = signed_in("staff")
    conversation(talk, who, timezone.now())
    page = act(client, "archive_sessions", talk).content.decode()
    assert "Archive 2 sessions?" in page
    assert "cannot be undone" in page
    talk.refresh_from_db()
    assert talk.archived_at is None
    assert "Archived 2 sessions" in act(client, "archive_sessions", talk, confirmed="yes").content.decode()
    assert not Session.objects.filter(archived_at=None).exists()
    assert events() == [("session.archive", "talk")]


def test_delete_asks_with_counts_then_deletes_the_tree_for_good(signed_in, talk, child, who):
    client = signed_in("staff")
    conversation(talk, who, timezone.now())
    run(child)
    page = act(client, "delete_sessions", talk).content.decode()
    counts = {"Sessions chosen": 1, "Their sub-agents": 1, "At work now": 1, "Turns": 2, "Entries": 7}
    for name, number in counts.items():
        assert f'<tr><td>{name}</td><td class="r">{number}</td></tr>' in page
    assert ">Delete 2 sessions</button>" in page
    assert Session.objects.count() == 2
    assert "Deleted 2 sessions" in act(client, "delete_sessions", talk, confirmed="yes").content.decode()
    assert not Session.objects.exists()
    assert not Entry.objects.exists()
    assert set(Tombstone.objects.values_list("sid", flat=True)) == {"talk", "talk>sub"}
    assert events() == [("session.delete", "talk")]


def test_choosing_a_session_with_its_child_deletes_both_once(signed_in, talk, child):
    page = act(signed_in("staff"), "delete_sessions", talk, child, confirmed="yes").content.decode()
    assert "Deleted 2 sessions" in page
    assert events() == [("session.delete", "talk")]


def test_members_can_do_none_of_it_and_djangos_own_delete_is_closed(signed_in, talk):
    member = signed_in("member")
    assert member.post(LIST, {"action": "delete_sessions", "_selected_action": str(talk.pk)}).status_code == 302
    superuser = signed_in("superuser")
    assert superuser.post(f"{LIST}{talk.pk}/delete/", {"post": "yes"}).status_code == 403
    assert superuser.post(f"{LIST}{talk.pk}/change/", {"title": "x"}).status_code == 403
    act(superuser, "delete_selected", talk, post="yes")
    assert Session.objects.filter(pk=talk.pk).exists()


def test_a_verb_used_on_the_transcript_leads_back_to_it(signed_in, talk):
    answer = act(signed_in("staff"), "stop_sessions", talk, **{"from": str(talk.pk)})
    assert answer.redirect_chain[-1][0] == f"{LIST}{talk.pk}/transcript/"


def test_a_verb_never_leads_to_a_page_that_was_not_chosen(signed_in, talk):
    answer = act(signed_in("staff"), "stop_sessions", talk, **{"from": "//evil.example"})
    assert answer.redirect_chain[-1][0] == LIST


def test_every_session_is_in_exactly_the_list_of_the_state_it_shows(workspace, who):
    now = timezone.now()
    live = {"lease_owner": "o", "lease_until": now + timedelta(seconds=20)}
    rows: dict[str, dict] = {
        "idle": {}, "at-work": {**live, "activity": "turn"}, "compacting": {**live, "activity": "compact"},
        "parked": {"parked_at": now}, "archived": {"archived_at": now, "parked_at": now},
        "stopped": {"stopped_at": now},
        "lost": {"lease_owner": "o", "lease_until": now - timedelta(seconds=1)},
    }  # fmt: skip
    for sid, more in rows.items():
        session_in(workspace, sid, sid, who, now, **more)
    for status in Turn.Status.values:
        session = session_in(workspace, f"last-{status}", status, who, now)
        Turn.objects.create(session=session, index=0, status="done", started_at=now)
        Turn.objects.create(session=session, index=1, status=status, started_at=now)
    queue = session_in(workspace, "queue", "queue", who, now)
    Entry.objects.create(session=queue, kind="user", text="x", created_at=now)
    struck = session_in(workspace, "struck", "struck", who, now)
    Entry.objects.create(session=struck, kind="user", text="x", created_at=now, deleted=1)

    every = with_state(Session.objects.all())
    shown = {session.sid: state_of(session, now).key for session in every}
    listed = {key: {session.sid for session in in_state(every, key, now)} for key, _ in FILTERS}
    for key, _ in FILTERS:
        assert listed[key] == {sid for sid, state in shown.items() if state == key}, key
    assert shown["lost"] == "lost"
    assert shown["last-interrupted"] == shown["last-error"] == "failed"
    assert shown["struck"] == "idle"
    assert shown["queue"] == "waiting"


def test_filters_stay_in_the_address_and_search_finds_id_and_title(signed_in, workspace, who, talk):
    client = signed_in("staff")
    session_in(workspace, "other", "Weekly digest", who, timezone.now(), archived_at=timezone.now())
    page = client.get(f"{LIST}?state=archived").content.decode()
    assert "Weekly digest" in page
    assert "Export timeout" not in page
    assert "Export timeout" in client.get(f"{LIST}?q=tal").content.decode()
    assert "Export timeout" in client.get(f"{LIST}?q=export").content.decode()
    assert "Export timeout" not in client.get(f"{LIST}?depth=child").content.decode()


# The transcript.


def test_the_transcript_shows_each_kind_of_entry(signed_in, talk, who):
    conversation(talk, who, timezone.now())
    page = signed_in("staff").get(f"{LIST}{talk.pk}/transcript/").content.decode()
    for text in (
        "The CSV export times out", "ines", "The export builds the whole file", "file_read", "shell_exec",
        "exports/service.py", "FAILED tests/exports", "failed · 41.0 s", "done · 12 ms", "yield to_line(row)",
        "first token 640 ms · 18.4k in, 92 % cached · 412 out · $0.02 · aster-large",
        "Halo was restarted", ">queued</span>",
    ):  # fmt: skip
        assert text in page, text


def test_hostile_text_in_a_transcript_is_inert(signed_in, talk):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>{{7*7}}{% debug %}javascript:alert(3)"
    surrogate = "\ud800 lone" if connection.vendor == "sqlite" else "no text PostgreSQL would hold"
    now = timezone.now()
    Session.objects.filter(pk=talk.pk).update(title=evil[:200], agent_name=evil[:200])
    turn = Turn.objects.create(session=talk, index=0, started_at=now, error={"kind": evil}, status="error")
    for kind in Entry.Kind.values:
        Entry.objects.create(
            session=talk, turn=turn, kind=kind, text=evil, created_at=now,
            blocks=[
                {"type": "text", "text": f"```{evil}\n{evil}\n```"}, {"type": "thinking", "thinking": evil},
                {"type": "tool_use", "id": f"t-{kind}", "name": evil, "input": {evil: [evil, None, 1]}},
                {"type": "tool_result", "tool_use_id": "other", "content": [{"type": "text", "text": evil}]},
                {"type": evil}, evil, None,
            ],
            meta={"level": evil, "model": evil, "name": evil, "outcome": evil, "usage": {"inputTokens": evil}},
            origin={"kind": evil, "sender": evil},
        )  # fmt: skip
    Entry.objects.create(
        session=talk, turn=turn, kind="assistant", created_at=now, meta=[1], origin=[],
        blocks=[{"type": "text", "text": surrogate}, {"type": "tool_use", "id": 5, "name": None, "input": surrogate}],
    )  # fmt: skip
    client = signed_in("superuser")
    for path in (f"{LIST}{talk.pk}/transcript/", LIST, "/admin/sessions_app/turn/", f"{LIST}{talk.pk}/change/"):
        page = client.get(path).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert 'onerror=alert(2)>"' not in page
        assert "49" not in page.split("{{7*7}}")[0][-2:]
    assert "&lt;script&gt;alert(1)" in client.get(f"{LIST}{talk.pk}/transcript/").content.decode()


def test_entry_text_is_plain_and_sandboxed(signed_in, talk):
    entry = Entry.objects.create(session=talk, kind="user", text="<script>x</script>", created_at=timezone.now())
    other = session_in(talk.workspace, "other", "o", talk.created_by, timezone.now())
    client = signed_in("staff")
    answer = client.get(f"{LIST}{talk.pk}/transcript/{entry.pk}/")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox")
    assert client.get(f"{LIST}{other.pk}/transcript/{entry.pk}/").status_code == 404


def test_a_long_transcript_comes_in_pages_that_meet_without_gap_or_double(signed_in, talk):
    now = timezone.now()
    turn = Turn.objects.create(session=talk, index=0, started_at=now)
    Entry.objects.bulk_create(
        Entry(session=talk, turn=turn, kind="user", text=f"line {n:03}.", created_at=now) for n in range(120)
    )
    client = signed_in("staff")
    first = Entry.objects.order_by("pk").first().pk

    def lines(page: str) -> list[int]:
        return [n for n in range(120) if f"line {n:03}." in page]

    newest = client.get(f"{LIST}{talk.pk}/transcript/").content.decode()
    assert lines(newest) == list(range(70, 120))
    assert "Show earlier (70)" in newest
    middle = client.get(f"{LIST}{talk.pk}/transcript/?before={first + 70}").content.decode()
    assert lines(middle) == list(range(20, 70))
    assert "Show later (50)" in middle
    oldest = client.get(f"{LIST}{talk.pk}/transcript/?before={first + 20}").content.decode()
    assert lines(oldest) == list(range(20))
    assert f"?before={first + 70}" in oldest


def test_a_transcript_asks_as_many_questions_however_long_it_is(signed_in, talk, who):
    client = signed_in("staff")

    def questions() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(f"{LIST}{talk.pk}/transcript/")
        return len(asked)

    conversation(talk, who, timezone.now())
    client.get(f"{LIST}{talk.pk}/transcript/")
    few = questions()
    for _ in range(4):
        conversation(talk, who, timezone.now())
    assert questions() == few
    assert few < 20


def test_reading_what_somebody_else_wrote_is_an_audit_row(signed_in, talk):
    client = signed_in("staff")
    client.get(f"{LIST}{talk.pk}/transcript/")
    client.get(f"{LIST}{talk.pk}/transcript/?before=5")
    event = AuditEvent.objects.get(action="session.read")
    assert (event.actor, event.target) == (client.user, "Export timeout")


def test_a_long_text_is_cut_and_its_rest_has_a_page(signed_in, talk):
    entry = Entry.objects.create(session=talk, kind="user", text="a" * 5_000 + "END", created_at=timezone.now())
    client = signed_in("staff")
    page = client.get(f"{LIST}{talk.pk}/transcript/").content.decode()
    assert "END" not in page
    assert "1003 more characters" in page
    assert client.get(f"{LIST}{talk.pk}/transcript/{entry.pk}/").content.decode().endswith("END")
