"""The frame around the chat: sessions, palette, keys, layouts, looks, lost logins and lost links."""

import re

import pytest
from playwright.sync_api import APIResponse, Route, expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Person


@pytest.fixture
def me(shared_halo: Halo, person: Opener) -> Person:
    return person(shared_halo).arrives().signs_in().opens_the_sample()


def palette(me: Person, command: str) -> None:
    palette_at(me, command)
    me.page.keyboard.press("Enter")


def palette_at(me: Person, command: str) -> None:
    me.page.keyboard.press("Control+k")
    me.page.get_by_placeholder("Search sessions and commands").fill(command)
    expect(me.page.locator(".palette [data-selected]")).to_be_visible(timeout=PATIENCE)


def test_the_session_list_shows_renames_and_deletes(me: Person):
    me.asks("Find TODO comments").sees("TODO and FIXME")
    me.page.keyboard.press("Control+b")
    row = me.page.locator(".session").first
    expect(row.get_by_text("Find TODO comments")).to_be_visible(timeout=PATIENCE)
    expect(row.locator(".session-meta")).to_have_text(re.compile(r"^1 turn · .+ · demo$"), timeout=PATIENCE)

    row.locator(".session-open").focus()
    me.page.keyboard.press("F2")
    me.page.get_by_label("Title of the session").fill("All the loose ends")
    me.page.keyboard.press("Enter")
    expect(row.get_by_text("All the loose ends")).to_be_visible()
    expect(row.locator(".session-open")).to_be_focused()  # the keyboard goes on where it was
    expect(me.page.get_by_role("tab", name="All the loose ends")).to_be_visible(timeout=PATIENCE)

    me.page.keyboard.press("Delete")
    expect(me.page.get_by_role("dialog", name="Delete “All the loose ends”?")).to_be_visible()
    me.page.get_by_role("button", name="Delete session").click()
    expect(me.page.locator(".session", has_text="All the loose ends")).to_have_count(0, timeout=PATIENCE)


SUB_SESSION = """
from sessions_app.models import Session
root = Session.objects.get(sid={root!r})
Session.objects.create(sid=root.sid + ">" + {name!r}, parent=root, root=root, workspace=root.workspace,
    agent_id="default", agent_name="Default", created_at=root.created_at, updated_at=root.updated_at)
"""


def test_a_deletion_says_how_many_sub_sessions_go_with_it(me: Person):
    me.asks("Find TODO comments").sees("TODO and FIXME")
    me.page.keyboard.press("Control+b")
    row = me.page.locator(".session").first
    expect(row.locator(".session-meta")).to_contain_text("demo", timeout=PATIENCE)  # the turn has ended
    question = me.page.get_by_role("dialog", name="Delete “")
    root = row.locator(".session-open").get_attribute("data-session")
    for made, said in ("", "Its messages are gone"), ("a", "1 sub-session goes with it"), ("b", "2 sub-sessions go"):
        if made:
            me.halo.runs(SUB_SESSION.format(root=root, name=made))
            with me.page.expect_response(re.compile(r"/api/sessions/logs\?")):
                me.page.reload()  # which also closes the question
        row.locator(".session-open").focus()
        me.page.keyboard.press("Delete")
        expect(question).to_contain_text(said)
    me.page.get_by_role("button", name="Delete session").click()
    expect(me.page.locator(".session", has_text="Find TODO comments")).to_have_count(0, timeout=PATIENCE)


def test_a_new_title_stays_although_a_slower_list_still_has_the_old_one(me: Person):
    me.asks("Find TODO comments").sees("TODO and FIXME")
    me.page.keyboard.press("Control+b")
    row = me.page.locator(".session").first
    expect(row.get_by_text("Find TODO comments")).to_be_visible(timeout=PATIENCE)
    old: list[Route] = []

    def hold(route: Route) -> None:  # the answer is read before the title is stored, and arrives after it
        if old or route.request.method != "GET":
            route.fallback()
        else:
            old.append(route)
            stale.append(route.fetch())

    stale: list[APIResponse] = []
    me.page.route(re.compile(r"/api/sessions/logs\?"), hold)
    with me.page.expect_request(re.compile(r"/api/sessions/logs\?")):
        me.asks("What is in this folder?")
    row.locator(".session-open").focus()
    me.page.keyboard.press("F2")
    me.page.get_by_label("Title of the session").fill("All the loose ends")
    with me.page.expect_response(lambda answer: answer.request.method == "PATCH"):
        me.page.keyboard.press("Enter")
    old[0].fulfill(response=stale[0])
    me.page.keyboard.press("Delete")
    expect(me.page.get_by_role("dialog", name="Delete “All the loose ends”?")).to_be_visible()
    me.page.get_by_role("button", name="Delete session").click()


