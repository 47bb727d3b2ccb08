"""From an empty home to an answered chat, as a newcomer goes."""

from pathlib import Path

from playwright.sync_api import expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo

PICTURES = ROOT / "docs" / "images"


def test_a_newcomer_signs_in_opens_a_folder_and_gets_an_answer(halo: Halo, person: Opener):
    me = person(halo).arrives()
    expect(me.page.get_by_role("heading", name="Sign in to Halo")).to_be_visible(timeout=PATIENCE)
    expect(me.page.get_by_label("User name")).to_have_value("admin")

    me.signs_in()
    expect(me.page.get_by_role("heading", name="Choose a folder to work in")).to_be_visible(timeout=PATIENCE)
    expect(me.page.get_by_text("agents you start may run any command on this machine")).to_be_visible()

    me.opens_the_sample()
    expect(me.page.get_by_text("This is the demo agent.").first).to_be_visible(timeout=PATIENCE)
    me.asks("What is in this folder?").sees("README.md").sees("Sample project")
    expect(me.page.get_by_text("2 of 5")).to_be_visible(timeout=PATIENCE)  # the list of first steps ticked itself
    expect(me.page.get_by_text("Live")).to_be_visible()
    me.keeps_a_picture(PICTURES / "first-run.png")


def test_the_answer_is_still_there_after_a_reload_and_once(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in().opens_the_sample()
    me.asks("What is in this folder?").sees("Sample project")
    me.page.reload()
    me.sees("Sample project")
    expect(me.log.get_by_text("What is in this folder?", exact=True)).to_have_count(1)


def test_a_wrong_password_is_told_and_the_field_is_cleared(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in("not it")
    expect(me.page.get_by_role("alert").get_by_text("Wrong user name or password.")).to_be_visible(timeout=PATIENCE)
    expect(me.page.get_by_label("Password", exact=True)).to_have_value("")
    expect(me.page.get_by_label("Password", exact=True)).to_be_focused()


def test_too_many_wrong_passwords_say_when_to_try_again(halo: Halo, person: Opener):
    me = person(halo).arrives()
    for _ in range(6):
        with me.page.expect_response("**/api/auth/login"):
            me.signs_in("not it")
    expect(me.page.get_by_text("Too many attempts. Try again in 15 minutes.")).to_be_visible(timeout=PATIENCE)


def test_a_folder_is_found_made_and_opened_by_keyboard_alone(halo: Halo, person: Opener):
    (halo.home.parent / "work" / "alpha").mkdir(parents=True)
    (halo.home.parent / "work" / "beta").mkdir()
    me = person(halo).arrives().signs_in()
    listed = me.page.get_by_role("listbox")
    expect(listed.get_by_role("option", name="work")).to_be_visible(timeout=PATIENCE)

    keys = me.page.keyboard
    keys.press("ArrowDown")
    expect(listed).to_be_focused()
    while listed.get_by_role("option", name="work").get_attribute("aria-selected") != "true":
        keys.press("ArrowDown")
    keys.press("ArrowRight")
    expect(listed.get_by_role("option", name="beta")).to_be_visible(timeout=PATIENCE)
    keys.press("ArrowDown")
    expect(listed.get_by_role("option", name="alpha")).to_have_attribute("aria-selected", "true")
    keys.press("Enter")
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    assert me.page.url.endswith("?folder=" + str(halo.home.parent / "work" / "alpha"))


def test_an_address_of_a_folder_that_is_gone_offers_another_one(halo: Halo, person: Opener):
    me = person(halo).arrives("/?folder=/no/such/folder").signs_in()
    expect(me.page.get_by_role("heading", name="/no/such/folder could not be opened")).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name="Open another folder").click()
    expect(me.page.get_by_role("heading", name="Choose a folder to work in")).to_be_visible(timeout=PATIENCE)


def test_a_new_folder_is_made_in_the_picker(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in()
    me.page.get_by_role("button", name="New folder").click()
    me.page.get_by_label("Name of the new folder").fill("made here")
    me.page.get_by_role("button", name="Create").click()
    expect(me.page.get_by_role("option", name="made here")).to_have_attribute("aria-selected", "true", timeout=PATIENCE)
    me.page.get_by_role("button", name="Open made here").click()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    assert Path(halo.home.parent / "made here" / ".halo").is_dir()
