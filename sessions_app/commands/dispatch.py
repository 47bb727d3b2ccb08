"""The one dispatcher: what a typed line does, on every surface (spec commands, "Dispatch").

`agents_app.commands` says who may run what; here each built-in command has its code. `check_table` compares the two at
the start. Call from a database thread.
"""

import difflib
import logging
from collections.abc import Callable, Iterable, Mapping

from django.core.exceptions import ImproperlyConfigured

from agents_app.agents import load_agent
from agents_app.commands import (
    BUILT_IN,
    BuiltIn,
    Command,
    Here,
    ListVerbs,
    Refused,
    RunSkill,
    Unknown,
    available,
    meaning,
    owners,
)
from agents_app.disabled import disabled_in
from agents_app.skills import list_skills
from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError

from ..models import Session
from . import agent_verbs, aliases, compaction_verb, evo, import_verb, session_verbs, skill_verbs, workspace_verbs
from .context import Context, Result
from .help import overview, verbs_of
from .sessions import active_session
from .skills_run import run_skill, tell_audit

log = logging.getLogger("halo.commands")

Handler = Callable[[Context, str], Result]
MOST_TYPED = 100  # characters of a wrong line that are said back


def _help(context: Context, rest: str) -> Result:
    here = here_for(context, active_session(context))
    return Result(text=overview(context.lang, available(here), full=context.level is Access.FULL))


HANDLERS: dict[str, Handler] = {
    "help": _help,
    "evo": evo.evolve,
    "session new": session_verbs.new,
    "session list": session_verbs.list_,
    "session info": session_verbs.info,
    "session switch": session_verbs.switch,
    "session stop": session_verbs.stop,
    "session interrupt": session_verbs.interrupt,
    "session compact": compaction_verb.compact,
    "session context": session_verbs.context_,
    "agent list": agent_verbs.list_,
    "agent switch": agent_verbs.switch,
    "agent desc": agent_verbs.desc,
    "agent delete": agent_verbs.delete,
    "skill list": skill_verbs.list_,
    "skill desc": skill_verbs.desc,
    "skill disable": skill_verbs.disable,
    "skill enable": skill_verbs.enable,
    "skill delete": skill_verbs.delete,
    "workspace info": workspace_verbs.info,
    "workspace switch": workspace_verbs.switch,
    "workspace import": import_verb.import_,
}
SWITCHED = frozenset({"goal"})  # only there with their feature, which brings their code


def add_command(name: str, verbs: Mapping[str, Handler]) -> None:
    """For the app that brings a switched feature, in its `AppConfig.ready`, when the feature is on."""
    if name not in SWITCHED:
        raise ValueError(f"/{name} is no command that can be added")
    HANDLERS.update({f"{name} {verb}": handler for verb, handler in verbs.items()})


def is_on(name: str) -> bool:
    """Whether a switched command has its code here."""
    return any(line.partition(" ")[0] == name for line in HANDLERS)


def check_table(built_in: Mapping[str, Command] = BUILT_IN) -> None:
    """Raises ImproperlyConfigured that names the commands without code, or code without a command."""
    lines = set()
    for name, command in built_in.items():
        if name not in SWITCHED or is_on(name):
            lines |= {f"{name} {verb.name}" for verb in command.verbs} or {name}
    wrong = sorted(lines ^ set(HANDLERS))
    if wrong:
        raise ImproperlyConfigured(f"slash commands and their code differ: {', '.join(wrong)}")


def here_for(context: Context, session: Session | None, *, skills: bool = True) -> Here:
    """What decides for this caller: skills of the open session's agent, else of the one a new session gets.

    skills: False = only what is built in.
    """
    disabled = disabled_in(context.workspace.pk)
    agent_id = session.agent_id if session is not None else agent_verbs.default_name(context)
    try:
        listed = frozenset(load_agent(context.folder, agent_id, disabled).config.skills)
    except HaloError:  # gone, off or broken: it runs nothing
        listed = frozenset()
    found = list_skills(context.folder, disabled) if skills else []
    return Here(found, listed, context.level, is_on("goal"), context.guest)


def split(line: str) -> tuple[str, str]:
    """`/name rest` -> (name, rest)."""
    name, *rest = line.strip().removeprefix("/").split(maxsplit=1) or [""]
    return name, rest[0].strip() if rest else ""


def run(name: str, rest: str, context: Context) -> Result | None:
    """What `/name rest` does. None = nobody knows this command; the surface says so, see `unknown`.

    Expected failures are texts of the result, never exceptions.
    """
    session = active_session(context)
    here = here_for(context, session)
    name, rest = aliases.current().expand(name, rest.strip())
    for warning in owners(here.skills)[1].values():
        log.warning("%s", warning)
    meant = meaning(f"/{name} {rest}", here)
    typed = " ".join([name, *rest.split(maxsplit=1)[:1]])[:MOST_TYPED]
    result: Result | None
    match meant:
        case BuiltIn(command=command, verb=verb, rest=behind):
            outcome, result = _attempt(HANDLERS[f"{command} {verb}".strip()], context, behind)
        case RunSkill():
            outcome, result = _run(context, meant, session)
            tell_audit(context, typed, meant.skill.id, session, outcome)
        case ListVerbs(command=listed):
            outcome, result = "done", Result(text=verbs_of(context.lang, listed))
        case Refused():
            outcome, result = meant.reason, Result(text=_refusal(context, meant, session))
            if meant.skill_id:
                tell_audit(context, typed, meant.skill_id, session, outcome)
        case Unknown():
            outcome, result = "unknown", None
    log.info(
        "command /%s by %s in %s (%s, %s): %s",
        typed,
        context.caller.username,
        context.workspace.pk,
        context.label,
        context.level,
        outcome,
    )
    return result


def _attempt(handler: Handler, context: Context, rest: str) -> tuple[str, Result]:
    try:
        return "done", handler(context, rest)
    except HaloError as error:
        return "failed", Result(text=str(error))


def _run(context: Context, asked: RunSkill, session: Session | None) -> tuple[str, Result | None]:
    result = run_skill(context, asked, session)
    if result is None:
        return "no_session", None
    return "done" if result.started_turn else "failed", result


def _refusal(context: Context, refused: Refused, session: Session | None) -> str:
    cmd = f"/{refused.command}"
    if refused.command == "evo":
        return context.say("evo.full_only")
    agent = session.agent_name if session is not None else agent_verbs.default_name(context)
    values = {"cmd": cmd, "agent": agent, "id": refused.skill_id, "error": refused.error}
    values |= {"required": str(refused.required or ""), "current": str(context.level)}
    return context.say(f"skill.{refused.reason}", **values)


def unknown(name: str, rest: str, context: Context) -> str:
    """What a surface says when `run` gave None: what was typed, and what it could have been."""
    here = here_for(context, active_session(context))
    name, rest = aliases.current().expand(name, rest.strip())
    commands = {command.name: command for command in available(here)}
    if name in commands and rest:
        verb = rest.split(maxsplit=1)[0]
        verbs = [each.name for each in commands[name].verbs]
        typed = f"{name} {verb}"
        near = [f"/{name} {each}" for each in _close(verb, verbs) or ["help"]]
    else:
        typed, near = name, [f"/{each}" for each in _close(name, commands)]
    said = context.say("cmd.unknown", cmd=typed[:MOST_TYPED])
    return f"{said}. {context.say('cmd.suggest', cmds=', '.join(near))}" if near else said


def _close(word: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(word[:MOST_TYPED], list(known), n=3, cutoff=0.6)
