"""Tool file_edit: replace an exact piece of text in a file."""

from pydantic import Field

from halo_site.lib.access_level import Access
from workspaces_app.jail import Version

from .contract import WARN, Tool, ToolContext, ToolParams, ToolResult, refused
from .door import door, in_thread
from .seen import changed_since_seen, remember, version_at, version_written

LIMIT = 64 * 1024 * 1024  # bytes


class Params(ToolParams):
    """Replace text in a file. old_string must match exactly, with its spaces and line ends, and only once."""

    path: str = Field(description="File, relative to the workspace root")
    old_string: str = Field(description="The exact text to replace")
    new_string: str = Field(description="The text that takes its place")
    replace_all: bool = Field(default=False, description="Replace every occurrence")


class _NotEdited(Exception):
    """Why the file stayed as it was."""


def _edit(params: Params, ctx: ToolContext) -> ToolResult:
    files = door(ctx)
    full = files.full_path(params.path)
    old, new = params.old_string.encode("utf-8", "replace"), params.new_string.encode("utf-8", "replace")
    stale, written = False, b""

    def edit(data: bytes, _: Version) -> bytes:
        nonlocal stale, written
        stale = changed_since_seen(ctx, full, version_at(files, params.path))
        found = data.count(old)
        if not found:
            raise _NotEdited(f"old_string was not found in {params.path}. Read the file again and copy it exactly.")
        if found > 1 and not params.replace_all:
            raise _NotEdited(
                f"old_string occurs {found} times in {params.path}. "
                "Add lines around it until it is unique, or set replace_all."
            )
        written = data.replace(old, new)
        return written

    try:
        files.change(params.path, edit, limit=LIMIT)
    except _NotEdited as reason:
        return ToolResult(f"{WARN}{reason}")
    remember(ctx, full, version_written(files, params.path, written))
    note = "\nNote: the file had changed on disk since you last read it; re-read it before the next edit."
    return ToolResult(f"File edited: {params.path}{note if stale else ''}")


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    if not params.old_string:
        return refused("old_string is empty. Use file_write to create a file.")
    if params.old_string == params.new_string:
        return refused("old_string and new_string are identical: there is nothing to change.")
    return await in_thread(_edit, params, ctx)


TOOL = Tool(name="file_edit", params=Params, run=run, needs=Access.WORKSPACE, sandboxed=True)
