"""Real servers, started as agents start them: `serve()` gives one, `tools()` what a run would be offered."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents_app.agent_yaml import parse
from agents_app.agents import Agent
from agents_app.mcp import pool as pools
from agents_app.mcp.offer import Offer, offer
from agents_app.mcp.pool import Pool
from agents_app.tools.contract import ToolContext, ToolResult
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access
from halo_site.lib.yaml_edit import dump

FAKE = Path(__file__).parents[2] / "fakes" / "mcp_server.py"


async def until(fact: Callable[[], bool]) -> None:
    """Polls a fact; fails after a minute."""
    async with asyncio.timeout(60):
        while not fact():
            await asyncio.sleep(0.01)


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def pool(clock, home, monkeypatch, transactional_db) -> AsyncIterator[Pool]:
    made = Pool(clock)
    pools._pools[asyncio.get_running_loop()] = made
    yield made
    await pools.close_pool()


@pytest.fixture
def stdio() -> Callable[..., dict[str, Any]]:
    """An entry of agent.yaml for the fake in some mode."""

    def make(mode: str = "ok", note: Path | None = None, **more: Any) -> dict[str, Any]:
        args = [str(FAKE), mode, *([str(note)] if note else [])]
        return {"name": "fake", "transport": "stdio", "command": sys.executable, "args": args} | more

    return make


class Agents:
    """What an agent with these servers is offered, and one call of it."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.abort = asyncio.Event()
        self.last = Offer()

    def agent(self, *servers: dict[str, Any], scope: str = "global") -> Agent:
        config, _ = parse(dump({"name": "A", "mcp": list(servers)}))
        return Agent("helper", scope, self.workspace / "agent", config)  # type: ignore[arg-type]

    async def offered(
        self, *servers: dict[str, Any], level: Access = Access.FULL, vision: bool = True, scope: str = "global"
    ) -> Offer:
        agent = self.agent(*servers, scope=scope)
        self.last = await offer(agent, self.workspace, level, vision=vision, abort=self.abort)
        return self.last

    def context(self, level: Access = Access.FULL) -> ToolContext:
        return ToolContext(
            workspace=self.workspace, session_id="sid_1", agent_id="helper", level=level, abort=self.abort
        )

    async def call(self, name: str, /, *, level: Access = Access.FULL, **arguments: Any) -> ToolResult:
        """`name` without its beginning, of what was offered last."""
        [tool] = [tool for tool in self.last.tools if tool.name == f"mcp__fake__{name}"]
        return await run_tool(tool, arguments, self.context(level))

    def impatient(self, seconds: float) -> None:
        """From now on calls of running servers take at most that long; their start took what it took."""
        for server in pools.pool().servers.values():
            server.launch = replace(server.launch, timeout=seconds)


@pytest.fixture
async def agents(pool, workspace) -> Agents:
    return Agents(workspace)
