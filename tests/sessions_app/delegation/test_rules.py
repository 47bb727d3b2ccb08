"""Ids and texts of a tree (spec sessions 1, 9; tools 3.13)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.agents import load_agent
from halo_site.lib.access_level import Access
from halo_site.lib.general_settings import GENERAL_BY_KEY
from halo_site.lib.ids import LONGEST_ROOT, LONGEST_SID, is_safe_id
from sessions_app import actions
from sessions_app.delegation import actions as delegation
from sessions_app.delegation.rules import (
    Sibling,
    TurnEnd,
    child_id,
    depth,
    door,
    in_tree,
    interim_owed,
    opening,
    report_body,
    root_of,
    sibling_status,
)
from sessions_app.models import Session, Tombstone

from ..conftest import Say

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def body(**changes: object) -> str:
    values: dict[str, object] = {"final": "", "output": "", "status": "done", "error": "", "sid": "r>c", "limit": 100}
    return report_body(**values | changes)  # type: ignore[arg-type]


@given(st.lists(st.none(), min_size=1, max_size=10))
def test_ids_of_a_tree_tell_root_and_depth(levels: list[None]):
    sid = "root"
    for _ in levels:
        sid = child_id(sid)
    assert (root_of(sid), depth(sid)) == ("root", len(levels) + 1)
    assert in_tree(sid, "root")
    assert in_tree("root", sid)
    assert not in_tree(sid, "roof")
    assert not in_tree(sid, "root2>x")


def test_the_deepest_id_that_settings_allow_fits_and_can_be_named():
    sid = "会" * LONGEST_ROOT
    for _ in range(int(GENERAL_BY_KEY["session.max_nesting_depth"].high or 0) - 1):
        sid = child_id(sid)
    assert len(sid) <= LONGEST_SID
    assert is_safe_id(sid)
    assert not is_safe_id("r" * (LONGEST_ROOT + 1))
    assert not is_safe_id("r>" + "会" * 1000)


@pytest.mark.django_db
def test_a_session_at_the_deepest_level_is_stored_and_deleted(say: Say):
    parent = Session.objects.get(pk=say("hi", sid="r" * LONGEST_ROOT).session_key)
    agent = load_agent(None, "default")
    for _ in range(63):
        sid = delegation.start(
            parent.pk,
            agent,
            message="dig",
            context="",
            level=Access.FULL,
            working_dir=None,
            title="",
            max_depth=64,
        )
        parent = Session.objects.get(sid=sid)
    assert depth(parent.sid) == 64
    actions.delete(parent.root_key)
    assert Tombstone.objects.filter(sid=parent.sid).exists()


def test_a_child_reads_its_own_id_the_background_and_the_task():
    assert opening("r>c", " Background ", "Do it") == "[Session r>c]\n\nBackground\n\nDo it"
    assert opening("r>c", "", "Do it") == "[Session r>c]\n\nDo it"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"final": "The end", "output": "Step\n\nThe end"}, "The end"),
        ({"output": "Only steps"}, "Only steps"),
        ({}, "(no output)"),
        ({"status": "error", "error": "No key."}, "SUB-AGENT ABORTED: No key."),
        ({"status": "aborted", "output": "half"}, "SUB-AGENT ABORTED: It was stopped.\nWhat it had said:\nhalf"),
        ({"status": "interrupted"}, "SUB-AGENT ABORTED: The server stopped."),
    ],
)
def test_30_a_report_is_the_closing_text_and_never_an_empty_success(given: dict[str, object], text: str):
    assert body(**given) == text


def test_9_a_long_report_is_cut_and_names_the_way_to_the_rest():
    text = body(final="x" * 150)
    assert text.startswith("x" * 100 + "\n[Report truncated: 150 chars total, showing first 100. ")
    assert 'get_session_output("r>c")' in text
    assert body(final="x" * 100) == "x" * 100


def test_8_a_root_is_told_whether_more_will_come():
    child = Sibling("Worker", "dig " * 40, NOON, NOON)
    text = sibling_status(NOON, [child], 0)
    assert text.splitlines()[:2] == [
        "[System @ 2026-03-04T12:00:00Z] Do NOT wrap up yet — 1 sub-agent(s) still running, 0 report(s) still queued.",
        "Still running:",
    ]
    assert text.splitlines()[2].startswith("  - Worker (created 2026-03-04T12:00:00Z, last active ")
    assert len(text.splitlines()[2].partition("): ")[2]) == 80
    assert "Do NOT wrap up yet" in sibling_status(NOON, [], 1)
    assert "All sub-agents you dispatched have completed" in sibling_status(NOON, [], 0)


@pytest.mark.parametrize(
    ("parent", "batch", "opens"),
    [
        (None, [(None, {"kind": "relay", "dispatch": 7})], {"kind": "relay", "dispatches": [7]}),
        (None, [(None, {"kind": "relay"})], {"kind": "relay", "dispatches": []}),  # one way
        (None, [(None, {"kind": "person"}), (None, {"kind": "relay", "dispatch": 7})], "relay"),
        (None, [(None, {"kind": "person", "text": "[channel: relay | from: /w]"})], None),  # typed
        (None, [(5, {"kind": "report"})], None),  # a child
        (None, [(5, {"kind": "relay", "dispatch": 7})], None),  # of a session: not by relay
        (1, [(1, {"kind": "agent"})], {"kind": "parent"}),
        (1, [(4, {"kind": "agent"})], None),  # a sibling
        (1, [(4, {"kind": "agent"}), (1, {"kind": "agent"})], "parent"),
        (1, [(None, {"kind": "person"})], None),
        (1, [(None, {"kind": "relay", "dispatch": 7})], None),  # reports come from roots only
        (None, [], None),
    ],
)
def test_36_the_door_opens_by_stored_origin_alone(parent, batch, opens):
    found = door(parent, batch)
    assert (found["kind"] if found and isinstance(opens, str) else found) == opens


@pytest.mark.parametrize(
    ("final", "kicked", "waits", "busy", "owed"),
    [
        (True, False, False, False, False),  # 18: the final report carries it
        (True, False, True, False, True),  # 19, 20: something waits
        (False, False, True, False, False),  # it ended with a tool: the next turn goes on with it
        (False, True, True, False, True),  # 17, 23: continue_task, its text is before the call
        (True, False, False, True, True),  # 25: a child still works
        (False, False, False, True, True),
    ],
)
def test_an_answer_in_between_is_owed_when_the_final_report_would_miss_it(final, kicked, waits, busy, owed):
    assert interim_owed(TurnEnd(final=final, kicked=kicked, waits=waits, busy=busy)) is owed
