"""Slash commands: which ones a person has here, and what a typed line means (spec commands 4 to 21). Pure.

Built-in verbs come first; other verbs of an object, and commands of their own, are skills. Who may run what is decided
here and nowhere else. Running the built-in ones is the dispatcher's part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from halo_site.lib.access_level import Access

from .skill_file import Verb
from .skill_use import command_text
from .skills import Skill

FULL, WORKSPACE = Access.FULL, Access.WORKSPACE


@dataclass(frozen=True, slots=True)
class Command:
    """`verbs` are those that may be run. `skill_id` of a built-in: the skill that serves its other verbs."""

    name: str  # without the slash
    source: Literal["builtin", "skill"]
    description: str = ""
    verbs: tuple[Verb, ...] = ()
    skill_id: str | None = None
    requires: Access | None = None


def _verbs(**gates: Access | None) -> tuple[Verb, ...]:
    return tuple(Verb(name, True, level) for name, level in gates.items())


# Commands whose code is ours (spec commands, "Built-in table"). Their texts are the dispatcher's, in two languages.
BUILT_IN: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "builtin"),
        Command("evo", "builtin", requires=FULL),
        Command(
            "session",
            "builtin",
            verbs=_verbs(
                new=None, list=None, info=None, switch=None, stop=None, interrupt=None, compact=None, context=None
            ),
        ),
        Command("agent", "builtin", verbs=_verbs(list=None, switch=None, desc=None, delete=FULL)),
        Command(
            "skill",
            "builtin",
            verbs=_verbs(list=None, desc=None, disable=WORKSPACE, enable=WORKSPACE, delete=FULL),
        ),
        Command("workspace", "builtin", verbs=_verbs(info=None, switch=FULL, **{"import": FULL})),
        Command("goal", "builtin", verbs=_verbs(create=FULL, status=FULL, pause=FULL, resume=FULL, clear=FULL)),
    )
}

# A name that every surface has for a line: browsers open a draft by themselves. No skill gets it.
EVERYWHERE = {"clear": "session new"}

# What sets an agent to work or ends its work. People who may only read a workspace do not do that to its sessions.
_WORK = frozenset({"session new", "session stop", "session interrupt", "session compact", "agent switch"})


@dataclass(frozen=True, slots=True)
class Here:
    """What decides: the skills that serve here (disabled and broken ones too), those the agent lists, the level now.

    guest: the sessions are not this person's own, and they may only read them. An account of a channel has sessions
    of its own and is none, whatever its level.
    """

    skills: Sequence[Skill]
    listed: frozenset[str]
    level: Access
    goal_mode: bool = False
    guest: bool = False

    def gate(self, command: str, verb: Verb) -> Access | None:
        """The level a built-in verb needs."""
        return self.work(verb.requires) if f"{command} {verb.name}" in _WORK else verb.requires

    def work(self, gate: Access | None) -> Access | None:
        """The level needed for something that makes an agent work."""
        return Access.WORKSPACE if self.guest and (gate is None or not gate.covers(Access.WORKSPACE)) else gate

    def built_in(self, name: str) -> Command | None:
        return None if name == "goal" and not self.goal_mode else BUILT_IN.get(name)

    def may(self, gate: Access | None) -> bool:
        return gate is None or self.level.covers(gate)

    def runs(self, skill: Skill) -> bool:
        """True when the agent lists it and it is on and loads."""
        return skill.id in self.listed and skill.usable


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Run our own code: `command` with `verb` ("" when it has none) and the rest of the line."""

    command: str
    verb: str
    rest: str


@dataclass(frozen=True, slots=True)
class RunSkill:
    """Send an agent a skill's text. `arguments` is the whole rest of the line, the verb included."""

    skill: Skill
    command: str
    arguments: str

    @property
    def shown(self) -> str:
        """What the log shows of it."""
        return f"[Skill activated: /{self.command}] {self.arguments}".rstrip()

    def text(self, values: dict[str, str]) -> str:
        """What the agent gets. values: built-in placeholders by name."""
        return command_text(self.skill, self.command, self.arguments, values)


@dataclass(frozen=True, slots=True)
class ListVerbs:
    """Show what this person may do with an object."""

    command: Command


@dataclass(frozen=True, slots=True)
class Refused:
    """`reason` is a text key; `required` for access_required, `error` for load_failed."""

    reason: Literal["access_required", "not_allowed", "disabled", "load_failed"]
    command: str
    skill_id: str = ""
    required: Access | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    command: str


Meaning = BuiltIn | RunSkill | ListVerbs | Refused | Unknown


