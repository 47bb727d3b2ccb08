"""Dispatches as people see them, and the end of a wait (spec relay, "beyond")."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from halo_site.lib.access_level import Access
from relay_app import actions, reports
from relay_app.models import ReplyTo
from sessions_app.models import Entry, Session
from tests.accounts import Browser, logged_in
from workspaces_app.models import AuditEvent, Membership, Workspace

from .conftest import folder_of


def session_in(workspace: Workspace, sid: str, user: User) -> Session:
    now = timezone.now()
    return Session.objects.create(
        workspace=workspace,
        sid=sid,
        title=sid.title(),
        agent_id="default",
        agent_name="Default",
        created_by=user,
        created_at=now,
        updated_at=now,
    )


@pytest.fixture
def pending(home: Workspace, dept: Workspace, owner: User) -> ReplyTo:
    """A task that waits in the queue of a session of the department."""
    caller, _target = session_in(home, "caller", owner), session_in(dept, "target", owner)
    actions.dispatch(actions.Ask(caller=caller.pk, workspace=dept.path, session_id="target", message="do it"))
    return ReplyTo.objects.get()


def listed(browser: Browser, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = browser.get(f"/api/relay/dispatches{query}").json()["dispatches"]
    return rows


def cancel(browser: Browser, row: ReplyTo, workspace: Workspace) -> Any:
    body = json.dumps({"projectId": workspace.path})
    return browser.generic("POST", f"/api/relay/dispatches/{row.pk}/cancel", body, "application/json")


def member(workspace: Workspace, name: str, level: Access) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(workspace=workspace, user=user, level=level.value)
    return user


def test_both_sides_are_shown_to_who_may_enter_them(pending, home, dept, owner):
    [row] = listed(logged_in(owner))
    assert row["caller"] == {"workspace": home.path, "sessionId": "caller", "title": "Caller"}
    assert row["target"] == {"workspace": dept.path, "sessionId": "target", "title": "Target"}
    assert (row["state"], row["hop"], row["sends"], row["interims"], row["closedAt"]) == ("pending", 1, 1, 0, None)


def test_who_sees_one_side_is_not_told_the_other(pending, dept):
    [row] = listed(logged_in(member(dept, "clerk", Access.READONLY)))
    assert row["caller"] == {"workspace": None, "sessionId": None, "title": None}
    assert row["target"]["sessionId"] == "target"


def test_strangers_see_nothing(pending, tmp_path):
    stranger = User.objects.create_user("stranger")
    folder_of(tmp_path / "elsewhere", stranger)
    assert listed(logged_in(stranger)) == []
    staff = User.objects.create_user("staff", is_staff=True)
    assert listed(logged_in(staff)) == []


def test_the_list_narrows_to_a_workspace_to_open_ones_and_to_older_ones(pending, home, owner, tmp_path):
    third = folder_of(tmp_path / "third", owner)
    browser = logged_in(owner)
    assert len(listed(browser, f"?projectId={home.path}&open=true")) == 1
    assert listed(browser, f"?projectId={third.path}") == []
    assert listed(browser, f"?before={pending.pk}") == []
    cancel(browser, pending, home)
    assert listed(browser, "?open=true") == []
    assert [row["state"] for row in listed(browser)] == ["cancelled"]
    assert browser.get("/api/relay/dispatches?before=-1").status_code == 400


def test_a_cancelled_wait_is_reported_as_aborted_and_its_unread_message_is_taken_back(pending, home, owner):
    answer = cancel(logged_in(owner), pending, home)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    report = Entry.objects.get(session=pending.caller, origin__kind="report")
    assert "status: aborted]" in report.text
    assert "[RELAY TARGET ABORTED: Cancelled by owner.] A person ended the wait." in report.text
    assert Entry.objects.get(session=pending.target, origin__kind="relay").deleted
    assert reports.settle_idle() == 0
    assert AuditEvent.objects.get(action="relay.cancel").actor_id == owner.pk
    again = cancel(logged_in(owner), pending, home)
    assert (again.status_code, again.json()) == (409, {"error": "This relay is closed already"})
    assert Entry.objects.filter(origin__kind="report").count() == 1


@pytest.mark.parametrize(("level", "status"), [(Access.READONLY, 403), (Access.WORKSPACE, 200), (Access.FULL, 200)])
def test_who_may_write_on_one_side_may_cancel(pending, dept, level, status):
    assert cancel(logged_in(member(dept, "clerk", level)), pending, dept).status_code == status


def test_a_relay_is_not_found_through_another_workspace(pending, owner, tmp_path):
    third = folder_of(tmp_path / "third", owner)
    answer = cancel(logged_in(owner), pending, third)
    assert (answer.status_code, answer.json()) == (404, {"error": "No such relay"})
    assert Path(third.path).is_dir()
