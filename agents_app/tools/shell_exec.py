"""Tool shell_exec: run a command in the workspace; below full access inside the sandbox.

Result: standard output, then `STDERR: ...` when there is any, or `(no output)`. A failure begins with `Command failed`,
`Command timed out`, or what else ended it, and has the output so far.
"""

import asyncio
import codecs
import os
from functools import cache
from pathlib import Path

from django.conf import settings
from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.db import engine_threads
from halo_site.lib.env import child_environment
from halo_site.lib.errors import Unavailable
from halo_site.lib.text import clean, decode
from workspaces_app import sandbox
from workspaces_app.child import Outcome, run_child
from workspaces_app.sandbox.held import told as told_held
from workspaces_app.sandbox.held import told_again

from ..disabled import disabled_at
from ..skill_use import offered_skills
from .contract import Tool, ToolContext, ToolParams, ToolResult, failed, no_sandbox, refused
from .shell_params import Filled, Masker, fill, has_params

OUTPUT_LIMIT = 5_242_880  # bytes, general.limits.shell_output_bytes


class Params(ToolParams):
    """Run a shell command in the workspace root and wait for its end.

    There is no background mode: for something that goes on, use `nohup COMMAND > FILE 2>&1 &` and read the file.
    """

    command: str = Field(min_length=1, description="The command, as typed into a shell")


def environment() -> dict[str, str]:
    """The server's without its secrets. The marker keeps `manage.py` of an agent from using the wrong database."""
    return child_environment({"HALO_DATABASE": "postgresql" if settings.HALO.database_url else "sqlite"})


@cache
def shell_binary() -> str:
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


class _Live:
    """Passes output on while it comes, without cutting characters in two and without secrets."""

    def __init__(self, ctx: ToolContext, secrets: tuple[str, ...]) -> None:
        self.ctx = ctx
        decoder = codecs.getincrementaldecoder("utf-8")
        self.decoders = {"out": decoder("replace"), "err": decoder("replace")}
        self.maskers = {"out": Masker(secrets), "err": Masker(secrets)}

    def __call__(self, pipe: str, data: bytes) -> None:
        self._show(self.maskers[pipe].feed(clean(self.decoders[pipe].decode(data))))

    def flush(self) -> None:
        for masker in self.maskers.values():
            self._show(masker.flush())

    def _show(self, text: str) -> None:
        if text:
            self.ctx.output(text)


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    if "\0" in params.command:
        return refused("command: it contains NUL")
    if not ctx.workspace.is_dir():
        return failed(f"The workspace folder {ctx.workspace} is gone")
    filled = await _filled(params.command, ctx)
    masker = Masker(filled.secrets)
    words = [shell_binary(), "-c", "--", filled.command]
    live = _Live(ctx, filled.secrets)
    held: list[str] = []
    again = ""
    try:
        if ctx.level is Access.FULL:
            outcome = await _run(words, ctx, live)
        else:
            outcome, made = await _run_sandboxed(words, ctx, live)
            held, again = made.held, made.again
    except Unavailable as error:
        return no_sandbox(TOOL.name, str(error))
    except OSError as error:
        return failed(f"Command could not be started: {error.strerror or error}")
    finally:
        live.flush()
    result = told(outcome, ctx.shell_timeout, again)
    text = f"{result.text}\n{told_held(held)}" if held else result.text
    return ToolResult(masker.whole(text))


async def _run(words: list[str], ctx: ToolContext, live: _Live) -> Outcome:
    return await run_child(
        words,
        cwd=ctx.workspace,
        env=environment(),
        timeout=ctx.shell_timeout,
        abort=ctx.abort,
        limit=ctx.limits.get("shell_output_bytes", OUTPUT_LIMIT),
        live=live,
    )


async def _run_sandboxed(words: list[str], ctx: ToolContext, live: _Live) -> tuple[Outcome, sandbox.Cell]:
    """Outcome, and the cell it ran in, closed by then. Raises Unavailable when there is no sandbox here."""
    async with sandbox.cell(ctx.workspace, ctx.level, session_id=ctx.session_id) as made:
        outcome = await run_child(
            made.wrap(words),
            cwd=Path("/"),
            env={},
            timeout=ctx.shell_timeout,
            abort=ctx.abort,
            limit=ctx.limits.get("shell_output_bytes", OUTPUT_LIMIT),
            live=live,
            guard=made.guard,
        )
    return outcome, made


async def _filled(command: str, ctx: ToolContext) -> Filled:
    """Readonly sessions get no parameters at all: a value could be a key to something."""
    if ctx.level is Access.READONLY or not has_params(command):
        return Filled(command)
    disabled = await engine_threads().run(disabled_at, ctx.workspace) if ctx.skills else None

    def look() -> Filled:
        skills = offered_skills(ctx.workspace, ctx.skills, ctx.level, disabled) if disabled is not None else []
        return fill(command, (ctx.agent_id, *(skill.id for skill in skills)), ctx.workspace)

    return await asyncio.to_thread(look)


def told(outcome: Outcome, timeout: float, again: str = "") -> ToolResult:
    """What the model is told of a command's end (spec tools 3.9). again: what it planted too often."""
    stdout, stderr = decode(outcome.stdout), decode(outcome.stderr)
    output = f"{stdout.rstrip()}\nSTDERR: {stderr}" if stderr.strip() else stdout
    output = output.strip()
    match outcome.ended:
        case "timeout":
            return failed(f"Command timed out after {timeout * 1000:.0f}ms\n{output}".rstrip())
        case "abort":
            return failed(f"Command was stopped by the user\n{output}".rstrip())
        case "full":
            return failed(f"{output}\n[truncated] The output limit was reached and the command was ended.")
        case "limit" if again:
            return failed(f"Command was ended: {told_again(again)}\n{output}".rstrip())
        case "limit":
            return failed(f"Command was ended: it took more than 256 processes or 2 GiB of memory\n{output}".rstrip())
        case "exit" if outcome.code != 0:
            return failed(f"Command failed: {_status(outcome.code)}\n{output}".rstrip())
    return ToolResult(output or "(no output)")


def _status(code: int | None) -> str:
    if code is None:
        return "it did not end"
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"


TOOL = Tool(name="shell_exec", params=Params, run=run, sandboxed=True)
