"""Files that a message names: chips, the dialog with the real file, and the ones nobody gets."""

import io
import wave
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from .chat_parts import Chat, plan, speaking
from .conftest import Opener
from .parts import PATIENCE, Halo, Models

Start = Callable[..., Chat]


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (width, height), "grey").save(file, "PNG")
    return file.getvalue()


def recording(seconds: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 1, 8000, 0, "NONE", ""))
        out.writeframes(b"\x80" * 8000 * seconds)
    return file.getvalue()


@pytest.fixture
def chat(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Start:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "plot.png").write_bytes(png(30, 20))
    (folder / "voice.wav").write_bytes(recording(3))
    (folder / "report.zip").write_bytes(b"PK")
    speaking(shared_halo, models)
    return lambda **more: Chat(person(shared_halo, **more), folder)


def has_loaded(picture: Locator) -> None:
    expect(picture).to_have_js_property("complete", True)
    expect(picture).to_have_js_property("naturalWidth", 30)


def test_a_file_that_the_agent_sends_opens_from_its_chip_and_is_really_there(chat: Start, models: Models):
    me = chat()
    plan(models, {"text": f"Here it is.\nMEDIA:{me.folder}/plot.png"})
    me.enters().asks("Draw the plot").sees("Here it is.").finishes()
    chip = me.page.get_by_role("button", name="Open picture plot.png")
    chip.focus()
    me.page.keyboard.press("Enter")
    dialog = me.page.get_by_role("dialog", name="plot.png")
    picture = dialog.get_by_role("img", name="plot.png")
    has_loaded(picture)
    first = picture.get_attribute("src")
    assert "MEDIA:" not in me.prose
    for _ in range(3):
        me.page.keyboard.press("Tab")
        assert dialog.evaluate("box => box.contains(document.activeElement)")
    with me.page.expect_download() as saved:
        dialog.get_by_role("link", name="Download").click()
    assert saved.value.path().read_bytes() == png(30, 20)
    me.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(chip).to_be_focused()

    (me.folder / "plot.png").write_bytes(png(30, 40))
    chip.click()  # asked anew: the picture as it is now
    has_loaded(picture)
    expect(picture).to_have_js_property("naturalHeight", 40)
    assert picture.get_attribute("src") != first


def test_a_file_that_nobody_gets_is_a_dead_chip_that_says_why(chat: Start, models: Models):
    me = chat()
    (me.folder / "link.png").symlink_to("/etc/passwd")
    names = ["/etc/hostname", f"{me.folder}/gone.png", f"{me.folder}/link.png"]
    plan(models, {"text": "\n".join(["Three.", *(f"MEDIA:{name}" for name in names)])})
    me.enters().asks("Send").sees("Three.").finishes()
    dead = me.page.locator(".chat-media-dead")
    expect(dead).to_have_count(3, timeout=PATIENCE)
    expect(dead.nth(0)).to_have_attribute("title", "This file is outside of the folder")
    expect(dead.nth(1)).to_have_attribute("title", "File not found")
    expect(dead.nth(2)).to_have_attribute("title", "Path traversal not allowed")
    expect(me.page.locator(".chat-media").get_by_role("button")).to_have_count(0)


def test_what_a_channel_saved_of_a_message_opens_on_a_phone_over_the_whole_screen(chat: Start, models: Models):
    me = chat().enters()
    me.page.set_viewport_size({"width": 390, "height": 844})
    plan(models, {"text": "Got it"})
    voice = f"[语音消息 3s已保存: {me.folder}/voice.wav，服务端转写: 明天见]"
    me.asks(f'{voice}\n[文件 "年报.zip" 已保存: {me.folder}/report.zip]\n\nSee these').sees("Got it").finishes()
    card = me.page.locator(".chat-user").first
    expect(card.get_by_text("明天见", exact=True)).to_be_visible()
    expect(card.get_by_text("See these", exact=True)).to_be_visible()
    card.get_by_role("button", name="Open recording voice.wav").click()
    dialog = me.page.get_by_role("dialog", name="voice.wav")
    expect(dialog.locator("audio")).to_have_js_property("duration", 3)
    expect(dialog.get_by_text("明天见")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    card.get_by_role("button", name="Open file 年报.zip").click()
    dialog = me.page.get_by_role("dialog", name="年报.zip")
    expect(dialog.get_by_text("There is no preview of this kind of file.")).to_be_visible()
    expect(dialog).to_have_css("height", "844px")
    with me.page.expect_download() as saved:
        dialog.get_by_role("link", name="Download").click()
    assert saved.value.suggested_filename.endswith(".zip")
