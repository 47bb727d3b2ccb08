"""Display rows, windows, snapshot and replay from entries (spec ws-protocol 8, 33 to 36; sessions 11)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions_app.models import Entry, Session, ToolCall, Turn
from sessions_app.views import View, read_stored, read_view
from sessions_app.windows import OUTPUT_CUT, SNAPSHOT_BYTES, newest_window, segments_before_newest, window_before
from workspaces_app.models import Workspace

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """Writes entries as the engine does."""

    def __init__(self, workspace: Workspace, sid: str = "s", **fields: Any) -> None:
        values = {"agent_id": "default", "agent_name": "Ada", "created_at": AT, "updated_at": AT} | fields
        self.session = Session.objects.create(workspace=workspace, sid=sid, **values)

    def turn(self, status: str = "done") -> Turn:
        index = Turn.objects.filter(session=self.session).count()
        return Turn.objects.create(session=self.session, index=index, status=status, started_at=AT)

    def add(self, kind: str, turn: Turn | None, text: str = "", **fields: Any) -> Entry:
        return Entry.objects.create(session=self.session, kind=kind, turn=turn, text=text, created_at=AT, **fields)

    def said(self, turn: Turn, call_id: str, *blocks: dict[str, Any], **meta: Any) -> Entry:
        return self.add("assistant", turn, blocks=list(blocks), meta={"turn_id": call_id} | meta)

    def result(self, turn: Turn, use: str, text: str) -> Entry:
        return self.add("tool_result", turn, text, meta={"tool_use_id": use, "duration_ms": 7})

    def running(self, **fields: Any) -> None:
        Session.objects.filter(pk=self.session.pk).update(lease_owner="x", lease_until=AT, activity="turn", **fields)

    def view(self, **options: Any) -> "Shown":
        found = read_view(self.session.pk, **({"with_archive_count": True} | options))
        assert found is not None
        return Shown(found)


class Shown:
    def __init__(self, view: View) -> None:
        self.view = view
        self.frames = [orjson.loads(packet.data) for packet in view.packets]
        self.snapshot = self.frames[0]["snapshot"]
        self.rows = self.snapshot["recentMessages"]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def thinking(value: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": value, "signature": "sig"}


def call(use: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": use, "name": "file_read", "input": arguments}


@pytest.fixture
def workspace(db: None, tmp_path: Path) -> Workspace:
    return Workspace.objects.create(path=str(tmp_path), name="w")


@pytest.fixture
def log(workspace: Workspace) -> Log:
    return Log(workspace)


def test_a_reply_is_one_row_with_its_results_inside_and_its_usage_behind(log: Log) -> None:
    turn = log.turn()
    log.add("user", turn, "read it", client_msg_id="m1")
    usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5, "cacheReadInputTokens": 0}
    log.said(turn, "c1", thinking("hm"), text("I look."), call("u1", path="a"), usage=usage, model="demo")
    log.result(turn, "u1", "content")
    log.said(turn, "c2", text("Done."), final=True)
    user, first, used, second = log.view().rows
    assert (user["type"], user["content"], user["clientMsgId"]) == ("user", "read it", "m1")
    assert user["id"].startswith("m_")
    assert first["contentBlocks"] == [
        {"type": "thinking", "text": "hm", "turnId": "c1"},
        {"type": "text", "text": "I look.", "turnId": "c1"},
        {
            "type": "tool_call",
            "toolCall": {
                "name": "file_read",
                "input": {"path": "a"},
                "toolUseId": "u1",
                "output": "content",
                "durationMs": 7,
            },
            "turnId": "c1",
        },
    ]
    assert (first["content"], first["agentName"], first["timestamp"]) == ("I look.", "Ada", 1767225600000)
    assert (used["type"], used["usage"], used["modelId"], used["turnId"]) == ("usage", usage, "demo", "c1")
    assert second["content"] == "Done."


def test_what_a_retry_dropped_what_is_hidden_and_what_waits_is_no_row(log: Log) -> None:
    turn = log.turn()
    log.said(turn, "c1", text("half"), reset=True)
    log.add("user", turn, "for the model only", meta={"hidden": True})
    waiting = log.add("user", None, "next")
    log.add("user", None, "taken back", deleted=99)
    shown = log.view()
    assert shown.rows == []
    assert [item["entryId"] for item in shown.snapshot["queue"]] == [waiting.pk]


def test_a_deleted_exchange_stays_and_says_so(log: Log) -> None:
    turn = log.turn()
    log.add("user", turn, "oops", deleted=1)
    assert log.view().rows[0]["deleted"] is True


def test_an_idle_session_has_a_snapshot_and_no_replay(log: Log) -> None:
    log.said(log.turn(), "c1", text("hi"))
    Session.objects.update(context_tokens=50, output_tokens=4, seq=9)
    shown = log.view()
    assert [frame["type"] for frame in shown.frames] == ["state:snapshot", "chat:usage"]
    assert shown.frames[1] == {"type": "chat:usage", "sessionId": "s", "contextTokens": 50, "outputTokens": 4}
    assert (shown.snapshot["seq"], shown.snapshot["running"], shown.snapshot["archiveCount"]) == (9, False, 0)
    assert "archiveCount" not in log.view(with_archive_count=False).snapshot


def test_36_a_running_turn_is_replayed_in_order_and_left_out_of_the_snapshot(log: Log) -> None:
    old = log.turn()
    log.said(old, "c0", text("before"))
    turn = log.turn("running")
    log.running(seq=20)
    log.add("user", turn, "go")
    log.said(turn, "c1", thinking("t"), text("a"), call("u1", path="x"), call("u2"), usage={"totalTokens": 3})
    log.result(turn, "u1", "out")
    log.add("notice", turn, "Trying again", meta={"level": "system"})
    ToolCall.objects.create(turn=turn, call_id="c1", tool_use_id="u2", name="x", started_at=AT, output="so far")
    log.said(turn, "gone", text("half"), reset=True)
    log.said(turn, "c2", text("b"), partial=True)
    shown = log.view()
    assert [row["content"] for row in shown.rows] == ["before", "go"]
    assert (shown.snapshot["running"], shown.snapshot["startedAt"]) == (True, 1767225600000)
    replay = shown.frames[1:]
    assert all(frame["replay"] for frame in replay)
    assert not any("seq" in frame for frame in replay)
    assert [(frame["type"], frame.get("text") or frame.get("result")) for frame in replay] == [
        ("chat:followup", None),
        ("chat:thinking", "t"),
        ("chat:stream", "a"),
        ("agent:tool_call", None),
        ("agent:tool_result", "out"),
        ("agent:tool_call", None),
        ("agent:tool_output", "so far"),
        ("chat:usage", None),
        ("chat:system", "Trying again"),
        ("chat:stream", "b"),
    ]
    assert [frame["turnId"] for frame in replay if "turnId" in frame] == ["c1", "c1", "c1", "c1", "c1", "c2"]


def test_9_a_child_is_shown_under_its_own_id_and_its_replay_under_the_roots(workspace: Workspace) -> None:
    root = Log(workspace)
    child = Log(workspace, "s>a", parent=root.session, root=root.session)
    turn = child.turn("running")
    child.running()
    child.said(turn, "c1", text("x"))
    shown = child.view()
    assert shown.snapshot["sessionId"] == "s>a"
    assert {(frame["sessionId"], frame["taskId"]) for frame in shown.frames[1:]} == {("s", "s>a")}
    assert root.view().snapshot["activeAgents"] == [{"agentName": "Ada", "taskId": "s>a"}]


@pytest.mark.parametrize(("total", "expected"), [(0, 0), (599, 0), (600, 1), (1099, 1), (1100, 2), (10_000, 19)])
def test_the_newest_window_begins_at_a_segment(total: int, expected: int) -> None:
    assert segments_before_newest(total) == expected
    assert total - expected * 500 >= min(total, 100)


def test_results_belong_to_their_window_wherever_it_is_cut(log: Log) -> None:
    turn = log.turn()
    for number in range(6):
        log.said(turn, f"c{number}", call(f"u{number}"))
        log.result(turn, f"u{number}", f"out {number}")
    page = window_before(log.session.pk, "Ada", None, 2)
    assert [row["contentBlocks"][0]["toolCall"]["output"] for row in page.rows] == ["out 4", "out 5"]
    page = window_before(log.session.pk, "Ada", page.before, 2)
    assert [row["contentBlocks"][0]["toolCall"]["output"] for row in page.rows] == ["out 2", "out 3"]


def test_a_snapshot_stays_small_enough_for_a_frame(log: Log) -> None:
    turn = log.turn()
    for number in range(40):
        log.said(turn, f"c{number}", call(f"u{number}"))
        log.result(turn, f"u{number}", "x" * 60_000)
    window = newest_window(log.session.pk, "Ada", None)
    data = orjson.dumps({"rows": window.rows})
    assert len(data) <= SNAPSHOT_BYTES + 100
    rows = orjson.loads(data)["rows"]
    older = window_before(log.session.pk, "Ada", window.before, 500)
    assert [row["turnId"] for row in (*older.rows, *rows)] == [f"c{number}" for number in range(40)]


def test_one_row_that_is_far_too_big_loses_the_tails_of_its_outputs(log: Log) -> None:
    turn = log.turn()
    log.said(turn, "c", *(call(f"u{number}") for number in range(20)))
    for number in range(20):
        log.result(turn, f"u{number}", "x" * 60_000)
    row = orjson.loads(orjson.dumps(newest_window(log.session.pk, "Ada", None).rows))[0]
    assert all(len(block["toolCall"]["output"]) == OUTPUT_CUT for block in row["contentBlocks"])
    assert all(block["toolCall"]["outputCut"] for block in row["contentBlocks"])


def test_a_replay_of_a_long_turn_is_bounded_and_its_newest_results_are_whole(log: Log) -> None:
    turn = log.turn("running")
    log.running()
    for number in range(60):
        log.said(turn, f"c{number}", call(f"u{number}"))
        log.result(turn, f"u{number}", f"{number:>60000}")
    view = log.view()
    assert sum(len(packet.data) for packet in view.view.packets) < 2_200_000
    results = [frame["result"] for frame in view.frames if frame["type"] == "agent:tool_result"]
    assert len(results) == 60
    assert len(results[-1]) == 60_000
    assert len(results[0]) == 500


def test_a_session_that_is_gone_has_no_view(log: Log) -> None:
    key = log.session.pk
    log.session.delete()
    assert read_view(key, with_archive_count=True) is None
    assert read_stored([key]) == {}


def test_the_rows_tell_the_regular_comparison_what_it_needs(log: Log) -> None:
    log.add("user", log.turn(), "a")
    newest = log.add("user", None, "b")
    log.running(seq=5)
    stored = read_stored([log.session.pk])[log.session.pk]
    assert (stored.seq, stored.running, stored.newest_input) == (5, True, newest.pk)
    assert [item["text"] for item in stored.queue] == ["b"]
