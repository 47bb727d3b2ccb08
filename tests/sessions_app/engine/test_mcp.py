"""Whole turns of agents with MCP servers, and Stop while one of them hangs."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agents_app import mcp
from agents_app.mcp.pool import pool
from agents_app.models import McpState
from agents_app.providers import http
from agents_app.providers.registry import models_dir
from halo_site.lib import settings_write
from sessions_app import actions
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, ToolCall, Turn
from tests.fakes import mcp_server
from tests.fakes.model_server import FakeModelServer

from ..conftest import Say
from .conftest import Viewer

InDb = Callable[..., Any]


@pytest.fixture
async def vendor(agent_folder: Path, engine: Engine) -> AsyncIterator[FakeModelServer]:
    path = models_dir() / "local.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    async with FakeModelServer() as server:
        server.key = "key-0123456789"
        path.write_text(
            f"id: local\nfamily: chat\ndefaultEndpoint: {server.chat}\n"
            "secrets: [{key: api_key, description: key, secret: true}]\n"
        )
        settings_write.write("global", None, "local.secrets.api_key", server.key)
        yield server
        path.unlink()
        settings_write.write("global", None, "local.secrets.api_key", "")
        await http.close_client()
        await mcp.close()


@pytest.fixture
def servers(vendor: FakeModelServer, agent_folder: Path) -> Callable[..., None]:
    """servers("ok") gives the agent one server in that mode; its model is the fake vendor's."""

    def write(mode: str = "ok", **more: Any) -> None:
        args = [mcp_server.__file__, mode]
        entry = {"name": "fake", "transport": "stdio", "command": sys.executable, "args": args} | more
        (agent_folder / "agent.yaml").write_text(
            "name: Default\n"
            f"model: {{provider: local, id: m-1, endpoint: '{vendor.chat}'}}\n"
            f"mcp: {json.dumps([entry])}\n"
        )

    return write


async def test_a_tool_of_a_server_is_called_in_a_turn(
    servers, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    servers()
    vendor.will(tool_calls=[{"name": "mcp__fake__echo", "arguments": {"text": "from afar"}}])
    vendor.will(text="Done.")
    await in_db(say, "look")
    await viewer.completes()
    assert await in_db(lambda: list(ToolCall.objects.values_list("name", "outcome"))) == [("mcp__fake__echo", "ok")]
    assert [frame["result"] for frame in viewer.of("agent:tool_result")] == ["from afar"]
    sent = vendor.requests[0]["body"]
    assert "mcp__fake__echo" in [tool["function"]["name"] for tool in sent["tools"]]
    assert "mcp__fake__echo" in str(sent["messages"][0]["content"]), "the prompt names it"
    state = await in_db(lambda: McpState.objects.get())
    assert (state.agent_id, state.level, state.name, state.state) == ("default", "full", "fake", "ready")


async def test_a_server_that_does_not_start_is_told_and_the_turn_goes_on(
    servers, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    servers("crash")
    vendor.will(tool_calls=[{"name": "mcp__fake__echo", "arguments": {"text": "x"}}])
    vendor.will(text="Without it, then.")
    await in_db(say, "look")
    await viewer.completes()
    [notice] = viewer.of("chat:system")
    assert notice["text"].startswith("MCP server fake: it ended with exit code 1: nothing works today.")
    [result] = viewer.of("agent:tool_result")
    assert result["result"].startswith("__TOOL_ERROR__\nMCP server fake: it ended with exit code 1")
    assert viewer.text() == "Without it, then."
    assert await in_db(lambda: list(Turn.objects.values_list("status", flat=True))) == ["done"]


async def test_stop_during_a_call_and_during_a_start_does_not_wait_for_the_server(
    servers, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb
):
    servers(timeout_sec=600)
    vendor.will(tool_calls=[{"name": "mcp__fake__stuck", "arguments": {}}])
    await in_db(say, "look")
    await viewer.until(lambda viewer: viewer.of("agent:tool_call"))
    while not any(server.calls for server in pool().servers.values()):
        await asyncio.sleep(0.01)
    await in_db(lambda: actions.stop(Session.objects.get().pk))
    await viewer.completes()
    servers("hang", timeout_sec=600)
    await in_db(say, "again", client_msg_id="m2")
    while not any(server.state == "starting" for server in pool().servers.values()):
        await asyncio.sleep(0.01)
    await in_db(lambda: actions.stop(Session.objects.get().pk))
    await viewer.completes(2)
    assert await in_db(lambda: list(Turn.objects.values_list("status", flat=True))) == ["aborted", "aborted"]
    assert len(vendor.requests) == 1, "the model was not asked after the stop"


async def test_an_image_of_a_server_reaches_a_model_that_sees(
    servers, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, agent_folder: Path
):
    servers()
    text = (agent_folder / "agent.yaml").read_text()
    (agent_folder / "agent.yaml").write_text(text.replace("id: m-1,", "id: m-1, image: true,"))
    vendor.will(tool_calls=[{"name": "mcp__fake__image", "arguments": {}}])
    vendor.will(text="I see.")
    await in_db(say, "look")
    await viewer.completes()
    [entry] = await in_db(lambda: list(Entry.objects.filter(kind="tool_result")))
    kinds = [block["type"] for block in entry.blocks[0]["content"]]
    assert kinds == ["text", "image"]
    assert "base64" in str(vendor.requests[1]["body"])


async def test_the_end_of_the_engine_ends_the_servers(
    servers, vendor: FakeModelServer, viewer: Viewer, say: Say, in_db: InDb, engine: Engine, tmp_path: Path
):
    note = tmp_path / "started"
    servers(args=[mcp_server.__file__, "ok", str(note)])
    other = Engine("another")
    work = asyncio.create_task(other.run())
    vendor.will(text="Hello.")
    await in_db(say, "hello")
    await viewer.completes()
    pid = int(note.read_text())
    await other.shutdown()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert not Path(f"/proc/{pid}").exists()
