"""A home with a strict model server, and `manage.py cli` as a real process with its pipes apart."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.server import MANAGE, ROOT, bind_agent, environment, prepared_home


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


class Terminal:
    """Runs the command in one home and one workspace."""

    def __init__(self, home: Path, workspace: Path, models: FakeModelServer) -> None:
        self.home, self.workspace, self.models = home, workspace, models
        self.running: list[asyncio.subprocess.Process] = []

    async def start(self, *args: str, **env: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *MANAGE,
            "cli",
            "-w",
            str(self.workspace),
            *args,
            env=environment(self.home, **{"HALO_LOG_LEVEL": "warn"} | env),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        self.running.append(process)
        return process

    async def run(self, *args: str, piped: str = "", **env: str) -> Ended:
        return await self.end(await self.start(*args, **env), piped)

    async def end(self, process: asyncio.subprocess.Process, piped: str = "") -> Ended:
        async with asyncio.timeout(90):
            out, err = await process.communicate(piped.encode())
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    def rows(self, sql: str, *values: Any, file: Path | None = None) -> list[tuple[Any, ...]]:
        with sqlite3.connect(f"file:{file or self.home / 'secrets' / 'halo.sqlite3'}?mode=ro", uri=True) as database:
            return database.execute(sql, values).fetchall()

    def entries(self, kind: str = "user") -> list[str]:
        found = self.rows("SELECT text FROM sessions_app_entry WHERE kind = ? ORDER BY id", kind)
        return [text for (text,) in found]


async def until(condition: Any, seconds: float = 60.0) -> Any:
    """Look at a fact of another process until it holds."""
    async with asyncio.timeout(seconds):
        while not (found := condition()):
            await asyncio.sleep(0.05)
    return found


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with FakeModelServer() as models:
        home = await asyncio.to_thread(prepared_home, tmp_path / "home")
        bind_agent(home, models.chat)
        workspace = tmp_path / "work space"
        workspace.mkdir()
        terminal = Terminal(home, workspace, models)
        yield terminal
        for process in terminal.running:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()


__all__ = ["Ended", "Terminal", "os", "sys", "until"]
