"""The staff pages of relays and of preview extensions, clicked through (docs/relay.md, docs/extensions.md)."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo

RELAYS, GRAPH = "/admin/relay_app/replyto/", "/admin/relay_app/replyto/graph/"
EXTENSIONS = "/admin/extensions_app/extension/"
OFFICE = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from relay_app.models import ReplyTo
from sessions_app.models import Session
from workspaces_app.models import Workspace
now, admin = timezone.now(), User.objects.get(username="admin")
at = {}
for name, title in {"secretary": "Numbers", "sales": "Tickets", "legal": "Contracts"}.items():
    place = Workspace.objects.create(path="/srv/" + name, name=name)
    at[name] = Session.objects.create(workspace=place, sid="sid_" + name, title=title, agent_id="default",
        agent_name="Default", created_by=admin, created_at=now, updated_at=now)
Session.objects.filter(sid="sid_sales").update(lease_owner="elsewhere", lease_until=now + timedelta(days=1))
failed = {"closed_at": now, "outcome": "aborted", "reason": "No key"}
for name, more in {"sales": {"interims": 2}, "legal": failed}.items():
    a, b = at["secretary"], at[name]
    ReplyTo.objects.create(caller=a, target=b, caller_workspace=a.workspace, target_workspace=b.workspace,
        caller_path=a.workspace.path, target_path=b.workspace.path, caller_sid=a.sid, target_sid=b.sid,
        caller_agent="default", chain={"chain_id": "x", "ids": ["x"]}, chain_id="x", hop=1, created_at=now,
        renewed_at=now, **more)
"""


def enters(person: Opener, halo: Halo, **more: Any) -> Page:
    """The admin's page, signed in to the staff site."""
    page: Page = person(halo, **more).arrives("/admin/").page
    page.locator("#id_username").fill("admin")
    page.locator("#id_password").fill(halo.password)
    page.locator("#id_password").press("Enter")
    expect(page.locator(f"a[href='{EXTENSIONS}']").first).to_be_attached(timeout=PATIENCE)
    return page


@pytest.fixture
def staff(halo: Halo, person: Opener) -> Page:
    return enters(person, halo)


def seed(halo: Halo) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HALO_", "DJANGO_"))}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", OFFICE]
    subprocess.run(command, cwd=ROOT, env=env | {"HALO_HOME": str(halo.home)}, check=True)


def nodes(page: Page) -> Locator:
    return page.locator("#relay-picture a")


def test_the_relay_graph_is_drawn_walked_by_keyboard_and_said_again_as_a_table(halo: Halo, staff: Page):
    seed(halo)
    staff.goto(halo.address + RELAYS)
    staff.get_by_role("link", name="Show as a graph").click()
    expect(nodes(staff)).to_have_count(3, timeout=PATIENCE)
    expect(staff.locator("#relay-picture g.aborted")).to_contain_text("No key")
    expect(staff.locator("#relay-picture g").filter(has=staff.locator("path.arrow"))).to_have_count(2)
    staff.get_by_role("link", name="Numbers, /srv/secretary").focus()
    walked = []
    for key in ("ArrowRight", "ArrowUp", "ArrowDown", "ArrowLeft"):
        staff.keyboard.press(key)
        walked.append(staff.evaluate("document.activeElement.querySelector('text').textContent"))
    assert walked == ["Contracts", "Tickets", "Contracts", "Numbers"]
    expect(staff.get_by_role("link", name="Tickets, /srv/sales, 2 interim reports")).to_be_visible()
    row = staff.get_by_role("row").filter(has_text="legal · Contracts")
    expect(row).to_contain_text("aborted")
    expect(row).to_contain_text("No key")


def test_a_cancelled_relay_changes_in_the_open_graph(halo: Halo, staff: Page):
    seed(halo)
    staff.goto(halo.address + GRAPH)
    expect(staff.locator("#relay-picture g.pending, #relay-picture g.working")).to_have_count(1, timeout=PATIENCE)
    listed = staff.context.new_page()
    listed.goto(halo.address + RELAYS)
    listed.get_by_role("row").filter(has_text="secretary → sales").get_by_role("checkbox").check()
    listed.locator("select[name=action]").select_option("cancel_relays")
    listed.get_by_role("button", name="Run").click()
    expect(listed.get_by_text("Cancelled 1 relay.")).to_be_visible(timeout=PATIENCE)
    expect(staff.locator("#relay-picture g.cancelled")).to_have_count(1, timeout=PATIENCE)


def test_the_graph_is_in_chinese_and_readable_on_a_phone(halo: Halo, person: Opener):
    staff = enters(person, halo, locale="zh-CN", width=390, height=844)
    seed(halo)
    staff.goto(halo.address + GRAPH)
    expect(nodes(staff)).to_have_count(3, timeout=PATIENCE)
    expect(staff.locator("#relay-picture")).to_contain_text("2 份中期报告")
    expect(staff.get_by_role("table")).to_contain_text("已中止")
    expect(staff.get_by_role("table")).to_contain_text("发起方")
    assert staff.evaluate("document.documentElement.scrollWidth") == 390
    assert staff.locator("#relay-picture rect").first.evaluate("(it) => it.getBoundingClientRect().width") > 140


def package(path: Path, **more: object) -> Path:
    said = {"id": "my-viewer", "name": "My viewer", "version": "1.0.0", "extensions": [".abc"], "entry": "index.html"}
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("halo-extension.json", json.dumps(said | more))
        made.writestr("index.html", "<p>hello")
    return path


def send(page: Page, path: Path) -> None:
    page.set_input_files("#extension-file", path)
    page.get_by_role("button", name="Install", exact=True).click()


def test_an_extension_is_installed_and_removed_and_what_is_broken_stands_on_top(
    halo: Halo, staff: Page, tmp_path: Path
):
    root = halo.home / "global" / "extensions"
    for name in ("a-broken", "z-broken"):
        (root / name).mkdir(parents=True)
        (root / name / "halo-extension.json").write_text("{")
    staff.goto(halo.address + EXTENSIONS)
    send(staff, package(tmp_path / "bad.zip", id="Not Good"))
    expect(staff.get_by_text("Not installed: id must match")).to_be_visible(timeout=PATIENCE)
    send(staff, package(tmp_path / "good.zip"))
    expect(staff.get_by_text("Installed My viewer 1.0.0.")).to_be_visible(timeout=PATIENCE)
    names = staff.locator("#result_list .field-shown_name")
    expect(names).to_have_text(["a-broken", "z-broken", "My viewer my-viewer"])
    expect(staff.locator(".h-errtext")).to_have_count(2)
    for name in ("My viewer", "a-broken"):
        staff.get_by_role("link", name=name).click()
        staff.get_by_role("link", name="Delete extension").click()
        staff.get_by_role("button", name="Yes, I").click()
    expect(names).to_have_text(["z-broken"])
    assert sorted(one.name for one in root.iterdir() if not one.name.startswith(".")) == ["z-broken"]
