"""`/goal create|status|pause|resume|clear` (spec commands 22 to 26)."""

import time

from django.conf import settings

from halo_site.lib.errors import BadRequest, HaloError

from ..commands.context import Context, Result
from ..commands.sessions import active_session
from ..models import Session
from . import actions
from .state import ACTIVE, Goal, duration


def create(context: Context, rest: str) -> Result:
    worker = active_session(context)
    if worker is None:
        return Result(text=context.say("goal.no_session"))
    if worker.parent_id or worker.goal is not None:
        return Result(text=context.say("goal.cannot_bind_goal"))
    try:
        session = actions.create(
            context.workspace,
            worker.pk,
            rest,
            user_id=context.caller.user_id,
            level=context.level,
            home=settings.HALO.home,
        )
    except actions.GoalActive as error:
        return Result(text=f"{context.say('goal.already_active')}\n{_status(context, error.goal)}")
    except BadRequest:
        return Result(text=context.say("goal.cannot_bind_goal"))
    except (HaloError, OSError) as error:
        return Result(text=context.say("goal.create_failed", error=error))
    words = context.say("goal.created", goal=session.sid, worker=worker.sid)
    return Result(text=words, switch_to=session.sid, session_id=session.sid)


def status(context: Context, rest: str) -> Result:
    found = actions.latest(context.workspace.pk)
    return Result(text=context.say("goal.none") if found is None else _status(context, found[1]))


def _status(context: Context, goal: Goal) -> str:
    elapsed = duration(int(time.time() * 1000) - (goal.started_at or goal.created_at))
    lines = [
        context.say("goal.status_head", status=goal.status, round=goal.round, cap=goal.max_rounds),
        context.say("goal.status_meta", elapsed=elapsed, noProgress=goal.no_progress, decisions=goal.delegated),
        f"{goal.goal_id} → {goal.worker}",
    ]
    if goal.halt_reason:
        lines.append(context.say("goal.status_halt", reason=goal.halt_reason))
    return "\n".join(lines)


def _active(context: Context) -> tuple[Session, Goal] | None:
    return actions.latest(context.workspace.pk, *ACTIVE)


def pause(context: Context, rest: str) -> Result:
    found = _active(context)
    if found is None or found[1].status != "running":
        return Result(text=context.say("goal.not_running" if found else "goal.none_active"))
    actions.pause(found[0].pk)
    return Result(text=context.say("goal.paused"))


def resume(context: Context, rest: str) -> Result:
    found = _active(context)
    if found is None or found[1].status != "paused":
        return Result(text=context.say("goal.not_paused" if found else "goal.none_active"))
    actions.resume(found[0].pk, level=context.level, user_id=context.caller.user_id)
    return Result(text=context.say("goal.resumed"), switch_to=found[0].sid)


def clear(context: Context, rest: str) -> Result:
    found = _active(context)
    if found is None:
        return Result(text=context.say("goal.none_active"))
    goal = actions.clear(found[0].pk)
    return Result(text=context.say("goal.cleared", worker=goal.worker))


VERBS = {"create": create, "status": status, "pause": pause, "resume": resume, "clear": clear}
