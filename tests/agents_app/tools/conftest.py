import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agents_app.tools import GIVEN, TOOLS
from agents_app.tools.contract import ToolContext, ToolResult
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def context(home, workspace) -> Callable[..., ToolContext]:
    def make(level: Access = Access.FULL, **more: Any) -> ToolContext:
        values = {"session_id": "sid_1", "agent_id": "default", "abort": asyncio.Event()} | more
        return ToolContext(workspace=workspace, level=level, **values)

    return make


@pytest.fixture
def call(context) -> Call:
    """await call("file_read", path="x"): one call as an agent with full access, unless told otherwise."""

    async def run(name: str, *, level: Access = Access.FULL, ctx: ToolContext | None = None, **arguments: Any):
        return await run_tool((TOOLS | GIVEN)[name], arguments, ctx or context(level))

    return run
