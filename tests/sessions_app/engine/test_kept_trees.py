"""Trees that a terminal process keeps: nobody else runs them while it lives (ARCHITECTURE 5.2)."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from agents_app.agents import load_agent
from halo_site.lib.access_level import Access
from sessions_app.delegation import actions as delegation
from sessions_app.delegation import reports
from sessions_app.engine import kept_trees, manual_compact, recovery
from sessions_app.engine import owner as owners
from sessions_app.engine.intake import claim_and_drain
from sessions_app.engine.lease import waiting_sessions
from sessions_app.engine.store import begin_call
from sessions_app.engine.turn_end import end_turn
from sessions_app.engine.values import Ending
from sessions_app.models import Entry, Session, Turn

from ..conftest import Say

pytestmark = pytest.mark.django_db

MINE = owners.this_owner()
DEAD = f"{owners.boot_and_namespace()}:4194305:1"
FAR_AWAY = "0badcafe-1:77:1"


def turn_over(key: int, runner: str) -> None:
    found = claim_and_drain(key, runner)
    assert found
    batch = found[1]
    end_turn(batch.lease, batch, Ending(status="done", stop_reason="end_turn"), 1)


def child_of(key: int) -> Session:
    sid = delegation.start(
        key,
        load_agent(None, "default"),
        message="dig",
        context="",
        level=Access.FULL,
        working_dir=None,
        title="",
        max_depth=16,
    )
    return Session.objects.get(sid=sid)


def test_6_a_kept_tree_is_claimed_by_its_keeper_alone(say: Say):
    key = say("hello", runner=MINE).session_key
    assert list(waiting_sessions()) == []
    assert claim_and_drain(key) is None
    assert list(waiting_sessions(MINE)) == [key]
    turn_over(key, MINE)
    child = child_of(key)
    assert child.runner == MINE
    assert claim_and_drain(child.pk) is None
    assert not kept_trees.is_quiet(key)
    turn_over(child.pk, MINE)
    assert reports.owing() == []
    assert reports.owing(MINE) == [child.pk]
    assert not kept_trees.let_go(key, MINE)
    reports.settle(child.pk)
    assert not kept_trees.let_go(key, MINE)  # the report waits
    turn_over(key, MINE)
    assert kept_trees.let_go(key, MINE)
    assert not Session.objects.exclude(runner="").exists()


def test_what_comes_after_it_let_go_is_anybodys(say: Say):
    key = say("hello", runner=MINE).session_key
    turn_over(key, MINE)
    assert kept_trees.let_go(key, MINE)
    say("more")
    assert claim_and_drain(key)


def test_a_message_that_came_in_the_last_instant_keeps_the_tree(say: Say):
    key = say("hello", runner=MINE).session_key
    turn_over(key, MINE)
    say("from a browser")
    assert not kept_trees.let_go(key, MINE)
    assert list(waiting_sessions(MINE)) == [key]


def test_a_tree_somebody_runs_is_not_taken(say: Say):
    key = say("hello").session_key
    child = child_of(key)
    claim_and_drain(child.pk)
    Session.objects.filter(pk=child.pk).update(lease_owner=FAR_AWAY)
    say("from a terminal", runner=MINE)
    assert Session.objects.get(pk=key).runner == ""
    assert claim_and_drain(key)


def test_a_tree_kept_by_a_living_process_is_not_taken_and_one_of_a_dead_process_is(say: Say):
    key = say("hello", runner=FAR_AWAY).session_key
    say("two", runner=MINE)
    assert Session.objects.get(pk=key).runner == FAR_AWAY
    Session.objects.filter(pk=key).update(runner=DEAD)
    say("three", runner=MINE)
    assert Session.objects.get(pk=key).runner == MINE


def test_no_compaction_by_others_starts_in_a_kept_tree(say: Say):
    key = say("hello", runner=MINE).session_key
    turn_over(key, MINE)
    assert manual_compact.request(key) == "running"


@pytest.mark.parametrize("asked_the_model", [True, False])
def test_24_a_run_that_died_with_its_terminal_is_marked_and_not_nudged(say: Say, asked_the_model: bool):
    key = say("hello", runner=MINE).session_key
    found = claim_and_drain(key, MINE)
    assert found
    if asked_the_model:
        begin_call(found[1].lease, found[1], "t1", 0, "demo", "demo", None)
    child = child_of(key)
    Session.objects.update(runner=DEAD)
    Session.objects.filter(pk=key).update(lease_owner=DEAD)
    assert kept_trees.give_back_abandoned() == 0  # recovery has it first
    assert recovery.recover_dead() == 1
    assert kept_trees.give_back_abandoned() == 1
    assert Turn.objects.get(session=key).status == Turn.Status.INTERRUPTED
    child.refresh_from_db()
    assert (child.runner, child.report_due, child.stopped_at is not None) == ("", False, True)
    assert list(waiting_sessions()) == []
    assert not Entry.objects.filter(origin__kind="nudge").exists()
    say("go on")
    assert list(waiting_sessions()) == [key]


def test_what_a_person_sent_to_a_dead_terminals_session_is_run_by_a_server(say: Say):
    key = say("hello", runner=MINE).session_key
    turn_over(key, MINE)
    say("from a browser")
    Session.objects.update(runner=DEAD)
    assert kept_trees.give_back_abandoned() == 1
    assert list(waiting_sessions()) == [key]


def test_a_keeper_on_another_host_counts_as_gone_after_a_silent_minute(say: Say):
    key = say("hello", runner=FAR_AWAY).session_key
    assert kept_trees.abandoned() == []
    Session.objects.filter(pk=key).update(updated_at=timezone.now() - timedelta(seconds=61))
    assert kept_trees.abandoned() == [key]
    Session.objects.filter(pk=key).update(lease_owner=FAR_AWAY, lease_until=Now() + timedelta(seconds=9))
    assert kept_trees.abandoned() == []


def test_13_a_terminal_recovers_only_its_own_tree(say: Say):
    key = say("hello").session_key
    claim_and_drain(key)
    Session.objects.filter(pk=key).update(lease_owner=DEAD)
    assert recovery.dead_sessions(MINE) == []
    assert recovery.dead_sessions() == [key]
