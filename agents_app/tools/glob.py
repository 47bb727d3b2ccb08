"""Tool glob: find files by a pattern of their path."""

from pydantic import Field

from .contract import Tool, ToolContext, ToolParams, ToolResult, refused
from .ripgrep import BUDGET, aborted, not_ignored, place_of, ripgrep, shown, skip_flags

CAP = 5_000


class Params(ToolParams):
    """Find files by pattern, matched against their path from the workspace root. Skips node_modules, .git and such."""

    pattern: str = Field(description="For example src/**/*.py or **/*.{ts,tsx}; * does not cross a slash")
    path: str = Field(default=".", description="Only below this directory")
    respect_gitignore: bool = Field(default=False, description="Leave out what a .gitignore file ignores")


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    pattern = params.pattern.removeprefix("./")
    root = f"{ctx.workspace}/"
    pattern = pattern.removeprefix(root).lstrip("/")
    if not pattern or "\0" in pattern:
        return refused("pattern: give a pattern such as **/*.py")
    place = await place_of(params.path, ctx)
    # A leading slash ties the pattern to the root: without it `*.py` would match at any depth.
    flags = ["--files", "--sort=path", f"--glob=/{pattern}", *skip_flags(ctx.level, ctx.workspace)]
    kept = await not_ignored(place, ctx) if params.respect_gitignore else None
    outcome = await ripgrep(flags, place, ctx)
    if aborted(outcome):
        return refused("The search was stopped.")
    said = outcome.stderr.decode("utf-8", "replace")
    if outcome.code == 2 and "glob" in said:
        return refused(f"pattern: {said.strip().splitlines()[-1]}")
    paths = sorted(shown(raw) for raw in outcome.stdout.split(b"\0") if raw and (kept is None or raw in kept))
    if not paths:
        hint = "" if any(char in pattern for char in "*?{[.") else f' To list a directory use "{pattern}/**".'
        return ToolResult(f'No files found matching pattern "{params.pattern}".{hint}')
    lines = paths[:CAP]
    if len(paths) > CAP:
        lines.append(f"[truncated: {len(paths)} files, showing first {CAP}. Narrow the pattern.]")
    if outcome.ended != "exit":
        lines.append(f"[the search was stopped after {BUDGET:.0f} s; narrow the path]")
    return ToolResult("\n".join(lines))


TOOL = Tool(name="glob", params=Params, run=run, read_only=True)
