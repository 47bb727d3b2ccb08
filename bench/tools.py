"""What a tool call costs besides its work.

Dispatch = arguments checked, level checked, result cleaned and cut. Beside it, for orientation: a small file read, and
`true` with full access and in the sandbox (where there is one).
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from .alone import begin
from .numbers import summary

ROUNDS = 300


async def measured(work: Callable[[], Awaitable[Any]], rounds: int) -> dict[str, Any]:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await work()
        times.append((time.perf_counter() - begun) * 1000)
    return summary(times)


async def main(home: Path) -> dict[str, Any]:
    from agents_app.tools import TOOLS
    from agents_app.tools.contract import Tool, ToolContext, ToolParams, ToolResult
    from agents_app.tools.cut import model_copy, ui_copy
    from agents_app.tools.run import run_tool
    from halo_site.lib.access_level import Access
    from workspaces_app import sandbox

    class Params(ToolParams):
        """Does nothing."""

        path: str
        limit: int = 5

    async def nothing(params: Params, ctx: ToolContext) -> ToolResult:
        return ToolResult("x" * 8_000)

    workspace = home / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("line\n" * 100)
    idle = Tool(name="nothing", params=Params, run=nothing)

    def call(tool: Tool[Any], level: Access, **arguments: Any) -> Callable[[], Awaitable[None]]:
        async def once() -> None:
            ctx = ToolContext(workspace=workspace, session_id="s", agent_id="a", level=level, abort=asyncio.Event())
            result = await run_tool(tool, arguments, ctx)
            assert not result.text.startswith("__TOOL"), result.text
            model_copy(result.text)
            ui_copy(result.text)

        return once

    rows = [
        ("dispatch", call(idle, Access.READONLY, path="x"), ROUNDS * 10),
        ("file_read", call(TOOLS["file_read"], Access.WORKSPACE, path="a.txt"), ROUNDS),
        ("grep", call(TOOLS["grep"], Access.WORKSPACE, pattern="line"), ROUNDS // 5),
        ("shell_exec true, full", call(TOOLS["shell_exec"], Access.FULL, command="true"), ROUNDS // 5),
    ]
    if (await asyncio.to_thread(sandbox.status)).available:
        for level in (Access.READONLY, Access.WORKSPACE):
            rows.append((f"shell_exec true, {level}", call(TOOLS["shell_exec"], level, command="true"), ROUNDS // 10))
    return {name: await measured(work, rounds) for name, work, rounds in rows}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(begin()))))
