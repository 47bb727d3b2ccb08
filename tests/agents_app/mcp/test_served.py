"""A real server process with an MCP server: it works in a chat, and goes away with Halo however Halo ends."""

import asyncio
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.crash.world import log_in, open_folder
from tests.fakes.model_server import FakeModelServer
from tests.server import Deaths, RunningServer, bind_agent, prepared_home
from tests.socket_client import SocketClient

from .conftest import FAKE

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="starts one server on SQLite"),
]


@pytest.mark.parametrize("end", ["kill", "terminate"])
async def test_a_tool_is_used_and_no_server_outlives_halo(tmp_path: Path, end: str):
    note = tmp_path / "started"
    home = await asyncio.to_thread(prepared_home, tmp_path / "home")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    entry = {"name": "fake", "transport": "stdio", "command": sys.executable, "args": [str(FAKE), "ok", str(note)]}
    async with FakeModelServer() as vendor:
        bind_agent(home, vendor.chat)
        agent = home / "global" / "agents" / "default" / "agent.yaml"
        agent.write_text(f"{agent.read_text()}mcp: {json.dumps([entry])}\n")
        vendor.will(tool_calls=[{"name": "mcp__fake__echo", "arguments": {"text": "from afar"}}])
        vendor.will(text="It said so.")
        with RunningServer(home) as server:
            cookie = await asyncio.to_thread(log_in, server.base)
            await asyncio.to_thread(open_folder, server.base, cookie, workspace)
            async with SocketClient(server.base, cookie) as client:
                sid = f"sid_{uuid4().hex[:12]}"
                view = client.open(sid, str(workspace))
                client.chat(sid, str(workspace), "look")
                await client.until(lambda: view.answered or client.received("error"), 60)
                assert [frame["result"] for frame in client.received("agent:tool_result")] == ["from afar"]
                assert view.text().endswith("It said so.")
            dying = Deaths([int(note.read_text())])
            if end == "kill":
                server.kill()
            else:
                assert await asyncio.to_thread(server.terminate) == 0
            await asyncio.to_thread(dying.wait, 5.0)
