"""Tool cards: how a command ended, its colours, what was found, pages, skills; and what an agent here may do."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.fakes.catcher import Catcher

from .chat_parts import Chat, plan, speaking
from .conftest import Opener
from .parts import PATIENCE, Halo, Models

Start = Callable[..., Chat]
PATCH = """wish => fetch("/api/settings", {method: "PATCH", body: JSON.stringify(wish),
  headers: {"Content-Type": "application/json"}}).then(answer => answer.status)"""


@pytest.fixture
def chat(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Start:
    folder = tmp_path / "work"
    (folder / ".halo/skills/tides").mkdir(parents=True)
    (folder / ".halo/skills/tides/SKILL.md").write_text(
        "---\nname: tides\ndescription: High water\n---\n\nAsk the harbour.\n"
    )
    (folder / "service.py").write_text("boat = 1\nboat = 2\n")
    speaking(shared_halo, models)
    return lambda **more: Chat(person(shared_halo, **more), folder)


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"text": "", "tool_calls": [{"name": name, "arguments": arguments}]}


def card(me: Chat, words: str) -> Locator:
    return me.page.locator(".chat-tool").filter(has_text=words)


def test_a_command_shows_how_it_ended_and_its_colours(chat: Start, models: Models):
    failing = r"printf '\033[31mred\033[0m plain\n10 %%\r99 %%\n'; exit 3"
    plan(models, call("shell_exec", command=failing), {"text": "Seen"})
    me = chat().enters().asks("Run it").sees("Seen").finishes()
    run = card(me, "exit code 3")
    expect(run.locator(".ring-err")).to_be_visible()
    expect(run.locator(".ink-red")).to_have_text("red")
    expect(run.locator(".chat-out")).to_have_text("red plain\n99 %")
    assert "__TOOL_ERROR__" not in me.page.locator(".chat").inner_text()
    me.page.reload()  # the log says the same
    expect(card(me, "exit code 3").locator(".ink-red")).to_have_text("red", timeout=PATIENCE)


def test_searches_say_how_much_they_found(chat: Start, models: Models):
    plan(models, call("grep", pattern="boat"), call("glob", pattern="**/*.py"), {"text": "Found"})
    me = chat().enters().asks("Search").sees("Found").finishes()
    me.page.get_by_role("button", name="Searched 2 times").click()
    expect(card(me, "2 matches")).to_be_visible()
    expect(card(me, "1 file")).to_be_visible()


def fetched(me: Chat) -> Locator:
    line = me.page.locator(".chat-fold .chat-line").last
    if line.get_attribute("aria-expanded") == "false":
        line.click()
    return me.page.locator(".chat-fold").last.locator(".chat-tool")


def test_a_page_shows_its_address_and_status_and_a_refusal_why(chat: Start, models: Models):
    with Catcher() as catcher:
        catcher.answer("/page", status=404, headers={"Content-Type": "text/html"}, body=b"<h1>Gone</h1>")
        me = chat().enters()
        plan(models, call("web_fetch", url=f"{catcher.base}/page"), {"text": "Not allowed"})
        me.asks("Fetch it").sees("Not allowed").finishes()
        expect(me.page.locator(".chat-fold .chat-line .ring-warn")).to_be_visible()  # folded, it says so too
        expect(fetched(me).locator(".chat-tool-error")).to_be_visible()
        assert not catcher.requests

        wish = {"scope": "global", "key": "general.outbound.allow", "value": [f"127.0.0.1:{catcher.port}"]}
        assert me.page.evaluate(PATCH, wish) == 200
        plan(models, call("web_fetch", url=f"{catcher.base}/page"), {"text": "There now"})
        me.asks("Again").sees("There now").finishes()
        expect(fetched(me)).to_contain_text("/page")
        expect(fetched(me)).to_contain_text("404 text/html")


def test_a_skill_that_is_loaded_has_a_card_with_its_text(chat: Start, models: Models):
    plan(models, call("activate_skill", skill_id="tides"), {"text": "Asked"})
    me = chat()
    agents = me.folder / ".halo/agents/default"
    agents.mkdir(parents=True)
    shared = (me.person.halo.home / "global/agents/default/agent.yaml").read_text()
    head, _, tail = shared.partition("skills:\n")
    (agents / "agent.yaml").write_text(f"{head}skills:\n  - tides\n{tail}")
    me.enters().asks("When is high water?").sees("Asked").finishes()
    loaded = card(me, "tides")
    expect(loaded).to_contain_text("Skill")
    loaded.get_by_role("button").first.click()
    expect(loaded.get_by_text("Ask the harbour.")).to_be_visible()


def test_the_composer_says_how_far_agents_reach_from_here(chat: Start):
    me = chat().enters()
    rights = me.page.get_by_role("img", name="Full access: agents may run any command on this machine.")
    expect(rights).to_be_visible()
