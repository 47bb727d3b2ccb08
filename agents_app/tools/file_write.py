"""Tool file_write: create a file or replace it as a whole."""

from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.errors import NotFound

from .contract import Tool, ToolContext, ToolParams, ToolResult
from .door import door, in_thread
from .seen import changed_since_seen, remember, version_at, version_written


class Params(ToolParams):
    """Write a file. It is created with its folders, or overwritten; to change a part of a file use file_edit."""

    path: str = Field(description="File, relative to the workspace root")
    content: str = Field(description="The whole new content")


def _write(params: Params, ctx: ToolContext) -> ToolResult:
    files = door(ctx)
    full = files.full_path(params.path)
    data = params.content.encode("utf-8", "replace")
    try:
        stale = changed_since_seen(ctx, full, version_at(files, params.path))
    except NotFound:
        stale = False
    files.write(params.path, data)
    remember(ctx, full, version_written(files, params.path, data))
    note = "\nNote: the file had changed on disk since you last read it; that change is overwritten." if stale else ""
    return ToolResult(f"File written: {params.path}{note}")


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    return await in_thread(_write, params, ctx)


TOOL = Tool(name="file_write", params=Params, run=run, needs=Access.WORKSPACE, sandboxed=True)
