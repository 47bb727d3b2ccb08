"""While the agent works: the queue, interrupt and stop, tool cards, errors; and nothing in a message that acts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Request, expect

from .chat_parts import Chat, plan, speaking, words
from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Models

Start = Callable[..., Chat]


@pytest.fixture
def chat(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Start:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "service.py").write_text("def header(boat):\n    return boat\n")
    speaking(shared_halo, models)
    return lambda **more: Chat(person(shared_halo, **more), folder)


def shell(command: str) -> dict[str, object]:
    return {"text": "", "tool_calls": [{"name": "shell_exec", "arguments": {"command": command}}]}


def test_what_is_sent_while_it_works_waits_in_order_and_is_read_at_the_next_safe_point(chat: Start, models: Models):
    plan(models, shell("sleep 4"), {"text": "Read both"})
    me = chat().enters().asks("Begin")
    expect(me.run_bar.get_by_text("Running sleep")).to_be_visible(timeout=PATIENCE)
    me.asks("then this").asks("and drop this").asks("and that")
    expect(me.queue).to_have_count(3, timeout=PATIENCE)
    me.queue.filter(has_text="and drop this").get_by_role("button", name="Remove").click()
    expect(me.queue).to_have_count(2, timeout=PATIENCE)
    me.queue.filter(has_text="and that").get_by_role("button", name="Edit").click()
    expect(me.person.composer).to_have_value("and that")
    me.asks("and that, please")
    expect(me.queue.filter(has_text="and that, please")).to_have_count(1, timeout=PATIENCE)
    me.sees("Read both").finishes()
    shown = me.page.locator(".chat-user-text").all_inner_texts()
    assert shown == ["Begin", "then this", "and that, please"]
    expect(me.queue).to_have_count(0)


def test_two_escapes_interrupt_and_one_does_not(chat: Start, models: Models):
    plan(models, {"text": words(400), "delay": 50}, {"text": "Now the other thing"})
    me = chat().enters().asks("Talk").sees("w5")
    me.person.composer.press("Escape")
    expect(me.run_bar.get_by_text("Esc again to interrupt")).to_be_visible()
    expect(me.run_bar.get_by_text("Esc again to interrupt")).to_have_count(0, timeout=PATIENCE)  # disarmed by itself
    me.sees("w60")
    me.asks("Something else")
    expect(me.queue).to_have_count(1, timeout=PATIENCE)
    me.person.composer.press("Escape")
    me.person.composer.press("Escape")
    me.sees("Now the other thing").finishes()
    assert "w399" not in me.prose


def test_stop_keeps_what_was_written_and_offers_to_continue(chat: Start, models: Models):
    plan(models, {"text": words(400), "delay": 50}, {"text": "Going on"})
    me = chat().enters().asks("Talk").sees("w10")
    me.run_bar.get_by_role("button", name="Stop").click()
    me.finishes().sees("Stopped by you")
    assert me.prose.startswith("w0 w1")
    me.page.reload()
    me.sees("Stopped by you").sees("w10")
    me.page.get_by_role("button", name="Continue").click()
    me.sees("Going on")


def test_a_running_command_shows_its_output_in_a_box_that_does_not_grow(chat: Start, models: Models):
    plan(models, shell("for i in 1 2 3 4 5 6; do echo line $i; sleep 0.3; done"), {"text": "Done"})
    me = chat().enters().asks("Run it")
    box = me.page.locator(".chat-out-live")
    expect(box).to_be_visible(timeout=PATIENCE)
    before = box.bounding_box()
    expect(box.get_by_text("line 3")).to_be_visible(timeout=PATIENCE)
    after = box.bounding_box()
    assert before is not None
    assert after is not None
    assert before["height"] == after["height"]
    me.sees("Done")


def test_an_edit_shows_its_lines_and_reads_share_one_line(chat: Start, models: Models):
    reads = [
        {"name": "file_read", "arguments": {"path": "service.py"}},
        {"name": "grep", "arguments": {"pattern": "boat"}},
    ]
    edit = {
        "name": "file_edit",
        "arguments": {"path": "service.py", "old_string": "    return boat\n", "new_string": "    yield boat\n"},
    }
    plan(models, {"text": "", "tool_calls": reads}, {"text": "", "tool_calls": [edit]}, {"text": "Fixed"})
    me = chat().enters().asks("Fix it").sees("Fixed").finishes()
    me.sees("Read 1 file, searched once")
    card = me.page.locator(".chat-tool").filter(has_text="Edit")
    expect(card.locator(".add")).to_have_text("+    yield boat")
    expect(card.locator(".del")).to_have_text("-    return boat")
    assert (me.folder / "service.py").read_text().endswith("yield boat\n")


def test_a_vendors_refusal_says_what_is_safe_and_the_session_goes_on(chat: Start, models: Models):
    refused = {
        "error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}
    }
    plan(models, {"status": 401, "error": refused}, {"text": "Better now"})
    me = chat().enters().asks("Hello")
    expect(me.page.locator(".chat-error")).to_contain_text("Nothing was lost", timeout=PATIENCE)
    expect(me.page.locator(".chat-error").get_by_role("button", name="Model settings")).to_be_visible()
    me.finishes().asks("Again").sees("Better now")


def test_a_deleted_exchange_comes_back_by_undo(chat: Start, models: Models):
    plan(models, {"text": "An answer"})
    me = chat().enters().asks("A question").sees("An answer").finishes()
    me.message("A question").hover()
    me.message("A question").get_by_role("button", name="Delete").click()
    expect(me.log_text("An answer")).to_have_count(0, timeout=PATIENCE)
    me.page.get_by_role("button", name="Undo").click()
    me.sees("An answer")
    me.page.reload()
    me.sees("An answer")


def test_a_press_on_the_context_ring_compacts_from_six_messages_on(chat: Start, models: Models):
    plan(models, {"text": "One"}, {"text": "Two"}, {"text": "Three"}, {"text": "A summary"})
    me = chat().enters()
    ring = me.page.locator(".chat-context")
    me.asks("First").sees("One").finishes()
    expect(ring).to_have_role("img")
    me.asks("Second").sees("Two").finishes()
    me.asks("Third").sees("Three").finishes()
    me.page.get_by_role("button", name="Press to compact").click()
    me.sees("Context compacted")


def test_closing_a_tab_stops_nothing(chat: Start, models: Models):
    plan(models, {"text": words(60), "delay": 50})
    me = chat().enters().asks("Work on").sees("w3")
    session = me.session
    me.page.locator(".chat-tab.on .chat-tab-close").click()
    expect(me.page.get_by_role("tab", name="Draft")).to_be_visible()
    other = chat().opens(session).enters()
    other.finishes().sees("w59")


def test_a_new_session_beside_a_running_one_is_a_draft_and_takes_nothing_from_it(chat: Start, models: Models):
    plan(models, {"text": words(60), "delay": 50})
    me = chat().enters().asks("Work on").sees("w3")
    me.asks("/session new")
    expect(me.page.get_by_role("tab", name="Draft")).to_have_attribute("aria-selected", "true", timeout=PATIENCE)
    expect(me.log_text("Work on")).to_have_count(0)
    listed = me.page.evaluate(
        "async folder => (await (await fetch(`/api/sessions/logs?projectId=${encodeURIComponent(folder)}`)).json())",
        str(me.folder),
    )
    assert [row["title"] for row in listed["sessions"]] == ["Work on"]
    me.page.get_by_role("tab", name="Work on").click()
    me.sees("w59").finishes()
    assert me.prose.count("w59") == 1


def test_enter_within_a_composition_chooses_characters_and_sends_nothing(chat: Start, models: Models):
    plan(models, {"text": "Good"})
    me = chat().enters()
    me.person.composer.fill("nihao")
    for how in ({"isComposing": True}, {"keyCode": 229}):
        event = {"key": "Enter", "code": "Enter", "bubbles": True, "cancelable": True} | how
        taken = me.page.locator("#composer").evaluate(
            "(field, how) => !field.dispatchEvent(new KeyboardEvent('keydown', how))", event
        )
        assert not taken, "the key belongs to the input method"
    expect(me.person.composer).to_have_value("nihao")
    me.person.composer.press("Enter")
    me.sees("Good").finishes()
    expect(me.page.locator(".chat-user")).to_have_count(1)


def test_F1_F2_a_hostile_answer_runs_nothing_and_asks_no_other_host(chat: Start, models: Models):
    hostile = (
        "<script>window.hit = 1</script><img src=x onerror='window.hit=1'>\n\n"
        "![pixel](https://tracker.example/a.png) [click](javascript:window.hit=1) ![ref][r]\n\n"
        "<iframe src='https://tracker.example/'></iframe>\n\n[r]: https://tracker.example/b.png\n\nThe end."
    )
    plan(models, {"text": hostile, "delay": 5})
    me = chat().enters()
    asked: list[str] = []
    me.page.on("request", lambda request: asked.append(_host(request)))
    me.asks("Show me").sees("The end.").finishes()
    assert me.page.evaluate("() => window.hit") is None
    assert {host for host in asked if host} <= {_host_of(me.person.halo.address)}
    chip = me.page.get_by_role("button", name="pixel")
    expect(chip).to_contain_text("tracker.example")
    assert me.page.locator(".md iframe, .md script, .md img").count() == 0


def _host(request: Request) -> str:
    return _host_of(request.url)


def _host_of(address: str) -> str:
    return address.split("/")[2] if address.startswith("http") else ""


def test_the_chat_on_a_phone_has_no_sideways_scroll(chat: Start, models: Models):
    plan(models, {"text": "```\n" + "long line " * 60 + "\n```\n\n" + words(80)})
    me = chat(width=375, height=812, is_mobile=True, has_touch=True)
    me.person.arrives(f"/?folder={me.folder}").signs_in()
    expect(me.person.composer).to_be_visible(timeout=PATIENCE)
    me.asks("Hello from the road").sees("w79")
    assert me.page.evaluate("() => document.documentElement.scrollWidth") == 375
    me.person.keeps_a_picture(ROOT / "docs" / "images" / "phone-chat.png")


def test_a_picture_goes_up_before_its_message_and_is_shown_at_once(chat: Start, models: Models, tmp_path: Path):
    plan(models, {"text": "I see"})
    picture = tmp_path / "boat.png"
    Image.new("RGB", (4000, 1000), "navy").save(picture)
    me = chat().enters()
    with me.page.expect_response("**/api/sessions/uploads") as answered:
        me.page.locator("input[type=file]").set_input_files(picture)
    uploaded = answered.value.json()
    assert (answered.value.status, uploaded["width"], uploaded["height"]) == (201, 1568, 392)
    [stored] = (me.folder / ".halo").rglob("image_*")
    assert Image.open(stored).format == "JPEG"
    expect(me.page.locator(".chat-attachment.uploading")).to_have_count(0)
    me.asks("What is this?").sees("I see").finishes()
    expect(me.message("What is this?").locator("img")).to_be_visible()
    me.page.reload()
    me.message("What is this?").get_by_role("button", name="Open picture").click()
    expect(me.page.get_by_role("dialog").locator("img")).to_have_js_property("naturalWidth", 1568)
