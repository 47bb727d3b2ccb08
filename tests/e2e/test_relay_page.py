"""Handed-on tasks as a picture and as a table, closed ones too (DESIGN 7 "Relay")."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Person
from .test_accessibility import serious
from .test_phone import PHONE, scrolls_sideways
from .test_relay_panel import enters

CLOSED = """
from datetime import timedelta
from django.utils import timezone
from relay_app.models import ReplyTo
from sessions_app.models import Session
from workspaces_app.models import Workspace
caller, sales, now = Session.objects.get(sid="sid_numbers"), Workspace.objects.get(path={sales!r}), timezone.now()
for number, (title, outcome, reason, hours) in enumerate({tasks!r}):
    ended = now - timedelta(hours=hours)
    target = Session.objects.create(workspace=sales, sid=f"sid_closed{{number}}", title=title, agent_id="default",
        agent_name="Default", created_by=caller.created_by, created_at=ended, updated_at=ended)
    ReplyTo.objects.create(caller=caller, target=target, caller_workspace=caller.workspace, target_workspace=sales,
        caller_path=caller.workspace.path, target_path=sales.path, caller_sid=caller.sid, target_sid=target.sid,
        caller_agent="default", chain={{"chain_id": title, "ids": [title]}}, chain_id=title, hop=1,
        created_at=ended - timedelta(minutes=5), renewed_at=ended, closed_at=ended, outcome=outcome, reason=reason)
"""
TASKS = [("Prices", "completed", "", 2), ("Stock", "aborted", "no such table", 3), ("Last year", "completed", "", 30)]

Task = tuple[str, str, str, int]


@pytest.fixture
def office(halo: Halo, person: Opener, tmp_path: Path):
    """`office(tasks, sessions=, ...)`: the person in the office; its session handed on an open task and these."""

    def enter(tasks: list[Task], sessions: str = "Sessions", **more: object) -> Person:
        me = enters(person, halo, tmp_path, sessions, **more)
        halo.runs(CLOSED.format(sales=str(tmp_path / "sales"), tasks=tasks))
        return me

    return enter


def picture(page: Page) -> Locator:
    return page.get_by_role("group", name="Picture of the tasks")


def table(page: Page, name: str = "Handed-on tasks") -> Locator:
    return page.get_by_role("table", name=name)


def node(page: Page, title: str) -> Locator:
    return picture(page).get_by_role("button", name=title)


def test_the_picture_says_who_waits_and_what_came_of_it_and_so_does_the_table(office):
    me = office(TASKS)
    me.page.get_by_role("button", name="All handed-on tasks").click()
    expect(node(me.page, "Tickets")).to_contain_text("sales · 2 interim reports", timeout=PATIENCE)
    expect(node(me.page, "Numbers of the week")).to_contain_text("office")
    for line in ("run", "ok", "err"):
        expect(me.page.locator(f".relay-edge.{line}")).to_have_count(1)
    expect(picture(me.page)).to_contain_text("delivered 5:00")
    expect(picture(me.page)).to_contain_text("no such table")
    rows = table(me.page).locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="Stock (sales)")).to_contain_text("abortedno such table")
    assert serious(me.page) == []
    me.keeps_a_picture(ROOT / "test-results" / "relay-page.png")

    me.page.get_by_role("radio", name="30 days").click()
    expect(rows).to_have_count(4)
    me.page.get_by_role("radio", name="Waiting").click()
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="Cancel: end the wait for Tickets (sales)").click()
    expect(me.page.get_by_text("No tasks in this time")).to_be_visible(timeout=PATIENCE)


def test_arrows_walk_along_the_tasks_and_enter_opens_the_session(office):
    me = office(TASKS)
    me.page.get_by_role("button", name="All handed-on tasks").click()
    node(me.page, "Numbers of the week").focus()
    keys = me.page.keyboard
    seen = []
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        keys.press(key)
        seen.append(str(me.page.evaluate("document.activeElement.querySelector('b').textContent")))
    assert sorted(seen[:3]) == ["Prices", "Stock", "Tickets"]
    assert seen[3] == seen[2]  # nothing below
    keys.press("ArrowLeft")
    expect(node(me.page, "Numbers of the week")).to_be_focused()
    node(me.page, "Tickets").focus()
    keys.press("Enter")
    expect(me.page.get_by_role("tab", name="Tickets")).to_be_visible(timeout=PATIENCE)
    expect(me.composer).to_be_visible(timeout=PATIENCE)


def test_above_twelve_targets_there_is_only_the_table(office):
    me = office([(f"Task {number}", "completed", "", 1) for number in range(12)])
    me.page.get_by_role("button", name="All handed-on tasks").click()
    expect(table(me.page).locator("tbody tr")).to_have_count(13, timeout=PATIENCE)
    expect(me.page.get_by_text("Too many targets for a picture")).to_be_visible()
    expect(picture(me.page)).to_have_count(0)


def test_on_a_phone_the_table_fits_and_speaks_chinese(office):
    me = office(TASKS, "会话", locale="zh-CN", **PHONE)
    me.page.get_by_role("button", name="全部转交的任务").click()
    tasks = table(me.page, "转交的任务")
    expect(tasks.locator("tbody tr").filter(has_text="Prices (sales)")).to_contain_text("已送达", timeout=PATIENCE)
    expect(me.page.locator(".relay-graph")).to_have_count(0)
    assert not scrolls_sideways(me.page)
    me.keeps_a_picture(ROOT / "test-results" / "relay-page-phone.png")
    tasks.get_by_role("button", name="Numbers of the week").first.click()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
