"""Messages and answers over a link that breaks: nothing lost, nothing twice."""

from playwright.sync_api import expect

from .chat_parts import plan, words
from .conftest import Start
from .parts import PATIENCE, Models


def test_X4_two_tabs_end_with_the_same_text_although_one_was_cut(chat: Start, models: Models):
    plan(models, {"text": words(150), "delay": 40})
    first = chat().enters().asks("Tell me a long story").sees("w5")
    second = chat().opens(first.session).enters().sees("w5")
    first.wire.cut()
    second.sees("w80")
    first.wire.mend()
    first.finishes().sees("w149")
    second.finishes().sees("w149")
    assert first.prose == second.prose == words(150)
    expect(first.message("Tell me a long story")).to_have_count(1)
    expect(second.message("Tell me a long story")).to_have_count(1)


def test_T13_a_reply_goes_on_over_many_short_cuts_without_gap_or_repeat(chat: Start, models: Models):
    plan(models, {"thinking": "Let me think.", "text": words(120), "delay": 50})
    me = chat().enters().asks("Count")
    for mark in ("w10", "w40", "w70"):
        me.sees(mark)
        me.wire.cut()
        me.wire.mend()
    me.finishes()
    assert me.prose == words(120)


def test_a_message_typed_while_the_link_is_down_goes_out_once_when_it_is_back(chat: Start, models: Models):
    plan(models, {"text": "Here I am"})
    me = chat().enters()
    me.wire.cut()
    me.asks("Are you there?")
    expect(me.message("Are you there?").get_by_text("Waiting for the link")).to_be_visible(timeout=PATIENCE)
    me.wire.mend()
    me.sees("Here I am").finishes()
    expect(me.message("Are you there?")).to_have_count(1)
    assert len(set(me.wire.chats())) == 1


def test_X5_a_message_whose_ack_was_lost_is_one_message(chat: Start, models: Models):
    plan(models, {"text": "Heard you"})
    me = chat().enters()
    me.page.evaluate("() => undefined")
    me.asks("Only once")
    me.wire.cut()  # with luck before the ack; either way the resend must not double it
    me.wire.mend()
    me.sees("Heard you").finishes()
    me.page.reload()
    me.sees("Heard you")
    expect(me.message("Only once")).to_have_count(1)


def test_a_reload_right_after_enter_loses_nothing(chat: Start, models: Models):
    plan(models, {"text": "Still here"})
    me = chat().enters()
    me.wire.cut()
    me.asks("Do not lose me")
    me.wire.mend()
    me.page.reload()
    me.sees("Still here").finishes()
    expect(me.message("Do not lose me")).to_have_count(1)


def test_X6_typed_after_the_login_ended_it_is_sent_once_after_signing_in_again(chat: Start, models: Models):
    plan(models, {"text": "Welcome back"})
    me = chat().enters()
    me.page.context.clear_cookies()
    me.wire.cut()
    me.wire.mend()
    dialog = me.page.get_by_role("dialog")
    expect(dialog.get_by_label("Password", exact=True)).to_be_visible(timeout=PATIENCE)
    me.page.evaluate("() => document.getElementById('composer').focus()")
    me.page.locator("#composer").evaluate(
        """(field) => {
             const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
             set.call(field, "Typed too late");
             field.dispatchEvent(new Event("input", { bubbles: true }));
             field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
           }"""
    )
    dialog.get_by_label("Password", exact=True).fill(me.person.halo.password)
    dialog.get_by_role("button", name="Sign in").click()
    me.sees("Welcome back").finishes()
    expect(me.message("Typed too late")).to_have_count(1)
    assert len(set(me.wire.chats())) == 1


def test_drafts_are_kept_per_session_over_switch_and_reload(chat: Start, models: Models):
    plan(models, {"text": "First answer"})
    me = chat().enters().asks("First").sees("First answer").finishes()
    me.person.composer.fill("half a thought")
    me.page.get_by_role("button", name="New session").first.click()
    expect(me.person.composer).to_have_value("")
    me.person.composer.fill("another one")
    me.page.reload()
    expect(me.person.composer).to_have_value("another one", timeout=PATIENCE)
    me.page.get_by_role("tab", name="First").click()
    expect(me.person.composer).to_have_value("half a thought")
