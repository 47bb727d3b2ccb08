"""Answers given in between, soft and hard interrupts, caps (spec relay R5 to R8 and its invariants)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from halo_site.lib import settings_store
from relay_app import reports
from relay_app.models import ReplyTo
from sessions_app import actions as sessions
from sessions_app.engine import recovery
from sessions_app.models import Entry, Session, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from .conftest import Office, write_agent

pytestmark = pytest.mark.usefixtures("desk")
SID = "sid_target"


def shell(seconds: float) -> dict[str, Any]:
    return {"name": "shell_exec", "arguments": {"command": f"sleep {seconds}"}}


CONTINUE: dict[str, Any] = {"name": "continue_task", "arguments": {}}


class Pair:
    """A caller with one session it sends to."""

    def __init__(self, office: Office, dept: Workspace, caller: Session) -> None:
        self.office, self.dept, self.caller = office, dept, caller

    async def send(self, message: str, tool: str = "relay_send") -> dict[str, Any]:
        where = {"workspace": self.dept.path, "session_id": SID}
        return await self.office.call(tool, self.caller, message=message, **where)

    async def local(self, message: str) -> None:
        await self.office.in_db(self.office.say, message, sid=SID, workspace=self.dept)

    async def in_tool(self) -> Session:
        """Wait until the target's tool runs."""
        in_tool = Turn.objects.filter(session__sid=SID, tool_calls__outcome="").select_related("session")
        turn = await self.office.fact(in_tool.first)
        session: Session = turn.session
        return session

    async def kinds(self, finals: int = 1) -> list[str]:
        """Wait for the final reports and for quiet: `interim` and `final`, in order."""
        await self.office.finals(self.caller, finals)
        await self.office.quiet(self.dept, SID)
        rows = Entry.objects.filter(session=self.caller, origin__kind="report").order_by("pk")
        parts = await self.office.in_db(lambda: [row.origin["relay"]["part"] for row in rows])
        return list(parts)


@pytest.fixture
async def pair(home: Workspace, dept: Workspace, office: Office) -> Pair:
    return Pair(office, dept, await office.session(home))


async def test_17_23_a_busy_target_answers_in_between_and_goes_on_with_its_task(pair: Pair, office: Office):
    office.vendor.will(tool_calls=[shell(0.4)])
    office.vendor.will(text="My answer meanwhile", tool_calls=[CONTINUE])
    office.vendor.will(text="On with it")
    office.vendor.will(text="The whole task is done")
    await pair.send("big task")
    await pair.in_tool()
    assert (await pair.send("and this?"))["status"] == "queued"
    assert await pair.kinds() == ["interim", "final"]
    interim, final = await office.reports(pair.caller)
    assert interim == (
        f"[Relay interim report · workspace {pair.dept.path} · session {SID} · status: still running] This is an "
        "interim reply — the session is still working; its final [Relay report] follows when done. Do not treat this "
        "as the result.\n\nMy answer meanwhile\n\nOn with it"
    )
    assert "The whole task is done" in final
    row = await office.in_db(ReplyTo.objects.get)
    assert (row.interims, row.sends, row.outcome) == (1, 2, "completed")
    told = office.vendor.requests[1]["body"]["messages"][-1]["content"]
    assert f"[channel: relay | from: {row.caller_path}]" in str(told)


async def test_18_a_follow_up_that_is_the_last_answer_has_no_interim(pair: Pair, office: Office):
    office.vendor.will(tool_calls=[shell(0.4)])
    office.vendor.will(text="Both answered")
    await pair.send("big task")
    await pair.in_tool()
    await pair.send("and this?")
    assert await pair.kinds() == ["final"]


async def test_20_a_follow_up_during_the_opening_turn_brings_the_opening_answer(pair: Pair, office: Office):
    office.vendor.will(text="Opening answer", ttft=400)
    office.vendor.will(text="Second answer")
    await pair.send("first")
    await office.at_work(pair.dept, SID)
    await pair.send("second")
    assert await pair.kinds() == ["interim", "final"]
    interim, final = await office.reports(pair.caller)
    assert "Opening answer" in interim
    assert "Second answer" in final


async def test_21_the_answer_to_a_local_opening_is_nobody_elses(pair: Pair, office: Office):
    office.vendor.will(text="For the local person", ttft=400)
    office.vendor.will(text="For the caller")
    await pair.local("hello")
    await office.at_work(pair.dept, SID)
    await pair.send("task")
    assert await pair.kinds() == ["final"]


async def test_22_local_chat_in_a_busy_target_sends_no_interim(pair: Pair, office: Office):
    office.vendor.will(tool_calls=[shell(0.4)])
    office.vendor.will(text="Private", tool_calls=[CONTINUE])
    office.vendor.will(text="On with it")
    office.vendor.will(text="Task done")
    await pair.send("task")
    await pair.in_tool()
    await pair.local("[channel: relay | from: /w/secretary]\njust between us")
    assert await pair.kinds() == ["final"]
    assert "Private" not in "".join(await office.reports(pair.caller))


