"""The six tools of a goal's session. Each reads the state anew; whoever has no goal is told that there is none."""

from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from agents_app.tools.contract import Tool, ToolContext, ToolParams, ToolResult
from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.atomic_file import write_atomic
from halo_site.lib.db import engine_threads
from halo_site.lib.errors import BadRequest, HaloError, NotFound

from ..delegation.tools import GetSessionOutput, QuerySession
from ..listing import status_of
from ..models import Session
from . import actions
from .state import MOST_DECISIONS, Goal, fingerprint


class GoalContext(ToolParams):
    """Read where the goal stands: status, round and caps, the worker and what it does, the folder of the goal."""


class GoalAttach(ToolParams):
    """Begin: GOAL_SPEC.md is written and the person agreed. From now on a change of that file halts the goal."""

    max_rounds: int | None = Field(None, ge=1, le=100, description="Rounds at most (default 10)")
    max_minutes: int | None = Field(None, ge=1, le=10_080, description="Minutes at most (default 240)")
    max_tokens: int | None = Field(None, ge=1, description="Tokens the worker may write (default: no limit)")


class GoalDecide(ToolParams):
    """Answer a question of the worker yourself instead of asking the person. It is written down for the person; at
    most five times per goal."""

    question: str = Field(min_length=1)
    decision: str = Field(min_length=1, description="What was decided, and why")


class GoalFinish(ToolParams):
    """The goal is reached, and you have checked it against GOAL_SPEC.md yourself."""

    summary: str = Field(min_length=1)


async def _unit(ctx: ToolContext, act: Any) -> ToolResult:
    try:
        values = await engine_threads().run_for(ctx.session_key, act)
    except HaloError as error:
        return ToolResult(orjson.dumps({"code": 1, "error": str(error)}).decode())
    return ToolResult(orjson.dumps({"code": 0, **values}).decode())


def _goal_of(ctx: ToolContext) -> tuple[Session, Goal]:
    session = Session.objects.select_related("workspace").filter(pk=ctx.session_key).first()
    if session is None or session.goal is None:
        raise NotFound("There is no goal in this session")
    return session, Goal.read(session.goal)


async def _context(given: GoalContext, ctx: ToolContext) -> ToolResult:
    def act() -> dict[str, Any]:
        session, goal = _goal_of(ctx)
        worker = Session.objects.filter(goal_session=session.pk).first()
        known = None
        if worker is not None:
            below = Session.objects.filter(parent=worker.pk, stopped_at=None, archived_at=None).exists()
            known = {
                "id": worker.sid,
                "agentId": worker.agent_id,
                "title": worker.title,
                "status": status_of(worker.stopped_at, worker.lease_owner is not None, below),
            }
        folder = actions.folder_of(session.workspace.path, goal.goal_id)
        return {"goal": goal.stored(), "worker": known, "folder": str(folder), "spec": str(folder / actions.SPEC)}

    return await _unit(ctx, act)


async def _attach(given: GoalAttach, ctx: ToolContext) -> ToolResult:
    def act() -> dict[str, Any]:
        session, goal = _goal_of(ctx)
        spec = actions.folder_of(session.workspace.path, goal.goal_id) / actions.SPEC
        try:
            text = spec.read_bytes()
        except OSError:
            text = b""
        if not text.strip():
            raise BadRequest(f"Write {spec} first")
        minutes = given.max_minutes
        done = actions.attach(
            session.pk,
            fingerprint(text),
            max_rounds=given.max_rounds,
            max_wall_ms=minutes * 60_000 if minutes else None,
            max_tokens=given.max_tokens,
        )
        return {"status": done.status, "worker": done.worker, "maxRounds": done.max_rounds}

    return await _unit(ctx, act)


async def _decide(given: GoalDecide, ctx: ToolContext) -> ToolResult:
    def act() -> dict[str, Any]:
        session, goal = _goal_of(ctx)
        number = actions.decide(session.pk)
        path: Path = actions.folder_of(session.workspace.path, goal.goal_id) / f"decision-{number}.md"
        write_atomic(path, f"# {given.question.strip()}\n\n{given.decision.strip()}\n".encode())
        return {"file": str(path), "left": MOST_DECISIONS - number}

    return await _unit(ctx, act)


async def _finish(given: GoalFinish, ctx: ToolContext) -> ToolResult:
    return await _unit(ctx, lambda: {"status": actions.finish(_goal_of(ctx)[0].pk).status})


async def _order(given: QuerySession, ctx: ToolContext) -> ToolResult:
    def act() -> dict[str, Any]:
        cap = settings_store.number("session.max_queue_size")
        busy = actions.order(ctx.session_key, given.target_session_id, given.message, level=ctx.level, cap=cap)
        return {"session_id": given.target_session_id, "status": "queued" if busy else "running"}

    return await _unit(ctx, act)


async def _output(given: GetSessionOutput, ctx: ToolContext) -> ToolResult:
    def act() -> dict[str, Any]:
        text = actions.output(ctx.session_key, given.session_id)
        return {"session_id": given.session_id, "output": text or "(no output yet)"}

    return await _unit(ctx, act)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(name="goal_context", params=GoalContext, run=_context, needs=Access.FULL, read_only=True),
    Tool(name="goal_attach", params=GoalAttach, run=_attach, needs=Access.FULL),
    Tool(name="goal_decide", params=GoalDecide, run=_decide, needs=Access.FULL),
    Tool(name="goal_finish", params=GoalFinish, run=_finish, needs=Access.FULL),
    Tool(name="query_session", params=QuerySession, run=_order, needs=Access.FULL),
    Tool(
        name="get_session_output", params=GetSessionOutput, run=_output, needs=Access.FULL, read_only=True, uncut=True
    ),
)
