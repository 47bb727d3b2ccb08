"""Who runs a session, and what happens to it when they die."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from halo_site.lib.access_level import Access
from sessions_app import actions, queue_edits
from sessions_app.engine import owner as owners
from sessions_app.engine import recovery
from sessions_app.engine.access import present_level
from sessions_app.engine.context import load_context
from sessions_app.engine.engine import next_work
from sessions_app.engine.history import NOT_RUN, OUTCOME_UNKNOWN
from sessions_app.engine.intake import claim_and_drain, drain
from sessions_app.engine.lease import LeaseLost, renew, waiting_sessions, what_waits
from sessions_app.engine.queue import queue_items
from sessions_app.engine.store import begin_call, save_progress, save_reply
from sessions_app.engine.turn_end import end_turn
from sessions_app.engine.values import CallEnd, Ending, Intent, Said
from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn
from workspaces_app.models import Membership, Workspace

from ..conftest import Say

pytestmark = pytest.mark.django_db


def claimed(key: int):
    found = claim_and_drain(key)
    assert found
    return found[1]


def expire(key: int) -> None:
    Session.objects.filter(pk=key).update(lease_until=Now() - timedelta(seconds=1))


def test_20_a_claimed_session_cannot_be_claimed_again(say: Say):
    key = say("hello").session_key
    assert claim_and_drain(key)
    assert claim_and_drain(key) is None


def test_a_session_that_somebody_runs_is_looked_at_once_without_a_lock(say: Say):
    key = say("hello").session_key
    assert what_waits(key) == ""
    assert claim_and_drain(key)
    with CaptureQueriesContext(connection) as looked:
        assert next_work(key, "", look=True) is None
    (query,) = looked.captured_queries
    assert query["sql"].startswith("SELECT")
    assert "FOR UPDATE" not in query["sql"]


def test_a_claim_loads_what_it_needs_of_the_session_at_once(say: Say):
    key = say("hello").session_key
    with CaptureQueriesContext(connection) as asked:
        assert claim_and_drain(key)
    deferred = [q["sql"] for q in asked.captured_queries if q["sql"].endswith("LIMIT 21")]  # what `get()` asks
    assert deferred == []


def test_an_empty_queue_is_not_claimed(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    assert end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    assert claim_and_drain(key) is None
    assert Session.objects.get().lease_owner is None


def test_9_what_came_during_the_turn_is_not_left_behind_by_the_release(say: Say):
    key = say("one").session_key
    batch = claimed(key)
    say("two")
    assert not end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    again = drain(batch.lease)
    assert again
    assert [row.text for row in again.rows] == ["two"]


def test_a_frozen_worker_that_wakes_writes_nothing(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    expire(key)
    assert recovery.recover(key)
    other = claimed(key)
    before = list(Entry.objects.values())
    with pytest.raises(LeaseLost):
        save_progress(batch.lease, batch, Said("t", 1, blocks=[{"type": "text", "text": "late"}]), 5)
    with pytest.raises(LeaseLost):
        end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 5)
    assert list(Entry.objects.values()) == before
    assert Session.objects.get().lease_epoch == other.lease.epoch


def test_a_late_renewal_counts_while_the_epoch_is_ours(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    expire(key)
    assert renew([batch.lease]) == {key}
    assert not recovery.recover(key)


def test_5_a_message_whose_turn_never_asked_the_model_is_simply_run_again(say: Say):
    accepted = say("hello")
    claimed(accepted.session_key)
    expire(accepted.session_key)
    assert recovery.recover_dead() == 1
    assert not Turn.objects.exists()
    assert [item["text"] for item in queue_items(accepted.session_key)] == ["hello"]
    assert claimed(accepted.session_key).index == 0


def test_21_an_interrupted_root_is_nudged_once(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    begin_call(batch.lease, batch, "t1", 0, "p", "m", None)
    expire(key)
    assert recovery.recover_dead() == 1
    assert recovery.recover_dead() == 0
    assert Turn.objects.get().status == "interrupted"
    assert [item["text"] for item in queue_items(key)] == [recovery.NUDGE]
    assert ModelCall.objects.get().outcome == "interrupted"
    assert Session.objects.get().deaths == 1


def test_21_after_a_clean_end_there_is_nobody_to_nudge(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    begin_call(batch.lease, batch, "t1", 0, "p", "m", None)
    assert end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    expire(key)  # long ago
    assert recovery.recover_dead() == 0
    assert queue_items(key) == []
    assert (Turn.objects.get().status, Session.objects.get().deaths) == ("done", 0)


def dies(key: int) -> None:
    """The session's run asks the model, and its process is gone."""
    batch = claimed(key)
    begin_call(batch.lease, batch, f"t{batch.turn}", 0, "p", "m", None)
    expire(key)


