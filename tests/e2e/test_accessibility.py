"""No serious finding of axe on any page that exists, in a dark and a light theme."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Person

AXE = ROOT / "static/app/node_modules/axe-core/axe.min.js"
RULES = "{ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations'] }"


def serious(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(f"axe.run(document, {RULES}).then((answer) => answer.violations)")
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.fixture(params=["dark", "light"])
def me(request: pytest.FixtureRequest, shared_halo: Halo, person: Opener) -> Person:
    one = person(shared_halo, reduced_motion="reduce")
    one.page.add_init_script(f"localStorage.setItem('halo_theme', '{request.param}')")
    return one.arrives()


def test_every_page_is_free_of_serious_findings(me: Person):
    page = me.page
    findings: dict[str, list[str]] = {}

    def look(place: str) -> None:
        if found := serious(page):
            findings[place] = found

    expect(page.get_by_role("button", name="Sign in")).to_be_visible(timeout=PATIENCE)
    look("login")

    me.signs_in()
    expect(page.get_by_role("listbox")).to_be_visible(timeout=PATIENCE)
    look("folder picker")

    me.opens_the_sample().asks("What is in this folder?").sees("Sample project")
    expect(page.locator(".ring-run")).to_have_count(0, timeout=PATIENCE)
    look("chat")

    page.keyboard.press("Control+b")
    expect(page.locator(".session")).not_to_have_count(0, timeout=PATIENCE)
    look("session list")

    page.keyboard.press("Alt+Shift+Digit2")
    expect(page.get_by_text("Open and edit files beside the chat.")).to_be_visible(timeout=PATIENCE)
    look("code layout")

    page.keyboard.press("Control+k")
    expect(page.locator(".palette")).to_be_visible(timeout=PATIENCE)
    look("palette")
    page.keyboard.press("Escape")

    page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
    for name in ("Overview", "agent.yaml", "AGENT.md", "What the model gets"):
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.get_by_role("tabpanel", name=name).locator(".card, textarea").first).to_be_visible(timeout=PATIENCE)
        look(f"agents, {name}")
    page.get_by_role("button", name="New agent").click()
    expect(page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    look("new agent")
    page.keyboard.press("Escape")
    page.get_by_role("navigation", name="Activities").get_by_label("Skills").click()
    expect(page.locator(".pane-row")).not_to_have_count(0, timeout=PATIENCE)
    look("skills")

    page.get_by_role("navigation", name="Activities").get_by_label("Settings").click()
    for name in ("Limits", "Appearance and language", "Security and account", "OpenAI"):
        page.get_by_role("main").get_by_role("button", name=re.compile(f"^{name}")).click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=PATIENCE)
        look(f"settings, {name}")

    page.get_by_role("button", name="Connect a model").first.click()
    expect(page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    look("connect a model")
    page.get_by_role("dialog").get_by_role("radio", name="Cloud account").click()
    expect(page.get_by_role("combobox", name="Region")).to_be_visible(timeout=PATIENCE)
    look("connect a cloud account")
    told = [f"{place}: {finding}" for place, found in findings.items() for finding in found]
    assert not told, "\n\n".join(told)
