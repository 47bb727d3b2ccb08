"""Circles, hops, money, what holds a report back, and how reports read: tables (spec relay R3.8, R4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_app.rules import (
    ADVICE,
    NO_OUTPUT,
    End,
    capped,
    cycle,
    final_report,
    handed_back,
    handed_to,
    held_back,
    too_dear,
    too_far,
)
from sessions_app.chain import Chain, Waiting

A, B, C, D = (Waiting(key, f"/w/{name} · s") for key, name in ((1, "a"), (2, "b"), (3, "c"), (4, "d")))


@pytest.mark.parametrize(
    ("callers", "caller", "target", "named"),
    [
        ((), A, B, ""),
        ((), A, A, ""),  # a first self-dispatch is allowed
        ((A,), A, A, "a → a"),  # one made while answering it is not
        ((A,), B, A, "a → b → a"),
        ((A, B), C, A, "a → b → c → a"),
        ((A, B), C, B, "b → c → b"),
        ((A, B, C), D, A, "a → b → c → d → a"),
        ((A, B), C, D, ""),
        ((A, B), B, B, "b → b"),
    ],
)
def test_a_circle_of_any_length_is_refused_with_its_chain(callers, caller, target, named):
    said = cycle(Chain(("x",), len(callers), callers) if callers else None, caller, target)
    path = " → ".join(f"/w/{name} · s" for name in named.split(" → ")) if named else ""
    assert said == (f"relay cycle: {path}; answer with your final text instead" if path else "")


def test_a_chain_grows_by_its_caller_and_shrinks_by_it_on_the_way_back():
    first = handed_to(None, A, "new")
    assert first == Chain(("new",), 1, (A,))
    second = handed_to(Chain(first.ids, 1, (A,), (7,)), B, "unused")
    assert second == Chain(("new",), 2, (A, B), (7,))
    assert handed_back(second, B.root) == Chain(("new",), 1, (A,), (7,))
    assert handed_back(first, A.root) == Chain(("new",), 0, ())


def test_hops_are_counted_with_the_one_about_to_be_made():
    assert too_far(8, 8) == ""
    assert "handed on 8 times, 8 are allowed" in too_far(9, 8)


@pytest.mark.parametrize(
    ("spent", "cap", "refused"),
    [
        ({}, 1.0, False),
        ({"USD": 1_000_000}, 1.0, False),
        ({"USD": 1_000_001}, 1.0, True),
        ({"USD": 10**12}, None, False),
        ({"USD": 500_000, "CNY": 2_000_000}, 1.0, True),
    ],
)
def test_a_chain_that_cost_more_than_its_cap_is_refused_with_the_sum(spent, cap, refused):
    said = too_dear(spent, cap)
    assert bool(said) is refused
    if refused:
        micros, currency = max((micros, currency) for currency, micros in spent.items())
        assert f"{micros / 1_000_000:.4f} {currency}" in said


@pytest.mark.parametrize(
    ("waits", "held"),
    [
        ({}, False),
        ({1: set()}, False),
        ({1: {2}, 2: set()}, True),
        ({1: {2}, 2: {1}}, False),  # a circle of waits: somebody begins
        ({1: {2}, 2: {3}, 3: {1}}, False),
        ({1: {2, 4}, 2: {1}, 4: set()}, True),
        ({1: {2}, 2: {3}, 3: {2}}, True),
    ],
)
def test_a_report_waits_for_what_was_handed_on_but_never_in_a_circle(waits, held):
    assert held_back(1, waits) is held


@given(st.dictionaries(st.integers(1, 6), st.sets(st.integers(1, 6)), max_size=6))
def test_whatever_waits_for_whatever_one_can_always_be_paid(waits):
    open_rows = {key: {other for other in others if other in waits} for key, others in waits.items()}
    while open_rows:
        payable = [key for key in open_rows if not held_back(key, open_rows)]
        assert payable
        del open_rows[payable[0]]
        open_rows = {key: others - {payable[0]} for key, others in open_rows.items()}


def test_a_report_without_words_says_so():
    text = final_report(End(" \n"), workspace="/w/dept", sid="sid_x", limit=100)
    assert text == f"[Relay report · workspace /w/dept · session sid_x · status: completed]\n\n{NO_OUTPUT}"


def test_what_was_handed_on_and_never_answered_is_noted():
    text = final_report(End("Done", unanswered=2), workspace="/w", sid="s", limit=1000)
    assert "\n\n[Not answered within 24 hours: 2 task(s) it had handed on.]\n\nDone" in text


@given(st.sampled_from(list(ADVICE)), st.text(max_size=2000), st.text(max_size=2000), st.integers(700, 9000))
def test_8_the_marker_survives_every_cap(abort, error, text, limit):
    report = final_report(End(text, abort, error), workspace="/w", sid="s", limit=limit)
    header, _, body = report.partition("\n\n")
    assert header == "[Relay report · workspace /w · session s · status: aborted]"
    assert body.startswith("[RELAY TARGET ABORTED: ")
    assert f"] {ADVICE[abort]}" in body


@given(st.text(max_size=300), st.integers(1, 300))
def test_a_cut_report_keeps_its_head_and_names_the_whole(text, limit):
    cut = capped(text, "/w", "s", limit)
    if len(text) <= limit:
        assert cut == text
    else:
        assert cut.startswith(text[:limit] + "\n\n[Report truncated: ")
        assert cut.endswith(
            f'{len(text)} chars total, showing first {limit}. Use relay_read("/w", "s") for the full result.]'
        )
