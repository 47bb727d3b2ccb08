"""The page of skills: what there is, why one cannot load, its values, switching it off, making and deleting one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Person

NOTES = """---
name: notes
description: Keep notes about this project. Use when asked to remember.
command: /notes
requiresAccess: workspace
verbs:
  - {name: add, desc: Add a note}
  - {name: drop, desc: Remove one, requiresAccess: full}
---

Notes live in notes.md.
"""
VALUES = """params:
  - {key: limit, type: int, description: Most notes, default: 20}
secrets:
  - {key: token, description: Token of the notes server}
"""
CANARY = "canary-7f31-of-the-token"


class Skills:
    """A person on the page of skills of a folder of their own."""

    def __init__(self, me: Person, folder: Path) -> None:
        self.me, self.page, self.folder = me, me.page, folder

    def opens(self) -> "Skills":
        self.me.arrives(f"/?folder={self.folder}").signs_in()
        expect(self.me.composer).to_be_visible(timeout=PATIENCE)
        self.page.get_by_role("navigation", name="Activities").get_by_label("Skills").click()
        expect(self.row("notes")).to_be_visible(timeout=PATIENCE)
        return self

    def row(self, name: str) -> Locator:
        return self.page.locator(".pane-row").filter(has=self.page.get_by_text(name, exact=True))


@pytest.fixture
def skills(shared_halo: Halo, person: Opener, tmp_path: Path) -> Callable[[], Skills]:
    folder = tmp_path / "work"
    for name, text in {"notes": NOTES, "hasty": "---\nname: hasty\ndescription: Never closed\n"}.items():
        (folder / ".halo/skills" / name).mkdir(parents=True)
        (folder / ".halo/skills" / name / "SKILL.md").write_text(text)
    (folder / ".halo/skills/notes/config.yaml").write_text(VALUES)
    return lambda: Skills(person(shared_halo), folder)


def test_skills_say_command_level_and_why_one_cannot_load(skills: Callable[[], Skills]):
    it = skills().opens()
    expect(it.row("notes")).to_contain_text("/notes")
    expect(it.row("notes")).to_contain_text("workspace")
    expect(it.row("hasty")).to_contain_text("never closed")
    it.row("hasty").click()
    expect(it.page.get_by_role("alert")).to_contain_text("hasty/SKILL.md cannot be loaded")
    it.row("notes").click()
    expect(it.page.get_by_text("/notes drop")).to_be_visible()
    expect(it.page.get_by_text("Sessions that may write in the workspace, or with full access.")).to_be_visible()


def test_a_parameter_is_saved_and_a_secret_never_comes_back(skills: Callable[[], Skills]):
    it = skills().opens()
    it.row("notes").click()
    values = it.page.get_by_role("region", name="Parameters and secrets")
    limit = values.get_by_role("textbox", name="Limit")
    expect(limit).to_have_value("20", timeout=PATIENCE)
    limit.fill("many")
    limit.press("Enter")
    expect(values.get_by_text("Must be a number. Not saved.")).to_be_visible()
    limit.fill("5")
    limit.press("Enter")
    expect(values.get_by_text("Saved").first).to_be_visible(timeout=PATIENCE)
    values.get_by_role("button", name="Set", exact=True).click()
    values.get_by_role("textbox", name="Token").fill(CANARY)
    values.get_by_role("button", name="Save").click()
    expect(values.get_by_role("button", name="Replace")).to_be_visible(timeout=PATIENCE)
    assert CANARY not in it.page.content()
    it.page.reload()
    it.page.get_by_role("navigation", name="Activities").get_by_label("Skills").click()
    expect(values.get_by_role("textbox", name="Limit")).to_have_value("5", timeout=PATIENCE)
    expect(values.get_by_role("button", name="Replace")).to_be_visible()
    assert CANARY not in it.page.content()


def test_a_skill_is_switched_off_here_and_on_again(skills: Callable[[], Skills]):
    it = skills().opens()
    it.row("notes").click()
    it.page.get_by_role("button", name="Disable here").click()
    expect(it.row("notes")).to_contain_text("disabled", timeout=PATIENCE)
    it.page.get_by_role("button", name="Enable here").click()
    expect(it.row("notes")).not_to_contain_text("disabled", timeout=PATIENCE)


def test_a_skill_is_made_and_deleted(skills: Callable[[], Skills]):
    it = skills().opens()
    it.page.get_by_role("button", name="New skill").click()
    dialog = it.page.get_by_role("dialog", name="New skill")
    dialog.get_by_label("Name", exact=True).fill("Tide tables")
    dialog.get_by_label("What it is for, and when to use it").fill("Times of high water")
    dialog.get_by_label("Slash command").fill("notes")
    expect(dialog.get_by_text("notes has this command already")).to_be_visible()
    dialog.get_by_label("Slash command").fill("tides")
    dialog.get_by_role("button", name="Create skill").click()
    expect(it.row("tide-tables")).to_contain_text("/tides", timeout=PATIENCE)
    assert (it.folder / ".halo/skills/tide-tables/SKILL.md").is_file()
    it.page.get_by_role("button", name="Delete", exact=True).click()
    it.page.get_by_role("button", name="Delete skill").click()
    expect(it.row("tide-tables")).to_have_count(0, timeout=PATIENCE)
    assert not (it.folder / ".halo/skills/tide-tables").exists()


def test_the_text_of_a_skill_is_read_and_changed_and_a_broken_one_is_refused(skills: Callable[[], Skills]):
    it = skills().opens()
    it.row("notes").click()
    field = it.page.get_by_role("textbox", name="SKILL.md")
    path = it.folder / ".halo/skills/notes/SKILL.md"
    expect(field).to_have_value(path.read_text(), timeout=PATIENCE)
    before = path.read_text()
    field.fill("---\nname: notes\nNever closed.\n")
    field.press("ControlOrMeta+S")
    expect(it.page.locator("#skill-said")).to_contain_text("Not saved", timeout=PATIENCE)
    assert path.read_text() == before
    field.fill(before + "\nWrite the date first.\n")
    field.press("ControlOrMeta+S")
    expect(it.page.locator("#skill-said")).to_contain_text("Saved", timeout=PATIENCE)
    assert path.read_text().endswith("Write the date first.\n")
