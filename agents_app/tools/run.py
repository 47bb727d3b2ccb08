"""Runs one tool call: checks its arguments, maps every failure to a result, cleans the text.

Nothing a tool does ends a turn: a bad argument is a warning that names it, an exception an error result.
"""

import asyncio
import logging
import traceback
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from halo_site.lib.access_level import Access
from halo_site.lib.errors import Forbidden, HaloError
from halo_site.lib.text import clean, clean_json
from workspaces_app import sandbox

from .contract import Tool, ToolContext, ToolResult, failed, no_sandbox, refused

log = logging.getLogger(__name__)


async def run_tool(tool: Tool[Any], arguments: Mapping[str, Any], ctx: ToolContext) -> ToolResult:
    """The cleaned result of one call. Raises only CancelledError."""
    if not ctx.level.covers(tool.needs):
        return refused(f"Access denied: {tool.name} needs {tool.needs} access, this session has {ctx.level}.")
    if tool.sandboxed and ctx.level is Access.READONLY:
        state = await asyncio.to_thread(sandbox.status)
        if not state.available:
            return no_sandbox(tool.name, state.reason)
    try:
        params = tool.params.model_validate(clean_json(dict(arguments)))
    except ValidationError as error:
        return refused(_named(tool.name, error))
    try:
        result = await tool.run(params, ctx)
    except asyncio.CancelledError:
        raise
    except Forbidden as error:
        return refused(clean(str(error)))
    except HaloError as error:
        return failed(clean(str(error)))
    except Exception as error:
        # The text of an exception may hold anything a file or a program said.
        log.error("tool %s failed\n%s", tool.name, clean(traceback.format_exc()))
        return failed(clean(f"{tool.name} failed: {type(error).__name__}: {error}"))
    return ToolResult(clean(result.text), result.blocks)


def _named(tool: str, error: ValidationError) -> str:
    """One line per wrong argument, its name first."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in problem["loc"]) or "arguments"
        lines.append(f"{place}: {problem['msg']}")
    return f"{tool} was not run, its arguments are wrong.\n" + "\n".join(lines)