def owners(skills: Sequence[Skill]) -> tuple[dict[str, Skill], dict[str, str]]:
    """Whose a slash is: command -> skill; and id -> warning for each skill that does not get the one it asks for.

    Built-in commands are nobody's. Among skills the first wins, one that is off or broken only when no other asks.
    """
    found: dict[str, Skill] = {}
    warnings: dict[str, str] = {}
    for skill in sorted(skills, key=lambda skill: not skill.usable):
        command = skill.file.command
        if not command or not skill.file.user_invocable or skill.overridden:
            continue
        ours = command in BUILT_IN or command in EVERYWHERE
        if ours and skill.id == command:  # it serves the other verbs of ours
            continue
        if ours or command in found:
            owner = "Halo" if ours else f'"{found[command].id}"'
            warnings[skill.id] = f'skill "{skill.id}": /{command} belongs to {owner}; it works without a slash'
        else:
            found[command] = skill
    return found, warnings


def available(here: Here) -> list[Command]:
    """The commands this person can run, by name, each with the verbs they can run."""
    found = []
    for name in BUILT_IN:
        command = _object(here, name)
        if command is None or not here.may(command.requires):
            continue
        if command.verbs or not BUILT_IN[name].verbs:
            found.append(command)
    for name, skill in owners(here.skills)[0].items():
        command = _of_skill(here, name, skill)
        if here.runs(skill) and here.may(_gate(here, skill)):
            found.append(command)
    return sorted(found, key=lambda command: command.name)


def meaning(line: str, here: Here) -> Meaning:
    """What `/name rest` does for this person. Aliases are expanded by the caller."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    rest = rest.strip()
    verb = rest.split(maxsplit=1)[0] if rest else ""
    known = here.built_in(name)
    if known is not None:
        return _built_in(here, known, verb, rest)
    skill = owners(here.skills)[0].get(name)
    if skill is None:
        return Unknown(name)
    if refused := _refused(here, skill, name):
        return refused
    if skill.file.verbs and verb in ("", "help"):
        return ListVerbs(_of_skill(here, name, skill))
    return _run(here, skill, name, verb, rest)


def _built_in(here: Here, known: Command, verb: str, rest: str) -> Meaning:
    if not known.verbs:
        if not here.may(known.requires):
            return Refused("access_required", known.name, required=known.requires)
        return BuiltIn(known.name, "", rest)
    if verb in ("", "help"):
        command = _object(here, known.name)
        assert command is not None
        return ListVerbs(command)
    own = next((each for each in known.verbs if each.name == verb), None)
    if own is not None:
        gate = here.gate(known.name, own)
        if not here.may(gate):
            return Refused("access_required", f"{known.name} {verb}", required=gate)
        return BuiltIn(known.name, verb, rest[len(verb) :].strip())
    skill = _serving(here, known.name)
    if skill is None:
        return Unknown(known.name)
    return _refused(here, skill, known.name) or _run(here, skill, known.name, verb, rest)


def _refused(here: Here, skill: Skill, command: str) -> Refused | None:
    if skill.id not in here.listed:
        return Refused("not_allowed", command, skill.id)
    if skill.disabled:
        return Refused("disabled", command, skill.id)
    if skill.file.error:
        return Refused("load_failed", command, skill.id, error=skill.file.error)
    return None


def _run(here: Here, skill: Skill, command: str, verb: str, rest: str) -> RunSkill | Refused:
    own = next((each for each in skill.file.verbs if each.name == verb), None)
    gate = here.work((own.requires if own else None) or skill.file.requires)
    if not here.may(gate):
        return Refused("access_required", f"{command} {own.name}" if own else command, skill.id, gate)
    return RunSkill(skill, command, rest)


def _serving(here: Here, name: str) -> Skill | None:
    """The skill behind a built-in object: the one of the same name, whatever its header says of slashes."""
    return next((skill for skill in here.skills if skill.id == name and not skill.overridden), None)


def _object(here: Here, name: str) -> Command | None:
    """A built-in with the verbs this person can run: ours, then those of its skill."""
    known = here.built_in(name)
    if known is None or not known.verbs:
        return known
    verbs = [verb for verb in known.verbs if here.may(here.gate(name, verb))]
    skill = _serving(here, name)
    if skill is not None and here.runs(skill):
        verbs += _runnable(here, skill, without={verb.name for verb in known.verbs})
    return Command(name, "builtin", known.description, tuple(verbs), skill.id if skill else None, known.requires)


def _of_skill(here: Here, name: str, skill: Skill) -> Command:
    verbs = tuple(_runnable(here, skill, without=set()))
    return Command(name, "skill", skill.file.description, verbs, skill.id, _gate(here, skill))


def _runnable(here: Here, skill: Skill, *, without: set[str]) -> list[Verb]:
    return [
        Verb(verb.name, False, gate, verb.desc)
        for verb in skill.file.verbs
        if verb.name not in without
        and not verb.builtin
        and here.may(gate := here.work(verb.requires or skill.file.requires))
    ]


def _gate(here: Here, skill: Skill) -> Access | None:
    """The lowest level that gets anything out of it: of its verbs when it has some, else its own."""
    needs = [verb.requires or skill.file.requires for verb in skill.file.verbs] or [skill.file.requires]
    gates = [here.work(need) for need in needs]
    return None if None in gates else min((gate for gate in gates if gate), key=lambda gate: gate.rank)
