"""Terminals of a real server die with it, however it dies."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest

from tests.server import PASSWORD, Deaths, RunningServer, prepared_home
from tests.socket_client import WebSocket

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="one server on SQLite; tests/crash does the other"),
]

# A shell that ignores the hang-up, a job of it that does, in a group of its own, and a program in front.
LINE = "trap '' HUP; set -m; (trap '' HUP TERM; sleep 1000) & echo $$ $! > pids; sleep 2000\n"


async def with_a_stubborn_terminal(server: RunningServer, folder: Path) -> tuple[WebSocket, list[int]]:
    async with httpx.AsyncClient(base_url=server.base, headers={"Origin": server.base}) as http:
        answer = await http.post("/api/auth/login", json={"password": PASSWORD})
        cookie = f"halo_token={answer.cookies['halo_token']}"
        (await http.post("/api/fs/workspace/resolve", json={"path": str(folder)})).raise_for_status()
    url = server.base.replace("http", "ws") + "/ws"
    socket = await WebSocket.connect(url, {"Origin": server.base, "Cookie": cookie})
    socket.send_json({"type": "terminal:start", "terminalId": "t1", "workspacePath": str(folder), "browserId": "b"})
    while (await socket.receive_json(30))["type"] != "terminal:ready":
        pass
    socket.send_json({"type": "terminal:input", "terminalId": "t1", "data": LINE})
    pids = folder / "pids"
    async with asyncio.timeout(60):
        while not pids.exists() or len(pids.read_text().split()) < 2:
            await asyncio.sleep(0.02)
    return socket, [int(word) for word in pids.read_text().split()]


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_nothing_of_a_terminal_outlives_its_server(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with RunningServer(prepared_home(tmp_path / "home")) as server:
        _, pids = asyncio.run(with_a_stubborn_terminal(server, folder))
        deaths = Deaths(pids)
        if how == "SIGKILL":
            server.kill()
        else:
            server.terminate()
        deaths.wait()