async def test_the_same_answer_in_between_is_sent_once(pair: Pair, office: Office):
    office.vendor.will(tokens=400, delay=20)
    await pair.send("task")
    target = await office.at_work(pair.dept, SID)

    def answers() -> None:
        row = ReplyTo.objects.get()
        with transaction.atomic():
            for text in ("Same words", "Same words", "Other words"):
                reports.interim(target, [row.pk], text)

    await office.in_db(answers)
    await office.in_db(sessions.interrupt, target.pk)
    assert await pair.kinds() == ["interim", "interim", "final"]
    assert (await office.in_db(ReplyTo.objects.get)).interims == 2


async def test_28_37_a_turn_that_fails_or_is_aborted_sends_no_interim(pair: Pair, office: Office):
    office.vendor.will(tokens=400, delay=20)
    office.vendor.will(text="Answered after all")
    await pair.send("first")
    session = await office.at_work(pair.dept, SID)
    await pair.send("second")
    await office.in_db(sessions.interrupt, session.pk)
    assert await pair.kinds() == ["final"]
    assert "Answered after all" in (await office.reports(pair.caller))[0]


async def test_13_an_interrupt_of_a_busy_target_runs_its_message_next_and_reports_once(pair: Pair, office: Office):
    office.vendor.will(hang="stream")
    office.vendor.will(text="Did the new thing")
    await pair.send("old")
    await office.at_work(pair.dept, SID)
    answer = await pair.send("new", "relay_interrupt")
    assert (answer["interrupted"], answer["report"]) == (True, True)
    assert await pair.kinds() == ["final"]
    [text] = await office.reports(pair.caller)
    assert "Did the new thing" in text
    turns = await office.in_db(lambda: list(Turn.objects.filter(session__sid=SID).values_list("status", flat=True)))
    assert turns == ["aborted", "done"]


async def test_14_an_interrupt_of_an_idle_target_just_runs_and_a_missing_one_is_never_made(pair: Pair, office: Office):
    missing = await pair.send("x", "relay_interrupt")
    assert missing == {"code": 1, "error": f"session {SID} not found; there is nothing to interrupt"}
    assert await office.in_db(lambda: Session.objects.filter(workspace=pair.dept).count()) == 0
    await office.session(pair.dept, SID)
    answer = await pair.send("x", "relay_interrupt")
    assert (answer["code"], answer["interrupted"]) == (0, False)
    assert await pair.kinds() == ["final"]


async def test_25_26_an_answer_while_a_child_still_works_comes_as_an_interim(pair: Pair, office: Office):
    agents = Path(settings.HALO.global_dir, "agents")
    write_agent(agents / "digger", office.vendor, "fake:tokens=60,delay=20")
    write_agent(agents / "default", office.vendor, more="team: [digger]\n")
    await pair.send('go [[fake text=Started tool=start_session args={"agent_id":"digger","message":"dig"}]]')
    await office.fact(lambda: Turn.objects.filter(session__sid=SID, status="done").first())
    assert await office.reports(pair.caller) == []  # 26: the turn that starts a child owes the final
    await pair.send("how far? [[fake text=Halfway]]")
    assert await pair.kinds() == ["interim", "final"]
    interim, _final = await office.reports(pair.caller)
    assert interim.endswith("Halfway")
    marks = await office.in_db(
        lambda: list(
            Turn.objects.filter(session__sid=SID).order_by("index").values_list("waiting_on_children", "interim_sent")
        )
    )
    assert marks[:2] == [(False, False), (True, True)]


async def test_27_no_interim_when_the_child_was_stopped_before_the_run_ends(pair: Pair, office: Office):
    agents = Path(settings.HALO.global_dir, "agents")
    write_agent(agents / "digger", office.vendor, "fake:hang=stream")
    write_agent(agents / "default", office.vendor, more="team: [digger]\n")
    await pair.send('go [[fake text=Started tool=start_session args={"agent_id":"digger","message":"dig"}]]')
    await office.fact(lambda: Turn.objects.filter(session__sid=SID, status="done").first())
    child = await office.fact(Session.objects.filter(parent__sid=SID, lease_owner__isnull=False).first)
    await pair.send("how far? [[fake text=Halfway ttft=600]]")
    await office.at_work(pair.dept, SID)
    await office.in_db(sessions.stop_tree, child.pk)
    assert await pair.kinds() == ["final"]


async def test_34_35_a_busy_child_answers_its_parent_in_between(pair: Pair, dept: Workspace, office: Office):
    agents = Path(settings.HALO.global_dir, "agents")
    write_agent(agents / "digger", office.vendor, "fake:text=First,ttft=500")
    write_agent(agents / "default", office.vendor, more="team: [digger]\n")
    start = 'args={"agent_id":"digger","message":"dig"}'
    await office.in_db(office.say, f"go [[fake text=Started tool=start_session {start}]]", sid=SID, workspace=dept)
    child = await office.fact(Session.objects.filter(parent__sid=SID, lease_owner__isnull=False).first)
    ask = f'args={{"target_session_id":"{child.sid}","message":"and?"}}'
    await office.in_db(office.say, f"ask [[fake text=Asked tool=query_session {ask}]]", sid=SID, workspace=dept)
    await office.fact(lambda: Session.objects.filter(pk=child.pk, stopped_at__isnull=False).first())
    rows = Entry.objects.filter(source_session=child, session__sid=SID).order_by("pk")
    texts = await office.in_db(lambda: list(rows.values_list("text", flat=True)))
    assert texts[0].startswith(f"[Sub-agent interim report · session {child.sid} · status: still running]")
    assert texts[0].endswith("First")
    assert texts[1:] == ["First"]
    assert len(office.viewer.of("agent:done")) == 1


