"""Tools of MCP servers over both transports: what is offered, what comes back, every way to fail (spec tools 3.16)."""

import asyncio
import base64
import io
import os

import pytest
from PIL import Image

from agents_app.agent_yaml import AgentYamlError
from agents_app.mcp import flood, wire
from agents_app.tools.contract import ERROR, WARN
from halo_site.lib.access_level import Access
from tests.agents_app.mcp.conftest import until
from tests.fakes.mcp_server import HttpMcp


@pytest.fixture(params=["stdio", "http json", "http sse"])
async def server(request, stdio, home):
    """An entry of agent.yaml; the server of an http one runs."""
    transport, _, how = request.param.partition(" ")
    if transport == "stdio":
        yield stdio()
        return
    with HttpMcp(how) as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        yield {"name": "fake", "transport": "http", "url": fake.url}


async def test_tools_have_the_name_of_their_server_and_the_schema_it_gave(agents, server):
    offer = await agents.offered(server)
    tools = {tool.name: tool for tool in offer.tools}
    assert list(tools) == sorted(tools), "the order does not depend on the server: prompts stay byte-stable"
    assert tools["mcp__fake__echo"].spec().schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert tools["mcp__fake__echo"].description == "Says it again"
    assert "mcp__fake__dotted_name" in tools
    assert len(tools["mcp__fake__chatty"].description) == 1024
    assert {name for name, tool in tools.items() if tool.read_only} == {"mcp__fake__echo", "mcp__fake__cancelled"}
    assert offer.missing == {}


async def test_what_models_cannot_call_is_dropped_with_a_warning(agents, server, pool):
    offer = await agents.offered(server)
    names = {tool.name for tool in offer.tools}
    assert not any("nnn" in name or "bad_schema" in name for name in names)
    [running] = pool.servers.values()
    assert sorted(text.partition(": ")[2] for text in running.warnings) == [
        "dropped, its schema describes no object",
        "dropped, the name is longer than 64 characters",
    ]


@pytest.mark.parametrize("names", [("a", "a__b"), ("a_", "a"), ("a", "a")])
def test_servers_whose_tools_could_be_taken_for_each_other_are_refused(agents, stdio, names):
    with pytest.raises(AgentYamlError, match=r"nobody can tell apart|is there twice"):
        agents.agent(*(stdio(name=name) for name in names))
    agents.agent(stdio(name="a"), stdio(name="a-b"), stdio(name="a_b"), stdio(name="ab"))


async def test_the_list_of_the_agent_limits_them(agents, server, pool):
    offer = await agents.offered(server | {"tools": ["echo", "dotted.name", "gone"]})
    assert [tool.name for tool in offer.tools] == ["mcp__fake__dotted_name", "mcp__fake__echo"]
    assert "fake has no tool 'gone'" in next(iter(pool.servers.values())).warnings
    assert (await agents.offered(server | {"tools": []})).tools == ()


async def test_a_call_gives_the_text(agents, server):
    await agents.offered(server)
    assert (await agents.call("echo", text="hällo\n世界")).text == "hällo\n世界"
    assert (await agents.call("structured")).text == '{\n  "answer": 42\n}'
    assert (await agents.call("echo", text="")).text == "(no output)"


async def test_names_of_arguments_that_python_uses_itself_arrive(agents, server):
    await agents.offered(server)
    given = {"text": "still", "model_config": 1, "self": 2, "model_fields": [3], "__class__": "x", "copy": None}
    result = await agents.call("echo", **{key: value for key, value in given.items() if key != "self"})
    assert result.text == "still"


async def test_an_image_is_checked_made_small_and_sent_with_its_real_kind(agents, server):
    await agents.offered(server)
    result = await agents.call("image")
    assert result.text == "look"
    [block] = result.blocks
    assert block["source"]["media_type"] == "image/png", "by its bytes; the server says jpeg"
    assert Image.open(io.BytesIO(base64.b64decode(block["source"]["data"]))).size == (8, 8)


