"""An agent with a team, a skill, a tool server and a sandboxed shell, in a browser, with each family of models."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.crash.world import open_folder, post_json
from workspaces_app import sandbox

from .chat_parts import Chat, plan
from .conftest import Opener
from .parts import PATIENCE, ROOT, Halo, Models

KEY = "key-that-must-stay-home"
PROVIDER = """
id: ours
family: {family}
displayName: Ours
defaultEndpoint: {endpoint}
secrets: [{{key: api_key, description: key, secret: true}}]
models: [{{id: m-1, maxOutputTokens: 4096, contextWindow: 200000}}]
"""
AGENT = """
name: Lead
model: {{provider: ours, id: "{model}", endpoint: {endpoint}}}
tools: [shell_exec, file_read]
skills: [greeting]
team: [helper]
priority: 100
mcp:
  - {{name: tracker, transport: stdio, command: {python}, args: [{server}]}}
"""
HELPER = """
name: Helper
model: {{provider: ours, id: "m-1:text=The helper found three", endpoint: {endpoint}}}
tools: [file_list]
"""
SKILL = "---\nname: greeting\ndescription: How to greet. Use when somebody says hello.\n---\nAlways greet with a bow.\n"


def furnish(halo: Halo, models: Models, family: str) -> None:
    """Provider, agents and skill as files of the home."""
    paths = {"chat": "/v1", "messages": "", "responses": "/v1", "bedrock": ""}
    endpoint = models.address + paths[family]
    shared = halo.home / "global"
    (shared / "models" / "ours.yaml").write_text(PROVIDER.format(family=family, endpoint=endpoint))
    server = ROOT / "tests/fakes/mcp_server.py"
    texts = {"default": AGENT, "helper": HELPER}
    for name, text in texts.items():
        folder = shared / "agents" / name
        folder.mkdir(exist_ok=True)
        (folder / "agent.yaml").write_text(
            text.format(model="m-1", endpoint=endpoint, python=sys.executable, server=server)
        )
    (shared / "skills" / "greeting").mkdir(parents=True)
    (shared / "skills" / "greeting" / "SKILL.md").write_text(SKILL)
    (halo.home / "secrets" / "settings.yaml").write_text(f"ours:\n  secrets:\n    api_key: {KEY}\n")


@pytest.mark.skipif(not sandbox.status().available, reason="bubblewrap cannot run here")
@pytest.mark.parametrize("family", ["chat", "messages", "responses", "bedrock"])
def test_a_member_works_with_an_agent_that_has_everything(
    family: str, halo: Halo, models: Models, person: Opener, tmp_path: Path
):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("three notes")
    _, cookie = post_json(halo.address + "/api/auth/login", {"password": halo.password})
    open_folder(halo.address, cookie.partition(";")[0], folder)
    furnish(halo, models, family)
    models.control({"defaults": {"text": "All wrapped up."}})
    command = f"cat notes.txt; cat {halo.home}/secrets/settings.yaml; touch made-inside; env | sort"
    plan(
        models,
        {
            "tool_calls": [
                {"name": "activate_skill", "arguments": {"skill_id": "greeting"}},
                {"name": "mcp__tracker__echo", "arguments": {"text": "said by the server"}},
                {"name": "shell_exec", "arguments": {"command": command}},
                {"name": "start_session", "arguments": {"agent_id": "helper", "message": "Count the notes"}},
            ]
        },
    )
    me = person(halo)
    me.page.context.add_cookies([{"name": "halo_token", "value": halo.member(folder), "url": halo.address}])
    chat = Chat(me, folder)
    me.arrives(f"/?folder={folder}")
    expect(me.composer).to_be_visible(timeout=PATIENCE)

    chat.asks("Say hello, look around, have the notes counted").sees("All wrapped up.")
    chat.sees("The helper found three").finishes()  # the report of the sub-agent, by itself
    results = {row["tool"]: row for row in tool_results(chat)}
    assert "Always greet with a bow." in results["activate_skill"]["result"]
    assert "said by the server" in results["mcp__tracker__echo"]["result"]
    shell = results["shell_exec"]["result"]
    assert "three notes" in shell
    assert KEY not in shell
    assert "HALO" not in shell
    assert (folder / "made-inside").exists()
    assert '"code":0' in results["start_session"]["result"].replace(" ", "")
    me.keeps_a_picture(ROOT / "docs" / "images" / f"agent-at-work-{family}.png")


def tool_results(chat: Chat) -> list[dict[str, str]]:
    """Every tool call of the root with its result, from the frames the page got."""
    calls = {
        frame["toolUseId"]: frame["tool"]
        for frame in chat.wire.received
        if frame["type"] == "agent:tool_call" and not frame.get("taskId")
    }
    return [
        {"tool": str(calls[frame["toolUseId"]]), "result": str(frame["result"])}
        for frame in chat.wire.received
        if frame["type"] == "agent:tool_result" and frame.get("toolUseId") in calls
    ]
