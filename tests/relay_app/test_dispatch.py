"""Dispatch and final report, end to end against a strict model server (spec relay R3, R4 and its invariants)."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from halo_site.lib.access_level import Access
from relay_app import availability, reports
from relay_app.models import ReplyTo
from sessions_app import actions as sessions
from sessions_app import queue_edits
from sessions_app.models import Entry, Session, Turn
from tests.server import ROOT
from workspaces_app.models import Membership, Workspace

from .conftest import Office, folder_of, write_agent


async def test_10_a_task_starts_a_session_elsewhere_and_its_report_comes_back(
    home: Workspace, dept: Workspace, office: Office
):
    caller = await office.session(home)
    office.vendor.will(text="Done: 14 tickets")
    task = "summarise the tickets"
    answer = await office.call("relay_send", caller, workspace=dept.path, message=task, title="Tickets")
    sid = answer["session_id"]
    assert answer == {
        "code": 0, "workspace": dept.path, "session_id": sid, "created": True, "status": "running", "report": True
    }  # fmt: skip
    [text] = await office.finals(caller)
    assert text == f"[Relay report · workspace {dept.path} · session {sid} · status: completed]\n\nDone: 14 tickets"
    target = await office.in_db(lambda: Session.objects.get(workspace=dept))
    assert (target.title, target.created_by_id, target.parent_id) == ("Tickets", caller.created_by_id, None)
    entry = await office.in_db(lambda: Entry.objects.filter(session=target).earliest("pk"))
    assert (entry.kind, entry.text, entry.origin["kind"]) == ("user", task, "relay")
    told = [str(request["body"]["messages"][-1]["content"]) for request in office.vendor.requests]
    assert f"[channel: relay | from: {home.path}]\n{task}" in [text for text in told]
    row = await office.in_db(ReplyTo.objects.get)
    assert (row.outcome, row.hop, row.sends) == ("completed", 1, 1)
    assert row.reply_to() == {"workspace": home.path, "sessionId": caller.sid}


async def test_32_a_later_chat_in_the_target_reports_nothing(home: Workspace, dept: Workspace, office: Office):
    caller = await office.session(home)
    sent = await office.call("relay_send", caller, workspace=dept.path, message="x")
    await office.finals(caller)
    await office.quiet(home, caller.sid)
    await office.in_db(office.say, "and you?", sid=sent["session_id"], workspace=dept)
    target = await office.quiet(dept, sent["session_id"])
    assert await office.in_db(reports.settle, target.pk) == 0
    await office.finals(caller, 1)


@pytest.mark.parametrize("path", ["/no/such", "relative", "", "nul\0", "bare", "file"])
async def test_11_a_bad_workspace_is_refused_and_nothing_is_made(
    home: Workspace, dept: Workspace, office: Office, tmp_path: Path, path: str
):
    (tmp_path / "bare").mkdir()
    (tmp_path / "file").write_text("")
    caller = await office.session(home)
    given = str(tmp_path / path) if path in ("bare", "file") else path
    before = sorted(tmp_path.rglob("*"))
    answer = await office.call("relay_send", caller, workspace=given, message="x")
    assert answer["code"] == 1
    if path and "\0" not in path:
        assert answer["error"] == f'workspace "{given}" not found (no .halo directory)'
    assert await office.in_db(Session.objects.count) == 1
    assert await office.open_rows() == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("relay_send", {}, "workspace, message are required"),
        ("relay_send", {"workspace": "/w"}, "message is required"),
        ("relay_interrupt", {"workspace": "/w"}, "session_id, message are required"),
        ("relay_stop", {"workspace": "/w"}, "session_id is required"),
        ("relay_read", {"session_id": "x"}, "workspace is required"),
    ],
)
async def test_what_is_missing_is_named(home: Workspace, office: Office, tool: str, given: dict[str, str], named: str):
    caller = await office.session(home)
    assert await office.call(tool, caller, **given) == {"code": 1, "error": named}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"session_id": "a>b"}, "invalid session id"),
        ({"session_id": ".."}, "invalid session id"),
        ({"session_id": "__evo__"}, "invalid session id"),
        ({"agent_id": "nobody"}, 'agent "nobody" not found'),
        ({"agent_id": "__hidden__"}, 'agent "__hidden__" not found'),
        ({"message": "x" * (1 << 20) + "y"}, "message too large"),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_its_reason(
    home: Workspace, dept: Workspace, office: Office, given: dict[str, str], error: str
):
    caller = await office.session(home)
    answer = await office.call("relay_send", caller, **({"workspace": dept.path, "message": "x"} | given))
    assert answer == {"code": 1, "error": error}
    assert await office.in_db(Session.objects.count) == 1


async def test_12_without_relay_every_tool_says_so_for_good(
    home: Workspace, dept: Workspace, office: Office, monkeypatch: pytest.MonkeyPatch
):
    caller = await office.session(home)
    availability.switch_off()
    try:
        from agents_app.tools import RELAY

        for name, tool in RELAY.items():
            answer = await office.call(name, caller, workspace=dept.path, session_id="s", message="x")
            assert answer == {"code": 1, "error": availability.RELAY_UNAVAILABLE}
            assert availability.RELAY_UNAVAILABLE in tool.description
    finally:
        availability.switch_on()
    assert availability.RELAY_UNAVAILABLE.startswith(
        "relay is not available in the CLI / TUI — it only runs inside halo server"
    )
    assert await office.in_db(Session.objects.count) == 1


def test_12_a_process_with_a_database_of_its_own_cannot_relay(tmp_path: Path):
    program = (
        "import django; django.setup(); from relay_app.availability import available; "
        "from agents_app.tools import RELAY; "
        "print(available(), all('Not usable here' in tool.description for tool in RELAY.values()))"
    )
    env = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "halo_site.settings", "HALO_HOME": str(tmp_path)}
    for more, said in (({}, "True False"), ({"HALO_STANDALONE": str(tmp_path / "own.sqlite3")}, "False True")):
        done = subprocess.run(
            [sys.executable, "-c", program], env=env | more, cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == said


async def test_2_a_tree_reports_once_after_its_last_child(home: Workspace, dept: Workspace, office: Office):
    agents = Path(settings.HALO.global_dir, "agents")
    write_agent(agents / "default", office.vendor, more="team: [slow]\n")
    write_agent(agents / "slow", office.vendor, "fake:text=Slow result,ttft=500")
    caller = await office.session(home)
    start = {"name": "start_session", "arguments": {"agent_id": "slow", "message": "dig"}}
    office.vendor.will(tool_calls=[start, start])
    office.vendor.will(text="They dig")
    sent = await office.call("relay_send", caller, workspace=dept.path, message="delegate")
    office.vendor.script = [{"text": "All dug"}]
    [text] = await office.finals(caller)
    children = await office.in_db(lambda: list(Session.objects.filter(parent__sid=sent["session_id"])))
    assert len(children) == 2
    assert all(child.stopped_at for child in children)
    assert "status: completed" in text
    report = await office.in_db(lambda: Entry.objects.get(session=caller, origin__relay__part="final"))
    assert all(report.created_at >= child.stopped_at for child in children)
    await office.quiet(home, caller.sid)
    await office.finals(caller, 1)


@pytest.mark.parametrize(
    ("status", "says", "says_not"),
    [
        (401, "Do not resume it with relay_send — a re-send fails the same way.", "resume it with relay_send.]"),
        (400, "Partial output follows; resume it with relay_send.", "model configuration"),
    ],
)
async def test_6_7_a_target_that_fails_says_why_and_what_to_do(
    home: Workspace, dept: Workspace, office: Office, status: int, says: str, says_not: str
):
    caller = await office.session(home)
    office.vendor.will(status=status)
    await office.call("relay_send", caller, workspace=dept.path, message="x")
    [text] = await office.finals(caller)
    header, _, body = text.partition("\n\n")
    assert header.endswith("status: aborted]")
    assert body.startswith("[RELAY TARGET ABORTED: ")
    assert says in body
    assert says_not not in body


async def test_31_X2_a_self_dispatch_returns_at_once_and_ends_in_one_report_to_itself(home: Workspace, office: Office):
    send = {"name": "relay_send", "arguments": {"workspace": home.path, "session_id": "sid_self", "message": "again"}}
    office.vendor.will(tool_calls=[send])
    office.vendor.will(text="Answered myself")
    await office.in_db(office.say, "go", sid="sid_self")
    session = await office.fact(lambda: Session.objects.filter(sid="sid_self").first())
    [text] = await office.finals(session)
    assert "Answered myself" in text
    await office.quiet(home, "sid_self")
    assert await office.open_rows() == 0
    await office.finals(session, 1)


async def test_X2_a_self_dispatch_made_while_answering_one_is_refused_with_the_chain(home: Workspace, office: Office):
    send = {"name": "relay_send", "arguments": {"workspace": home.path, "session_id": "sid_self", "message": "again"}}
    office.vendor.will(tool_calls=[send])
    office.vendor.will(tool_calls=[send])
    office.vendor.will(text="Refused, so here is my answer")
    await office.in_db(office.say, "go", sid="sid_self")
    session = await office.fact(lambda: Session.objects.filter(sid="sid_self").first())
    await office.finals(session)
    here = f"{home.path} · sid_self"
    results = await office.in_db(lambda: list(Entry.objects.filter(kind="tool_result").values_list("text", flat=True)))
    assert f"relay cycle: {here} → {here}; answer with your final text instead" in results[1]


async def test_a_child_gets_the_message_and_the_tool_says_that_no_report_will_come(
    home: Workspace, dept: Workspace, office: Office
):
    agents = Path(settings.HALO.global_dir, "agents")
    write_agent(agents / "default", office.vendor, more="team: [default]\n")
    caller = await office.session(home)
    office.vendor.will(tool_calls=[{"name": "start_session", "arguments": {"agent_id": "default", "message": "dig"}}])
    await office.in_db(office.say, "delegate", sid="sid_root", workspace=dept)
    child = await office.fact(lambda: Session.objects.filter(parent__sid="sid_root", stopped_at__isnull=False).first())
    answer = await office.call("relay_send", caller, workspace=dept.path, session_id=child.sid, message="and?")
    assert (answer["created"], answer["report"]) == (False, False)
    await office.quiet(dept, child.sid)
    assert await office.open_rows() == 0
    assert await office.reports(caller) == []


async def test_a_one_way_send_owes_nothing(home: Workspace, dept: Workspace, office: Office):
    caller = await office.session(home)
    answer = await office.call("relay_send", caller, workspace=dept.path, message="just so you know", report=False)
    assert answer["report"] is False
    await office.quiet(dept, answer["session_id"])
    assert await office.in_db(ReplyTo.objects.count) == 0
    assert await office.reports(caller) == []


async def test_I5_two_processes_that_settle_at_once_pay_once(
    home: Workspace, dept: Workspace, office: Office, monkeypatch: pytest.MonkeyPatch
):
    caller = await office.session(home)
    sent = await office.call("relay_send", caller, workspace=dept.path, message="x")
    await office.finals(caller)
    target = await office.quiet(dept, sent["session_id"])
    lock = reports.lock

    def lock_after_the_other(key: int, owed: Iterable[ReplyTo]) -> None:
        monkeypatch.setattr(reports, "lock", lock)
        assert list(owed)
        assert reports.settle(key) == 1
        lock(key, owed)

    def unit() -> int:
        with transaction.atomic():
            ReplyTo.objects.update(closed_at=None)  # it owes once more
            monkeypatch.setattr(reports, "lock", lock_after_the_other)
            return reports.settle(target.pk)

    assert await office.in_db(unit) == 0
    await office.finals(caller, 2)


async def test_several_callers_each_get_a_final_of_their_own(
    home: Workspace, dept: Workspace, owner: User, tmp_path: Path, office: Office
):
    third = await office.in_db(folder_of, tmp_path / "third", owner)
    first, second = await office.session(home), await office.session(third, "sid_other")
    office.vendor.will(text="One answer", ttft=300)
    where = {"workspace": dept.path, "session_id": "sid_shared"}
    await office.call("relay_send", first, message="a", **where)
    await office.at_work(dept, "sid_shared")
    again = await office.call("relay_send", second, message="b", **where)
    joined = await office.call("relay_send", first, message="c", **where)
    assert (again["status"], joined["status"], joined["created"]) == ("queued", "queued", False)
    office.vendor.script = [{"text": "The other answer"}]
    await office.finals(first)
    await office.finals(second)
    rows = await office.in_db(lambda: list(ReplyTo.objects.order_by("pk").values_list("sends", "outcome")))
    assert rows == [(2, "completed"), (1, "completed")]


@pytest.mark.parametrize("gone", ["archived", "deleted"])
async def test_the_end_of_a_target_is_reported_as_aborted(home: Workspace, dept: Workspace, office: Office, gone: str):
    caller = await office.session(home)
    office.vendor.will(hang="stream")
    sent = await office.call("relay_send", caller, workspace=dept.path, message="x")
    target = await office.at_work(dept, sent["session_id"])
    act = sessions.archive if gone == "archived" else sessions.delete
    await office.in_db(act, target.pk)
    [text] = await office.finals(caller)
    assert f"[RELAY TARGET ABORTED: The session was {gone}.] It cannot be resumed." in text
    assert await office.open_rows() == 0
    row = await office.in_db(ReplyTo.objects.get)
    assert (row.target_sid, row.outcome) == (target.sid, "aborted")
    if gone == "archived":
        again = await office.call("relay_send", caller, workspace=dept.path, session_id=target.sid, message="x")
        assert again == {"code": 1, "error": f"session {target.sid} is archived"}


async def test_5_a_caller_that_is_gone_is_replaced_by_the_newest_root_of_its_agent(
    home: Workspace, dept: Workspace, office: Office
):
    caller, other = await office.session(home), await office.session(home, "sid_successor")
    sent = await office.call("relay_send", caller, workspace=dept.path, message="x [[fake text=Done ttft=300]]")
    await office.at_work(dept, sent["session_id"])
    await office.in_db(sessions.delete, caller.pk)
    [text] = await office.finals(other)
    assert "Done" in text


async def test_5_when_nobody_is_left_the_row_is_closed_and_the_target_shows_it(
    home: Workspace, dept: Workspace, office: Office
):
    caller = await office.session(home)
    office.vendor.will(text="Done", ttft=300)
    sent = await office.call("relay_send", caller, workspace=dept.path, message="x")
    target = await office.at_work(dept, sent["session_id"])
    await office.in_db(sessions.delete, caller.pk)
    notice = await office.fact(lambda: Entry.objects.filter(session=target, kind="notice", meta__code="relay").first())
    assert "could not be delivered" in notice.text
    assert await office.in_db(lambda: ReplyTo.objects.get().outcome) == "undelivered"
    assert await office.in_db(reports.settle, target.pk) == 0


async def test_5a_a_fault_inside_the_delivery_changes_nothing_and_the_scan_sends_it_once(
    home: Workspace, dept: Workspace, office: Office, monkeypatch: pytest.MonkeyPatch
):
    caller = await office.session(home)
    arrive = reports.arrive
    broken: list[str] = []

    def fails_once(*given: object, **more: object) -> int:
        if not broken:
            broken.append("now")
            raise RuntimeError("the database broke")
        return arrive(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reports, "arrive", fails_once)
    office.vendor.will(text="Kept")
    await office.call("relay_send", caller, workspace=dept.path, message="x")
    [text] = await office.finals(caller)
    assert broken
    assert "Kept" in text
    await office.quiet(home, caller.sid)
    await office.finals(caller, 1)


async def test_a_message_taken_back_before_it_was_read_reports_that(home: Workspace, dept: Workspace, office: Office):
    caller = await office.session(home)
    busy = await office.session(dept, "sid_busy")
    office.vendor.will(hang="stream")
    await office.in_db(office.say, "work", sid="sid_busy", workspace=dept)
    await office.at_work(dept, "sid_busy")
    await office.call("relay_send", caller, workspace=dept.path, session_id="sid_busy", message="x")
    entry = await office.in_db(lambda: Entry.objects.get(session=busy, origin__kind="relay"))
    await office.in_db(queue_edits.remove_queued, busy.pk, entry.pk)
    await office.in_db(sessions.stop, busy.pk)
    [text] = await office.finals(caller)
    assert "[RELAY TARGET ABORTED: The message was taken back before it was read.]" in text


# ---- rights


async def test_C5_a_workspace_its_user_may_not_enter_is_not_there(home: Workspace, office: Office, tmp_path: Path):
    stranger = await office.in_db(User.objects.create_user, "stranger")
    foreign = await office.in_db(folder_of, tmp_path / "foreign", stranger)
    caller = await office.session(home)
    for tool in ("relay_send", "relay_interrupt", "relay_stop", "relay_read", "relay_list"):
        answer = await office.call(tool, caller, workspace=foreign.path, session_id="s", message="x")
        assert answer == {"code": 1, "error": f'workspace "{foreign.path}" not found (no .halo directory)'}


async def test_C5_the_target_runs_at_the_level_of_the_user_behind_the_caller(
    home: Workspace, office: Office, owner: User, tmp_path: Path
):
    lower = await office.in_db(folder_of, tmp_path / "lower", owner, Access.WORKSPACE)
    caller = await office.session(home)
    sent = await office.call("relay_send", caller, workspace=lower.path, message="x")
    target = await office.quiet(lower, sent["session_id"])
    assert target.access_level == "workspace"
    assert await office.in_db(lambda: Turn.objects.get(session=target).access_level) == "workspace"


async def test_C5_who_may_only_look_sends_nothing_but_reads(
    home: Workspace, office: Office, owner: User, tmp_path: Path
):
    shown = await office.in_db(folder_of, tmp_path / "shown", owner, Access.READONLY)
    caller = await office.session(home)
    answer = await office.call("relay_send", caller, workspace=shown.path, message="x")
    assert answer["error"] == f'your access to workspace "{shown.path}" is readonly; this needs workspace'
    assert (await office.call("relay_list", caller, workspace=shown.path))["code"] == 0


async def test_C5_a_second_person_in_the_session_counts_too(
    home: Workspace, dept: Workspace, office: Office, owner: User
):
    guest = await office.in_db(User.objects.create_user, "guest")
    await office.in_db(lambda: Membership.objects.create(workspace=home, user=guest, level="full"))
    await office.session(home)
    caller = await office.session(home, user=guest)  # the guest writes last, in the owner's session
    answer = await office.call("relay_send", caller, workspace=dept.path, message="x")
    assert answer == {"code": 1, "error": f'workspace "{dept.path}" not found (no .halo directory)'}


async def test_an_allow_list_bounds_where_tasks_may_go(
    home: Workspace, dept: Workspace, office: Office, monkeypatch: pytest.MonkeyPatch
):
    from halo_site.lib import settings_store

    general = settings_store.general
    listed = {"relay.allowed_workspaces": ["/somewhere/else"]}
    monkeypatch.setattr(settings_store, "general", lambda key, *more: listed.get(key) or general(key, *more))
    caller = await office.session(home)
    answer = await office.call("relay_send", caller, workspace=dept.path, message="x")
    assert answer["error"] == f'workspace "{dept.path}" not found (no .halo directory)'
    assert (await office.call("relay_list", caller))["code"] == 0