def test_the_focus_of_the_session_list_stays_on_its_row_when_the_rows_move(
    me: Person, shared_halo: Halo, person: Opener
):
    me.asks("Find TODO comments").sees("TODO and FIXME")
    me.page.get_by_role("button", name="New session").first.click()
    me.asks("What is in this folder?").sees("Sample project")
    me.page.keyboard.press("Control+b")
    rows = me.page.locator(".session-open")
    expect(rows.first).to_contain_text("What is in this folder?", timeout=PATIENCE)
    row = me.page.locator(".session-open", has_text="Find TODO comments")
    row.focus()

    elsewhere = person(shared_halo).arrives().signs_in().opens_the_sample()
    elsewhere.page.keyboard.press("Control+b")
    elsewhere.page.locator(".session-open", has_text="Find TODO comments").click()
    elsewhere.sees("TODO and FIXME").asks("And in the tests?")
    expect(rows.first).to_contain_text("Find TODO comments", timeout=PATIENCE)
    expect(row).to_be_focused()


def test_every_label_changes_with_the_language_without_a_reload(me: Person):
    me.page.evaluate("window.stayed = true")
    palette(me, "Language: 中文")
    expect(me.page.get_by_role("button", name="设置", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(me.page.get_by_text("这是演示智能体。")).to_be_visible()
    assert me.page.evaluate("document.documentElement.lang") == "zh-CN"
    assert me.page.evaluate("window.stayed") is True
    me.page.reload()
    expect(me.page.get_by_text("这是演示智能体。")).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name="语言：中文").click()
    expect(me.page.get_by_text("This is the demo agent.").first).to_be_visible(timeout=PATIENCE)


def test_the_theme_is_there_before_the_first_paint_and_follows_the_person(
    me: Person, shared_halo: Halo, person: Opener
):
    with me.page.expect_response("**/api/auth/prefs"):
        palette(me, "Theme: Light")
    me.page.add_init_script(
        "new PerformanceObserver((list) => { window.firstTheme ??= document.documentElement.dataset.theme })"
        ".observe({ type: 'paint', buffered: true })"
    )
    me.page.reload()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    assert me.page.evaluate("window.firstTheme") == "light"

    elsewhere = person(shared_halo).arrives().signs_in()
    expect(elsewhere.page.locator("html[data-theme=light]")).to_be_attached(timeout=PATIENCE)
    with me.page.expect_response("**/api/auth/prefs"):
        palette(me, "Theme: Dark")


def test_palette_and_key_list_open_and_close_by_keyboard(me: Person):
    me.page.keyboard.press("Control+k")
    field = me.page.get_by_placeholder("Search sessions and commands")
    expect(field).to_be_focused()
    field.fill("settings")
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_role("heading", name="Demo")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Control+j")  # the chat beside the page
    expect(me.composer).to_be_visible()
    me.page.get_by_role("navigation", name="Activities").get_by_label("Sessions").click()
    me.page.get_by_role("button", name="Layout").focus()
    me.page.keyboard.press("?")
    expect(me.page.get_by_role("dialog", name="Keyboard")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    expect(me.page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_layouts_move_the_chat_and_never_mount_it_again(me: Person):
    me.composer.fill("half a sentence")
    me.composer.evaluate("(element) => { element.marked = true }")
    for number, share in (("2", 0.75), ("3", 0.5), ("4", 0.6), ("1", 1.0)):
        me.page.keyboard.press(f"Alt+Shift+Digit{number}")
        expect(me.composer).to_be_visible(timeout=PATIENCE)
        me.page.wait_for_function(
            "(most) => (document.querySelector('.chat-host')?.offsetWidth ?? 9999) <= innerWidth * most", arg=share
        )
        assert me.composer.input_value() == "half a sentence"
        assert me.composer.evaluate("(element) => element.marked") is True
    me.composer.fill("")


def test_f6_walks_the_regions(me: Person):
    seen: set[str] = set()
    for _ in range(8):
        me.page.keyboard.press("F6")
        seen.add(me.page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert {"Top bar", "Activities", "Main area", "Status"} <= seen


def test_what_is_not_built_says_so(me: Person):
    me.page.get_by_role("button", name="Cron", exact=True).click()
    expect(me.page.get_by_role("main").get_by_text("Not in this version yet")).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name="Ask an agent").click()
    expect(me.composer).to_be_focused(timeout=PATIENCE)


def test_nothing_needs_you_is_said_plainly(me: Person):
    me.page.get_by_role("button", name="Needs you").click()
    expect(me.page.get_by_text("Nothing needs you")).to_be_visible(timeout=PATIENCE)


def test_X6_a_lost_login_asks_over_the_page_and_keeps_what_was_typed(me: Person):
    me.composer.fill("a thought not yet sent")
    palette_at(me, "Open settings")
    me.page.context.clear_cookies()  # whatever the app asks next is refused
    me.page.keyboard.press("Enter")
    dialog = me.page.get_by_role("dialog", name="You were signed out")
    expect(dialog).to_be_visible(timeout=PATIENCE)
    dialog.get_by_label("Password", exact=True).fill(me.halo.password)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_be_hidden(timeout=PATIENCE)
    me.page.get_by_role("navigation", name="Activities").get_by_label("Sessions").click()
    assert me.composer.input_value() == "a thought not yet sent"
    expect(me.page.get_by_text("Live")).to_be_visible(timeout=PATIENCE)
    me.composer.fill("")


def test_a_lost_link_is_told_in_one_line_and_comes_back(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in().opens_the_sample()
    halo.stop()
    expect(me.page.get_by_text("Agents go on.")).to_be_visible(timeout=PATIENCE)
    halo.start()
    me.page.get_by_role("button", name="Now", exact=True).click()
    expect(me.page.get_by_text("Live")).to_be_visible(timeout=40_000)
    me.asks("What is in this folder?").sees("Sample project")


def test_a_setting_is_saved_on_leaving_its_field_and_a_wrong_one_stays_in_it(me: Person):
    palette(me, "Open settings")
    me.page.get_by_role("button", name="Limits").click()
    field = me.page.get_by_role("textbox", name="Grep default matches")
    field.fill("many")
    field.press("Tab")
    expect(me.page.get_by_text("Must be a number. Not saved.")).to_be_visible(timeout=PATIENCE)
    expect(field).to_have_value("many")
    field.fill("70")
    field.press("Tab")
    expect(me.page.get_by_text("Saved ")).to_be_visible(timeout=PATIENCE)
    me.page.locator("[data-key='general.limits.grep_default_matches']").get_by_role("button", name="Reset").click()
    expect(field).to_have_value("50", timeout=PATIENCE)


def test_the_page_asks_no_other_host_and_breaks_no_rule_of_its_own(shared_halo: Halo, person: Opener):
    me = person(shared_halo)
    asked: list[str] = []
    refused: list[str] = []
    me.page.on("request", lambda request: asked.append(request.url))
    me.page.on(
        "console", lambda message: refused.append(message.text) if "Content Security Policy" in message.text else None
    )
    me.arrives().signs_in().opens_the_sample()
    palette(me, "Layout: Code")
    palette(me, "Open settings")
    expect(me.page.get_by_role("heading", name="Demo")).to_be_visible(timeout=PATIENCE)
    foreign = [url for url in asked if not url.startswith((shared_halo.address, "data:", "blob:"))]
    assert foreign == []
    assert refused == []
    palette(me, "Layout: Chat")


def test_looks_chosen_on_the_login_page_are_kept_with_the_person(halo: Halo, person: Opener):
    me = person(halo).arrives()
    me.page.get_by_role("radio", name="中文").click()
    me.page.get_by_role("radio", name="浅色").click()
    me.page.get_by_label("密码", exact=True).fill(halo.password)
    me.page.get_by_role("button", name="登录", exact=True).click()
    expect(me.page.get_by_role("heading", name="选择一个工作文件夹")).to_be_visible(timeout=PATIENCE)

    elsewhere = person(halo).arrives().signs_in()
    expect(elsewhere.page.get_by_role("heading", name="选择一个工作文件夹")).to_be_visible(timeout=PATIENCE)
    expect(elsewhere.page.locator("html[data-theme=light]")).to_be_attached()
