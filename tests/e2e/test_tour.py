"""The normal tour through the app, watched by the browser: it breaks no rule of its pages and reports no error."""

import re

from playwright.sync_api import ConsoleMessage, expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Person

LISTEN = """
window.addEventListener("securitypolicyviolation", (event) =>
  window.cspReport(`${event.violatedDirective} ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`));
"""
NOT_SIGNED_IN = re.compile(r"status of 401 .*/api/auth/check$")  # how the page learns that it has to ask


def command(me: Person, words: str) -> None:
    me.page.keyboard.press("Control+k")
    me.page.get_by_placeholder("Search sessions and commands").fill(words)
    expect(me.page.locator(".palette [data-selected]")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Enter")
    expect(me.page.locator(".palette")).to_have_count(0)


def test_B5_the_normal_tour_makes_no_policy_report_and_no_console_error(halo: Halo, person: Opener):
    me = person(halo)
    reports: list[str] = []
    errors: list[str] = []

    def hears(message: ConsoleMessage) -> None:
        said = f"{message.text} {message.location['url']}"
        if message.type == "error" and not NOT_SIGNED_IN.search(said):
            errors.append(said)

    me.page.expose_function("cspReport", lambda said: reports.append(said))
    me.page.add_init_script(LISTEN)
    me.page.on("console", hears)

    me.arrives()
    _proves_that_reports_arrive(me, reports)
    errors.clear()
    me.signs_in().opens_the_sample()
    me.asks("What is in this folder?").sees("Sample project")
    me.page.get_by_role("button", name="New session").first.click()
    me.asks("Find TODO comments").sees("TODO and FIXME")
    me.page.get_by_role("tab", name="What is in this folder?").click()
    me.sees("Sample project")
    me.page.keyboard.press("Control+b")
    expect(me.page.locator(".session")).to_have_count(2, timeout=PATIENCE)
    for layout in ("Code", "Review", "Terminal", "Chat"):
        command(me, f"Layout: {layout}")
        expect(me.composer).to_be_visible(timeout=PATIENCE)
    for theme in ("Light", "Warm", "Midnight", "Dark"):
        command(me, f"Theme: {theme}")
        expect(me.page.locator(f"html[data-theme={theme.lower()}]")).to_be_attached()
    command(me, "Open settings")
    expect(me.page.get_by_role("heading", name="Demo")).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name="Limits").click()
    expect(me.page.get_by_role("textbox", name="Grep default matches")).to_be_visible(timeout=PATIENCE)
    command(me, "Connect a model")
    expect(me.page.get_by_role("dialog")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    me.page.get_by_role("navigation", name="Activities").get_by_label("Sessions").click()
    me.page.get_by_role("button", name="Needs you").click()
    expect(me.page.get_by_text("Nothing needs you")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    me.page.reload()
    me.sees("Sample project")

    assert reports == []
    assert errors == []


def _proves_that_reports_arrive(me: Person, reports: list[str]) -> None:
    """A rule broken on purpose is reported; then the list begins anew."""
    with me.page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        me.page.evaluate(
            """() => new Promise((done) => {
              window.addEventListener("securitypolicyviolation", () => setTimeout(done), { once: true });
              const script = document.createElement("script");
              script.textContent = "window.hit = 1";
              document.head.append(script);
            })"""
        )
    assert [report.split()[0] for report in reports] == ["script-src-elem"]
    reports.clear()
