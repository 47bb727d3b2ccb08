"""What a SKILL.md says (spec agents-and-prompts 2.5, skills 2.1; CASES C65). Pure; `parse` never raises.

Name, description and command are free text that people write without quotes; they can be recovered from a header that
is not YAML. The other keys limit who may do what: a header in which they cannot be read makes the skill broken, never
more open.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from halo_site.lib.access_level import Access
from halo_site.lib.text import REPLACEMENT
from halo_site.lib.yaml_files import Lines, YamlError, load_with_lines

from .frontmatter import Cut, by_line, cut

FREE_TEXT = ("name", "description", "command")
HIDDEN_FROM_MODEL = "disable-model-invocation"
OFFERED_TO_PEOPLE = "user-invocable"
KNOWN = (*FREE_TEXT, "requiresAccess", "verbs", HIDDEN_FROM_MODEL, OFFERED_TO_PEOPLE)
IN_VERB = ("name", "builtin", "requiresAccess", "desc")
ACCEPTED = frozenset({"allowed-tools", "metadata", "license", "compatibility", "version", "model", "argument-hint"})
MAX_NAME = 100
MAX_DESCRIPTION = 1024
COMMAND = re.compile(r"/?([\w-]{1,64})")
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
# A line that limits who may do what, though it stands where nobody looks for it.
_ASTRAY = re.compile(
    r"""^[\s"'?{-]*(requires[-_]?access|user[-_]?invocable|disable[-_]?model[-_]?invocation)["']?\s*:""", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Verb:
    """One `/<command> <verb>`. `requires` None = what the skill itself requires. `builtin`: for the help text only."""

    name: str
    builtin: bool = False
    requires: Access | None = None
    desc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """`command` without its slash, "" = none. `error`: why it cannot load; then nothing of it may be run."""

    name: str
    description: str = ""
    command: str = ""
    requires: Access | None = None
    verbs: tuple[Verb, ...] = ()
    user_invocable: bool = True
    model_invocable: bool = True
    body: str = ""
    warnings: tuple[str, ...] = ()
    error: str = ""


CURE = "put quotes around a value that holds `: ` or ` #`, and close the header with `---`"


class _Broken(Exception):
    """The header cannot be trusted. Shown as the skill's error."""


def parse(text: str, folder: str) -> SkillFile:
    """folder: the skill's id; it stands in for a missing name."""
    parts = cut(text)
    warnings: list[str] = []
    if parts.unclosed:
        error = f"line {parts.offset}: the header is never closed; put `---` on a line of its own behind its last key"
        return SkillFile(name=folder, error=error)
    if error := _no_text(text) or (_astray(parts.body.split("\n"), 1) if parts.header is None else ""):
        return SkillFile(name=folder, error=error)
    if REPLACEMENT in text:
        warnings.append("parts of it are not UTF-8 and cannot be read; save the file as UTF-8")
    if parts.header is None:
        warnings.append("there is no header (`---`, `name:`, `description:`, `---`); the first line stands in for it")
        return SkillFile(
            name=folder, description=_first_line(parts.body), body=parts.body.strip(), warnings=tuple(warnings)
        )
    try:
        return _read(parts, folder, warnings)
    except _Broken as error:
        free = {key: value for key, (value, _) in _free_texts(parts.header).items()}
        return SkillFile(name=free.get("name") or folder, description=_one_line(free), error=str(error))


def _read(parts: Cut, folder: str, warnings: list[str]) -> SkillFile:
    document, lines = _document(parts, warnings)
    document = _spelt(document, KNOWN, lines, parts.offset)
    place = _Place(document, lines, parts.offset, warnings)
    for key in document:
        if key not in KNOWN and key not in ACCEPTED:
            warnings.append(f'{place.at(key)}unknown key "{key}" is ignored')
    name = " ".join(place.text("name").split())[:MAX_NAME]
    if not name:
        warnings.append("`name` is missing; the folder's name is used")
    elif name != folder:
        warnings.append(f'the name "{name}" is not the name of the folder; it is called by its folder, "{folder}"')
    description = _one_line(document)
    if not description:
        description = _first_line(parts.body)
        warnings.append("`description` is missing; agents cannot tell when to use this skill")
    elif len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 1].rstrip() + "…"
        warnings.append(f"`description` is longer than {MAX_DESCRIPTION} characters; the rest is not shown to agents")
    return SkillFile(
        name=name or folder,
        description=description,
        command=_command(place),
        requires=place.level("requiresAccess", document),
        verbs=_verbs(place),
        user_invocable=place.flag(OFFERED_TO_PEOPLE, default=True, narrow=False),
        model_invocable=not place.flag(HIDDEN_FROM_MODEL, default=False, narrow=True),
        body=parts.body.strip(),
        warnings=tuple(warnings),
    )


def _document(parts: Cut, warnings: list[str]) -> tuple[dict[str, Any], Lines]:
    """The header as YAML; when it is none, without its free texts, which are then taken as they stand."""
    assert parts.header is not None
    try:
        document, lines = load_with_lines(parts.header)
        if document is None:
            return {}, lines
        if isinstance(document, dict) and all(isinstance(document.get(key) or "", str) for key in FREE_TEXT):
            return document, lines
    except YamlError as first:
        reason = f"line {first.line + parts.offset}: {first.problem}" if first.line else first.problem
    else:
        if not isinstance(document, dict):
            raise _Broken(f"line {parts.offset + 1}: the header needs `key: value` lines")
        reason = "name, description and command are texts"
    known = _free_texts(parts.header)
    rest = parts.header.split("\n")
    for _, taken_lines in known.values():
        below = rest[taken_lines.start + 1 : taken_lines.stop]
        if error := _astray(below, parts.offset + taken_lines.start + 2):
            raise _Broken(error)
        for number in taken_lines:
            rest[number] = ""
    try:
        document, lines = load_with_lines("\n".join(rest))
    except YamlError as error:
        line = f"line {error.line + parts.offset}: " if error.line else ""
        raise _Broken(f"{line}{error.problem}; {CURE}") from error
    if document is not None and not isinstance(document, dict):
        raise _Broken(f"line {parts.offset + 1}: the header needs `key: value` lines; {CURE}")
    warnings.append(f"the header is not YAML and was read line by line ({reason}); quotes around the text mend it")
    for key, (_, taken_lines) in known.items():
        lines[(key,)] = taken_lines.start + 1
    return (document or {}) | {key: value for key, (value, _) in known.items()}, lines


