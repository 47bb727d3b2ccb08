"""What is summarised and what stays (spec sessions 10, invariants 12 and 13; CASES C39, C40)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.engine.compaction import (
    NOTHING_LEFT,
    cleared,
    cut,
    estimate,
    is_due,
    local_summary,
    outdated,
    summary_text,
)
from sessions_app.engine.history import Row, history


def user(text: str = "do it") -> Row:
    return Row("user", text)


def says(text: str = "done") -> Row:
    return Row("assistant", blocks=[{"type": "text", "text": text}])


def calls(*ids: str, name: str = "file_read") -> Row:
    return Row("assistant", blocks=[{"type": "tool_use", "id": id_, "name": name, "input": {}} for id_ in ids])


def result(id_: str, name: str = "file_read", entry: int = 0) -> Row:
    block = {"type": "tool_result", "tool_use_id": id_, "content": f"content of {id_}"}
    return Row("tool_result", blocks=[block], meta={"name": name}, entry=entry)


def test_12_few_messages_are_nothing_to_do():
    assert cut([user(), says(), user(), says(), user()], keep=5) is None
    assert cut([], keep=5) is None


def test_the_newest_messages_stay_word_for_word():
    rows = [user("1"), says("2"), user("3"), says("4"), user("5"), says("6"), user("7")]
    found = cut(rows, keep=5)
    assert found
    assert ([row.text for row in found.old], found.messages) == (["1", ""], 2)
    assert found.tail == rows[2:]


def test_inputs_in_a_row_and_results_in_a_row_are_one_message():
    rows = [user("a"), user("b"), calls("1", "2"), result("1"), result("2"), says(), user()]
    found = cut(rows, keep=2)
    assert found
    assert found.messages == 3


def test_C39_a_cut_between_call_and_result_moves_on():
    rows = [user(), calls("1"), result("1"), says("x"), user()]
    found = cut(rows, keep=3)
    assert found
    assert found.tail == rows[3:]


def test_13_a_tail_of_results_only_takes_its_calls_along():
    rows = [user(), says(), user(), calls("1", "2"), result("1"), result("2")]
    found = cut(rows, keep=1)
    assert found
    assert found.tail == rows[3:]


def test_a_summary_alone_is_not_summarised_again():
    assert cut([Row("summary", "s"), says(), user(), says(), user(), says()], keep=5) is None


turns = st.lists(
    st.one_of(
        st.just([user(), says()]),
        st.integers(1, 3).map(
            lambda n: [user(), calls(*[f"{n}{i}" for i in range(n)])] + [result(f"{n}{i}") for i in range(n)] + [says()]
        ),
        st.just([user(), calls("z"), result("z"), calls("y", "w"), result("y"), result("w"), says()]),
    ),
    max_size=8,
).map(lambda parts: [row for part in parts for row in part])


@given(turns, st.integers(1, 8), st.integers(0, 3))
def test_C39_no_cut_of_any_history_leaves_a_result_without_its_call(rows: list[Row], keep: int, ends: int):
    rows = [*rows, *[user(), calls("q"), result("q")][:ends]]
    found = cut(rows, keep)
    if found is None:
        return
    assert [*found.old, *found.tail] == rows
    assert found.tail
    messages = history([Row("summary", "s"), *found.tail])
    kept = [block for row in found.tail for block in row.blocks if block["type"] == "tool_result"]
    sent = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in sent if "content of" in str(block["content"])] == [
        block["tool_use_id"] for block in kept
    ]


def test_old_results_of_a_tool_are_cleared_but_its_newest_and_what_was_not_seen_yet():
    rows = [
        user(),
        calls("1"),
        result("1", entry=1),
        calls("2"),
        result("2", entry=2),
        calls("3", name="shell_exec"),
        result("3", name="shell_exec", entry=3),
        calls("4", "5"),
        result("4", entry=4),
        result("5", entry=5),
    ]
    assert [row.entry for row in outdated(rows)] == [1]
    assert [row.entry for row in outdated([*rows, says()])] == [1, 2, 4]
    assert "[Old tool result content cleared]" in str(history(cleared(rows, outdated(rows))))
    assert "content of 2" in str(history(cleared(rows, outdated(rows))))


def test_other_tools_are_never_cleared():
    rows = [
        calls("1"),
        result("1", name="get_session_output", entry=1),
        result("2", name="get_session_output", entry=2),
        says(),
    ]
    assert outdated(rows) == []


@pytest.mark.parametrize(
    ("tokens", "fixed", "due"),
    [(161_000, 9_000, True), (160_000, 9_000, False), (0, 9_000, False), (500_000, 170_000, False)],
)
def test_C40_a_summary_is_due_over_the_limit_but_not_where_it_cannot_help(tokens: int, fixed: int, due: bool):
    assert is_due(tokens, 200_000, 0.8, fixed) is due


def test_a_local_summary_keeps_the_beginnings_of_the_newest_messages():
    rows = [user("a" * 900), calls("1"), result("1"), says("b" * 900), user("tail")]
    found = cut(rows, keep=1)
    assert found
    text = local_summary(found, most=15_000, per_message=800)
    head, body = text.split("\n", 1)
    assert head == "[Conversation Summary — 4 messages compacted (local fallback)]"
    assert body == f"[user]: {'a' * 800}\n\n[assistant]: {'b' * 800}"
    short = local_summary(found, most=900, per_message=800)
    assert short.endswith("[assistant]: " + "b" * 800)
    assert len(short) < 1000
    tools = cut([calls("1"), result("1"), calls("2"), result("2"), says()], keep=1)
    assert tools
    assert local_summary(tools, most=15_000, per_message=800).endswith(NOTHING_LEFT)


def test_the_summary_names_how_many_messages_it_stands_for():
    assert summary_text(" done \n", 12) == "[Conversation Summary — 12 messages compacted]\ndone"


def test_an_estimate_counts_text_arguments_and_images():
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "x" * 400}, {"type": "image", "source": {"data": "y" * 10_000}}],
    }
    assert 1_600 < estimate(0, [message]) < 1_700
    assert estimate(4_000, []) == 1_000
