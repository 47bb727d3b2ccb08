"""A skill as a command: its text becomes a message to the agent of the open session (spec commands, rules 20, 21)."""

from agents_app.agents import load_agent
from agents_app.commands import RunSkill
from agents_app.disabled import disabled_in
from agents_app.outfit import outfit
from halo_site.lib.errors import HaloError

from .. import actions
from ..models import Session
from .context import Context, Result


def run_skill(context: Context, asked: RunSkill, session: Session | None) -> Result | None:
    """None = there is no session it could work in. A busy one queues it like any message.

    The turn runs at the lowest level of session and caller, as for every message.
    """
    sid = session.sid if session is not None else context.draft
    agent_id = session.agent_id if session is not None else context.draft_agent
    if sid is None:
        return None
    cmd = f"/{asked.command}"
    try:
        accepted = actions.accept(
            workspace=context.workspace,
            sid=sid,
            text=asked.shown,
            model_text=asked.text(_placeholders(context, agent_id)),
            user_id=context.caller.user_id,
            level=context.level,
            agent_id=agent_id,
            runner=context.runner,
        )
    except HaloError as error:
        return Result(text=str(error), session_id=sid)
    busy = {"busy": "handler.queued", "compact": "handler.compacting"}.get(accepted.busy)
    words = context.say("skill.activated", cmd=cmd) + (f" {context.say(busy)}" if busy else "")
    return Result(text=words, started_turn=True, session_id=sid)


def _placeholders(context: Context, agent_id: str | None) -> dict[str, str]:
    """Built-in placeholders as the agent's prompt has them."""
    if agent_id is None:
        return {}
    disabled = disabled_in(context.workspace.pk)
    agent = load_agent(context.folder, agent_id, disabled)
    worn = outfit(
        agent, context.folder, level=context.level, is_root=True, disabled=disabled, channel=context.channel or None
    )
    return dict(worn.prompt.values)
