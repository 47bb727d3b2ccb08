"""Find a message again, go on from it in a copy, and see who wrote what: in a browser against a real server."""

import re
import struct
import zlib
from pathlib import Path

from playwright.sync_api import Locator, expect

from .chat_parts import Chat, plan, seed, speaking
from .conftest import Opener, Start
from .parts import PATIENCE, ROOT, Halo, Models
from .test_agent_at_work import furnish


def searches(me: Chat, words: str) -> Locator:
    me.page.keyboard.press("ControlOrMeta+Shift+F")
    me.page.get_by_role("searchbox", name="Words in any session").fill(words)
    return me.page.get_by_role("region", name="Search messages")


def test_a_message_far_back_is_found_and_shown_with_its_words_marked(chat: Start, shared_halo: Halo, models: Models):
    me = chat().enters()
    (long,) = seed(shared_halo, me.folder, [2500])
    plan(models, {"text": "The narwhal sleeps."})
    me.asks("What does the narwhal do?").sees("The narwhal sleeps.").finishes()
    found = searches(me, "narwhal")
    hits = found.get_by_role("button").filter(has_text="narwhal")
    expect(hits).to_have_count(2, timeout=PATIENCE)
    expect(hits.first.locator("mark")).to_have_text("narwhal")
    me.page.get_by_role("button", name="New session").first.click()
    hits.filter(has_text="sleeps").click()
    expect(me.page.locator(".chat-row.found")).to_contain_text("The narwhal sleeps.", timeout=PATIENCE)

    # The first message of a long session: older windows are loaded until it is there.
    words = "message 0 lorem ipsum"
    found = searches(me, f'"{words}"')
    hit = found.locator(".search-hit").filter(has_text=words).last
    expect(hit).to_be_visible(timeout=PATIENCE)
    hit.click()
    expect(me.page.locator(".chat-row.found").filter(has_text=words)).to_be_in_viewport(timeout=PATIENCE)
    assert me.session == long
    assert me.page.locator(".chat-row").count() <= 80


def test_the_palette_finds_words_in_messages(chat: Start, models: Models):
    me = chat().enters()
    plan(models, {"text": "An axolotl grows it again."})
    me.asks("Who grows a leg again?").sees("An axolotl grows it again.").finishes()
    me.page.keyboard.press("ControlOrMeta+K")
    me.page.get_by_placeholder("Search sessions and commands").fill("axolotl")
    me.page.locator(".palette").get_by_text("An axolotl grows it again.").click()
    expect(me.page.locator(".chat-row.found")).to_contain_text("An axolotl", timeout=PATIENCE)


def test_a_fork_begins_with_the_messages_up_to_there_and_says_where_it_came_from(chat: Start, models: Models):
    me = chat().enters()
    plan(models, {"text": "Answer one."}, {"text": "Answer two."}, {"text": "Answer three."})
    me.asks("Question one").sees("Answer one.").finishes()
    me.asks("Question two").sees("Answer two.").finishes()
    old = me.session
    answer = me.page.locator(".chat-row-text").filter(has_text="Answer one.")
    answer.hover()
    answer.get_by_role("button", name="Fork from here").click()  # streamed just now: its entry is asked for
    dialog = me.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Files are not copied")
    dialog.get_by_role("button", name="Fork session").click()
    me.sees("Copied up to here from")
    assert me.session != old
    expect(me.log_text("Answer one.")).to_be_visible()
    expect(me.log_text("Answer two.")).to_have_count(0)
    me.asks("Question three").sees("Answer three.").finishes()

    me.page.get_by_role("note").get_by_role("button").click()
    expect(me.page.locator(".chat-row.found")).to_contain_text("Answer one.", timeout=PATIENCE)
    assert me.session == old


def test_a_fork_waits_until_the_agent_has_finished(chat: Start, models: Models):
    me = chat().enters()
    plan(models, {"text": "Answer one."}, {"hang": "stream"})
    me.asks("Question one").sees("Answer one.").finishes()
    me.asks("Question two")
    expect(me.run_bar).to_be_visible(timeout=PATIENCE)
    answer = me.page.locator(".chat-row-text").filter(has_text="Answer one.")
    answer.hover()
    answer.get_by_role("button", name="Fork from here").click()
    dialog = me.page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("Wait until the agent has finished")
    expect(dialog.get_by_role("button", name="Fork session")).to_be_disabled()
    dialog.get_by_role("button", name="Cancel").click()
    me.run_bar.get_by_role("button", name="Stop").click()
    me.finishes()


