"""Skills put to use: the block in the prompt, and the text an activation gives (spec agents-and-prompts 3.7, 3.9)."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.text import cut

from .disabled import NOTHING, Disabled
from .placeholders import BUILT_INS
from .skills import Skill, resources, serving

log = logging.getLogger(__name__)

_ONE = re.compile(
    r"(?P<literal>\\\$)"
    r"|\$(?P<all>ARGUMENTS)(?![A-Za-z0-9_])"
    r"|\$(?P<digit>[1-9])(?![0-9.])"
    r"|\{\{\s*(?P<name>[\w.-]+)\s*\}\}"
)
_TOKEN = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')

INTRO = (
    "Instructions for special tasks, loaded when they are needed. When one fits the request, call `activate_skill` "
    "with its id before you begin, and follow what it says."
)


def offered_skills(workspace: Path, ids: Sequence[str], level: Access, disabled: Disabled = NOTHING) -> list[Skill]:
    """What the model may activate: listed by its agent, usable, allowed at its level, not for people only."""
    return [skill for skill in serving(workspace, ids, disabled) if skill.file.model_invocable and skill.allows(level)]


def skills_block(skills: Iterable[Skill]) -> str:
    """The prompt's section; "" without skills. Bodies are not in it."""
    entries = [
        f"<skill>\n<name>{_xml(skill.file.name)}</name>\n<id>{_xml(skill.id)}</id>\n"
        f"<description>{_xml(skill.file.description)}</description>\n</skill>"
        for skill in skills
    ]
    if not entries:
        return ""
    return "\n".join([f"## Your Skills\n\n{INTRO}\n\n<available_skills>", *entries, "</available_skills>"])


def _xml(text: str) -> str:
    return escape(text, quote=False)


def activation_text(skill: Skill, values: Mapping[str, str], limit: int = 8_000) -> str:
    """The result of `activate_skill`: title, body with its placeholders filled, and the other files of the folder.

    limit: characters a result may have. A longer body ends at a line end, and the text says where to read on.
    """
    files = "\n".join(f"- {path}" for path in resources(skill))
    end = f"\n\nResource files in skill directory:\n{files}\n\nThe directory is {skill.folder}" if files else ""
    text = f"# Skill: {skill.file.name}\n\n{render_body(skill, values)}"
    if len(text) + len(end) > limit:
        note = f"\n\n[These instructions go on. Read the rest in {skill.folder}/SKILL.md before you begin.]"
        text = cut(text, max(0, limit - len(end) - len(note))).rpartition("\n")[0] + note
    return text + end


def command_text(skill: Skill, command: str, arguments: str, values: Mapping[str, str]) -> str:
    """What an agent is sent when somebody types `/command arguments`."""
    body = render_body(skill, values, arguments)
    return f"[Skill activated: /{command}]\n\n{body}"


def render_body(skill: Skill, values: Mapping[str, str], arguments: str = "") -> str:
    """The body with arguments and built-in placeholders filled, in one pass: what was filled in is not read again.

    `{{params.key}}` becomes `{{<skill>.params.key}}` and stays a placeholder: its value is put in where a command runs
    and never enters the conversation. Other placeholders stay as they are. values: built-ins by name.
    """
    tokens = split_arguments(arguments)

    def fill(found: re.Match[str]) -> str:
        if found["literal"]:
            return "$"
        if found["all"]:
            return arguments
        if digit := found["digit"]:
            place = int(digit) - 1
            return tokens[place] if place < len(tokens) else ""
        name = found["name"]
        if name == "args":
            return arguments
        if name == "skill_dir":
            return str(skill.folder)
        if name.startswith("params."):
            return "{{" + f"{skill.id}.{name}" + "}}"
        if name in BUILT_INS:
            return values.get(name, found[0])
        if ".params." not in name and ".secrets." not in name:  # of others: a command fills them, or nobody does
            _note_unknown(skill.id, name)
        return found[0]

    return _ONE.sub(fill, skill.file.body)


@lru_cache(1000)
def _note_unknown(skill_id: str, name: str) -> None:
    """Once for each."""
    log.warning("skill %s: nothing fills {{%s}}; it stays as it is", skill_id, name)


def split_arguments(arguments: str) -> list[str]:
    """Words; double quotes keep several together, an open quote reaches to the end."""
    return [found[0].replace('"', "") for found in _TOKEN.finditer(arguments)]
