"""`@` in the message box names files and folders of the workspace (spec spa 25, 29, 32)."""

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Person


@pytest.fixture
def me(shared_halo: Halo, person: Opener) -> Person:
    return person(shared_halo).arrives().signs_in().opens_the_sample()


def options(me: Person) -> Locator:
    return me.page.locator(".chat-commands [role=option] .mono")


def test_a_file_is_found_becomes_a_chip_and_goes_along_with_the_message(me: Person):
    box = me.page.locator("#composer")
    box.press_sequentially("Explain @gre")
    expect(options(me)).to_have_text(["greet.py"], timeout=PATIENCE)
    expect(me.page.get_by_role("listbox", name="Files")).to_be_visible()
    me.page.keyboard.press("Enter")
    expect(box).to_have_value("Explain ")
    chips = me.page.locator(".chat-composer-chips .chip")
    expect(chips).to_have_text(["greet.py"])
    box.press_sequentially("@ideas")
    expect(options(me)).to_have_text(["notes/ideas.md"], timeout=PATIENCE)
    me.page.keyboard.press("Tab")
    me.page.reload()
    expect(chips).to_have_text(["greet.py", "notes/ideas.md"], timeout=PATIENCE)
    chips.filter(has_text="ideas").get_by_role("button", name="Remove notes/ideas.md").click()
    box.press("End")
    box.press_sequentially("please")
    me.page.keyboard.press("Enter")
    card = me.page.locator(".chat-user-card").last
    expect(card.locator(".chat-user-body")).to_contain_text("Explain please", timeout=PATIENCE)
    expect(card.locator(".chip")).to_have_text(["greet.py"])
    expect(card).not_to_contain_text("Referenced files")
    expect(chips).to_have_count(0)
    me.page.reload()
    expect(card.locator(".chip")).to_have_text(["greet.py"], timeout=PATIENCE)
    expect(card).not_to_contain_text("Referenced files")


def test_a_scope_offers_folders_and_stays_in_the_text(me: Person):
    box = me.page.locator("#composer")
    box.press_sequentially("@scope no")
    expect(options(me)).to_have_text(["notes"], timeout=PATIENCE)
    expect(me.page.get_by_role("listbox", name="Folders")).to_be_visible()
    me.page.keyboard.press("Enter")
    expect(box).to_have_value("@scope notes ")
    expect(me.page.locator(".chat-composer-chips")).to_have_count(0)


def test_escape_closes_the_list_and_keeps_the_text(me: Person):
    box = me.page.locator("#composer")
    box.press_sequentially("mail @gre")
    expect(options(me)).to_have_text(["greet.py"], timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    expect(options(me)).to_have_count(0)
    expect(box).to_have_value("mail @gre")
