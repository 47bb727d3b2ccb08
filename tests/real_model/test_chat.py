"""One chat with a model server that is not ours (`make real-model` starts it and names it in HALO_REAL_MODEL)."""

import asyncio
import json
import os
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import pytest

from tests.crash.world import log_in, open_folder
from tests.server import RunningServer, bind_agent, prepared_home
from tests.socket_client import SocketClient

ADDRESS = os.environ.get("HALO_REAL_MODEL", "")
pytestmark = [pytest.mark.server, pytest.mark.skipif(not ADDRESS, reason="run it by `make real-model`")]
LOADING = 300.0  # seconds a model may take to load


async def model_name() -> str:
    """Waits until the server answers; it loads its weights first."""
    deadline = asyncio.get_running_loop().time() + LOADING
    while True:
        try:
            answer = await asyncio.to_thread(lambda: json.load(urlopen(f"{ADDRESS}/models", timeout=5)))
            return str(answer["data"][0]["id"])
        except OSError:
            assert asyncio.get_running_loop().time() < deadline, "the model server does not answer"
            await asyncio.sleep(0.5)


async def test_a_real_model_answers_in_a_chat_and_its_usage_is_counted(tmp_path: Path):
    model = await model_name()
    home = await asyncio.to_thread(prepared_home, tmp_path / "home")
    bind_agent(home, ADDRESS, model=model)
    agent = home / "global" / "agents" / "default" / "agent.yaml"
    # A base model of 270 million parameters: no tools, a short answer, a small window.
    text = agent.read_text().replace("model:\n", "model:\n  maxTokens: 60\n")
    agent.write_text(text[: text.index("tools:")] + "tools: []\n" + text[text.index("priority:") :])
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with RunningServer(home) as server:
        cookie = await asyncio.to_thread(log_in, server.base)
        await asyncio.to_thread(open_folder, server.base, cookie, workspace)
        async with SocketClient(server.base, cookie) as client:
            sid = f"sid_{uuid4().hex[:12]}"
            view = client.open(sid, str(workspace))
            client.chat(sid, str(workspace), "Say hello.")
            await client.until(lambda: view.answered or client.received("error"), 240)
            assert not client.received("error")
            assert view.text().strip()
            print(f"\n{model} said: {view.text().strip()[:300]}\nusage: {view.usage}")
            assert len(client.received("chat:stream")) > 1
