"""The skills there are: folders with a SKILL.md, the workspace's own over the home's (spec agents-and-prompts 3.9).

`<ws>/.halo/skills/<id>/` hides `<home>/global/skills/<id>/` as a whole folder, never file by file.
"""

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from django.conf import settings

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, HaloError, NotFound
from halo_site.lib.remembered import looking_at

from .disabled import NOTHING, Disabled
from .file_cache import Text, read_text
from .item_id import is_item_id
from .skill_file import SkillFile, parse

Scope = Literal["workspace", "global"]
FILE = "SKILL.md"
MAX_RESOURCES = 200
_SKIPPED = frozenset({"__pycache__", "node_modules", ".git"})
_NO_RESOURCE = frozenset({FILE.lower(), "tests.yaml"})  # the skill itself, and what only `manage.py skills test` reads


class SkillNotFound(NotFound):
    def __init__(self, skill_id: str) -> None:
        super().__init__(f'skill "{skill_id}" not found')


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill folder. `file` is what SKILL.md says; its `error` tells why the skill cannot be used."""

    id: str
    scope: Scope
    folder: Path
    file: SkillFile
    overridden: bool = False
    disabled: bool = False

    @property
    def usable(self) -> bool:
        return not (self.file.error or self.overridden or self.disabled)

    def allows(self, level: Access) -> bool:
        """True when a session of this level may use it at all; its verbs may ask for more."""
        return self.file.requires is None or level.covers(self.file.requires)


_lock = threading.Lock()
_parsed: dict[str, tuple[Text, SkillFile]] = {}


def skills_folder(workspace: Path | None, scope: Scope) -> Path:
    """Where the skills of a scope live. Raises BadRequest for scope workspace without one."""
    if scope == "global":
        return Path(settings.HALO.global_dir, "skills")
    if workspace is None:
        raise BadRequest("projectId is required")
    return workspace / ".halo" / "skills"


def find_skill(workspace: Path | None, skill_id: str, disabled: Disabled = NOTHING) -> Skill:
    """The skill that serves an id, broken and disabled ones too. Raises SkillNotFound, for unsafe ids as well."""
    if is_item_id(skill_id):
        scopes: tuple[Scope, ...] = ("workspace", "global") if workspace is not None else ("global",)
        for scope in scopes:
            folder = skills_folder(workspace, scope) / skill_id
            looking_at(folder)
            if folder.is_dir():
                return read_skill(workspace, scope, folder, disabled)
    raise SkillNotFound(skill_id)


def list_skills(workspace: Path | None, disabled: Disabled = NOTHING) -> list[Skill]:
    """Every skill folder of both scopes by id, the workspace's first; hidden ones of the home are `overridden`."""
    found: list[Skill] = []
    scopes: tuple[Scope, ...] = ("workspace", "global") if workspace is not None else ("global",)
    for scope in scopes:
        own = {skill.id for skill in found}
        for folder in _folders(skills_folder(workspace, scope)):
            found.append(replace(read_skill(workspace, scope, folder, disabled), overridden=folder.name in own))
    found.sort(key=lambda skill: (skill.id, skill.overridden))
    return found


def serving(workspace: Path | None, ids: Iterable[str], disabled: Disabled = NOTHING) -> list[Skill]:
    """The usable skills among `ids`, in that order; ids that serve nothing are left out."""
    found: list[Skill] = []
    for skill_id in dict.fromkeys(ids):
        try:
            skill = find_skill(workspace, skill_id, disabled)
        except SkillNotFound:
            continue
        if skill.usable:
            found.append(skill)
    return found


def read_skill(workspace: Path | None, scope: Scope, folder: Path, disabled: Disabled) -> Skill:
    """One folder. Never raises for what is in it."""
    base = workspace if scope == "workspace" and workspace is not None else folder.parent
    return Skill(
        folder.name,
        scope,
        folder,
        _file_of(base, folder, trusted=scope == "global"),
        disabled=("skill", folder.name, scope) in disabled,
    )


def _file_of(base: Path, folder: Path, *, trusted: bool) -> SkillFile:
    if not is_item_id(folder.name):
        return SkillFile(
            name=folder.name, error="the name of its folder may hold letters, digits, _ and - only; rename the folder"
        )
    inside = folder.relative_to(base)
    try:
        found = read_text(base, f"{inside}/{FILE}", trusted=trusted)
        name = FILE
        if found is None:
            name = _other_spelling(folder)
            found = read_text(base, f"{inside}/{name}", trusted=trusted) if name else None
    except HaloError as error:
        return SkillFile(name=folder.name, error=f"{FILE} cannot be read: {error}")
    if found is None:
        return SkillFile(name=folder.name, error=f"there is no {FILE} in the folder (or it leads out of the workspace)")
    with _lock:
        known = _parsed.get(found.path)
    if known is not None and known[0] is found:
        return known[1]
    file = parse(found.text, folder.name)
    if found.cut:
        file = replace(file, warnings=(*file.warnings, f"{name} is too long; only its beginning is used"))
    if name != FILE:
        file = replace(file, warnings=(*file.warnings, f"the file is called {name}; {FILE} is its proper name"))
    with _lock:
        _parsed[found.path] = (found, file)
    return file


def _other_spelling(folder: Path) -> str:
    try:
        return min((name for name in os.listdir(folder) if name.lower() == FILE.lower()), default="")
    except OSError:
        return ""


def _folders(folder: Path) -> list[Path]:
    """Of those with a name that is no id only the ones that were meant as a skill."""
    try:
        return sorted(
            place
            for place in folder.iterdir()
            if place.is_dir() and (is_item_id(place.name) or (place.name.isprintable() and _other_spelling(place)))
        )
    except OSError:
        return []


def resources(skill: Skill) -> list[str]:
    """Paths of the other files, relative to the skill's folder, sorted; at most 200. Links are not followed."""
    found: list[str] = []
    for place, folders, files in os.walk(skill.folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        inside = os.path.relpath(place, skill.folder)
        for name in sorted(files):
            path = name if inside == "." else f"{inside}/{name}"
            if inside == "." and name.lower() in _NO_RESOURCE:
                continue
            if not os.path.islink(os.path.join(place, name)):
                found.append(path)
            if len(found) >= MAX_RESOURCES:
                return found
    return found
