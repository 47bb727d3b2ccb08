"""Long sessions: windows come as the reader scrolls, and nothing moves under their eyes."""

import re

from playwright.sync_api import expect

from .chat_parts import plan, seed, words
from .conftest import Start
from .parts import PATIENCE, Halo, Models

PLACE = """() => {
  const log = document.querySelector('.chat-log');
  const rows = [...log.querySelectorAll('[data-key]')].filter((row) => row.getBoundingClientRect().top > 150);
  return [rows[1].dataset.key, rows[1].getBoundingClientRect().top];
}"""


def test_a_session_of_3000_entries_mounts_a_screenful_and_loads_older_ones(chat: Start, shared_halo: Halo):
    me = chat().enters()
    (session,) = seed(shared_halo, me.folder, [3000])
    me.opens(session)
    me.page.reload()
    expect(me.page.locator(".chat-row-text").first).to_be_visible(timeout=PATIENCE)
    assert me.page.locator(".chat-row").count() <= 60

    asked: list[str] = []
    me.page.on("response", lambda response: "/entries" in response.url and asked.append(response.url))
    me.page.mouse.move(700, 400)
    for _ in range(2000):
        me.page.mouse.wheel(0, -4000)
        if len(asked) >= 3:
            break
        me.page.wait_for_timeout(30)
    assert len(asked) >= 3
    assert me.page.locator(".chat-row").count() <= 80

    before = me.page.evaluate(PLACE)
    me.page.get_by_role("button", name="Jump to latest").click()
    expect(me.page.get_by_role("button", name="Jump to latest")).to_have_count(0)
    assert before[0]


def test_reading_further_up_nothing_moves_while_the_answer_streams(chat: Start, models: Models):
    me = chat().enters()
    for number in range(6):
        plan(models, {"text": f"answer {number}\n\n" + "some prose\n\n" * 8})
        me.asks(f"question {number}").sees(f"answer {number}").finishes()
    plan(models, {"text": words(200), "delay": 20})
    me.asks("one more").sees("w3")
    me.page.mouse.move(700, 400)
    me.page.mouse.wheel(0, -900)
    expect(me.page.get_by_role("button", name="Jump to latest")).to_be_visible(timeout=PATIENCE)
    before = me.page.evaluate(PLACE)
    expect(me.page.get_by_role("button", name="Jump to latest, new text below")).to_be_visible(timeout=PATIENCE)
    me.finishes()
    after = me.page.evaluate(PLACE)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) <= 1
    me.page.get_by_role("button", name="Jump to latest").click()
    me.sees("w199")


def test_older_rows_come_in_above_without_moving_the_reader(chat: Start, shared_halo: Halo):
    me = chat().enters()
    (session,) = seed(shared_halo, me.folder, [900])
    me.opens(session)
    me.page.reload()
    expect(me.page.locator(".chat-row-text").first).to_be_visible(timeout=PATIENCE)
    me.scroller.evaluate("(log) => { log.scrollTop = 300; }")
    expect(me.page.get_by_role("button", name="Show earlier")).to_have_count(1, timeout=PATIENCE)
    before = me.page.evaluate(PLACE)
    with me.page.expect_response("**/entries?**"):
        me.page.get_by_role("button", name="Show earlier").evaluate("(button) => button.click()")
    key = f'[data-key="{before[0]}"]'
    me.page.wait_for_function("() => document.querySelector('.chat-log').scrollTop > 1000")
    # Rows above are measured as they are drawn; the reader's own row is back at its place with the next frames.
    at_its_place = "([key, top]) => Math.abs(document.querySelector(key).getBoundingClientRect().top - top) <= 1"
    me.page.wait_for_function(at_its_place, arg=[key, before[1]])


def test_the_end_of_a_log_stays_in_view_through_every_layout(chat: Start, models: Models):
    rows = "\n\n".join(f"{words(60)}\n\n```\nline {number}\n```" for number in range(12))
    plan(models, {"text": rows})
    me = chat().enters().asks("Write much").sees("line 11").finishes()
    for _ in range(2):
        for number in ("2", "3", "4", "1"):
            me.page.keyboard.press(f"Alt+Shift+Digit{number}")
            me.page.wait_for_function(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {"
                " const log = document.querySelector('.chat-log');"
                " done(log !== null && log.scrollHeight - log.scrollTop - log.clientHeight <= 1); })))"
            )


def test_find_in_session_reaches_the_first_message_of_a_long_one_and_goes_through_the_hits(
    chat: Start, shared_halo: Halo
):
    me = chat().enters()
    (session,) = seed(shared_halo, me.folder, [900])
    me.opens(session)
    me.page.reload()
    expect(me.page.locator(".chat-row-text").first).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Control+f")
    bar = me.page.get_by_role("search", name="Find in this session")
    field = bar.get_by_role("textbox")
    expect(field).to_be_focused()
    field.fill("message 0 ")
    expect(bar.get_by_role("status")).to_have_text("1 of 1", timeout=PATIENCE)
    expect(me.page.locator(".chat-user", has_text="message 0 ")).to_be_in_viewport()
    assert me.page.evaluate("[...CSS.highlights.get('find-now')].map(String)") == ["message 0"]

    field.fill("MESSAGE 1")
    expect(bar.get_by_role("status")).to_have_text(re.compile(r"^(\d+) of \1$"))
    newest = me.page.evaluate("[...CSS.highlights.get('find-now')][0].startContainer.data.slice(0, 13)")
    field.press("Enter")
    field.press("Shift+Enter")
    assert me.page.evaluate("[...CSS.highlights.get('find-now')][0].startContainer.data.slice(0, 13)") == newest
    field.fill("nowhere to be found")
    expect(bar.get_by_role("status")).to_have_text("No match")
    field.press("Escape")
    expect(bar).to_have_count(0)
    assert me.page.evaluate("CSS.highlights.has('find')") is False


def test_a_reload_shows_the_log_at_once_and_a_logout_leaves_nothing_of_it(chat: Start, models: Models):
    plan(models, {"text": "An answer"})
    me = chat().enters().asks("A question").sees("An answer").finishes()
    me.wire.cut()
    me.page.reload()
    me.sees("An answer")
    expect(me.scroller).to_have_attribute("aria-busy", "true")
    me.wire.mend()
    expect(me.scroller).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
    expect(me.log_text("An answer")).to_have_count(1)
    assert "An answer" in me.page.evaluate("sessionStorage.halo_last_window")

    me.page.get_by_role("button", name="Account").click()
    me.page.get_by_role("menuitem", name="Log out").click()
    expect(me.page.get_by_label("Password", exact=True)).to_be_visible(timeout=PATIENCE)
    me.page.wait_for_function("() => sessionStorage.halo_last_window === undefined")
