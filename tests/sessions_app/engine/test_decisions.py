"""The pure decisions of a turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.providers.contract import ErrorKind
from sessions_app.engine.next_step import CUT_AT_LIMIT, Call, Finish, RunTools, after_reply, groups
from sessions_app.engine.retry import GiveUp, Retry, after_failure
from sessions_app.title import title_of


@pytest.mark.parametrize(
    ("kind", "failures", "expected"),
    [
        (ErrorKind.THROTTLE, 1, Retry(2.0)),
        (ErrorKind.THROTTLE, 2, Retry(4.0)),
        (ErrorKind.SERVER, 4, Retry(16.0)),
        (ErrorKind.SERVER, 5, GiveUp()),
        (ErrorKind.NETWORK, 1, Retry(1.0)),
        (ErrorKind.NETWORK, 3, Retry(4.0)),
        (ErrorKind.EMPTY, 1, Retry(1.0)),
        (ErrorKind.REPAIR, 1, Retry(0.0)),
        (ErrorKind.REPAIR, 2, GiveUp()),
        (ErrorKind.ACCOUNT, 1, GiveUp()),
        (ErrorKind.OVERFLOW, 1, GiveUp()),
        (ErrorKind.FATAL, 1, GiveUp()),
    ],
)
def test_what_is_tried_again_and_after_how_long(kind: ErrorKind, failures: int, expected: Retry | GiveUp):
    assert after_failure(kind, failures=failures, max_attempts=5, jitter=0.0) == expected


def test_a_refused_image_is_dropped_once_and_then_ends_the_turn():
    first = after_failure(ErrorKind.IMAGE, failures=1, max_attempts=5, jitter=0.0)
    second = after_failure(ErrorKind.IMAGE, failures=2, max_attempts=5, jitter=0.0, images_dropped=True)
    assert first == Retry(0.0, drop_images=True)
    assert second == GiveUp()


def test_the_vendors_own_wait_is_kept():
    verdict = after_failure(ErrorKind.THROTTLE, failures=1, max_attempts=5, jitter=0.5, retry_after=20)
    assert verdict == Retry(20.5)


@given(st.sampled_from(list(ErrorKind)), st.integers(1, 10), st.floats(0, 1), st.none() | st.floats(0, 1e9))
def test_no_wait_is_longer_than_a_minute(kind: ErrorKind, failures: int, jitter: float, retry_after: float | None):
    verdict = after_failure(kind, failures=failures, max_attempts=10, jitter=jitter, retry_after=retry_after)
    assert isinstance(verdict, GiveUp) or 0 <= verdict.seconds <= 60


def use(name: str, tool: str = "grep") -> dict:
    return {"type": "tool_use", "id": name, "name": tool, "input": {"a": 1}}


def test_a_reply_with_calls_runs_them_in_order():
    step = after_reply("tool_use", [{"type": "text", "text": "x"}, use("1"), use("2")], {"2": "bad"})
    assert step == RunTools([Call("1", "grep", {"a": 1}), Call("2", "grep", {"a": 1}, "bad")])


def test_a_doubled_call_id_runs_once():
    assert after_reply("tool_use", [use("1"), use("1", "glob")], {}) == RunTools([Call("1", "grep", {"a": 1})])


def test_a_reply_cut_at_the_limit_runs_nothing_and_says_so():
    assert after_reply("max_tokens", [use("1")], {}) == Finish("max_tokens", [CUT_AT_LIMIT])


def test_only_neighbouring_read_only_calls_run_at_once():
    calls = [Call(str(number), name, {}) for number, name in enumerate(["r", "r", "w", "r", "w", "w"])]
    grouped = [[call.name for call in group] for group in groups(calls, lambda call: call.name == "r")]
    assert grouped == [["r", "r"], ["w"], ["r"], ["w"], ["w"]]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix the export", "Fix the export"),
        ("[Currently viewing: a.py]\n\nFix it", "Fix it"),
        ("[Currently viewing: a.py]\n[Selected text in a.py:1-2]\n```py\nx = 1\n```\n\nExplain", "Explain"),
        ("[Selected text in a.py:1-2]\n```\nx\n```", None),
        ("[Referenced files:\n  - a.py\n  - b c.py\n]\n\nCompare them", "Compare them"),
        ("  \n ", None),
        ("x" * 80, "x" * 60),
        ("two\nlines", "two lines"),
    ],
)
def test_titles_leave_out_what_the_app_added(text: str, title: str | None):
    assert title_of(text) == title
