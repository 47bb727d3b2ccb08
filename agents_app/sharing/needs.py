"""Which parameters the items of an archive wait for: what share took out, and what their config files declare. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from halo_site.lib.errors import BadRequest
from halo_site.lib.settings_schema import Field, field_from
from halo_site.lib.yaml_files import load_mapping

from .contents import Item

_NAMED = re.compile(r"\{\{\s*([\w-]+)\.params\.([\w-]+)\s*\}\}")
_SHORT = re.compile(r"\{\{\s*params\.([\w-]+)\s*\}\}")  # in a skill: its own
_CONFIGS = ("config.yaml", "agent-config.yaml")
_SECRETS = re.compile(r"(?i).*(key|secret|token|password)")


@dataclass(frozen=True, slots=True)
class Need:
    """key: as settings store it. required: something in the archive uses it, and it has no default."""

    key: str
    item: str  # path of the item
    field: Field
    required: bool


def needs(items: Iterable[Item], text_of: Callable[[str], str]) -> list[Need]:
    """By key. text_of: what the file of a path holds, "" for what is no text; one at a time is kept."""
    found: dict[str, Need] = {}
    for item in items:
        if item.kind not in ("agent", "skill"):
            continue
        used = {key for path in item.files for key in _used(text_of(path), item)}
        declared = _declared(item, text_of)
        for key in sorted(used | declared.keys()):
            field = declared.get(key) or _undeclared(key)
            if field.default and _NAMED.search(field.default):  # share took the value out
                field = replace(field, default=None)
            required = key in used and not field.default
            if key not in found or (required and not found[key].required):
                found[key] = Need(key, item.path, field, required)
    return [found[key] for key in sorted(found)]


def _used(text: str, item: Item) -> Iterable[str]:
    for owner, name in _NAMED.findall(text):
        if owner == item.name:  # nobody else's parameter is ever filled in
            yield f"{owner}.params.{name}"
    if item.kind == "skill":
        for name in _SHORT.findall(text):
            yield f"{item.name}.params.{name}"


def _declared(item: Item, text_of: Callable[[str], str]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for name in _CONFIGS:
        try:
            document = load_mapping(text_of(f"{item.path}/{name}"))
        except BadRequest:  # the list of skills tells line and cure
            continue
        for kind in ("param", "secret"):
            listed = document.get(f"{kind}s")
            for raw in listed if isinstance(listed, list) else []:
                if isinstance(raw, dict) and (field := field_from(raw, "secret" if kind == "secret" else "param")):
                    found[f"{item.name}.{kind}s.{field.key}"] = field
    return found


def _undeclared(key: str) -> Field:
    name = key.rpartition(".")[2]
    return Field(key=name, secret=_SECRETS.fullmatch(name) is not None)