def _free_texts(header: str) -> dict[str, tuple[str, range]]:
    """The free texts of a header that is not YAML, as `by_line` reads them, under their proper names."""
    found: dict[str, tuple[str, range]] = {}
    for key, value in by_line(header).items():
        if (proper := _proper(key, FREE_TEXT)) in FREE_TEXT:
            found.setdefault(proper, value)
    return found


def _proper(key: str, known: Iterable[str]) -> str:
    """The known key that is meant by another spelling, such as requires_access or RequiresAccess; else the key."""
    plain = key.replace("-", "").replace("_", "").lower()
    return next((each for each in known if each.replace("-", "").lower() == plain), key)


def _spelt(mapping: Mapping[str, Any], known: Iterable[str], lines: Lines, offset: int, *path: str) -> dict[str, Any]:
    """`mapping` with the proper names of its keys. Raises _Broken where it cannot be told what they say."""
    found: dict[str, Any] = {}
    for key, value in mapping.items():
        proper, line = _proper(key, known), lines.near((*path, key))
        if proper in found:
            raise _Broken(f"line {line + offset}: the key `{proper}` is there twice")
        if key == "<<":
            raise _Broken(f"line {line + offset}: `<<` is not read here; write the keys themselves")
        found[proper] = value
        lines[(*path, proper)] = line
    return found


def _no_text(text: str) -> str:
    plain = text.removeprefix("\ufeff")
    if not plain.strip():
        return "the file is empty"
    return "it is no UTF-8 text; save the file as UTF-8" if plain.startswith(REPLACEMENT) else ""


def _astray(lines: Iterable[str], first: int) -> str:
    """What limits rights and stands where it would not count: an error, or "". first: the number of the first line."""
    for number, line in enumerate(lines, first):
        if found := _ASTRAY.match(line):
            return (
                f"line {number}: `{found[1]}` does not count here; it belongs at the start of a line of its own, in a "
                "header (`---` above and below) that begins with the first line of the file"
            )
    return ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A header with the lines of its keys, for messages."""

    document: Mapping[str, Any]
    lines: Lines
    offset: int
    warnings: list[str]

    def at(self, *path: str) -> str:
        line = self.lines.near(path)
        return f"line {line + self.offset}: " if line else ""

    def text(self, key: str) -> str:
        return str(self.document.get(key) or "").strip()

    def flag(self, name: str, *, default: bool, narrow: bool) -> bool:
        """A yes or no. What is neither counts as the narrower of the two."""
        value = self.document.get(name)
        if value is None:
            return default
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _YES or word in _NO:
            return word in _YES
        self.warnings.append(f"{self.at(name)}{name} must be true or false; it counts as {str(narrow).lower()}")
        return narrow

    def level(self, key: str, mapping: Mapping[str, Any], *path: str) -> Access | None:
        """An access level; None when it is not set or no known one (spec commands: unknown counts as unset)."""
        value = mapping.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise _Broken(f"{self.at(*path, key)}{key} must be one of full, workspace, readonly")
        try:
            return Access(value.strip().lower())
        except ValueError:
            self.warnings.append(f"{self.at(*path, key)}{key}: {value!r} is not full, workspace or readonly; no limit")
            return None


def _command(place: _Place) -> str:
    text = place.text("command")
    found = COMMAND.fullmatch(text)
    if text and not found:
        place.warnings.append(f"{place.at('command')}{text!r} cannot be a command; it needs letters, digits, _ and -")
    return found.group(1) if found else ""


def _verbs(place: _Place) -> tuple[Verb, ...]:
    raw = place.document.get("verbs")
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise _Broken(f"{place.at('verbs')}verbs must be a list, such as `- {{name: draft}}`")
    found: dict[str, Verb] = {}
    for number, item in enumerate(raw):
        path = ("verbs", str(number))
        given = {"name": item} if isinstance(item, str) else item
        entry = _spelt(given, IN_VERB, place.lines, place.offset, *path) if isinstance(given, dict) else {}
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip() or any(char.isspace() for char in name.strip()):
            raise _Broken(f"{place.at(*path)}a verb needs a name of one word, such as `- {{name: draft}}`")
        verb = Verb(
            name.strip(),
            str(entry.get("builtin") or "").strip().lower() in _YES,
            place.level("requiresAccess", entry, *path),
            str(entry.get("desc") or "").strip(),
        )
        if verb.name in found:
            raise _Broken(f'{place.at(*path)}the verb "{verb.name}" is there twice')
        found[verb.name] = verb
    return tuple(found.values())


def _one_line(document: Mapping[str, Any]) -> str:
    return " ".join(str(document.get("description") or "").split())


def _first_line(body: str) -> str:
    """The first line that says something, for a skill without a description."""
    for line in body.split("\n"):
        said = line.strip().lstrip("#>*- ").strip()
        if said:
            return said[:200]
    return ""