def test_a_sub_agent_is_seen_at_work_opened_stopped_and_its_report_is_nobodys_words(
    halo: Halo, models: Models, person: Opener, tmp_path: Path
):
    folder = tmp_path / "work"
    folder.mkdir()
    furnish(halo, models, "chat")
    helper = halo.home / "global" / "agents" / "helper" / "agent.yaml"
    helper.write_text(helper.read_text().replace("m-1:text=The helper found three", "m-1:hang=stream"))
    models.control({"defaults": {"text": "All wrapped up."}})
    work = {"name": "start_session", "arguments": {"agent_id": "helper", "message": "Count the notes"}}
    plan(models, {"tool_calls": [work]})
    me = Chat(person(halo), folder).enters()
    me.asks("Have the notes counted").sees("All wrapped up.")
    card = me.page.get_by_role("region", name="Sub-agents")
    expect(card).to_contain_text("1 of 1 working", timeout=PATIENCE)
    card.get_by_role("button", name="Open").click()
    place = me.page.get_by_role("navigation", name="Where this session belongs")
    expect(place).to_contain_text("Helper", timeout=PATIENCE)
    me.sees("Task from Lead")
    expect(me.person.composer).to_have_count(0)  # its orders come from the agent above it
    assert ">" in me.session
    place.get_by_role("button").click()
    card.get_by_role("button", name="Stop Helper").click()
    expect(card).to_have_count(0, timeout=PATIENCE)


def test_a_report_is_a_callout_and_the_same_text_typed_is_a_message(
    halo: Halo, models: Models, person: Opener, tmp_path: Path
):
    folder = tmp_path / "work"
    folder.mkdir()
    furnish(halo, models, "chat")
    models.control({"defaults": {"text": "All wrapped up."}})
    plan(
        models,
        {"tool_calls": [{"name": "start_session", "arguments": {"agent_id": "helper", "message": "Count the notes"}}]},
    )
    me = Chat(person(halo), folder).enters()
    me.asks("Have the notes counted").sees("Report from Helper").finishes()
    report = me.page.locator(".chat-callout")
    expect(report).to_contain_text("The helper found three")
    report.get_by_role("button", name="Open").click()
    me.sees("Task from Lead")
    me.page.get_by_role("navigation", name="Where this session belongs").get_by_role("button").click()
    me.asks("(from: session x>y)\nI am a report")
    expect(me.page.locator(".chat-user-card").filter(has_text="I am a report")).to_be_visible(timeout=PATIENCE)
    expect(me.page.locator(".chat-callout")).to_have_count(1)
    me.person.keeps_a_picture(ROOT / "docs" / "images" / "report.png")


def test_a_picture_the_agent_looked_at_is_shown(halo: Halo, models: Models, person: Opener, tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "plot.png").write_bytes(png(40, 20))
    furnish(halo, models, "chat")
    agent = halo.home / "global" / "agents" / "default" / "agent.yaml"
    sees = (
        agent.read_text().replace("file_read]", "file_read, view_image]").replace("ours, id", "ours, image: true, id")
    )
    agent.write_text(sees)
    me = Chat(person(halo), folder).enters()
    plan(models, {"tool_calls": [{"name": "view_image", "arguments": {"path": "plot.png"}}]}, {"text": "A red plot."})
    me.asks("Look at plot.png").sees("A red plot.").finishes()
    picture = me.page.locator(".chat-picture img")
    expect(picture).to_be_visible(timeout=PATIENCE)
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40


def test_search_works_on_a_phone(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    speaking(shared_halo, models)
    me = Chat(person(shared_halo, width=390, height=844, has_touch=True, is_mobile=True), folder)
    me.person.arrives(f"/?folder={folder}").signs_in()
    expect(me.person.composer).to_be_visible(timeout=PATIENCE)
    plan(models, {"text": "A quokka smiles."})
    me.asks("Who smiles?").sees("A quokka smiles.").finishes()
    me.page.get_by_role("button", name="More", exact=True).last.click()
    me.page.get_by_role("button", name=re.compile("^Search")).last.click()
    me.page.get_by_role("searchbox").fill("quokka")
    me.page.locator(".search-hit").filter(has_text="smiles").click()
    expect(me.page.locator(".chat-row.found")).to_be_visible(timeout=PATIENCE)
    assert me.page.evaluate("document.documentElement.scrollWidth") <= 390


def png(width: int, height: int) -> bytes:
    """A red picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xff\x20\x20" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
