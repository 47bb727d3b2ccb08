"""What can be typed here, for completion lists: `GET /api/commands` (spec commands, "Descriptor")."""

from typing import Any

from agents_app.commands import Command, available
from halo_site.lib.access_level import Access

from .context import Context
from .dispatch import here_for
from .help import describe, describe_verb, hint
from .sessions import active_session


def descriptors(context: Context, *, skills: bool) -> list[dict[str, Any]]:
    """By name. skills: False = only built-in commands and verbs (no session and no agent is known)."""
    here = here_for(context, active_session(context), skills=skills)
    return [_descriptor(context, command) for command in available(here)]


def _descriptor(context: Context, command: Command) -> dict[str, Any]:
    verbs = [
        {
            "name": verb.name,
            "builtin": command.source == "builtin" and not verb.desc,
            "desc": describe_verb(context.lang, command, verb.name, verb.desc),
            "requiresAccess": verb.requires,
        }
        for verb in command.verbs
    ]
    return {
        "name": command.name,
        "slashName": f"/{command.name}",
        "description": describe(context.lang, command, full=context.level is Access.FULL),
        "type": "server",
        "argHint": hint(context.lang, command),
        "source": command.source,
        "skillId": command.skill_id,
        "verbs": verbs,
        "requiresAccess": command.requires,
    }
