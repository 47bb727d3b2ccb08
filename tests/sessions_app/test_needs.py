"""What waits for a person, over all workspaces (DESIGN 3, "Needs you")."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from halo_site.auth import COOKIE, new_login, token_of
from halo_site.lib.access_level import Access
from sessions_app.models import Entry, Session, Turn
from workspaces_app.models import Membership, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def elsewhere(owner: User) -> Workspace:
    row = Workspace.objects.create(path="/srv/elsewhere", name="elsewhere")
    Membership.objects.create(workspace=row, user=owner, level=Access.WORKSPACE.value)
    return row


def session(workspace: Workspace, sid: str, **fields: Any) -> Session:
    now = timezone.now()
    return Session.objects.create(
        workspace=workspace, sid=sid, agent_id="default", agent_name="Default", created_at=now, updated_at=now, **fields
    )


def ended(session: Session, status: Turn.Status, kind: str = "", days_ago: int = 0) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    Turn.objects.create(
        session=session,
        index=session.turns.count(),
        status=status,
        error={"kind": kind, "message": f"{kind} happened"} if kind else None,
        started_at=at,
        ended_at=at,
    )


def needs(user: User) -> list[tuple[str, str]]:
    client = Client()
    client.cookies[COOKIE] = token_of(new_login(user))
    answer = client.get("/api/needs")
    assert answer.status_code == 200
    return [(row["kind"], row["sessionId"]) for row in answer.json()["needs"]]


def test_parked_sessions_refused_keys_and_failed_runs_of_all_workspaces_are_listed_newest_first(
    owner: User, workspace: Workspace, elsewhere: Workspace
):
    session(workspace, "parked", parked_at=timezone.now() - timedelta(hours=3), title="Import")
    ended(session(elsewhere, "refused"), Turn.Status.ERROR, "account", days_ago=1)
    ended(session(workspace, "failed"), Turn.Status.ERROR, "server")
    ended(session(workspace, "fine"), Turn.Status.DONE)
    ended(session(workspace, "stopped"), Turn.Status.ABORTED)
    assert needs(owner) == [("failed", "failed"), ("parked", "parked"), ("key", "refused")]


def test_what_was_solved_or_put_away_is_not_listed(owner: User, workspace: Workspace):
    again = session(workspace, "again")
    ended(again, Turn.Status.ERROR, "server")
    ended(again, Turn.Status.DONE)
    waits = session(workspace, "waits")
    ended(waits, Turn.Status.ERROR, "server")
    Entry.objects.create(session=waits, kind=Entry.Kind.USER, text="again", created_at=timezone.now())
    running = session(workspace, "running", lease_owner="somebody")
    ended(running, Turn.Status.ERROR, "server")
    ended(session(workspace, "archived", archived_at=timezone.now()), Turn.Status.ERROR, "server")
    ended(session(workspace, "old"), Turn.Status.ERROR, "server", days_ago=15)
    assert needs(owner) == []


def test_only_who_may_write_is_asked(owner: User, workspace: Workspace):
    session(workspace, "parked", parked_at=timezone.now())
    reader = User.objects.create_user("reader")
    Membership.objects.create(workspace=workspace, user=reader, level=Access.READONLY.value)
    assert needs(reader) == []
    assert needs(User.objects.create_user("stranger")) == []
    assert needs(User.objects.create_superuser("root")) == [("parked", "parked")]
