"""What the model gets is valid whatever the log holds."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.engine.history import CUT_OFF, NO_RESULT, Row, history, repair


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "grep", "input": {}}


def result(name: str, content: str = "found") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def assert_valid(messages: list[dict[str, Any]]) -> None:
    """The rules both dialects share; the strict fake servers check them on the wire as well."""
    if messages:
        assert messages[0]["role"] == "user"
    for one, two in pairwise(messages):
        assert one["role"] != two["role"]
    open_calls: list[str] = []
    for message in messages:
        assert message["content"]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert results == (open_calls if message["role"] == "user" else [])
        heads = [block["type"] for block in message["content"][: len(results)]]
        assert heads == ["tool_result"] * len(results)
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert len(open_calls) == len(set(open_calls))
    assert not open_calls


def test_a_valid_conversation_stays_as_it_is():
    messages = [user(text("a")), assistant(text("b"), call("1")), user(result("1"), text("c")), assistant(text("d"))]
    assert repair(deepcopy(messages)) == messages


def test_neighbouring_messages_of_one_role_are_merged():
    assert repair([user(text("a")), user(text("b"))]) == [user(text("a"), text("b"))]


def test_C37_missing_results_are_made_up_right_behind_their_calls():
    messages = repair([user(text("a")), assistant(call("1"), call("2"), call("3")), user(result("2"), text("go on"))])
    first, second, third, said = messages[2]["content"]
    assert [block["tool_use_id"] for block in (first, second, third)] == ["1", "2", "3"]
    assert first["content"] == third["content"] == NO_RESULT
    assert first["is_error"]
    assert second["content"] == "found"
    assert said == text("go on")


def test_calls_at_the_very_end_are_answered_too():
    assert_valid(repair([user(text("a")), assistant(call("1"))]))


def test_a_reply_that_follows_open_calls_comes_after_their_results():
    messages = repair([user(text("a")), assistant(call("1")), assistant(text("b"))])
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert_valid(messages)


def test_6_results_without_a_request_and_doubled_results_go():
    messages = repair([user(text("a")), assistant(call("1")), user(result("1"), result("1", "again"), result("9"))])
    assert messages[2]["content"] == [result("1")]


def test_6_plain_strings_and_empty_messages_go():
    assert repair([{"role": "user", "content": "text"}, user(), user(text("")), user(text("a"))]) == [user(text("a"))]


def test_an_aborted_reply_stays_marked_without_its_calls_and_unsigned_thoughts():
    rows = [
        Row("user", text="a"),
        Row(
            "assistant",
            blocks=[{"type": "thinking", "thinking": "hm"}, text("half"), call("1")],
            meta={"partial": True},
        ),
        Row("user", text="go on"),
    ]
    assert history(rows)[1] == assistant(text("half"), text(CUT_OFF))


def test_a_reset_reply_is_not_given_to_the_model():
    rows = [Row("user", text="a"), Row("assistant", blocks=[text("bad")], meta={"reset": True})]
    assert history(rows) == [user(text("a"))]


def test_messages_of_agents_say_where_they_come_from_and_those_of_people_do_not():
    rows = [Row("agent", text="done", source="r>c"), Row("user", text="thanks")]
    assert history(rows) == [user(text("(from: session r>c)\ndone"), text("thanks"))]


def test_refused_images_become_a_note():
    picture = {"type": "image", "path": "/w/a.png", "media_type": "image/png"}
    kept = history([Row("user", text="look", blocks=[picture])])
    assert kept[0]["content"][0]["source"] == {"type": "path", "path": "/w/a.png", "media_type": "image/png"}
    gone = history([Row("user", text="look", blocks=[picture], meta={"images_removed": True})])
    assert gone[0]["content"][0] == text("[image removed: rejected by model provider]")


BLOCKS = st.one_of(
    st.sampled_from(["1", "2", "3"]).map(call),
    st.sampled_from(["1", "2", "3", "9"]).map(result),
    st.sampled_from(["", "a", "b"]).map(text),
    st.just({"type": "thinking", "thinking": "hm"}),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.lists(BLOCKS, max_size=4),
    ),
    max_size=8,
)


@given(MESSAGES)
def test_any_list_of_messages_becomes_valid(messages: list[dict[str, Any]]):
    assert_valid(repair(messages))


@given(MESSAGES)
def test_6_repairing_twice_changes_nothing_more(messages: list[dict[str, Any]]):
    once = repair(messages)
    assert repair(deepcopy(once)) == once


def test_a_message_with_a_scope_reaches_the_model_with_the_instructions_in_front():
    rows = [Row("user", "@scope a fix it", meta={"model_text": "<rules/>\n\nfix it"})]
    assert history(rows) == [user(text("<rules/>\n\nfix it"))]
