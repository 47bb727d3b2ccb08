"""Which model an agent is bound to: the block for a new agent, and a new binding for an old one (spec 3.8)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from halo_site.lib import settings_store
from halo_site.lib.yaml_edit import block_of, dump, set_value
from halo_site.lib.yaml_files import load_mapping

from .providers.catalogue_schema import ModelEntry, ProviderEntry
from .providers.registry import entry_of, registry

FIRST_CHOICE = "aws-bedrock-claude-invoke"
WITHOUT_KEY = "demo"


def default_provider(workspace: Path | None = None) -> str:
    """The provider a new agent gets.

    HALO_DEFAULT_PROVIDER, else the setting, else the first provider that has a key, else the demo, which needs none.
    """
    known = registry().providers
    wanted = (settings.HALO.default_provider, str(settings_store.general("agent.default_provider", workspace) or ""))
    for provider in wanted:
        if provider in known:
            return provider
    ordered = sorted(known, key=lambda name: (name != FIRST_CHOICE, name))
    for provider in ordered:
        if provider != WITHOUT_KEY and settings_store.secrets_of(provider, workspace):
            return provider
    return WITHOUT_KEY if WITHOUT_KEY in known else ordered[0]


def model_block(provider: str, model_id: str = "", endpoint: str = "") -> dict[str, Any]:
    """The `model:` block for a provider, filled from its registry entry. Raises UnknownProvider."""
    entry = entry_of(provider)
    model = entry.model(model_id) if model_id else entry.first_model
    block: dict[str, Any] = {
        "provider": entry.id,
        "id": model_id or (model.id if model else ""),
        "endpoint": endpoint or entry.default_endpoint,
    }
    return block | _capabilities(model)


def _capabilities(model: ModelEntry | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if model is None:
        return found
    caching, thinking = model.capabilities.prompt_caching, model.capabilities.thinking
    if caching and caching.default:
        found["promptCaching"] = caching.default
    if thinking:
        effort = thinking.default or (thinking.effort_presets[0].value if thinking.effort_presets else None)
        found["thinking"] = {"enabled": thinking.default_enabled}
        if effort:
            found["thinking"]["effort"] = effort
        elif thinking.mode == "manual":
            found["thinking"]["budget_tokens"] = thinking.default_budget_tokens
    return found


def bind(text: str, block: Mapping[str, Any]) -> str:
    """`agent.yaml` text with another model block; everything else stays as it is written.

    What belonged to the old model only (its caching, thinking and modality settings) goes with it; `fallback` stays.
    """
    old = block_of(text, "model")
    if old is None:
        return set_value(text, ["model"], dict(block))
    before = load_mapping(old).get("model")
    kept = {"fallback": before["fallback"]} if isinstance(before, dict) and before.get("fallback") else {}
    return text.replace(old, dump({"model": {**block, **kept}}), 1)


def has_key(entry: ProviderEntry, workspace: Path | None = None) -> bool:
    """True when every secret the provider needs is stored; where all are optional, when one of them is."""
    stored = settings_store.secrets_of(entry.id, workspace)
    needed = [part.key for part in entry.secrets if not part.optional]
    if needed or not entry.secrets:
        return all(stored.get(key) for key in needed)
    return any(stored.get(part.key) for part in entry.secrets)
