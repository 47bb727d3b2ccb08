"""A skill as a command: its text becomes a message to the agent of the open session (spec commands, rules 20, 21)."""

import logging

from django.db import DatabaseError

from agents_app.agents import load_agent
from agents_app.commands import RunSkill
from agents_app.disabled import disabled_in
from agents_app.outfit import material
from halo_site.lib.errors import HaloError
from workspaces_app.audit import audit

from .. import actions
from ..models import Session
from .context import Context, Result

log = logging.getLogger("halo.commands")


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


def tell_audit(context: Context, typed: str, skill_id: str, session: Session | None, outcome: str) -> None:
    """One row per skill command, refused ones too. The message itself names its sender; this says by which way.

    typed: command and verb, without what stands behind them, which may be private.
    """
    detail: dict[str, object] = {
        "skill": skill_id,
        "channel": context.label,
        "level": context.level.value,
        "session": session.sid if session is not None else context.draft,
        "outcome": outcome,
    }
    try:
        audit(
            "command.skill",
            actor=context.caller,
            target=f"/{typed}",
            workspace=context.workspace,
            address=context.address,
            detail=detail,
        )
    except (HaloError, DatabaseError):  # the command is done or refused; that its row is missing changes neither
        log.exception("no audit row for /%s", typed)


def _placeholders(context: Context, agent_id: str | None) -> dict[str, str]:
    """Built-in placeholders as the agent's prompt has them."""
    if agent_id is None:
        return {}
    disabled = disabled_in(context.workspace.pk)
    agent = load_agent(context.folder, agent_id, disabled)
    worn = material(
        agent, context.folder, level=context.level, is_root=True, disabled=disabled, channel=context.channel or None
    ).outfit()
    return dict(worn.prompt.values)
