"""The checker itself: silent on a clean story, loud on each planted violation."""

from dataclasses import replace

import pytest

from tests.crash.checker import Evidence, Request, Sent, Shown, anthropic_faults, check, openai_faults

USER = {"role": "user", "content": "do m-1"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "shell_exec"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def entry(id, kind, turn_id, **values):
    blank = {"client_msg_id": None, "text": "", "blocks": [], "meta": {}, "origin": None}
    return blank | {"id": id, "kind": kind, "turn_id": turn_id} | values


CLEAN = Evidence(
    sent=[Sent("a", "m-1", "sid_1", True), Sent("b", "m-2", "sid_1", True)],
    shown=[Shown("t1", "half a ", 4.0), Shown("t2", "done", 11.0)],
    killed_at=[5.5],
    requests=[
        Request({"messages": [USER]}),
        Request({"messages": [USER, CALL, RESULT]}),
        Request({"messages": [USER, CALL, RESULT, {"role": "user", "content": "go on: crashed\n\ndo m-2"}]}),
    ],
    sessions=[{"sid": "sid_1", "lease_owner": None}],
    turns=[{"id": 1, "index": 0, "status": "interrupted"}, {"id": 2, "index": 1, "status": "done"}],
    entries=[
        entry(1, "user", 1, client_msg_id="a", text="do m-1", origin={"kind": "person"}),
        entry(2, "assistant", 1, blocks=[{"type": "tool_use", "id": "c1"}], meta={"turn_id": "t0"}),
        entry(3, "tool_result", 1),
        entry(
            4, "assistant", 1, blocks=[{"type": "text", "text": "half a rep"}], meta={"turn_id": "t1", "partial": True}
        ),
        entry(5, "user", 2, client_msg_id="b", text="do m-2", origin={"kind": "person"}),
        entry(6, "user", 2, text="the server restarted", origin={"kind": "nudge"}),
        entry(7, "assistant", 2, blocks=[{"type": "text", "text": "done"}], meta={"turn_id": "t2", "final": True}),
    ],
    tool_calls=[{"turn_id": 1, "tool_use_id": "c1", "outcome": "ok"}],
    model_calls=[{"turn_id": 1, "outcome": "tool_use"}],
    effects={"ran-1": 1},
    transcripts={"0001.jsonl": b'{"v":1}\n{"id":1}\n'},
)


def broken(evidence):
    return {fault.invariant for fault in check(evidence)}


def changed(rows, at, **values):
    rows = [dict(row) for row in rows]
    rows[at] |= values
    return rows


def test_a_clean_story_breaks_nothing():
    assert check(CLEAN) == []


PLANTED = {
    "an acknowledged message is gone": (
        "I1",
        replace(CLEAN, entries=[row for row in CLEAN.entries if row["client_msg_id"] != "b"]),
    ),
    "a message is stored twice": (
        "I1",
        replace(CLEAN, entries=[*CLEAN.entries, entry(9, "user", 2, client_msg_id="a", text="do m-1")]),
    ),
    "messages changed places": (
        "I1",
        replace(CLEAN, entries=changed(changed(CLEAN.entries, 0, id=8), 4, id=5)),
    ),
    "a message ran twice": ("I2", replace(CLEAN, requests=[CLEAN.requests[0], *CLEAN.requests])),
    "a message was put behind its own answer once more": (
        "I2",
        replace(CLEAN, requests=[*CLEAN.requests, Request({"messages": [USER, CALL, RESULT, USER]})]),
    ),
    "a message stands twice in one request": (
        "I2",
        replace(CLEAN, requests=[Request({"messages": [{"role": "user", "content": "do m-1 do m-1"}]})]),
    ),
    "a message waits for ever": ("I2", replace(CLEAN, entries=changed(CLEAN.entries, 4, turn_id=None))),
    "a message was never asked": ("I2", replace(CLEAN, requests=CLEAN.requests[:2])),
    "the model server refused a history": ("I3", replace(CLEAN, requests=[Request({"messages": [USER]}, status=400)])),
    "a call has no result": (
        "I3",
        replace(CLEAN, requests=[*CLEAN.requests, Request({"messages": [USER, CALL, USER]})]),
    ),
    "a turn runs for ever": ("I4", replace(CLEAN, turns=changed(CLEAN.turns, 1, status="running"))),
    "a lease was left": ("I4", replace(CLEAN, sessions=[{"sid": "sid_1", "lease_owner": "x:1"}])),
    "a model call was never closed": ("I4", replace(CLEAN, model_calls=[{"turn_id": 1, "outcome": ""}])),
    "a command ran twice": ("I6", replace(CLEAN, effects={"ran-1": 2})),
    "a command ran without an intent": ("I6", replace(CLEAN, tool_calls=[])),
    "a call has two intents": ("I6", replace(CLEAN, tool_calls=[*CLEAN.tool_calls, *CLEAN.tool_calls])),
    "a call has no outcome": ("I6", replace(CLEAN, tool_calls=changed(CLEAN.tool_calls, 0, outcome=""))),
    "a transcript line is torn in the middle": (
        "I8",
        replace(CLEAN, transcripts={"0001.jsonl": b'{"v":1}\n{"id":\n{"id":2}\n'}),
    ),
    "a transcript ends in half a line": ("I8", replace(CLEAN, transcripts={"0001.jsonl": b'{"v":1}\n{"id":'})),
    "a temporary file is left": ("I8", replace(CLEAN, leftovers=["a.txt.tmp"])),
    "shown text is gone": ("I9", replace(CLEAN, shown=[Shown("t1", "half a reply", 4.0)])),
    "a finished reply differs from what was shown": ("I9", replace(CLEAN, shown=[Shown("t2", "gone", 11.0)])),
    "a broken reply is not marked": ("I9", replace(CLEAN, entries=changed(CLEAN.entries, 3, meta={"turn_id": "t1"}))),
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: f"{PLANTED[plant][0]}-{plant}")
def test_I1_I2_I3_I4_I6_I8_I9_the_checker_sees(plant):
    invariant, evidence = PLANTED[plant]
    assert invariant in broken(evidence)


def test_after_a_crash_the_same_message_may_be_asked_with_the_nudge_behind_it():
    nudged = {"role": "user", "content": "do m-1\n\nthe server restarted"}
    requests = [Request({"messages": [USER]}), Request({"messages": [nudged]}), CLEAN.requests[-1]]
    assert check(replace(CLEAN, requests=requests)) == []


def test_text_of_the_last_second_before_a_kill_may_be_missing():
    assert check(replace(CLEAN, shown=[Shown("t1", "half a reply", 4.6)])) == []


@pytest.mark.parametrize(
    ("messages", "valid"),
    [
        ([USER], True),
        ([{"role": "system", "content": "x"}, USER, CALL, RESULT], True),
        ([USER, CALL], False),
        ([USER, RESULT], False),
        ([USER, CALL, RESULT, RESULT], False),
        ([USER, {"role": "assistant", "content": ""}], False),
        ([{"role": "user", "content": ""}], False),
    ],
)
def test_openai_histories_are_judged(messages, valid):
    assert (openai_faults(messages) == []) is valid


A_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "x", "input": {}}]}
A_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}


