"""A target that hands its task on reports after it was answered, or after a day (spec relay R4, R9)."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from relay_app.models import ReplyTo
from sessions_app.models import Entry, ModelCall, Session
from workspaces_app.models import Workspace

from .conftest import Office, folder_of, write_agent

pytestmark = pytest.mark.usefixtures("desk")


@pytest.fixture
def third(home: Workspace, owner: User, tmp_path: Path) -> Workspace:
    return folder_of(tmp_path / "third", owner)


async def handed_on(office: Office, home: Workspace, dept: Workspace, third: Workspace, model: str) -> Session:
    """The caller's session; the department has handed its task on to the third workspace."""
    write_agent(Path(settings.HALO.global_dir, "agents", "slow"), office.vendor, model)
    caller = await office.session(home)
    onward = f'{{"workspace":"{third.path}","session_id":"sid_deep","agent_id":"slow","message":"deep"}}'
    task = f"go [[fake text=Passed tool=relay_send args={onward}]]"
    await office.call("relay_send", caller, workspace=dept.path, session_id="sid_dept", message=task)
    await office.at_work(third, "sid_deep")
    await office.quiet(dept, "sid_dept")
    return caller


async def test_a_report_waits_for_what_its_target_handed_on(
    home: Workspace, dept: Workspace, third: Workspace, office: Office
):
    caller = await handed_on(office, home, dept, third, "fake:text=Deep,ttft=600")
    [final] = await office.finals(caller)
    rows = await office.in_db(lambda: list(ReplyTo.objects.order_by("pk").values_list("hop", "outcome", "chain_id")))
    assert [(hop, outcome) for hop, outcome, _ in rows] == [(1, "completed"), (2, "completed")]
    assert len({chain for _, _, chain in rows}) == 1
    got = await office.in_db(lambda: Entry.objects.get(session__sid="sid_dept", origin__relay__part="final"))
    final_entry = Entry.objects.filter(session=caller, origin__relay__part="final")
    sent = await office.in_db(final_entry.get)
    await office.quiet(home, caller.sid)
    assert got.pk < sent.pk
    assert "status: completed" in final
    calls = await office.in_db(lambda: set(ModelCall.objects.values_list("turn__session__sid", "chain_id")))
    assert {sid for sid, chain in calls if chain == rows[0][2]} == {"sid_dept", "sid_deep", caller.sid}


async def test_after_a_day_a_report_goes_out_with_a_note(
    home: Workspace, dept: Workspace, third: Workspace, office: Office
):
    caller = await handed_on(office, home, dept, third, "fake:hang=stream")
    assert await office.open_rows() == 2
    long_ago = timezone.now() - timedelta(hours=25)
    await office.in_db(lambda: ReplyTo.objects.filter(target_sid="sid_deep").update(renewed_at=long_ago))
    [final] = await office.finals(caller)
    assert "[Not answered within 24 hours: 1 task(s) it had handed on.]" in final
