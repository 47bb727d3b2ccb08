"""`/session compact` (spec sessions 10.7; invariants 12 and 29; ws-protocol, Errors)."""

from pathlib import Path
from typing import Any

from django.utils import timezone

from sessions_app import actions
from sessions_app.delegation.actions import send
from sessions_app.engine import manual_compact, recovery
from sessions_app.engine.engine import Engine
from sessions_app.engine.lease import waiting_sessions
from sessions_app.models import Entry, ModelCall, Session, Turn
from tests.fakes.model_server import FakeModelServer

from ..conftest import Say
from .conftest import Viewer
from .test_compact import evolution, texts
from .test_engine import InDb, agent, family, one_family, vendor

__all__ = ["agent", "evolution", "family", "one_family", "vendor"]  # fixtures


async def talked(vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, rounds: int = 4) -> int:
    """A conversation of some rounds; the key of its session."""
    for number in range(rounds):
        vendor.will(text=f"Answer {number}")
        accepted = await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    return int(accepted.session_key)


async def test_older_messages_are_summarised_and_everybody_sees_it(
    agent: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    key = await talked(vendor, viewer, say, in_db)
    vendor.will(text="We agreed on blue.", usage={"input": 9_000, "output": 50})
    before = len(viewer.frames)
    assert await in_db(manual_compact.request, key) == "started"
    await viewer.completes(5)
    frames = [frame for frame in viewer.frames[before:] if frame["type"] != "session:changed"]
    assert [frame["type"] for frame in frames] == [
        "compact:started",
        "chat:system",
        "compact:summarizing",
        "chat:system",
        "session:compacted",
        "compact:done",
        "chat:complete",
    ]
    assert frames[3]["text"] == "Context compacted: 3 older messages summarized"
    assert [frame["seq"] for frame in frames] == list(range(frames[0]["seq"], frames[0]["seq"] + 7))
    session = await in_db(lambda: Session.objects.get(pk=key))
    assert (session.activity, session.lease_owner, session.exchange_count) == ("", None, 4)
    assert session.seq == frames[-1]["seq"]
    assert await in_db(lambda: Entry.objects.filter(kind="summary", in_context=True).count()) == 1
    vendor.will(text="Blue it is.")
    await in_db(say, "Which colour?")
    await viewer.completes(6)
    sent = texts(vendor.requests[-1])
    assert "We agreed on blue." in sent
    assert "Question 0" not in sent


async def test_a_change_of_the_agent_is_told_after_a_summary_too(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, agent_folder: Path
):
    """The summary is the first to be made by the changed agent; the turn after it does not pass that over."""
    key = await talked(vendor, viewer, say, in_db)
    (agent_folder / "AGENT.md").write_text("You are careful.")
    vendor.will(text="We agreed on blue.")
    await in_db(manual_compact.request, key)
    await viewer.completes(5)
    vendor.will(text="Blue it is.")
    await in_db(say, "Which colour?")
    await viewer.completes(6)
    told = [frame["text"] for frame in viewer.of("chat:system") if frame.get("code") == "config"]
    assert told == ["Default was changed since the last turn (AGENT.md). This turn works with the new version."]


async def test_evolution_hears_of_a_summary_made_by_hand_right_away(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine, evolution
):
    key = await talked(vendor, viewer, say, in_db)
    await engine.finished()
    assert evolution == [[]] * 4
    vendor.will(text="We agreed on blue.")
    await in_db(manual_compact.request, key)
    await viewer.completes(5)
    await engine.finished()
    assert evolution[4:] == [[await in_db(lambda: Entry.objects.get(kind="summary").turn_id)]]


async def test_29_what_is_said_meanwhile_waits_and_runs_afterwards(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    key = await talked(vendor, viewer, say, in_db)
    vendor.will(text="Summed up.", ttft=300)
    vendor.will(text="Both answered.")
    assert await in_db(manual_compact.request, key) == "started"
    await vendor.wait_for(5)
    assert (await in_db(say, "And now?")).busy == "compact"

    def query() -> bool:
        other = Session.objects.get(pk=key)
        other.pk, other.sid = None, "sid_two"
        other.save()
        return send(other.pk, key, "What did you do?", level=actions.Access.FULL, cap=256)

    assert await in_db(query)
    await viewer.completes(6)
    sent = texts(vendor.requests[-1])
    assert [words in sent for words in ("Summed up.", "Answer 3", "And now?", "What did you do?")] == [True] * 4
    assert "Question 0" not in sent
    assert len(vendor.requests) == 6  # one merged turn


async def test_it_is_refused_while_the_agent_works_while_it_runs_and_when_there_is_nothing(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    key = await talked(vendor, viewer, say, in_db, rounds=1)
    assert await in_db(manual_compact.request, key) == "nothing"
    assert not viewer.of("compact:started")
    for number in range(1, 4):
        await in_db(say, f"Question {number}")
        await viewer.completes(number + 1)
    vendor.will(hang="headers")
    await in_db(say, "long")
    await vendor.wait_for(5)
    assert await in_db(manual_compact.request, key) == "running"
    await in_db(actions.stop, key)
    await viewer.completes(5)
    vendor.will(hang="headers")
    assert await in_db(manual_compact.request, key) == "started"
    assert await in_db(manual_compact.request, key) == "already"
    await vendor.wait_for(6)
    assert await in_db(manual_compact.request, key) == "already"
    await in_db(actions.stop, key)
    await viewer.completes(6)


async def test_stop_and_esc_cancel_it_and_what_waits_runs(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    key = await talked(vendor, viewer, say, in_db)
    for number, cancel in enumerate((actions.stop, actions.interrupt)):
        vendor.will(hang="headers")
        vendor.will(text=f"After {number}")
        assert await in_db(manual_compact.request, key) == "started"
        await vendor.wait_for(5 + 2 * number)
        await in_db(say, f"Waiting {number}")
        assert await in_db(cancel, key)
        await viewer.until(lambda seen, words=f"After {number}": words in seen.text())
        await viewer.completes(6 + 2 * number)
    assert [frame["text"] for frame in viewer.of("chat:system")].count("Compact cancelled") == 2
    assert await in_db(lambda: Entry.objects.filter(kind="summary").count()) == 0
    assert await in_db(lambda: ModelCall.objects.filter(ended_at=None).count()) == 0
    statuses = await in_db(lambda: list(Turn.objects.filter(stop_reason="compact").values_list("status", flat=True)))
    assert statuses == ["aborted", "aborted"]


async def test_12_an_empty_summary_and_a_broken_agent_leave_everything_and_say_so(
    one_family: None, agent_folder: Any, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    key = await talked(vendor, viewer, say, in_db)
    vendor.will(text="")
    await in_db(manual_compact.request, key)
    await viewer.completes(5)
    assert viewer.of("chat:system")[-1]["text"] == "Compaction skipped — no summary produced"
    (agent_folder / "agent.yaml").unlink()
    await in_db(manual_compact.request, key)
    await viewer.completes(6)
    assert viewer.of("chat:system")[-1]["text"].startswith("Compact failed: ")
    assert len(viewer.of("compact:done")) == 2 + 1  # the empty one tells of itself, too
    assert await in_db(lambda: Entry.objects.filter(in_context=False).exclude(kind="notice").count()) == 0


async def test_a_wish_nobody_took_is_found_by_the_scan_and_can_be_withdrawn(
    viewer: Viewer, agent_folder: Any, workspace: Any, owner: Any
):
    from asgiref.sync import sync_to_async

    def unit() -> None:
        now = timezone.now()
        session = Session.objects.create(
            workspace=workspace, sid="s", agent_id="default", agent_name="D", created_by=owner, created_at=now,
            updated_at=now, turn_count=8,
        )  # fmt: skip
        for index in range(8):
            turn = Turn.objects.create(session=session, index=index, status="done", started_at=now)
            for kind in ("user", "assistant"):
                blocks = [{"type": "text", "text": "x"}] if kind == "assistant" else []
                Entry.objects.create(session=session, kind=kind, text="x", blocks=blocks, turn=turn, created_at=now)
        assert manual_compact.request(session.pk) == "started"
        assert list(waiting_sessions()) == [session.pk]
        assert actions.stop(session.pk)
        session.refresh_from_db()
        assert session.activity == ""
        assert list(waiting_sessions()) == []
        assert Entry.objects.get(kind="notice").text == "Compact cancelled"
        # and one that was taken by a process that died
        assert manual_compact.request(session.pk) == "started"
        assert manual_compact.claim(session.pk)
        assert manual_compact.claim(session.pk) is None
        Session.objects.filter(pk=session.pk).update(lease_until=now)
        assert recovery.recover(session.pk)
        session.refresh_from_db()
        assert (session.activity, session.lease_owner, session.deaths) == ("", None, 1)
        assert Entry.objects.filter(kind="notice").last().text == "Compaction failed — context unchanged"
        assert not Entry.objects.filter(origin__kind="nudge").exists()
        assert list(waiting_sessions()) == []

    await sync_to_async(unit)()


async def test_a_shutdown_in_the_middle_leaves_one_line_and_no_nudge(
    one_family: None, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine
):
    key = await talked(vendor, viewer, say, in_db)
    vendor.will(hang="headers")
    await in_db(manual_compact.request, key)
    await vendor.wait_for(5)
    await engine.shutdown()
    session = await in_db(lambda: Session.objects.get(pk=key))
    assert (session.activity, session.lease_owner, session.deaths) == ("", None, 0)
    notices = await in_db(lambda: list(Entry.objects.filter(kind="notice").values_list("text", flat=True)))
    assert notices == ["Compact cancelled"]
    assert await in_db(lambda: Entry.objects.filter(origin__kind="nudge").count()) == 0
