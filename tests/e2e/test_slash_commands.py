"""Slash commands in the browser: completion, answers in the log, the palette, and skills."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from .chat_parts import Wire
from .conftest import Opener
from .parts import PATIENCE, Halo, Person


@pytest.fixture
def me(shared_halo: Halo, person: Opener) -> Person:
    return person(shared_halo).arrives().signs_in().opens_the_sample()


def typed(me: Person, text: str) -> None:
    me.page.locator("#composer").fill(text)


def choices(me: Person) -> list[str]:
    options = me.page.locator(".chat-commands [role=option] .mono")
    expect(options.first).to_be_visible(timeout=PATIENCE)
    return options.all_text_contents()


def test_a_slash_offers_commands_and_then_their_verbs(me: Person):
    typed(me, "/")
    for name in ("/clear", "/help", "/agent", "/session", "/workspace"):  # those of the server come a moment later
        expect(me.page.locator(".chat-commands [role=option] .mono").get_by_text(name, exact=True)).to_be_visible(
            timeout=PATIENCE
        )
    me.page.locator("#composer").press_sequentially("ses")
    me.page.keyboard.press("Tab")
    expect(me.page.locator("#composer")).to_have_value("/session ")
    assert choices(me)[:3] == ["/session new", "/session list", "/session info"]
    me.page.locator("#composer").press_sequentially("con")
    me.page.keyboard.press("Enter")
    expect(me.page.locator(".chat-log").get_by_text("There is no session here.")).to_be_visible(timeout=PATIENCE)
    expect(me.page.locator("#composer")).to_have_value("")


def test_the_answer_stands_in_the_log_and_the_draft_stays_one(me: Person):
    typed(me, "/help")
    me.page.keyboard.press("Enter")
    notice = me.page.locator(".chat-notice", has_text="Commands:")
    expect(notice).to_contain_text("/workspace <verb>", timeout=PATIENCE)
    expect(me.page.locator(".chat-user, .user-card")).to_have_count(0)
    typed(me, "/nonsense")
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_role("alert").get_by_text("Unknown command: nonsense")).to_be_visible(timeout=PATIENCE)


@pytest.mark.parametrize("ending", ["answered", "cut off"])
def test_a_command_says_that_it_runs_until_its_answer_is_there_or_cannot_come(
    shared_halo: Halo, person: Opener, ending: str
):
    me = person(shared_halo)
    wire = Wire(me.page)
    me.arrives().signs_in().opens_the_sample()
    expect(me.page.get_by_text("Live", exact=True)).to_be_visible(timeout=PATIENCE)
    wire.hold()
    typed(me, "/help  me")
    me.page.keyboard.press("Enter")
    line = me.log.get_by_text("Executing /help  me …")
    expect(line).to_be_visible(timeout=PATIENCE)
    if ending == "answered":
        wire.release()
        expect(me.page.locator(".chat-notice", has_text="Commands:")).to_be_visible(timeout=PATIENCE)
    else:
        wire.cut()
    expect(line).to_have_count(0, timeout=PATIENCE)


def test_a_session_is_found_in_the_list_and_switched_to(me: Person):
    me.asks("Find TODO comments").sees("TODO and FIXME")
    typed(me, "/clear")
    me.page.keyboard.press("Enter")
    typed(me, "/session switch 1")
    me.page.keyboard.press("Enter")
    expect(me.page.locator(".chat-log").get_by_text("TODO and FIXME").first).to_be_visible(timeout=PATIENCE)


def test_the_palette_runs_commands_and_leaves_open_ones_to_the_composer(me: Person):
    me.page.keyboard.press("Control+k")
    box = me.page.get_by_placeholder("Search sessions and commands")
    box.fill("/workspace info")
    expect(me.page.locator(".palette [data-selected]")).to_contain_text("/workspace info", timeout=PATIENCE)
    me.page.keyboard.press("Enter")
    expect(me.page.locator(".chat-log").get_by_text("You are in /")).to_be_visible(timeout=PATIENCE)
    me.page.keyboard.press("Control+k")
    box.fill("/session switch")
    expect(me.page.locator(".palette [data-selected]")).to_contain_text("/session switch", timeout=PATIENCE)
    me.page.keyboard.press("Enter")
    expect(me.page.locator("#composer")).to_have_value("/session switch ")


def test_a_skill_makes_its_agent_work(halo: Halo, person: Opener):
    me = person(halo).arrives().signs_in().opens_the_sample()
    shared = Path(halo.home, "global")
    folder = shared / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greet\ncommand: /greet\n---\nSay hello to $1")
    agent = shared / "agents" / "default" / "agent.yaml"
    lines = [line for line in agent.read_text().splitlines() if not line.startswith("skills:")]
    agent.write_text("\n".join(lines) + "\nskills: [greet]\n")
    me.page.reload()
    expect(me.page.locator("#composer")).to_be_visible(timeout=PATIENCE)
    typed(me, "/greet Ada")
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_role("tab", name="[Skill activated: /greet] Ada")).to_be_visible(timeout=PATIENCE)
    me.sees("I only know a few things by heart")  # the demo agent read it and answered
