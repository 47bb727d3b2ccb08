"""Tool grep: search file contents with a regular expression."""

from pydantic import Field

from workspaces_app.child import Outcome

from .contract import Tool, ToolContext, ToolParams, ToolResult, refused
from .ripgrep import BUDGET, aborted, not_ignored, place_of, ripgrep, shown, skip_flags

DEFAULT_MATCHES = 50
LINE_LIMIT = 1_000  # bytes of one shown line


class Params(ToolParams):
    """Search the contents of files with a regular expression. Skips node_modules, .git, .next, dist and .halo."""

    pattern: str = Field(description="Regular expression (Rust syntax: no look-around, no back-references)")
    path: str = Field(default=".", description="Directory or file, relative to the workspace root")
    include: str | None = Field(default=None, description="Only files whose name matches, e.g. *.ts or *.{ts,tsx},*.py")
    max_results: int | None = Field(default=None, ge=1, le=5_000, description="Most lines returned (default 50)")
    respect_gitignore: bool = Field(default=False, description="Leave out what a .gitignore file ignores")


def split_include(include: str) -> list[str]:
    """The comma list cut on top-level commas: `*.{a,b},*.c` -> `*.{a,b}`, `*.c`."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(include):
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append(include[start:i])
            start = i + 1
    parts.append(include[start:])
    return [part.strip() for part in parts if part.strip()]


def _lines(outcome: Outcome, limit: int, kept: set[bytes] | None) -> tuple[list[str], bool]:
    """Shown lines and whether there were more; of the files `kept` only, if any are named.

    rg prints `path NUL number:content`.
    """
    lines: list[str] = []
    for raw in outcome.stdout.split(b"\n"):
        path, nul, rest = raw.partition(b"\0")
        number, colon, content = rest.partition(b":")
        if not nul or not colon or not number.isdigit():
            continue  # "binary file matches", separators
        if kept is not None and path not in kept:
            continue
        if len(lines) == limit:
            return lines, True
        text = content.decode("utf-8", "replace").rstrip("\r")
        lines.append(f"{shown(path)}:{number.decode()}:{text}")
    return lines, False


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    if "\0" in params.pattern:
        return refused("Error: Invalid regex pattern: it contains NUL")
    limit = params.max_results or ctx.limits.get("grep_default_matches", DEFAULT_MATCHES)
    flags = [
        "--line-number",
        "--with-filename",
        "--no-heading",
        "--sort=path",
        f"--max-columns={LINE_LIMIT}",
        "--max-columns-preview",
        f"--max-count={limit + 1}",
        *(f"--glob={_as_data(part)}" for part in split_include(params.include or "")),
        *skip_flags(ctx.level, ctx.workspace),
        f"--regexp={params.pattern}",
    ]
    place = await place_of(params.path, ctx)
    kept = await not_ignored(place, ctx) if params.respect_gitignore else None
    outcome = await ripgrep(flags, place, ctx)
    if aborted(outcome):
        return refused("The search was stopped.")
    if outcome.code == 2 and not outcome.stdout:
        return await _what_is_wrong(params, flags, ctx)
    lines, more = _lines(outcome, limit, kept)
    if not lines and outcome.ended == "exit":
        return ToolResult(f'No matches found for pattern "{params.pattern}"')
    if more:
        lines.append(f"[truncated: showing first {limit} matches. Narrow the pattern or path, or raise max_results.]")
    elif outcome.ended == "timeout":
        lines.append(f"[the search was stopped after {BUDGET:.0f} s; narrow the path]")
    elif outcome.ended == "full":
        lines.append("[truncated: too much output; narrow the pattern or path]")
    return ToolResult("\n".join(lines))


async def _what_is_wrong(params: Params, flags: list[str], ctx: ToolContext) -> ToolResult:
    """rg failed. Run over no file at all it can only complain about its own arguments."""
    probe = await ripgrep(["--messages", *flags], "/dev/null", ctx)
    said = probe.stderr.decode("utf-8", "replace").strip()
    if "regex" in said:
        reason = said.splitlines()[-1].removeprefix("error: ")
        return refused(f"Error: Invalid regex pattern: {reason}")
    if "glob" in said:
        return refused(f"include: {said.splitlines()[-1]}")
    return ToolResult(f'No matches found for pattern "{params.pattern}"')


def _as_data(glob: str) -> str:
    """A leading `!` would turn the glob round; it is meant as a character."""
    return "\\" + glob if glob.startswith("!") else glob


TOOL = Tool(name="grep", params=Params, run=run, read_only=True)
