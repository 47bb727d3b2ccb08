"""Short names from `<home>/global/aliases.yaml`: `/ss 2` is `/session switch 2` (spec commands, rule 2)."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from agents_app.commands import EVERYWHERE
from agents_app.file_cache import Text, read_text
from halo_site.lib.errors import HaloError
from halo_site.lib.yaml_files import MAX_BYTES, load_mapping

log = logging.getLogger("halo.commands")
FILE = "aliases.yaml"


@dataclass(frozen=True, slots=True)
class Aliases:
    """`top`: first word, without its slash -> words in its place. `verb`: second word -> verb."""

    top: Mapping[str, str] = field(default_factory=dict)
    verb: Mapping[str, str] = field(default_factory=dict)

    def expand(self, name: str, rest: str) -> tuple[str, str]:
        """Command name and the rest of the line; one pass of each table, nothing twice."""
        if line := self.top.get(name) or EVERYWHERE.get(name):
            name, _, more = line.partition(" ")
            rest = f"{more.strip()} {rest}".strip()
        first, *behind = rest.split(maxsplit=1)[:2] if rest else [""]
        if first in self.verb:
            rest = " ".join([self.verb[first], *behind])
        return name, rest


NONE = Aliases()
_last: tuple[Text, Aliases] | None = None


def parse(source: str) -> Aliases:
    """Raises YamlError. Entries that are no texts are left out."""
    document = load_mapping(source)
    top = {key.removeprefix("/"): value.strip().removeprefix("/") for key, value in _texts(document.get("top"))}
    return Aliases(top, dict(_texts(document.get("verb"))))


def _texts(table: Any) -> list[tuple[str, str]]:
    if not isinstance(table, dict):
        return []
    return [(key, value) for key, value in table.items() if isinstance(value, str) and value.strip(" /")]


def current() -> Aliases:
    """The file as it is now; a missing one means none, a broken one means none and a warning in the log."""
    global _last
    try:
        found = read_text(Path(settings.HALO.global_dir), FILE, trusted=True, limit=MAX_BYTES)
        if found is None:
            return NONE
        if _last is None or _last[0] is not found:
            _last = (found, parse(found.text))
    except HaloError as error:
        log.warning("%s is not used: %s", FILE, error)
        return NONE
    return _last[1]
