"""What follows from a report of the worker (spec sessions 15; invariant 25)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.goals.state import Goal, Report, duration, fingerprint, judge

NOW = 10_000_000
RUNNING = Goal("goal_1", "w", "running", NOW, started_at=NOW, spec_hash="spec", round=1)


def report(**changes: object) -> Report:
    values: dict[str, object] = {
        "text": "done a bit",
        "turn": 7,
        "spec_hash": "spec",
        "tokens": 100,
        "now": NOW + 60_000,
    }
    return Report(**values | changes)  # type: ignore[arg-type]


def test_a_round_counts_and_is_told_with_its_figures():
    verdict = judge(RUNNING, report(now=NOW + 72 * 60_000))
    assert verdict.header == "[Goal round 2/10 · elapsed 1h12m · no-progress 0/3]"
    assert (verdict.goal.round, verdict.goal.status, verdict.goal.reported) == (2, "running", 7)


def test_25_a_question_moves_no_counter():
    verdict = judge(RUNNING, report(text="<NEED_INPUT> blue or red?"))
    assert verdict.header == "[Goal question · round 1/10]"
    assert replace(verdict.goal, reported=-1) == RUNNING


def test_25_a_changed_spec_halts_before_anything_else():
    verdict = judge(RUNNING, report(text="<NEED_INPUT>", spec_hash="other"))
    assert (verdict.goal.status, verdict.goal.halt_reason) == ("halted", "spec-tampered")
    assert verdict.header == "[Goal HALTED: spec-tampered]"
    assert verdict.goal.round == 1


@pytest.mark.parametrize(
    ("goal", "given_report", "reason"),
    [
        (replace(RUNNING, round=9), report(), "round cap 10 reached"),
        (RUNNING, report(now=NOW + 4 * 3600 * 1000 + 1), "time cap 4h00m reached"),
        (replace(RUNNING, max_tokens=50, token_baseline=49), report(), "token cap 50 reached"),
        (
            replace(RUNNING, no_progress=2, last_report_hash=fingerprint("done a bit")),
            report(),
            "3 unchanged reports",
        ),
    ],
)
def test_each_guardrail_halts_and_names_itself(goal: Goal, given_report: Report, reason: str):
    verdict = judge(goal, given_report)
    assert (verdict.goal.status, verdict.goal.halt_reason) == ("halted", reason)


def test_a_changed_report_is_progress_again():
    stuck = replace(RUNNING, no_progress=2, last_report_hash=fingerprint("the same"))
    assert judge(stuck, report(text="something new")).goal.no_progress == 0


@given(st.lists(st.sampled_from(["a", "b", "<NEED_INPUT>"]), max_size=40), st.integers(1, 12))
def test_no_sequence_of_reports_passes_a_cap(texts: list[str], cap: int):
    goal = Goal("goal_1", "w", "running", NOW, started_at=NOW, spec_hash="spec", max_rounds=cap)
    for turn, text in enumerate(texts):
        if goal.status != "running":
            break
        goal = judge(goal, report(text=text, turn=turn)).goal
        assert goal.round <= cap
        assert goal.no_progress <= 3
    assert Goal.read(goal.stored()) == goal


def test_durations():
    assert [duration(ms) for ms in (-5, 0, 59_000, 60_000, 3_600_000, 90 * 60_000)] == [
        "0m",
        "0m",
        "0m",
        "1m",
        "1h00m",
        "1h30m",
    ]
