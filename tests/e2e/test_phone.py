"""The page on a phone and on a tablet."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Person

PICTURES = ROOT / "docs" / "images"
PHONE = {"width": 375, "height": 812, "is_mobile": True, "has_touch": True}


def scrolls_sideways(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.fixture
def me(shared_halo: Halo, person: Opener) -> Person:
    return person(shared_halo, **PHONE).arrives().signs_in()


def test_chat_works_at_375_pixels_without_sideways_scroll(me: Person):
    assert not scrolls_sideways(me.page)
    me.opens_the_sample().asks("What is in this folder?").sees("Sample project")
    assert not scrolls_sideways(me.page)
    me.keeps_a_picture(PICTURES / "phone.png")


def test_every_tab_of_the_phone_shows_something_and_fits(me: Person):
    me.opens_the_sample()
    tabs = me.page.get_by_role("navigation", name="Activities")
    for name in ("Files", "Terminal", "Needs you", "More", "Chat"):
        tabs.get_by_role("button", name=name).click()
        expect(tabs.get_by_role("button", name=name)).to_have_attribute("aria-current", "page")
        assert not scrolls_sideways(me.page)
        expect(me.page.get_by_role("main")).not_to_be_empty()
    tabs.get_by_role("button", name="More").click()
    me.page.get_by_role("main").get_by_role("button", name="Settings").click()
    me.page.get_by_role("button", name="Security and account").click()
    expect(me.page.get_by_label("Current password")).to_be_visible(timeout=PATIENCE)
    assert not scrolls_sideways(me.page)


def test_what_a_finger_hits_is_forty_pixels_high(me: Person):
    me.opens_the_sample()
    small = me.page.evaluate(
        """() => [...document.querySelectorAll('.phone-head button, .phone-tabs button')]
            .filter((one) => one.getClientRects().length && one.getBoundingClientRect().height < 40)
            .map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert small == []


def test_the_session_list_is_a_drawer(me: Person):
    me.opens_the_sample().asks("Show me an error").sees("An error of a tool does not end the conversation")
    me.page.get_by_role("banner").get_by_role("button", name="Sessions").click()
    drawer = me.page.get_by_role("dialog")
    expect(drawer.get_by_text("Show me an error")).to_be_visible(timeout=PATIENCE)
    drawer.locator(".session-open").first.click()
    expect(drawer).to_be_hidden(timeout=PATIENCE)


def test_on_a_tablet_the_sidebar_is_a_drawer(shared_halo: Halo, person: Opener):
    me = person(shared_halo, width=900, height=700).arrives().signs_in().opens_the_sample()
    expect(me.page.locator(".sidebar")).to_have_count(0)
    me.page.keyboard.press("Control+b")
    expect(me.page.get_by_role("dialog").get_by_role("button", name="New session")).to_be_visible(timeout=PATIENCE)
    assert not scrolls_sideways(me.page)