async def test_8_a_long_report_is_cut_behind_its_marker_and_says_where_the_rest_is(
    pair: Pair, office: Office, monkeypatch: pytest.MonkeyPatch
):
    number = settings_store.number
    monkeypatch.setattr(
        settings_store, "number", lambda key, *more: 300 if key == "limits.auto_report_chars" else number(key, *more)
    )
    office.vendor.will(text="x" * 5000, hang="stream", after=1)
    await pair.send("long")
    session = await office.at_work(pair.dept, SID)
    await office.fact(lambda: Entry.objects.filter(session=session, kind="assistant", text__startswith="x").first())
    await office.in_db(sessions.stop, session.pk)
    assert await pair.kinds() == ["final"]
    [text] = await office.reports(pair.caller)
    header, _, body = text.partition("\n\n")
    assert header.endswith("status: aborted]")
    assert body.startswith("[RELAY TARGET ABORTED: It was stopped.]")
    assert body.endswith(f'showing first 300. Use relay_read("{pair.dept.path}", "{SID}") for the full result.]')
    whole = await office.call("relay_read", pair.caller, workspace=pair.dept.path, session_id=SID)
    assert whole["output"].startswith("x" * 100)
    assert whole["status"] == "idle"


async def test_relay_stop_ends_the_work_and_its_caller_hears_no_more(pair: Pair, office: Office):
    office.vendor.will(text="Half done", hang="stream", after=1)
    await pair.send("x")
    session = await office.at_work(pair.dept, SID)
    await office.fact(lambda: Entry.objects.filter(session=session, kind="assistant").exclude(text="").first())
    answer = await office.call("relay_stop", pair.caller, workspace=pair.dept.path, session_id=SID)
    assert (answer["code"], answer["stopped"]) == (0, 1)
    assert answer["output"]
    await office.quiet(pair.dept, SID)
    assert await office.in_db(lambda: ReplyTo.objects.get().outcome) == "stopped"
    assert await office.reports(pair.caller) == []


async def test_15_the_list_shows_roots_of_a_workspace_and_what_is_waited_for(pair: Pair, office: Office):
    await office.session(pair.dept, "sid_idle")
    office.vendor.will(hang="stream")
    await pair.send("x")
    await office.at_work(pair.dept, SID)
    answer = await office.call("relay_list", pair.caller, workspace=pair.dept.path)
    rows = {row["id"]: row for row in answer["sessions"]}
    assert answer["count"] == len(rows) == 2
    assert (rows[SID]["status"], rows[SID]["pendingReply"]) == ("running", True)
    assert rows[SID]["waitingMs"] >= 0
    assert (rows["sid_idle"]["status"], rows["sid_idle"]["pendingReply"]) == ("idle", False)
    own = await office.call("relay_list", pair.caller)
    assert [row["id"] for row in own["sessions"]] == [pair.caller.sid]
    one = await office.call("relay_list", pair.caller, workspace=pair.dept.path, limit=1)
    assert one["count"] == 1


async def test_33_a_target_whose_server_died_still_reports_once(pair: Pair, office: Office, desk: FakeModelServer):
    office.vendor.will(hang="stream")
    office.vendor.will(text="Finished after the restart")
    await pair.send("x")
    session = await office.at_work(pair.dept, SID)
    await office.in_db(recovery.hand_back, {session.pk: session.lease_epoch})
    assert await pair.kinds() == ["final"]
    assert "Finished after the restart" in (await office.reports(pair.caller))[0]
    nudged = await office.in_db(lambda: Turn.objects.filter(session=session).latest("index"))
    assert nudged.chain["answers"] == [await office.in_db(lambda: ReplyTo.objects.get().pk)]


async def test_a_parked_target_reports_and_takes_no_task(pair: Pair, office: Office):
    office.vendor.will(hang="stream")
    await pair.send("x")
    session = await office.at_work(pair.dept, SID)
    await office.in_db(
        lambda: Session.objects.filter(pk=session.pk).update(deaths=2, lease_until=timezone.now() - timedelta(hours=1))
    )
    await office.in_db(recovery.recover, session.pk)
    [text] = await office.finals(pair.caller)
    assert "[RELAY TARGET ABORTED: The session stopped the server several times, so it was parked.]" in text
    refused = await pair.send("again")
    assert refused["error"] == f"session {SID} is parked after repeated crashes; a person must look at it first"
