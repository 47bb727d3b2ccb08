"""Looking at and changing skills from the app."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.http import HttpRequest

from halo_site.lib.errors import BadRequest
from halo_site.lib.text import clean
from halo_site.lib.yaml_edit import dump
from workspaces_app.access import Caller

from .commands import owners
from .disabled import NOTHING, disabled_at
from .item_places import Place, make, new_place, read_file, remove, told, write_file
from .seed import SKILLS
from .skill_file import COMMAND, parse
from .skills import FILE, Skill, list_skills, read_skill


def rows(workspace: Path | None) -> list[dict[str, Any]]:
    """The skills of both scopes for a list; those that cannot load with `error`."""
    disabled = disabled_at(workspace) if workspace else NOTHING
    skills = list_skills(workspace, disabled)
    late = owners(skills)[1]
    return [row_of(skill, () if skill.overridden else filter(None, [late.get(skill.id)])) for skill in skills]


def row_of(skill: Skill, more: Iterable[str] = ()) -> dict[str, Any]:
    """more: warnings that come of the other skills."""
    file = skill.file
    return {
        "id": skill.id,
        "name": file.name,
        "description": file.description,
        "path": str(skill.folder),
        "scope": skill.scope,
        "command": f"/{file.command}" if file.command else None,
        "requiresAccess": file.requires,
        "verbs": [
            {"name": verb.name, "desc": verb.desc, "builtin": verb.builtin, "requiresAccess": verb.requires}
            for verb in file.verbs
        ],
        "userInvocable": file.user_invocable,
        "modelInvocable": file.model_invocable,
        "overridden": skill.overridden,
        "disabled": skill.disabled,
        "builtIn": is_built_in(skill.scope, skill.id),
        "warnings": [*file.warnings, *more],
        "error": file.error,
    }


def is_built_in(scope: str, skill_id: str) -> bool:
    """Whether it comes with Halo: every update writes its files anew."""
    return scope == "global" and skill_id in SKILLS


def text_of(place: Place) -> dict[str, Any]:
    """The SKILL.md as it is on the disk."""
    text = read_file(place, FILE)
    return {
        "content": text or "",
        "exists": text is not None,
        "path": str(place.folder / FILE),
        "readOnly": is_built_in(place.scope, place.item_id),
    }


def write_text(caller: Caller, place: Place, text: str, request: HttpRequest) -> Skill:
    """Check, then store. Raises BadRequest for a text that could not load, and for skills that belong to Halo."""
    if is_built_in(place.scope, place.item_id):
        raise BadRequest(
            f"{place.item_id} belongs to Halo; an update would replace your text. Make a skill of your own."
        )
    if error := parse(text, place.item_id).error:
        raise BadRequest(f"Invalid {FILE}: {error}")
    write_file(place, FILE, text)
    told(caller, place, "change", request)
    return read_skill(place.root, place.scope, place.folder, NOTHING)


def create(
    caller: Caller,
    name: str,
    description: str,
    command: str,
    scope: str | None,
    project_id: str | None,
    request: HttpRequest,
) -> Skill:
    """A new skill with a body to fill in. Raises BadRequest, Conflict, Forbidden."""
    name, description = " ".join(clean(name).split()), " ".join(clean(description).split())
    place = new_place(caller, "skill", name, scope, project_id)
    command = command.strip()
    if command and not COMMAND.fullmatch(command):
        raise BadRequest("command must be a word such as /notes")
    header = {"name": place.item_id, "description": description or f"What {name} is for, and when to use it"}
    if command:
        header["command"] = f"/{command.removeprefix('/')}"
    body = f"# {name}\n\n## When to use\n\n{description}\n\n## Steps\n\n1. \n\n## Limits\n\n- \n"
    make(place, {FILE: f"---\n{dump(header)}---\n\n{body}"})
    told(caller, place, "create", request)
    return read_skill(place.root, place.scope, place.folder, NOTHING)


def delete(caller: Caller, place: Place, request: HttpRequest | None, address: str = "") -> None:
    """Raises BadRequest for skills that belong to Halo."""
    if is_built_in(place.scope, place.item_id):
        raise BadRequest(f"{place.item_id} belongs to Halo and would come back. Disable it in a workspace instead.")
    remove(place)
    told(caller, place, "delete", request, address)