@pytest.mark.parametrize(
    ("messages", "valid"),
    [
        ([USER], True),
        ([USER, A_CALL, A_RESULT], True),
        ([USER, USER], False),
        ([A_CALL, A_RESULT], False),
        ([USER, A_CALL], False),
        ([USER, A_CALL, USER], False),
        ([USER, A_CALL, A_RESULT, A_CALL, {"role": "user", "content": [{"type": "text", "text": ""}]}], False),
    ],
)
def test_anthropic_histories_are_judged(messages, valid):
    assert (anthropic_faults(messages) == []) is valid


ONE = {"id": 7, "closed_at": "then", "outcome": "completed"}
REPORT = entry(8, "user", 2, origin={"kind": "report", "relay": {"dispatch": 7, "part": "final"}})


@pytest.mark.parametrize(
    ("relays", "reports", "faults"),
    [
        ([ONE], [REPORT], set()),
        ([ONE], [], {"I5"}),
        ([ONE], [REPORT, REPORT], {"I5"}),
        ([ONE | {"closed_at": None, "outcome": ""}], [], {"I5"}),
        ([ONE | {"outcome": "stopped"}], [], set()),
        ([ONE | {"outcome": "stopped"}], [REPORT], {"I5"}),
        ([], [REPORT], {"I5"}),
    ],
)
def test_I5_a_dispatch_has_one_final_report_or_breaks_it(relays, reports, faults):
    assert broken(replace(CLEAN, relays=relays, entries=[*CLEAN.entries, *reports])) == faults
