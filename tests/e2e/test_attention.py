"""What asks for a person: the "Needs you" list over all workspaces, its keys, and the sound of a finished run."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .chat_parts import Chat, plan, speaking
from .conftest import Opener
from .parts import PATIENCE, Halo, Models

Start = Callable[..., Chat]


@pytest.fixture
def chat(halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Start:
    speaking(halo, models)

    def start(folder: str) -> Chat:
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        return Chat(person(halo), path)

    return start


REFUSED = {
    "error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}
}


def test_a_refused_key_in_another_folder_needs_you_until_it_was_solved(chat: Start, models: Models):
    plan(models, {"status": 401, "error": REFUSED}, {"text": "Better now"})
    chat("boats").enters().asks("Count the boats").sees("Nothing was lost").finishes()
    me = chat("harbour").enters()

    me.page.locator("body").press("g")  # focus lies on the page, not in a field
    me.page.keyboard.press("n")
    needs = me.page.get_by_role("dialog", name="Needs you")
    row = needs.get_by_role("button", name="Count the boats")
    expect(row).to_contain_text("refused", timeout=PATIENCE)
    expect(row).to_contain_text("boats · ")
    expect(me.page).to_have_title("(1) Halo — harbour", timeout=PATIENCE)

    row.click()
    expect(me.page.get_by_role("dialog", name="Connect a model")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    expect(me.page).to_have_title("(1) Halo — boats", timeout=PATIENCE)
    me.sees("Nothing was lost").asks("Again").sees("Better now")
    expect(me.page).to_have_title("Halo — boats", timeout=PATIENCE)
    me.page.get_by_role("button", name="Needs you").click()
    expect(me.page.get_by_text("Nothing needs you")).to_be_visible(timeout=PATIENCE)


def test_letters_in_the_message_box_are_text_and_ctrl_p_says_that_files_are_not_there_yet(chat: Start, models: Models):
    me = chat("harbour").enters()
    me.person.composer.press_sequentially("gn")
    expect(me.person.composer).to_have_value("gn")
    me.page.keyboard.press("Control+p")
    expect(me.page.locator(".palette").get_by_text("Not in this version yet")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Escape")
    expect(me.page.locator(".palette")).to_have_count(0)
    me.page.keyboard.press("Control+k")
    expect(me.page.locator(".palette").get_by_text("Not in this version yet")).to_have_count(0)


LISTEN = """
window.sounds = 0;
window.AudioContext = class extends window.AudioContext {
  constructor() { super(); window.sounds += 1; }
};
window.notices = [];
window.Notification = class {
  static permission = "granted";
  static requestPermission = async () => "granted";
  constructor(words, { body }) { window.notices.push(body); }
};
document.hasFocus = () => window.watching !== false;
"""


def test_a_finished_run_sounds_when_switched_on_and_is_a_notice_when_nobody_watches(chat: Start, models: Models):
    plan(models, {"text": "One"}, {"text": "Two"}, {"text": "Three"})
    me = chat("harbour")
    me.page.context.grant_permissions(["notifications"])
    me.page.add_init_script(LISTEN)
    me.enters()
    me.page.evaluate("window.watching = false")
    me.asks("First").sees("One").finishes()
    assert me.page.evaluate("window.sounds") == 0

    me.page.get_by_role("button", name="Settings", exact=True).click()
    me.page.get_by_role("button", name="Appearance and language").click()
    switch = me.page.get_by_label("Sound when an agent has finished")
    me.page.get_by_text("Sound when an agent has finished").click()
    expect(switch).to_be_checked()
    assert me.page.evaluate("window.sounds") == 1  # how it will sound
    me.page.get_by_role("navigation", name="Activities").get_by_label("Sessions").click()
    me.asks("Second").sees("Two").finishes()
    me.page.wait_for_function("window.sounds === 2")
    assert me.page.evaluate("window.notices") == ["First"]  # the title of its session
    me.page.evaluate("window.watching = true")
    me.asks("Third").sees("Three").finishes()
    me.page.wait_for_function("window.sounds === 3")
    assert me.page.evaluate("window.notices") == ["First"]


def test_the_dot_of_a_tab_tells_what_this_person_has_not_seen_also_after_a_reload(
    chat: Start, halo: Halo, models: Models
):
    plan(models, {"text": "One"})
    me = chat("harbour").enters()
    me.asks("First").sees("One").finishes()
    tab, dot = me.page.get_by_role("tab", name="First"), me.page.locator(".chat-tab.unseen")
    session = f"S.objects.filter(sid={me.session!r})"
    grows = f"from sessions_app.models import Session as S; {session}.update(seq={session}.get().seq + 1)"
    me.page.get_by_role("button", name="New session").first.click()
    me.page.goto("about:blank")
    halo.runs(grows)  # more was said while nobody had the page open
    me.page.goto(f"{halo.address}/?folder={me.folder}")
    expect(dot).to_have_text("First", timeout=PATIENCE)

    tab.click()
    expect(dot).to_have_count(0)
    me.page.get_by_role("tab", name="Draft").click()
    with me.page.expect_response(re.compile("/api/sessions/logs.*limit=100")):
        me.page.reload()
    expect(tab).to_be_visible(timeout=PATIENCE)
    expect(dot).to_have_count(0)
