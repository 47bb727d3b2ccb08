"""The dashboard's numbers, what it says needs a person, and that it asks the database no more than once per card."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from halo_site.admin.dashboard import attention, cards, page, processes
from halo_site.admin.dashboard.shape import RANGES, USUAL, filled, sparkline
from halo_site.heartbeat import beat, forget
from halo_site.lib.figures import age, duration, money, percent, percentile, short
from halo_site.models import Heartbeat
from halo_site.proc import memory_of
from sessions_app.engine.owner import this_owner
from sessions_app.models import Entry, ModelCall, Session, Turn
from workspaces_app.models import Workspace
from workspaces_app.sandbox import Status

from .seed import plant, session_in

NOW = datetime(2031, 3, 15, 12, 30, tzinfo=UTC)


# Pure parts.


def test_fourteen_days_end_with_today_in_utc():
    late = datetime(2031, 3, 16, 0, 30, tzinfo=UTC).astimezone()  # some other zone's evening or morning
    days = USUAL.buckets(late)
    assert (days[0], days[-1], len(days)) == (datetime(2031, 3, 3, tzinfo=UTC), datetime(2031, 3, 16, tzinfo=UTC), 14)


def test_a_day_of_hours_ends_with_this_hour():
    hours = RANGES["24h"].buckets(NOW)
    assert (hours[0], hours[-1], len(hours)) == (
        datetime(2031, 3, 14, 13, tzinfo=UTC), datetime(2031, 3, 15, 12, tzinfo=UTC), 24,
    )  # fmt: skip


def test_buckets_without_rows_are_zero():
    days = USUAL.buckets(NOW)
    assert filled(days, {days[1]: 5, days[2]: None}) == [0, 5, *[0] * 12]


@pytest.mark.parametrize(
    ("values", "points"),
    [
        ([], ""),
        ([1], ""),
        ([0, 10], "0.0,18.5 72.0,1.5"),
        ([0, 0], "0.0,18.5 72.0,18.5"),
        ([3, 3], "0.0,10.0 72.0,10.0"),
    ],
)
def test_a_sparkline_stays_in_its_box(values, points):
    assert sparkline(values) == points


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (short(0), "0"), (short(412), "412"), (short(18_400), "18.4k"), (short(999_990), "1M"),
        (short(4_100_000), "4.1M"),
        (money(12_400_000, "USD"), "$12.40"), (money(1, "USD"), "<$0.01"), (money(0, "EUR"), "€0.00"),
        (money(None, "USD"), "–"), (money(5_000_000, "CHF"), "CHF 5.00"),
        (duration(None), "–"), (duration(640), "640 ms"), (duration(1_240), "1.2 s"), (duration(130_000), "2 min"),
        (age(-3), "0 s"), (age(89), "89 s"), (age(720), "12 min"), (age(7_200), "2 h"), (age(400_000), "5 days"),
        (percent(4, 186), "2.2 %"), (percent(80, 100), "80 %"), (percent(0, 5), "0 %"), (percent(1, 0), "–"),
        (percentile([3, 1, 2], 0.5), 2), (percentile(range(1, 101), 0.95), 95), (percentile([], 0.5), None),
    ],
)  # fmt: skip
def test_figures_read_as_people_write_them(figure, text):
    assert figure == text


# With the database.


@pytest.fixture
def workspace(db, tmp_path) -> Workspace:
    return Workspace.objects.create(path=str(tmp_path), name="harbour")


@pytest.fixture
def session(workspace) -> Session:
    return session_in(workspace, "talk", "Talk", User.objects.create_user("ines"), timezone.now())


def turn(session: Session, index: int, at: datetime, status: str = "done", **more: object) -> Turn:
    return Turn.objects.create(session=session, index=index, started_at=at, status=status, **more)


def test_turns_and_tokens_fall_into_their_days(session):
    tokens = {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 300, "cache_write_tokens": 4_000}
    turn(session, 0, NOW, **tokens)
    turn(session, 1, NOW.replace(hour=0, minute=0), "aborted")
    turn(session, 2, NOW - timedelta(days=1), "error")
    turn(session, 3, NOW - timedelta(days=1), "interrupted")
    turn(session, 4, NOW - timedelta(days=13), "running")
    turn(session, 5, NOW - timedelta(days=14))  # out of range
    shown = page._turns(USUAL, cards.turns(USUAL, NOW))
    assert shown["total"] == [1, *[0] * 11, 2, 2]
    assert shown["done"] == [*[0] * 13, 1]
    assert shown["stopped"][-1] == 1
    assert shown["failed"][-2] == 2
    assert (shown["tokens"][-1], shown["cached"][-1], shown["input"][-1]) == (4_330, 300, 4_310)


def test_the_last_day_is_counted_by_the_hour(session):
    turn(session, 0, NOW)
    turn(session, 1, NOW.replace(minute=0))
    turn(session, 2, NOW - timedelta(hours=23, minutes=29))
    turn(session, 3, NOW - timedelta(hours=24))  # out of range
    call = {"provider": "p", "model": "m", "outcome": "end_turn", "cost_micros": 5, "currency": "USD"}
    ModelCall.objects.create(turn=Turn.objects.get(index=2), call_id="c", started_at=NOW, **call)
    view = RANGES["24h"]
    assert page._turns(view, cards.turns(view, NOW))["total"] == [1, *[0] * 22, 2]
    assert cards.cost(view, NOW)["micros"] == {view.buckets(NOW)[0]: 5}


def test_sessions_at_work_are_those_with_a_live_lease(session, workspace):
    now = timezone.now()
    Session.objects.filter(pk=session.pk).update(lease_owner="o", lease_until=now + timedelta(seconds=9))
    session_in(workspace, "dead", "d", session.created_by, now, lease_owner="o", lease_until=now - timedelta(seconds=1))
    waiting = session_in(workspace, "queue", "q", session.created_by, now)
    Entry.objects.create(session=waiting, kind="user", text="x", created_at=now)
    Entry.objects.create(session=waiting, kind="user", text="y", created_at=now)
    session_in(workspace, "old", "o", session.created_by, now, archived_at=now)
    assert cards.sessions(USUAL, now) == {"at_work": 1, "open": 3, "queued": 1}


def test_cost_knows_currencies_and_models_without_a_price(session):
    day = turn(session, 0, NOW)

    def call(micros: int | None, currency: str, model: str = "m", outcome: str = "end_turn") -> None:
        ModelCall.objects.create(
            turn=day, call_id="c", provider="p", model=model, started_at=NOW, outcome=outcome,
            cost_micros=micros, currency=currency, output_tokens=5,
        )  # fmt: skip

    call(9_000_000, "USD")
    call(3_400_000, "USD")
    call(2_000_000, "EUR")
    call(None, "", "free")
    call(None, "", "open", "")
    found = cards.cost(USUAL, NOW)
    assert found["currency"] == "USD"
    assert found["micros"] == {USUAL.buckets(NOW)[-1]: 12_400_000}
    assert found["others"] == {"EUR": 2_000_000}
    assert found["unpriced"] == 1


def call(of: Turn, micros: int | None, currency: str = "", **more: object) -> ModelCall:
    facts = {"call_id": "c", "provider": "p", "model": "m", "outcome": "end_turn", "output_tokens": 5} | more
    return ModelCall.objects.create(turn=of, started_at=NOW, cost_micros=micros, currency=currency, **facts)


def test_cost_is_told_per_workspace_and_per_agent_and_currencies_stay_apart(session, workspace):
    other = Workspace.objects.create(path="/srv/other", name="other")
    who = session.created_by
    helper = session_in(workspace, "talk>help", "Help", who, NOW, parent=session)
    away = session_in(other, "away", "Away", who, NOW)
    Session.objects.filter(pk=helper.pk).update(agent_id="helper", agent_name="Helper")
    for of, micros, currency in (
        (session, 3_000_000, "USD"),
        (helper, 5_000_000, "USD"),
        (helper, 2_000_000, "CNY"),
        (away, 4_000_000, "USD"),
        (away, None, ""),
    ):
        call(turn(of, of.turns.count(), NOW), micros, currency)
    call(turn(away, 7, NOW - timedelta(days=14)), 90_000_000, "USD")  # out of range
    card = cards.spenders(USUAL, NOW)
    shown = {
        who: [(row["name"], row["cost"], row["calls"], row["share"]) for row in page._spenders(card[who], "USD")]
        for who in ("workspaces", "agents")
    }
    assert shown == {
        "workspaces": [("harbour", "$8.00 + ¥2.00", "3 calls", 100), ("other", "$4.00", "2 calls", 50)],
        "agents": [("Default", "$7.00", "3 calls", 100), ("Helper", "$5.00 + ¥2.00", "2 calls", 71)],
    }


def test_without_a_price_the_agents_that_were_asked_most_come_first_and_their_cost_is_unknown(session, workspace):
    busy = session_in(workspace, "busy", "Busy", session.created_by, NOW)
    Session.objects.filter(pk=busy.pk).update(agent_id="zealous", agent_name="Zealous")
    call(turn(session, 0, NOW), None)
    for _ in range(2):
        call(turn(busy, busy.turns.count(), NOW), None)
    card = cards.spenders(USUAL, NOW)
    assert [(row["name"], row["cost"], row["share"]) for row in page._spenders(card["agents"], card["currency"])] == [
        ("Zealous", "–", 100),
        ("Default", "–", 50),
    ]


def test_an_agent_on_the_dashboard_leads_to_its_sessions(signed_in, sandboxed, session, workspace):
    own = session_in(workspace, "other", "Somebody else's", session.created_by, NOW)
    Session.objects.filter(pk=session.pk).update(agent_id="a&b", agent_name="Ann <b>")
    call(turn(session, 0, timezone.now()), 1_000_000, "USD")
    client = signed_in("staff")
    text = client.get("/admin/").content.decode()
    link = "/admin/sessions_app/session/?agent_id=a%26b"
    assert f'href="{link}">Ann &lt;b&gt;</a>' in text
    listed = client.get(link).content.decode()
    assert "Talk" in listed
    assert own.title not in listed
    assert "agent id" in listed


@pytest.fixture
def sandboxed(monkeypatch):
    state = Status(program="/usr/bin/bwrap", version="bubblewrap 0.8.0")
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", state)


def test_the_sandbox_is_named_with_its_network(signed_in, sandboxed):
    text = signed_in("staff").get("/admin/").content.decode()
    assert "Sandbox: bubblewrap 0.8.0 (/usr/bin/bwrap), network: proxy" in text


def test_a_missing_sandbox_is_a_matter_with_its_reason(signed_in, monkeypatch):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="not installed"))
    text = signed_in("staff").get("/admin/").content.decode()
    assert "No sandbox: not installed. Sessions below full access get no shell." in text
    [row] = attention.no_sandbox()
    assert (row.title, row.text, row.ring) == ("No sandbox", "not installed", "warn")


def test_an_empty_server_shows_zeroes_and_dashes_not_errors(signed_in, sandboxed):
    text = signed_in("staff").get("/admin/").content.decode()
    assert "Nothing needs you." in text
    assert text.count("No model was called in this range yet.") == 3
    assert "no known prices" in text


@pytest.mark.parametrize("key", [*RANGES, "nonsense", ""])
def test_each_range_opens_on_a_used_server(signed_in, tmp_path, key):
    plant(tmp_path, per_day=5)
    client = signed_in("staff")
    answer = client.get(f"/admin/?range={key}")
    assert answer.status_code == 200
    fragment = client.get(f"/admin/dashboard/cards/?range={key}").content.decode()
    assert "<html" not in fragment
    assert fragment.count("h-counter") == 6


def test_a_card_is_one_question_and_is_kept_for_ten_seconds(signed_in, tmp_path):
    plant(tmp_path, per_day=5)
    request = RequestFactory().get("/admin/")
    page.dashboard(request)  # warm: content types, the plan of the connection
    from django.core.cache import cache

    cache.clear()
    questions = {}
    for name, make in page.ALL.items():
        with CaptureQueriesContext(connection) as asked:
            cards.kept(name, USUAL, make)
        questions[name] = len(asked)
    several = {"attention": 5, "processes": 2}  # kinds of matters; leases and heartbeats
    assert all(count <= several.get(name, 1) for name, count in questions.items()), questions
    with CaptureQueriesContext(connection) as asked:
        page.dashboard(request)
    assert len(asked) == 0


def test_attention_names_each_trouble_with_one_way_to_repair_it(signed_in, sandboxed, workspace, session, tmp_path):
    client, now = signed_in("staff"), timezone.now()
    Session.objects.filter(pk=session.pk).update(parked_at=now, deaths=3)
    gone = Workspace.objects.create(path=str(tmp_path / "gone"), name="archive")
    stuck = session_in(workspace, "stuck", "Stuck", session.created_by, now)
    Entry.objects.create(session=stuck, kind="user", text="x", created_at=now - timedelta(minutes=6))
    fresh = session_in(workspace, "fresh", "Fresh", session.created_by, now)
    Entry.objects.create(session=fresh, kind="user", text="x", created_at=now)
    refused = turn(stuck, 0, now, "error")
    ModelCall.objects.create(
        turn=refused, call_id="c", provider="northlight", model="m", started_at=now, outcome="account", error="401"
    )
    rows = {row["title"]: row for row in attention.card(USUAL, now)["rows"]}
    rows.pop(next((title for title in rows if title.startswith("Disk")), ""), None)  # true of this machine, perhaps
    assert list(rows) == ["Session parked", "Key rejected", "Messages wait", "Folder missing"]
    assert rows["Session parked"]["text"] == "Talk died 3 times"
    assert rows["Key rejected"]["text"] == "northlight refused 1 call"
    assert rows["Messages wait"]["text"] == "1 session has messages no process takes"
    assert rows["Folder missing"]["where"] == gone.name
    for row in rows.values():
        assert client.get(row["link"]).status_code == 200, row["title"]
    assert "gone" in client.get("/admin/").content.decode()


def test_a_provider_that_answered_since_is_no_longer_a_matter(session):
    now = timezone.now()
    at_work = turn(session, 0, now)
    for minutes, outcome, tokens in ((9, "account", 0), (3, "end_turn", 7)):
        at = now - timedelta(minutes=minutes)
        ModelCall.objects.create(
            turn=at_work, call_id="c", provider="northlight", model="m", started_at=at, ended_at=at, outcome=outcome,
            output_tokens=tokens,
        )  # fmt: skip
    assert attention.rejected_accounts(now) == []


def test_processes_are_this_one_and_whoever_holds_leases(session, workspace):
    now = timezone.now()
    held = {"lease_until": now + timedelta(seconds=25)}
    Session.objects.filter(pk=session.pk).update(lease_owner=this_owner(), **held)
    session_in(workspace, "far", "f", session.created_by, now, lease_owner="0123456789-1:77:5", **held)
    late = now - timedelta(seconds=1)
    session_in(workspace, "old", "o", session.created_by, now, lease_owner="0123456789-1:78:5", lease_until=late)
    found = processes.card(USUAL, now)
    own = next(row for row in found["rows"] if row["sessions"] == 1 and row["memory"])
    assert own["memory"] > 10_000_000
    assert own["beat"] == pytest.approx(5)
    silent = next(row for row in found["rows"] if "78" in row["name"])
    assert (silent["late"], silent["sessions"], silent["memory"]) == (True, 0, None)
    assert found["late"] == 1
    assert memory_of(os.getpid()) > 0
    assert memory_of(2**22 + 5) is None


def heartbeat(owner: str, seconds: float, **facts) -> None:
    """A process that was seen so many seconds ago."""
    at = timezone.now() - timedelta(seconds=seconds)
    facts = {"name": "worker", "host": "far", "pid": 77, "memory": 50 << 20, "started_at": at, "seen_at": at} | facts
    Heartbeat.objects.create(owner=owner, **facts)


def test_a_remote_worker_without_a_session_is_seen_and_missed_when_it_goes_silent(session):
    heartbeat("0123456789-1:77:5", 3)
    heartbeat("0123456789-1:78:5", 60, pid=78)
    found = processes.card(USUAL, timezone.now())
    rows = {row["name"]: row for row in found["rows"]}
    alive, silent = rows["worker, far pid 77"], rows["worker, far pid 78"]
    assert (alive["sessions"], alive["memory"], alive["late"]) == (0, 50 << 20, False)
    assert alive["beat"] == pytest.approx(3, abs=1)
    assert silent["late"]
    assert found["late"] == 1


def test_the_newest_sign_of_a_process_counts_be_it_heartbeat_or_lease(session):
    owner = "0123456789-1:77:5"
    heartbeat(owner, 60)
    Session.objects.filter(pk=session.pk).update(lease_owner=owner, lease_until=timezone.now() + timedelta(seconds=25))
    (row,) = [row for row in processes.card(USUAL, timezone.now())["rows"] if "far" in row["name"]]
    assert (row["sessions"], row["late"]) == (1, False)


@pytest.mark.django_db
def test_a_process_of_this_host_that_died_is_called_gone():
    host = this_owner().partition(":")[0]
    heartbeat(f"{host}:{2**22 + 5}:1", 30, pid=2**22 + 5)
    assert [row["name"] for row in processes.card(USUAL, timezone.now())["rows"] if row["late"]] == [
        f"worker, far pid {2**22 + 5} (gone)"
    ]


@pytest.mark.django_db
def test_a_beat_renews_the_own_row_and_forgets_who_was_silent_for_long():
    heartbeat("0123456789-1:77:5", 16 * 60)
    heartbeat("0123456789-1:78:5", 14 * 60)
    beat()
    beat()
    assert set(Heartbeat.objects.values_list("owner", flat=True)) == {"0123456789-1:78:5", this_owner()}
    forget()
    assert not Heartbeat.objects.filter(owner=this_owner()).exists()


def test_attention_texts_are_escaped(signed_in, workspace, session):
    Session.objects.filter(pk=session.pk).update(parked_at=timezone.now(), title="<script>x</script>")
    text = signed_in("staff").get("/admin/").content.decode()
    assert "<script>x" not in text
    assert "&lt;script&gt;x" in text
