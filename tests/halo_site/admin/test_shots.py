"""The staff site in a real browser: nothing from outside, no error in the console, both themes. Keeps pictures.

`STAFF_SHOTS=<folder>` (read by the person who mends the look) says where the pictures go.
"""

import os
from pathlib import Path

import pytest

from .seed import plant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def seeded(tmp_path):
    return plant(tmp_path, per_day=170)


@pytest.fixture
def tab(live_server, seeded, page, settings):
    """A signed-in page that remembers what it should never see."""
    settings.UNFOLD = {**settings.UNFOLD, "SITE_SUBHEADER": "harbour-box"}
    wrong: list[str] = []
    page.on("console", lambda note: wrong.append(note.text) if note.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url.startswith((live_server.url, "data:")) else wrong.append(asked.url)
    )
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/admin/login/?next=/admin/")
    page.fill("[name=username]", "keeper")
    page.fill("[name=password]", "keeper-password")
    page.click("#login-form [type=submit]")
    page.wait_for_selector("#h-cards canvas")
    yield page
    assert wrong == []


def shot(page, name: str) -> None:
    folder = os.environ.get("STAFF_SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png")


PAGES = {
    "sessions": "sessions_app/session/",
    "turns": "sessions_app/turn/",
    "calls": "sessions_app/modelcall/",
    "workspaces": "workspaces_app/workspace/",
    "users": "auth/user/",
    "audit": "workspaces_app/auditevent/",
}


def test_the_language_is_switched_in_the_menu_and_stays(tab):
    tab.click(".h-userbtn")
    tab.click(".h-lang button[lang=zh-Hans]")
    tab.wait_for_selector("text=需要处理")
    assert tab.locator("html").get_attribute("lang") == "zh-hans"
    tab.wait_for_selector("#h-cards canvas")
    shot(tab, "dashboard-chinese")
    tab.goto(tab.url.partition("/admin/")[0] + "/admin/sessions_app/session/")
    tab.wait_for_selector("text=运行中")
    tab.click(".h-userbtn")
    tab.wait_for_selector(".h-lang [aria-pressed=true] >> text=中文")
    shot(tab, "sessions-chinese")


def test_the_finder_the_table_twin_and_the_renewal_work_by_keyboard(tab, live_server, seeded):
    tab.keyboard.press("/")
    tab.wait_for_selector("#search-input-command:focus")
    tab.keyboard.type("export")
    tab.wait_for_selector("#command-results-list a >> text=Export timeout")
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**/session/{seeded.talk.pk}/transcript/")
    tab.go_back()
    tab.wait_for_selector("#h-cards canvas")
    tab.focus("#h-twin-turns summary")
    tab.keyboard.press("Enter")
    assert tab.locator("#h-twin-turns tbody tr").count() == 14
    tab.evaluate("document.activeElement.blur()")
    with tab.expect_response("**/admin/dashboard/cards/*", timeout=30_000):
        pass
    tab.wait_for_selector("#h-twin-turns[open]")


def test_a_session_is_stopped_and_deleted_with_the_mouse(tab, live_server, seeded):
    tab.goto(f"{live_server.url}/admin/sessions_app/session/{seeded.talk.pk}/transcript/")
    tab.click("button:has-text('Stop')")
    tab.wait_for_selector("text=Stopped")
    assert f"/session/{seeded.talk.pk}/transcript/" in tab.url
    tab.click("button:has-text('Delete…')")
    tab.wait_for_selector("text=This cannot be undone")
    shot(tab, "confirm-light")
    tab.click("button:has-text('Delete 1 session')")
    tab.wait_for_selector("text=Deleted 1 session")
    assert not type(seeded.talk).objects.filter(pk=seeded.talk.pk).exists()


def test_a_phone_needs_no_sideways_scroll(tab, live_server, seeded):
    tab.set_viewport_size({"width": 375, "height": 800})
    for name, path in {**PAGES, "dashboard": "", "talk": f"sessions_app/session/{seeded.talk.pk}/transcript/"}.items():
        tab.goto(f"{live_server.url}/admin/{path}")
        tab.wait_for_load_state()
        shot(tab, f"phone-{name}")
        wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name


def test_the_pages_look_right_in_both_themes_and_ask_no_other_host(tab, live_server, seeded):
    for theme in ("light", "dark"):
        tab.evaluate(f"localStorage.setItem('adminTheme', JSON.stringify('{theme}'))")
        tab.goto(f"{live_server.url}/admin/")
        tab.wait_for_function(f"document.documentElement.classList.contains('{theme}')")
        assert tab.locator(".h-counter").count() == 6
        shot(tab, f"dashboard-{theme}")
        for name, path in PAGES.items():
            tab.goto(f"{live_server.url}/admin/{path}")
            tab.wait_for_selector("#result_list")
            shot(tab, f"{name}-{theme}")
        tab.goto(f"{live_server.url}/admin/sessions_app/session/{seeded.talk.pk}/transcript/")
        tab.wait_for_selector(".h-entry.assistant")
        shot(tab, f"transcript-{theme}")
        tab.goto(f"{live_server.url}/admin/workspaces_app/workspace/{seeded.workspaces[0].pk}/change/")
        tab.wait_for_selector("#workspace_form")
        shot(tab, f"workspace-{theme}")
        tab.goto(f"{live_server.url}/admin/auth/user/{seeded.keeper.pk}/change/")
        tab.wait_for_selector("#user_form")
        shot(tab, f"user-{theme}")
        tab.goto(f"{live_server.url}/admin/workspaces_app/workspace/{seeded.workspaces[4].pk}/relink/")
        shot(tab, f"relink-{theme}")