async def test_at_most_twenty_images_are_taken(agents, server):
    await agents.offered(server)
    result = await agents.call("image", count=23)
    assert len(result.blocks) == 20
    assert result.text.count("[left out: an image beyond the first 20]") == 3


async def test_a_broken_image_never_gets_into_a_conversation(agents, server):
    await agents.offered(server)
    result = await agents.call("broken_image")
    assert result.blocks == []
    assert "left out: an image of MCP server fake: The image is damaged" in result.text


async def test_a_model_without_eyes_is_told_instead(agents, server):
    await agents.offered(server, vision=False)
    result = await agents.call("image")
    assert not result.blocks
    assert result.text == "look\n[left out: an image; this model takes none]"


async def test_resources_are_not_taken(agents, server):
    await agents.offered(server)
    assert (await agents.call("other")).text == "[left out: a part of kind resource, which Halo does not take]"


async def test_its_own_failure_is_an_error_result_that_names_it(agents, server):
    await agents.offered(server)
    assert (await agents.call("fail")).text == f"{ERROR}MCP server fake: it did not work"


@pytest.mark.parametrize("how", ["no_result", "result", "content", "part", "base64"])
async def test_malformed_answers_are_errors_and_the_next_call_works(agents, server, how):
    await agents.offered(server)
    result = await agents.call("malformed", how=how)
    assert result.text.startswith(f"{ERROR}MCP server fake: malformed answer")
    assert (await agents.call("echo", text="on")).text == "on"


async def test_L5_half_characters_and_NUL_are_mended(agents, stdio):
    await agents.offered(stdio())
    assert (await agents.call("surrogate")).text == "a\ufffdb\ufffdc"


async def test_lines_that_are_no_messages_are_passed_over(agents, stdio):
    await agents.offered(stdio())
    assert (await agents.call("noise")).text == "after noise"


async def test_a_server_that_asks_without_end_gets_few_replies_and_its_answer_counts(agents, home):
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        before = len(fake.requests)
        assert (await agents.call("pings", count=300)).text == "after pings"
        await until(lambda: len(fake.requests) > before + 1)
        assert (await agents.call("echo", text="on")).text == "on"
        assert len(fake.requests) < before + 100, "each reply is a connection"


async def test_a_call_that_brings_nothing_but_other_messages_ends(agents, stdio, home, monkeypatch):
    monkeypatch.setattr(flood, "MOST", 50)
    said = f"{ERROR}MCP server fake: it sent more than 50 messages that nobody asked for within 10 s"
    await agents.offered(stdio())
    assert (await agents.call("pings", count=200)).text == f"{said} and was ended"
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        assert (await agents.call("pings", count=200)).text == said


async def test_large_results_arrive_and_endless_ones_end_the_call(agents, server, monkeypatch):
    await agents.offered(server)
    assert len((await agents.call("huge", size=3_000_000)).text) == 3_000_000
    result = await agents.call("huge", size=wire.MESSAGE_LIMIT + 10)
    assert result.text.startswith(f"{ERROR}MCP server fake: it sent a message of more than 16 MiB")


async def test_a_call_that_takes_too_long_is_an_error_and_the_server_is_told(agents, server, pool):
    await agents.offered(server)
    agents.impatient(0.4)
    assert (await agents.call("wait", seconds=1.5)).text == f"{ERROR}MCP server fake: no answer within 0.4 s"
    agents.impatient(60)
    assert (await agents.call("echo", text="busy is not dead")).text == "busy is not dead"
    async with asyncio.timeout(60):
        while (await agents.call("cancelled")).text == "[]":
            pass  # each question is an answer of the server's to wait for
    [running] = pool.servers.values()
    assert running.state == "ready"


async def test_stop_ends_a_call_that_would_never_end(agents, server, pool):
    await agents.offered(server)
    call = asyncio.create_task(agents.call("stuck"))
    await until(lambda: next(iter(pool.servers.values())).calls == 1)
    agents.abort.set()
    async with asyncio.timeout(60):
        assert (await call).text == f"{ERROR}MCP server fake: the call was stopped"


