"""Markdown with a `---` block of keys on top: USER.md and SKILL.md. Reading is lenient, people write these. Pure."""

import re
from dataclasses import dataclass
from itertools import pairwise

from halo_site.lib.errors import HaloError
from halo_site.lib.yaml_files import load

_TOP_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)$")


@dataclass(frozen=True, slots=True)
class Cut:
    """A text in two parts. `header` is None when there is none; `offset`: lines of the file above its first line."""

    header: str | None
    body: str
    offset: int = 0
    unclosed: bool = False


def cut(text: str) -> Cut:
    """Header and body; line ends become `\\n`, a byte order mark and empty lines on top go.

    The first `---` after the opening one closes the header, later ones belong to the body. An opening `---` that is
    never closed is `unclosed` when keys follow it; else it is a horizontal rule.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != "---":
        return Cut(None, text)
    for number in range(start + 1, len(lines)):
        if lines[number].rstrip() == "---":
            header = "\n".join(lines[start + 1 : number])
            return Cut(header, "\n".join(lines[number + 1 :]).lstrip("\n"), start + 1)
    following = next((line for line in lines[start + 1 :] if line.strip()), "")
    return Cut(None, text, start + 1, unclosed=_TOP_KEY.match(following) is not None)


def split(text: str) -> tuple[dict[str, str], str]:
    """The frontmatter's scalar keys and the body. No frontmatter, or an unclosed one: all of it is the body.

    A block that is not YAML is read line by line (`key: rest of the line`), so that an unquoted `: ` breaks nothing.
    """
    parts = cut(text)
    return ({} if parts.header is None else _keys(parts.header)), parts.body


def _keys(block: str) -> dict[str, str]:
    try:
        document = load(block)
    except HaloError:
        document = {key: value for key, (value, _) in by_line(block).items()}
    if not isinstance(document, dict):
        return {}
    return {key: value.strip() for key, value in document.items() if isinstance(value, str)}


def by_line(block: str) -> dict[str, tuple[str, range]]:
    """Top-level keys as people mean them: key -> (text, the lines it takes, from 0). The first of a double key counts.

    What follows more deeply indented belongs to the value. `>` and `|` in front, and quotes around, are taken off.
    Its lines reach to the next key, or to a line that is not indented behind an empty one: nothing of a value any more.
    """
    lines = block.split("\n")
    starts = [number for number, line in enumerate(lines) if _TOP_KEY.match(line)]
    found: dict[str, tuple[str, range]] = {}
    for start, end in pairwise([*starts, len(lines)]):
        match = _TOP_KEY.match(lines[start])
        assert match is not None
        gaps = [number for number in range(start + 1, end) if not lines[number].strip()]
        end = next((n + 1 for n in gaps if n + 1 < end and lines[n + 1].strip() and lines[n + 1][0] not in " \t"), end)
        after = [line.strip() for line in lines[start + 1 : end] if line[:1] in (" ", "\t")]
        first = (match.group(2) or "").strip()
        if re.fullmatch(r"[>|][+-]?\d*", first):
            first = ""
        value = _unquoted(" ".join(part for part in (first, *after) if part))
        found.setdefault(match.group(1), (value, range(start, end)))
    return found


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