@pytest.fixture
def member(workspace: Workspace) -> User:
    user = User.objects.create_user("member")
    Membership.objects.create(workspace=workspace, user=user, level="workspace")
    return user


def test_C5_work_resumed_after_a_crash_has_the_people_and_the_level_it_was_begun_with(say: Say, member: User):
    key = say("hello").session_key  # the session is the owner's, at full
    batch = claimed(key)
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    say("do it", user_id=member.pk, level=Access.WORKSPACE)
    for _ in range(2):  # and again when it dies once more
        dies(key)
        recovery.recover_dead()
        nudge = Entry.objects.get(session=key, turn=None)
        assert (nudge.origin["level"], nudge.origin["people"]) == ("workspace", [member.pk])
    batch = claimed(key)
    assert (batch.level, batch.people) == (Access.WORKSPACE, (member.pk,))
    Membership.objects.filter(user=member).update(level="readonly")
    assert present_level(Session.objects.get(), batch.level, batch.people) == Access.READONLY


def test_C5_what_a_dead_turn_had_cut_short_is_not_resumed_above_its_level(say: Say, member: User, owner: User):
    key = say("do it", user_id=member.pk, level=Access.WORKSPACE).session_key
    batch = claimed(key)
    say("a question in between")  # of the owner, at full
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="interjected"), 1)
    second = drain(batch.lease)
    assert second
    begin_call(second.lease, second, "t2", 0, "p", "m", None)
    expire(key)
    recovery.recover_dead()
    batch = claimed(key)
    assert (batch.level, sorted(batch.people)) == (Access.WORKSPACE, sorted([member.pk, owner.pk]))


def child_of(root: int, sid: str, asker: User, level: str) -> int:
    now = timezone.now()
    child = Session.objects.create(
        workspace=Session.objects.get(pk=root).workspace, sid=sid, parent_id=root, root_id=root, agent_id="default",
        agent_name="Default", created_by=asker, access_level=level, report_due=True, created_at=now, updated_at=now,
    )  # fmt: skip
    told = {"kind": "agent", "level": level, "name": "Default", "session": "sid_one", "people": [asker.pk]}
    Entry.objects.create(session=child, kind="agent", text="part", origin=told, created_at=now)
    return child.pk


@pytest.mark.parametrize("root_first", [True, False])
def test_C5_lost_children_and_their_root_are_one_nudge_at_the_lowest_level_of_them_all(
    say: Say, member: User, owner: User, root_first: bool
):
    root = say("hello").session_key
    children = [child_of(root, "sid_one>a", owner, "full"), child_of(root, "sid_one>b", member, "workspace")]
    for key in (root, *children):
        dies(key)
    for key in (root, *children) if root_first else (*children, root):
        assert recovery.recover(key)
    nudge = Entry.objects.get(session=root, turn=None)
    assert nudge.text == recovery.NUDGE + recovery.LOST.format(ids="sid_one>a, sid_one>b")
    assert (nudge.origin["level"], nudge.origin["people"]) == ("workspace", sorted([owner.pk, member.pk]))
    assert claimed(root).level == Access.WORKSPACE


def test_C5_an_idle_root_hears_of_a_lost_child_at_the_level_of_that_child(say: Say, member: User):
    root = say("hello").session_key
    batch = claimed(root)
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    dies(child_of(root, "sid_one>a", member, "workspace"))
    recovery.recover_dead()
    assert Entry.objects.get(session=root, turn=None).text == recovery.ONLY_LOST.format(ids="sid_one>a")
    assert claimed(root).level == Access.WORKSPACE


@pytest.mark.parametrize("asked_the_model", [True, False])
def test_a_stop_that_the_run_did_not_live_to_see_is_finished_by_recovery(say: Say, asked_the_model: bool):
    key = say("talk").session_key
    batch = claimed(key)
    if asked_the_model:
        begin_call(batch.lease, batch, "t1", 0, "p", "m", None)
    say("and more")
    actions.stop(key)
    later = say("something new").entry_id
    expire(key)
    assert recovery.recover_dead() == 1
    assert [item["entryId"] for item in queue_items(key)] == [later]  # only what came after the Stop runs
    assert set(Turn.objects.values_list("status", flat=True)) == {"aborted"}
    assert not Entry.objects.filter(text__contains="Server restarted").exists()


