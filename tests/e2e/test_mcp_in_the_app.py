"""An agent with MCP servers: their tools in the chat, how the servers are on the page of agents."""

import json
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .chat_parts import Chat, plan, speaking
from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Models

FAKE = str(ROOT / "tests/fakes/mcp_server.py")


@pytest.fixture
def me(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Chat:
    """In a folder whose default agent lists a server that works and one that does not."""
    speaking(shared_halo, models)
    own = tmp_path / "work/.halo/agents/default/agent.yaml"
    own.parent.mkdir(parents=True)
    servers = [
        {"name": name, "transport": "stdio", "command": sys.executable, "args": [FAKE, mode]}
        for name, mode in (("harbour", "ok"), ("lost", "crash"))
    ]
    shared = (shared_halo.home / "global/agents/default/agent.yaml").read_text()
    own.write_text(f"{shared}mcp: {json.dumps(servers)}\n")
    return Chat(person(shared_halo), tmp_path / "work")


def test_a_tool_of_a_server_names_it_and_the_page_says_how_each_server_is(me: Chat, models: Models):
    echo = {"name": "mcp__harbour__echo", "arguments": {"text": "high water at 14:31"}}
    plan(models, {"text": "", "tool_calls": [echo]}, {"text": "Asked the harbour"})
    me.enters()
    me.page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
    servers = me.page.get_by_role("list", name="MCP servers")
    expect(servers.get_by_text("not started: no run needed it yet")).to_have_count(2, timeout=PATIENCE)
    me.page.get_by_role("navigation", name="Activities").get_by_label("Sessions").click()

    me.asks("When is high water?").sees("Asked the harbour").finishes()
    card = me.page.locator(".chat-tool").filter(has_text="high water at 14:31")
    expect(card.locator(".chip")).to_have_text("harbour")
    expect(card.locator("b").first).to_have_text("echo")

    me.page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
    works = servers.locator("li").filter(has_text="harbour")
    broken = servers.locator("li").filter(has_text="lost")
    expect(works.locator("summary")).to_contain_text("Ready", timeout=PATIENCE)
    works.locator("summary").click()
    expect(works.get_by_text("mcp__harbour__echo", exact=True)).to_be_visible()
    expect(broken.locator("summary")).to_contain_text("Failed")
    expect(broken.locator(".err")).to_be_visible()
