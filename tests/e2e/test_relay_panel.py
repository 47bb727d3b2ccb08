"""Handed-on tasks in the app: who waits for whom, and the end of a wait (DESIGN 7 "Relay")."""

from pathlib import Path

from playwright.sync_api import Locator, expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Person

OFFICE = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from relay_app.models import ReplyTo
from sessions_app.models import Session
from workspaces_app.models import Workspace
now, admin = timezone.now(), User.objects.get(username="admin")
def session(path, sid, title):
    place = Workspace.objects.get(path=path)
    return Session.objects.create(workspace=place, sid=sid, title=title, agent_id="default", agent_name="Default",
        created_by=admin, created_at=now, updated_at=now)
a = session({office!r}, "sid_numbers", "Numbers of the week")
b = session({sales!r}, "sid_tickets", "Tickets")
Session.objects.filter(pk=b.pk).update(lease_owner="elsewhere", lease_until=now + timedelta(days=1))
ReplyTo.objects.create(caller=a, target=b, caller_workspace=a.workspace, target_workspace=b.workspace,
    caller_path=a.workspace.path, target_path=b.workspace.path, caller_sid=a.sid, target_sid=b.sid,
    caller_agent="default", chain={{"chain_id": "x", "ids": ["x"]}}, chain_id="x", hop=1, created_at=now,
    renewed_at=now, interims=2)
"""


def enters(person: Opener, halo: Halo, tmp_path: Path, sessions: str = "Sessions", **more: object) -> Person:
    """The person in the office, whose session waits for one of the sales folder."""
    office, sales = tmp_path / "office", tmp_path / "sales"
    me = person(halo, **more)
    for folder in (sales, office):
        folder.mkdir(exist_ok=True)
        me.arrives(f"/?folder={folder}")
        if folder == sales:
            me.page.locator("input[type=password]").fill(halo.password)
            me.page.keyboard.press("Enter")
        expect(me.composer).to_be_visible(timeout=PATIENCE)
    halo.runs(OFFICE.format(office=str(office), sales=str(sales)))
    me.page.reload()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name=sessions, exact=True).click()
    return me


def tasks(me: Person, name: str = "Handed-on tasks") -> Locator:
    return me.page.get_by_role("region", name=name)


def test_a_task_shows_who_asked_whom_and_opens_the_session_at_work(halo: Halo, person: Opener, tmp_path: Path):
    me = enters(person, halo, tmp_path)
    row = tasks(me).get_by_role("button", name="Numbers of the week asked Tickets (sales)")
    expect(row).to_contain_text("at work · 2 interim reports", timeout=PATIENCE)
    me.keeps_a_picture(ROOT / "test-results" / "relay-panel.png")
    row.click()
    expect(me.page.get_by_role("tab", name="Tickets")).to_be_visible(timeout=PATIENCE)
    expect(tasks(me)).to_contain_text("Numbers of the week (office) asked Tickets", timeout=PATIENCE)


def test_a_cancelled_task_leaves_the_list_and_its_caller_is_told(halo: Halo, person: Opener, tmp_path: Path):
    me = enters(person, halo, tmp_path)
    tasks(me).get_by_role("button", name="Cancel: end the wait for Tickets (sales)").click()
    expect(tasks(me)).to_have_count(0, timeout=PATIENCE)
    me.page.locator("[data-session=sid_numbers]").click()
    expect(me.log).to_contain_text("Cancelled by admin", timeout=PATIENCE)


def test_tasks_are_named_in_chinese(halo: Halo, person: Opener, tmp_path: Path):
    me = enters(person, halo, tmp_path, "会话", locale="zh-CN")
    expect(tasks(me, "转交的任务")).to_contain_text("Numbers of the week 转交给 Tickets (sales)", timeout=PATIENCE)
    expect(tasks(me, "转交的任务")).to_contain_text("运行中 · 2 份中期报告")