async def test_calls_at_the_same_time_get_their_own_answers(agents, server):
    await agents.offered(server)
    results = await asyncio.gather(*(agents.call("echo", text=str(number)) for number in range(20)))
    assert [result.text for result in results] == [str(number) for number in range(20)]


async def test_a_changed_list_is_asked_for_before_the_next_run(agents, stdio):
    before = await agents.offered(stdio())
    assert (await agents.call("grow")).text == "grown"
    after = await agents.offered(stdio())
    assert {tool.name for tool in after.tools} - {tool.name for tool in before.tools} == {"mcp__fake__fresh"}


async def test_a_full_session_runs_it_in_the_workspace_without_the_servers_secrets(agents, stdio, monkeypatch):
    monkeypatch.setenv("HALO_JWT_SECRET", "canary")
    monkeypatch.setenv("DATABASE_URL", "canary")
    await agents.offered(stdio(env={"FRUIT": "pear"}))
    where = await agents.call(
        "run", code="import os; out = os.getcwd(), os.environ['FRUIT'], 'canary' in str(os.environ)"
    )
    assert where.text == str((str(agents.workspace), "pear", False))


async def test_http_headers_arrive_and_the_session_is_kept(agents, home):
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        await agents.offered({"name": "fake", "transport": "http", "url": fake.url, "headers": {"X-Fruit": "pear"}})
        assert (await agents.call("env", name="X-Fruit")).text == "pear"
        methods = [message.get("method") for _, _, message in fake.requests]
        assert methods[0] == "initialize"
        assert {"notifications/initialized", "tools/list", "tools/call"} <= set(methods)
        calls = [headers for _, headers, message in fake.requests if message.get("method") == "tools/call"]
        assert {(call["mcp-session-id"], call["mcp-protocol-version"]) for call in calls} == {
            ("session-1", "2025-06-18")
        }
        await until(lambda: any(m.get("id") == "q1" and m.get("result") == {} for _, _, m in fake.requests))


async def test_F5_an_http_server_on_a_private_address_is_refused(agents):
    with HttpMcp() as fake:
        offer = await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        assert offer.tools == ()
        assert "127.0.0.1 is not a public address" in offer.missing["mcp__fake__"]
        assert fake.requests == []


async def test_a_redirect_is_not_followed(agents, home):
    with HttpMcp() as fake:
        (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\n")
        fake.status = 307
        offer = await agents.offered({"name": "fake", "transport": "http", "url": fake.url})
        assert "status 307: it wants to be reached at another address" in offer.missing["mcp__fake__"]


async def test_a_server_above_the_level_is_neither_started_nor_offered(agents, stdio, tmp_path):
    note = tmp_path / "started"
    offer = await agents.offered(stdio(note=note, requiresAccess="full"), level=Access.WORKSPACE)
    assert (offer.tools, offer.missing) == ((), {})
    offer = await agents.offered(stdio(note=note), level=Access.READONLY)
    assert (offer.tools, offer.missing) == ((), {}), "workspace is the default"
    assert not note.exists()


async def test_the_level_is_checked_again_at_the_call(agents, stdio):
    await agents.offered(stdio(requiresAccess="full"))
    refused = await agents.call("echo", level=Access.WORKSPACE, text="x")
    assert refused.text.startswith(f"{WARN}Access denied: mcp__fake__echo needs full access")
    await agents.offered(stdio(requiresAccess="readonly"))
    refused = await agents.call("echo", level=Access.WORKSPACE, text="x")
    assert refused.text.startswith(f"{WARN}Access denied: MCP server fake was started for full access")


async def test_S7_below_full_access_nothing_runs_without_a_sandbox(agents, stdio, tmp_path, monkeypatch):
    from workspaces_app.sandbox import probe

    monkeypatch.setattr(probe, "_status", probe.Status(reason="there is none"))
    note = tmp_path / "started"
    offer = await agents.offered(stdio(note=note), level=Access.WORKSPACE)
    assert offer.tools == ()
    assert "needs a sandbox, and there is none here (there is none)" in offer.missing["mcp__fake__"]
    assert not note.exists()
    assert os.listdir(tmp_path)