def test_calls_of_a_dead_run_are_answered_truthfully(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    call, entry, _ = begin_call(batch.lease, batch, "t1", 0, "p", "m", None)
    blocks = [{"type": "tool_use", "id": name, "name": "shell_exec", "input": {}} for name in ("a", "b")]
    said = Said("t1", entry, blocks=blocks)
    save_reply(batch.lease, batch, said, CallEnd(call, "tool_use"), 1, [Intent("a", "shell_exec")])
    expire(key)
    recovery.recover_dead()
    answers = {entry.meta["tool_use_id"]: entry.text for entry in Entry.objects.filter(kind="tool_result")}
    assert answers == {"a": OUTCOME_UNKNOWN, "b": NOT_RUN}
    assert ToolCall.objects.get().outcome == "unknown"


def test_a_session_that_dies_three_times_in_a_row_is_parked_with_a_notice(say: Say):
    key = say("hello").session_key
    for _ in range(3):
        batch = claimed(key)
        begin_call(batch.lease, batch, "t", 0, "p", "m", None)
        expire(key)
        recovery.recover_dead()
    session = Session.objects.get()
    assert session.parked_at
    assert "parked" in Entry.objects.get(kind="notice").text
    assert claim_and_drain(key) is None
    assert list(waiting_sessions()) == []
    say("try again")
    assert Session.objects.get().parked_at is None
    assert claimed(key)


def test_a_turn_that_ends_forgets_earlier_deaths(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    begin_call(batch.lease, batch, "t", 0, "p", "m", None)
    expire(key)
    recovery.recover_dead()
    batch = claimed(key)
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)
    assert Session.objects.get().deaths == 0


def test_12_a_dead_process_of_this_host_is_noticed_before_its_lease_runs_out(say: Say, monkeypatch: pytest.MonkeyPatch):
    key = say("hello").session_key
    claimed(key)
    gone = f"{owners.boot_and_namespace()}:999999999:1"
    Session.objects.filter(pk=key).update(lease_owner=gone)
    assert recovery.dead_sessions() == [key]
    Session.objects.filter(pk=key).update(lease_owner="elsewhere-1:999999999:1")
    assert recovery.dead_sessions() == []


def test_runs_ended_by_a_shutdown_count_no_death(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    begin_call(batch.lease, batch, "t", 0, "p", "m", None)
    recovery.hand_back({key: batch.lease.epoch})
    session = Session.objects.get()
    assert (session.lease_owner, session.deaths) == (None, 0)
    assert [item["text"] for item in queue_items(key)] == [recovery.NUDGE]


def test_frames_of_the_next_run_are_numbered_above_those_of_the_dead_one(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    save_progress(batch.lease, batch, None, (batch.lease.epoch << 32) + 7)
    expire(key)
    recovery.recover_dead()
    session = Session.objects.get()
    assert session.seq > (batch.lease.epoch << 32) + 7
    assert session.seq <= claimed(key).lease.epoch << 32


def test_a_lost_wake_up_is_found_by_the_scan(say: Say):
    key = say("hello").session_key
    assert list(waiting_sessions()) == [key]
    claimed(key)
    assert list(waiting_sessions()) == []


def test_the_context_is_in_reading_order_whatever_the_order_of_ids(say: Say):
    key = say("one").session_key
    two = say("two").entry_id
    queue_edits.move_queued(key, two, before=Entry.objects.earliest("id").pk)
    claimed(key)
    assert [row.text for row in load_context(key)] == ["two", "one"]


def test_rights_that_sink_are_seen_at_the_next_look(say: Say, workspace: Workspace, owner: User):
    key = say("hello").session_key
    batch = claimed(key)
    session = Session.objects.get()
    assert present_level(session, batch.level, batch.people) is Access.FULL
    Membership.objects.update(level="workspace")
    assert present_level(session, batch.level, batch.people) is Access.WORKSPACE
    Membership.objects.all().delete()
    assert present_level(session, batch.level, batch.people) is Access.READONLY


def test_a_claim_needs_the_database_clock_not_ours(say: Say):
    key = say("hello").session_key
    batch = claimed(key)
    Session.objects.filter(pk=key).update(lease_until=timezone.now() + timedelta(hours=5))
    assert not recovery.recover(key)
    assert batch.lease.epoch == 1
