"""A session is copied or downloaded as Markdown: in a browser against a real server."""

from pathlib import Path

from playwright.sync_api import Locator, expect

from .chat_parts import Chat, plan, seed
from .conftest import Opener, Start
from .parts import PATIENCE, Halo, Models


def opens_the_menu_of(me: Chat, title: str) -> Locator:
    me.page.keyboard.press("Control+b")
    row = me.page.locator(".session").filter(has_text=title)
    expect(row).to_be_visible(timeout=PATIENCE)
    row.hover()
    row.get_by_role("button", name=f"More for {title}").click()
    return me.page.get_by_role("menu")


def test_a_session_is_copied_whole_although_little_of_it_is_loaded(chat: Start, shared_halo: Halo, models: Models):
    me = chat().enters()
    me.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    (long,) = seed(shared_halo, me.folder, [1300])
    me.opens(long).page.reload()
    expect(me.page.locator(".chat-row").first).to_be_visible(timeout=PATIENCE)
    me.page.get_by_role("button", name="More", exact=True).click()
    me.page.get_by_role("menuitem", name="Copy as Markdown").click()
    expect(me.page.get_by_text("Copied")).to_be_visible(timeout=PATIENCE)
    text = str(me.page.evaluate("navigator.clipboard.readText()"))
    assert "> message 0 lorem ipsum" in text
    assert text.startswith("# ")
    assert text.count("\n## User, ") > 200


def test_a_reader_downloads_a_session_under_its_title(
    chat: Start, shared_halo: Halo, models: Models, person: Opener, tmp_path: Path
):
    plan(models, {"text": "It is **blue**."})
    me = chat().enters()
    me.asks("Which colour?").sees("It is").finishes()
    cookie = {"name": "halo_token", "value": shared_halo.member(me.folder, "readonly"), "url": shared_halo.address}
    reader = Chat(person(shared_halo), me.folder)
    reader.page.context.add_cookies([cookie])  # type: ignore[list-item]
    reader.person.arrives(f"/?folder={me.folder}")
    expect(reader.page.get_by_text("You can read this workspace, not write.")).to_be_visible(timeout=PATIENCE)
    menu = opens_the_menu_of(reader, "Which colour?")
    expect(menu.get_by_role("menuitem", name="Rename")).to_have_count(0)
    with reader.page.expect_download() as download:
        menu.get_by_role("menuitem", name="Download as Markdown").click()
    assert download.value.suggested_filename == "Which colour_.md"
    said = Path(download.value.path()).read_text()
    assert "> Which colour?" in said
    assert "It is **blue**." in said


def test_the_items_are_within_reach_on_a_phone_in_chinese(chat: Start, shared_halo: Halo, models: Models):
    plan(models, {"text": "Fine."})
    me = chat(width=375, height=740, locale="zh-CN")
    me.person.arrives(f"/?folder={me.folder}")
    me.page.locator("input[type=password]").fill(shared_halo.password)
    me.page.keyboard.press("Enter")
    expect(me.person.composer).to_be_visible(timeout=PATIENCE)
    me.asks("How is it?").sees("Fine.")
    me.page.get_by_role("banner").get_by_role("button", name="更多").click()
    for name in ("复制为 Markdown", "下载为 Markdown"):
        expect(me.page.get_by_role("menuitem", name=name)).to_be_in_viewport(ratio=1)
