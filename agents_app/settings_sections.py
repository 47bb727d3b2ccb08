"""All that can be set, section by section: general, providers, skills, agents; and what is stored without a home."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError
from halo_site.lib.general_settings import GENERAL_SECTION
from halo_site.lib.settings_schema import Field, Section, field_from
from halo_site.lib.yaml_files import MAX_BYTES, load_mapping

from .file_cache import read_text
from .item_id import is_item_id
from .providers.registry import registry

log = logging.getLogger(__name__)


def sections(workspace: Path | None) -> list[Section]:
    """Every section that has fields, in the order of the page."""
    found = [_general(), *_providers(), *_skills(workspace), *_agents()]
    return [section for section in found if section.fields]


def declared(workspace: Path | None) -> dict[str, Field]:
    """Field by dotted key, e.g. `openai.secrets.api_key`."""
    return {section.path_of(part): part for section in sections(workspace) for part in section.fields}


def _general() -> Section:
    providers = tuple(registry().providers)
    fields = [
        replace(part, type="enum", options=providers) if part.key == "agent.default_provider" and providers else part
        for part in GENERAL_SECTION.fields
    ]
    return replace(GENERAL_SECTION, fields=fields)


def _providers() -> Iterator[Section]:
    for entry in registry().providers.values():
        fields = [
            Field(
                key=part.key,
                kind="secret",
                description=part.description,
                description_zh=part.description_zh,
                default=part.default or None,
                secret=True,
            )
            for part in entry.secrets
        ]
        yield Section(
            id=entry.id,
            group="provider",
            title=entry.display_name or entry.id,
            title_zh=entry.display_name_zh,
            fields=fields,
        )


def _skills(workspace: Path | None) -> Iterator[Section]:
    """`config.yaml` of every skill; the workspace's folder hides the home's."""
    seen: set[str] = set()
    places = [(workspace, workspace / ".halo" / "skills", False)] if workspace is not None else []
    home = Path(settings.HALO.global_dir)
    for base, folder, trusted in [*places, (home, home / "skills", True)]:
        for owner in _folders(folder):
            if owner not in seen:
                seen.add(owner)
                path = str((folder / owner / "config.yaml").relative_to(base))
                yield _from_file(base, path, owner, "skill", trusted=trusted)


def _agents() -> Iterator[Section]:
    home = Path(settings.HALO.global_dir)
    for owner in _folders(home / "agents"):
        yield _from_file(home, f"agents/{owner}/agent-config.yaml", owner, "agent", trusted=True)


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(place.name for place in folder.iterdir() if is_item_id(place.name))
    except OSError:
        return []


def _from_file(base: Path, relative: str, owner: str, group: Any, *, trusted: bool) -> Section:
    document: Mapping[str, Any] = {}
    try:
        found = read_text(base, relative, trusted=trusted, limit=MAX_BYTES)
        document = load_mapping(found.text) if found else {}
    except HaloError as error:
        log.warning("settings of %s are left out: %s", owner, error)
    fields = [
        part
        for kind, name in (("param", "params"), ("secret", "secrets"))
        for raw in (document.get(name) or [])
        if isinstance(raw, dict) and (part := field_from(raw, "param" if kind == "param" else "secret"))
    ]
    title = document.get("displayName") or document.get("name") or owner
    return Section(
        id=owner, group=group, title=str(title), title_zh=str(document.get("displayName_zh") or ""), fields=fields
    )


def orphans(workspace: Path | None) -> list[dict[str, object]]:
    """Stored params and secrets that no section declares: `{key, kind, scope}`. Kept until somebody deletes them."""
    known = declared(workspace)
    found: list[dict[str, object]] = []
    scopes: tuple[settings_store.Scope, ...] = ("global", "workspace") if workspace is not None else ("global",)
    for scope in scopes:
        values = settings_store.layer(settings_store.file_of(scope, workspace)).values
        for key, value in settings_store.leaves(values):
            parts = key.split(".")
            owned = len(parts) >= 3 and parts[0] != "general" and parts[1] in ("params", "secrets")
            if owned and key not in known and value not in (None, ""):
                found.append({"key": key, "kind": parts[1].removesuffix("s"), "scope": scope})
    return found


def shown(section: Section, part: Field, workspace: Path | None) -> dict[str, object]:
    """One field with its value for the page; secrets masked, never filled from the environment."""
    key = section.path_of(part)
    raw, source = settings_store.raw(key, workspace, global_only=part.global_only)
    error = ""
    value: object = None
    if raw is not None:
        if part.secret:
            value = settings_store.mask(str(raw))
        else:
            try:
                value = part.read(raw)
            except HaloError as problem:
                value, error = str(raw), str(problem)
    return {
        "key": part.key,
        "path": key,
        "kind": part.kind,
        "type": part.type,
        "options": list(part.options),
        "optionLabels": list(part.option_labels),
        "description": part.description,
        "descriptionZh": part.description_zh,
        "default": part.default,
        "secret": part.secret,
        "globalOnly": part.global_only,
        "unit": part.unit,
        "min": part.low,
        "max": part.high,
        "needsRestart": part.restart,
        "value": value,
        "hasValue": raw is not None,
        "source": source or "unset",
        "inheritedFromGlobal": workspace is not None and source == "global",
        "error": error,
    }


def masked(workspace: Path | None) -> settings_store.Tree:
    """Both layers as one tree; secrets, and orphans of which nobody says whether they are, masked."""
    known = declared(workspace)

    def walk(tree: Mapping[str, Any], prefix: str) -> settings_store.Tree:
        out: settings_store.Tree = {}
        for name, value in tree.items():
            key = f"{prefix}.{name}" if prefix else name
            part = known.get(key)
            if isinstance(value, dict):
                out[name] = walk(value, key)
            elif isinstance(value, str) and not key.startswith("general.") and (part is None or part.secret):
                out[name] = settings_store.mask(value)
            else:
                out[name] = _typed(part, value)
        return out

    return walk(settings_store.merged(workspace), "")


def _typed(part: Field | None, value: object) -> object:
    if part is None:
        return value
    try:
        return part.read(value)
    except HaloError:
        return value
