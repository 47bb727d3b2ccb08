"""The five relay tools. Each answers JSON: `{"code": 0, ...}` or `{"code": 1, "error": ...}` (spec relay R1 to R8)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from pydantic import Field

from agents_app.tools.contract import Tool, ToolContext, ToolParams, ToolResult
from halo_site.lib.access_level import Access
from halo_site.lib.db import engine_threads
from halo_site.lib.errors import BadRequest, HaloError

from . import actions, look
from .availability import RELAY_UNAVAILABLE, available

P = TypeVar("P", bound=ToolParams)
WORKSPACE = "Absolute path of the workspace"


class RelaySend(ToolParams):
    """Hand a task to an agent in another workspace of this server, and keep working: its report reaches you by itself
    as a message when it is done. Do not wait for it or ask how far it is. Without session_id a new session is started;
    with one, that session goes on with your message (a busy one reads it after the tool call it is in)."""

    workspace: str = Field("", description=f"{WORKSPACE}. Required")
    message: str = Field("", description="The task: goal, context, limits, and what to report. Required")
    session_id: str = Field("", description="A session of that workspace, or the id for a new one")
    agent_id: str = Field("", description="Agent of a new session; without it the workspace's first")
    title: str = Field("", max_length=255, description="A few words for the list of sessions, of a new session")
    report: bool = Field(True, description="false: one way, no report will come")


class RelayInterrupt(ToolParams):
    """Interrupt a session in a workspace at once and give it this message instead; a command it runs is ended. An idle
    one just reads the message. Never starts a session. Its report reaches you by itself."""

    workspace: str = Field("", description=f"{WORKSPACE}. Required")
    session_id: str = Field("", description="Required")
    message: str = Field("", description="Required")


class RelayStop(ToolParams):
    """Stop a session in a workspace and everything below it. What it had said is in the answer; no report follows.
    Messages that waited become part of its history, and you can send it new work later."""

    workspace: str = Field("", description=f"{WORKSPACE}. Required")
    session_id: str = Field("", description="Required")


class RelayRead(ToolParams):
    """Read all that a session in a workspace said in its newest turn, without a cut."""

    workspace: str = Field("", description=f"{WORKSPACE}. Required")
    session_id: str = Field("", description="Required")


class RelayList(ToolParams):
    """List the conversations of a workspace, newest first, with their state and whether you wait for a report of one.
    Reports arrive by themselves; use this to find a session, not to watch it."""

    workspace: str = Field("", description=f"{WORKSPACE}; without it your own")
    limit: int = Field(50, ge=1, le=look.MOST_LISTED, description="Most sessions returned")


def _answer(**values: Any) -> ToolResult:
    return ToolResult(orjson.dumps({"code": 0, **values}).decode())


def _refusal(text: str) -> ToolResult:
    return ToolResult(orjson.dumps({"code": 1, "error": text}).decode())


def _need(**given: str) -> None:
    missing = [name for name, value in given.items() if not value.strip()]
    if missing:
        raise BadRequest(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} required")


def _tool(
    name: str,
    params: type[P],
    act: Callable[[P, ToolContext], dict[str, Any]],
    *,
    read_only: bool = False,
    uncut: bool = False,
) -> Tool[P]:
    """act: runs in a database thread."""

    async def run(given: P, ctx: ToolContext) -> ToolResult:
        if not available():
            return _refusal(RELAY_UNAVAILABLE)
        try:
            return _answer(**await engine_threads().run_for(ctx.session_key, act, given, ctx))
        except HaloError as error:
            return _refusal(str(error))

    _run: Callable[[P, ToolContext], Awaitable[ToolResult]] = run
    return Tool(name=name, params=params, run=_run, needs=Access.FULL, read_only=read_only, uncut=uncut)


def _send(given: RelaySend, ctx: ToolContext) -> dict[str, Any]:
    _need(workspace=given.workspace, message=given.message)
    sent = actions.dispatch(
        actions.Ask(
            caller=ctx.session_key,
            workspace=given.workspace,
            message=given.message,
            session_id=given.session_id.strip(),
            agent_id=given.agent_id.strip(),
            title=given.title,
            report=given.report,
        )
    )
    return {
        "workspace": sent.workspace,
        "session_id": sent.sid,
        "created": sent.created,
        "status": "queued" if sent.busy else "running",
        "report": sent.report,
    }


def _interrupt(given: RelayInterrupt, ctx: ToolContext) -> dict[str, Any]:
    _need(workspace=given.workspace, session_id=given.session_id, message=given.message)
    sent = actions.dispatch(
        actions.Ask(
            caller=ctx.session_key,
            workspace=given.workspace,
            message=given.message,
            session_id=given.session_id.strip(),
            hard=True,
        )
    )
    return {
        "workspace": sent.workspace,
        "session_id": sent.sid,
        "interrupted": sent.interrupted,
        "report": sent.report,
    }


def _stop(given: RelayStop, ctx: ToolContext) -> dict[str, Any]:
    _need(workspace=given.workspace, session_id=given.session_id)
    _, key = actions.found(ctx.session_key, given.workspace, given.session_id.strip(), Access.WORKSPACE)
    stopped, text = actions.stop(ctx.session_key, key)
    return {"session_id": given.session_id.strip(), "stopped": stopped, "output": text}


def _read(given: RelayRead, ctx: ToolContext) -> dict[str, Any]:
    _need(workspace=given.workspace, session_id=given.session_id)
    _, key = actions.found(ctx.session_key, given.workspace, given.session_id.strip())
    status, text = look.read(key)
    return {"session_id": given.session_id.strip(), "status": status, "output": text}


def _list(given: RelayList, ctx: ToolContext) -> dict[str, Any]:
    workspace = actions.reachable(ctx.session_key, given.workspace.strip())
    sessions = look.roots(ctx.session_key, workspace, given.limit)
    return {"workspace": workspace.path, "sessions": sessions, "count": len(sessions)}


TOOLS: tuple[Tool[Any], ...] = (
    _tool("relay_send", RelaySend, _send),
    _tool("relay_interrupt", RelayInterrupt, _interrupt),
    _tool("relay_stop", RelayStop, _stop),
    _tool("relay_read", RelayRead, _read, read_only=True, uncut=True),
    _tool("relay_list", RelayList, _list, read_only=True),
)
# What a process without relay offers: the same, and the model is told before it tries.
UNAVAILABLE: tuple[Tool[Any], ...] = tuple(
    replace(tool, told=f"{tool.description}\n\nNot usable here: {RELAY_UNAVAILABLE}") for tool in TOOLS
)
