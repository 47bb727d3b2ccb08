"""Tool file_list: what is in a folder."""

from pydantic import Field

from halo_site.lib.errors import Forbidden
from workspaces_app.jail import Jail

from .contract import Tool, ToolContext, ToolParams, ToolResult
from .door import door, in_thread

SKIPPED = frozenset({"node_modules", ".git"})
RECURSIVE_CAP = 500
FLAT_CAP = 2_000


class Params(ToolParams):
    """List the entries of a directory. Folders are marked 📁, files 📄."""

    path: str = Field(default=".", description="Directory, relative to the workspace root")
    recursive: bool = Field(default=False, description="Also list what is inside the folders")


def _flat(files: Jail, path: str) -> list[str]:
    listed = [entry for entry in files.entries(path) if entry.name not in SKIPPED]
    lines = [f"{'📁' if entry.is_dir else '📄'} {entry.name}" for entry in listed[:FLAT_CAP]]
    if len(listed) > FLAT_CAP:
        lines.append(f"[truncated: {len(listed)} entries, showing first {FLAT_CAP}. Use glob with a pattern.]")
    return lines


def _recursive(files: Jail, path: str) -> list[str]:
    """Depth first, by name; links to folders are shown as files and not entered, so circles end.

    A folder inside that this session may not look into is named, and left out.
    """
    lines: list[str] = []

    def walk(folder: str, shown: str) -> bool:
        for entry in files.entries(folder):
            if entry.name in SKIPPED:
                continue
            if len(lines) >= RECURSIVE_CAP:
                lines.append(f"[truncated: more than {RECURSIVE_CAP} entries. Use glob with a pattern.]")
                return False
            inner = f"{folder}/{entry.name}"
            if entry.is_dir and not entry.is_link:
                lines.append(f"📁 {shown}{entry.name}/")
                try:
                    whole = walk(inner, f"{shown}{entry.name}/")
                except Forbidden:
                    continue
                if not whole:
                    return False
            else:
                lines.append(f"📄 {shown}{entry.name}")
        return True

    walk(path, "")
    return lines


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    lines = await in_thread(_recursive if params.recursive else _flat, door(ctx), params.path)
    return ToolResult("\n".join(lines) or "(empty directory)")


TOOL = Tool(name="file_list", params=Params, run=run, read_only=True)
