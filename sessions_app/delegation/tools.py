"""The eight tools of an agent with a team. Each answers JSON: `{"code": 0, ...}` or `{"code": 1, "error": ...}`.

Source: spec tools 3.13, sessions 9. They act in the caller's own tree only; whoever is not in the team does not exist.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import Field

from agents_app.agents import Agent, AgentNotFound, load_agent
from agents_app.disabled import Disabled, disabled_at
from agents_app.outfit import material
from agents_app.tools.contract import Tool, ToolContext, ToolParams, ToolResult
from halo_site.lib import settings_store
from halo_site.lib.db import engine_threads
from halo_site.lib.errors import HaloError, NotFound

from ..display import milliseconds
from . import actions
from .rules import depth, too_deep

P = TypeVar("P", bound=ToolParams)
UNKNOWN_AGENT = 'agent "{id}" not found. The agents you can delegate to are listed in your system prompt.'


class StartSession(ToolParams):
    """Start a sub-agent on a task of its own. It works at the same time as you, and its report reaches you by itself
    when it is done: do not wait for it or ask how far it is. Give it all it needs to know; it does not see this
    conversation. Several can work at once."""

    agent_id: str = Field(min_length=1, description="An id from the team in your system prompt")
    message: str = Field(min_length=1, description="The task: goal, context, limits, and what to report")
    system_prompt_context: str = Field("", description="Background that is put before the task")
    working_dir: str = Field("", description="Folder inside the workspace whose instructions the sub-agent follows")
    title: str = Field("", max_length=255, description="A few words for the list of sessions")


class SessionList(ToolParams):
    """List the sub-agents you have started, with their state. Reports arrive by themselves; use this only when you
    have lost track."""


class QuerySession(ToolParams):
    """Send another message to a session of your tree. An idle one starts to work, a busy one reads it after the tool
    call it is in. Its report reaches you by itself."""

    target_session_id: str = Field(min_length=1)
    message: str = Field(min_length=1)


class InterruptSession(ToolParams):
    """Interrupt a session of your tree at once and give it this message instead; a command it runs is ended."""

    session_id: str = Field(min_length=1)
    message: str = Field(min_length=1)


class StopSession(ToolParams):
    """Stop a session of your tree and everything below it. Messages that waited become part of its history, nothing
    is lost; it does not report, and you can send it new work later."""

    session_id: str = Field(min_length=1)


class ArchiveSession(ToolParams):
    """Archive a session of your tree and everything below it for good: it never works again."""

    session_id: str = Field(min_length=1)


class GetSessionOutput(ToolParams):
    """Read all that a session of your tree said in its newest turn, without a cut."""

    session_id: str = Field(min_length=1)


class QueryAgent(ToolParams):
    """Read what an agent of your team can do: its model, tools and skills."""

    agent_id: str = Field(min_length=1)


def _answer(**values: Any) -> ToolResult:
    return ToolResult(orjson.dumps({"code": 0, **values}).decode())


def _tool(
    name: str,
    params: type[P],
    act: Callable[[P, ToolContext], Awaitable[ToolResult]],
    *,
    read_only: bool = False,
    uncut: bool = False,
) -> Tool[P]:
    async def run(given: P, ctx: ToolContext) -> ToolResult:
        try:
            return await act(given, ctx)
        except HaloError as error:
            return ToolResult(orjson.dumps({"code": 1, "error": str(error)}).decode())

    return Tool(name=name, params=params, run=run, read_only=read_only, uncut=uncut)


async def _start(given: StartSession, ctx: ToolContext) -> ToolResult:
    disabled = await engine_threads().run_for(ctx.session_key, disabled_at, ctx.workspace)
    agent = _member(given.agent_id, ctx, disabled)
    limit = settings_store.number("session.max_nesting_depth")
    if depth(ctx.session_id) >= limit:
        return ToolResult(orjson.dumps({"code": 1, "error": too_deep(limit)}).decode())

    def unit() -> str:
        return actions.start(
            ctx.session_key,
            agent,
            message=given.message,
            context=given.system_prompt_context,
            level=ctx.level,
            working_dir=actions.directory(ctx.workspace, given.working_dir),
            title=given.title.strip(),
            max_depth=limit,
        )

    return _answer(session_id=await engine_threads().run_for(ctx.session_key, unit))


def _member(agent_id: str, ctx: ToolContext, disabled: Disabled, *, hidden: bool = False) -> Agent:
    """An agent of the team. hidden: one that is not in it is answered as if it did not exist."""
    try:
        agent = load_agent(ctx.workspace, agent_id, disabled)
    except AgentNotFound as error:
        raise NotFound(UNKNOWN_AGENT.format(id=agent_id)) from error
    if agent.internal or (hidden and agent_id not in ctx.team):
        raise NotFound(UNKNOWN_AGENT.format(id=agent_id))
    if agent_id not in ctx.team:
        raise NotFound(f'agent "{agent_id}" is not in your team. Your team: {", ".join(ctx.team)}.')
    return agent


async def _list(given: SessionList, ctx: ToolContext) -> ToolResult:
    found = await engine_threads().run_for(ctx.session_key, actions.children, ctx.session_key)
    sessions = [
        {
            "id": child.sid,
            "agentId": child.agent_id,
            "agentName": child.agent_name,
            "title": child.title,
            "description": child.description,
            "status": child.status,
            "createdAt": milliseconds(child.created_at),
        }
        for child in found
    ]
    return _answer(sessions=sessions, count=len(sessions))


async def _send(target: str, message: str, ctx: ToolContext, *, interrupt: bool) -> ToolResult:
    def unit() -> bool:
        key = actions.found_in_tree(ctx.session_id, ctx.session_key, target)
        cap = settings_store.number("session.max_queue_size")
        return actions.send(ctx.session_key, key, message, level=ctx.level, cap=cap, interrupt=interrupt)

    busy = await engine_threads().run_for(ctx.session_key, unit)
    return _answer(session_id=target, status="queued" if busy and not interrupt else "running")


async def _query(given: QuerySession, ctx: ToolContext) -> ToolResult:
    return await _send(given.target_session_id, given.message, ctx, interrupt=False)


async def _interrupt(given: InterruptSession, ctx: ToolContext) -> ToolResult:
    return await _send(given.session_id, given.message, ctx, interrupt=True)


async def _stop(given: StopSession, ctx: ToolContext) -> ToolResult:
    def unit() -> None:
        actions.stop(actions.found_in_tree(ctx.session_id, ctx.session_key, given.session_id))

    await engine_threads().run_for(ctx.session_key, unit)
    return _answer(message=f"Session {given.session_id} stopped.")


async def _archive(given: ArchiveSession, ctx: ToolContext) -> ToolResult:
    def unit() -> int:
        return actions.archive(actions.found_in_tree(ctx.session_id, ctx.session_key, given.session_id))

    count = await engine_threads().run_for(ctx.session_key, unit)
    return _answer(message=f"Archived {count} session(s).")


async def _output(given: GetSessionOutput, ctx: ToolContext) -> ToolResult:
    def unit() -> str:
        return actions.output(actions.found_in_tree(ctx.session_id, ctx.session_key, given.session_id))

    text = await engine_threads().run_for(ctx.session_key, unit)
    return _answer(session_id=given.session_id, output=text or "(no output yet)")


async def _describe(given: QueryAgent, ctx: ToolContext) -> ToolResult:
    disabled = await engine_threads().run_for(ctx.session_key, disabled_at, ctx.workspace)
    agent = _member(given.agent_id, ctx, disabled, hidden=True)
    return _answer(content=_card(agent, ctx.workspace, ctx, disabled))


def _card(agent: Agent, workspace: Path, ctx: ToolContext, disabled: Disabled) -> str:
    """What an agent would have at the caller's level."""
    worn = material(agent, workspace, level=ctx.level, is_root=False, disabled=disabled).outfit()
    skills = ", ".join(skill.id for skill in worn.skills) or "none"
    return "\n".join(
        (
            f"# {agent.name}",
            agent.config.description or "(no description)",
            "",
            f"- Model: {agent.config.model.provider}/{agent.config.model.id}",
            f"- Tools: {', '.join(worn.tools) or 'none'}",
            f"- Skills: {skills}",
        )
    )


TOOLS: tuple[Tool[Any], ...] = (
    _tool("start_session", StartSession, _start),
    _tool("session_list", SessionList, _list, read_only=True),
    _tool("query_session", QuerySession, _query),
    _tool("interrupt_session", InterruptSession, _interrupt),
    _tool("stop_session", StopSession, _stop),
    _tool("archive_session", ArchiveSession, _archive),
    _tool("get_session_output", GetSessionOutput, _output, read_only=True, uncut=True),
    _tool("query_agent", QueryAgent, _describe, read_only=True),
)
