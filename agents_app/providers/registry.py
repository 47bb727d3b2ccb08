"""Which providers exist, and the provider of an agent's model.

Files of `<home>/global/models/` are read once and again when they change; a home without any (before seeding) gets the
packaged catalogue. A broken file is left out, logged once and listed, the others load (spec models 2.1, 5).
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from pydantic import ValidationError

from halo_site.lib import settings_store, yaml_files
from halo_site.lib.errors import BadRequest
from halo_site.lib.remembered import looking_at

from .bedrock_dialect import BedrockDialect
from .catalogue_schema import ModelEntry, Pricing, ProviderEntry
from .chat_dialect import ChatDialect
from .contract import ModelConfig, Provider
from .demo import DemoProvider
from .messages_dialect import MessagesDialect
from .responses_dialect import ResponsesDialect
from .wire import Dialect

log = logging.getLogger(__name__)

PACKAGED = Path(__file__).parent / "catalogue"
_FILE_LIMIT = 256 * 1024  # bytes of one registry file
_DEFAULT_MAX_TOKENS = 16384
DIALECTS: dict[str, Dialect] = {
    "chat": ChatDialect(),
    "messages": MessagesDialect(),
    "responses": ResponsesDialect(),
    "bedrock": BedrockDialect(),
}


class UnknownProvider(BadRequest):
    def __init__(self, provider: str) -> None:
        super().__init__(
            f'Unknown provider "{provider}": correct model.provider in agent.yaml, or add '
            f"{provider}.yaml to the models directory ({models_dir()})"
        )


@dataclass(frozen=True, slots=True)
class BrokenFile:
    file: str
    error: str


@dataclass(frozen=True, slots=True)
class Registry:
    providers: Mapping[str, ProviderEntry]  # in order of their ids
    broken: tuple[BrokenFile, ...]

    def model(self, provider: str, model_id: str) -> ModelEntry | None:
        """The entry of a model: the agent's own provider first, then the first other one that has it."""
        own = self.providers.get(provider)
        found = own.model(model_id) if own else None
        if found is None:
            others = (entry.model(model_id) for entry in self.providers.values())
            found = next((model for model in others if model), None)
        return found


_Stamp = tuple[tuple[str, int, int], ...]
_lock = threading.Lock()
_cached: tuple[Path, _Stamp, Registry] | None = None


def models_dir() -> Path:
    return settings.HALO.global_dir / "models"


_held: ContextVar[Registry | None] = ContextVar("held_registry", default=None)


@contextmanager
def held() -> Iterator[Registry]:
    """Inside, the registry stays as it is now: one look at the files for many questions that belong together."""
    found = registry()
    token = _held.set(found)
    try:
        yield found
    finally:
        _held.reset(token)


def registry() -> Registry:
    """The providers as the files are now. Reads nothing when no file changed."""
    global _cached
    if (kept := _held.get()) is not None:
        return kept
    directory = models_dir()
    stamp = _stamp(directory)
    if not stamp:
        directory = PACKAGED
        stamp = _stamp(directory)
    with _lock:
        if _cached is None or _cached[:2] != (directory, stamp):
            _cached = (directory, stamp, _read(directory, [name for name, _, _ in stamp]))
        return _cached[2]


def _stamp(directory: Path) -> _Stamp:
    found = []
    looking_at(directory)
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".yaml") and not entry.name.startswith("."):
                    looking_at(entry.path)
                    status = entry.stat()
                    found.append((entry.name, status.st_mtime_ns, status.st_size))
    except OSError:
        return ()
    return tuple(sorted(found))


def _read(directory: Path, names: list[str]) -> Registry:
    providers: dict[str, ProviderEntry] = {}
    broken: list[BrokenFile] = []
    for name in names:
        try:
            entry = _entry(directory / name)
            if entry.id in providers:
                raise ValueError(f"the id {entry.id} is already taken by another file")
        except (OSError, ValueError, yaml.YAMLError, yaml_files.YamlError) as error:
            reason = _reason(error)
            log.warning("model registry: %s is left out: %s", name, reason)
            broken.append(BrokenFile(name, reason))
            continue
        providers[entry.id] = entry
    return Registry(dict(sorted(providers.items())), tuple(broken))


def _entry(path: Path) -> ProviderEntry:
    with path.open("rb") as file:
        data = file.read(_FILE_LIMIT + 1)
    if len(data) > _FILE_LIMIT:
        raise ValueError(f"larger than {_FILE_LIMIT // 1024} KiB")
    text = data.decode("utf-8")
    yaml_files.compose(text)  # neither too deep nor with keys that are there twice
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml_files.Loader)):
        raise ValueError("YAML aliases are not allowed here")  # a few lines of them fill the memory
    document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise ValueError("not a mapping")
    if not document.get("id"):
        raise ValueError("it has no id")
    return ProviderEntry.model_validate(document)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
    return " ".join(str(error).split())[:300] or type(error).__name__


def entry_of(provider: str) -> ProviderEntry:
    """Raises UnknownProvider."""
    entry = registry().providers.get(provider)
    if entry is None:
        raise UnknownProvider(provider)
    return entry


def list_providers() -> dict[str, Any]:
    """For the app: `{providers: [<registry entry, keys as in its file>], broken: [{file, error}]}`."""
    known = registry()
    return {
        "providers": [
            entry.model_dump(
                mode="json", by_alias=True, exclude_none=True, exclude={"wire": True, "models": {"__all__": {"wire"}}}
            )
            for entry in known.providers.values()
            if entry.family != "scripted" or scripts_allowed()
        ],
        "broken": [{"file": item.file, "error": item.error} for item in known.broken],
    }


def resolve_model(
    model: Mapping[str, Any], *, secrets: Mapping[str, str] | None = None, context_tokens: int | None = None
) -> ModelConfig:
    """The `model` block of an agent.yaml over the registry (spec models 2.1, 3.9; agents-and-prompts 2.2).

    model: keys as in the file (provider, id, endpoint, maxTokens, promptCaching, thinking, verbosity, image).
    secrets: `{"api_key": ...}` of this provider, already expanded. context_tokens: `context.maxTokens` of the agent.
    Raises BadRequest that names the missing fields, UnknownProvider for a provider without a file.
    """
    names = {key: str(model.get(key) or "").strip() for key in ("provider", "id", "endpoint")}
    missing = [f"model.{key}" for key, value in names.items() if not value]
    if missing:
        raise BadRequest(
            f"The agent's model is not complete: {', '.join(missing)} missing in agent.yaml "
            "(model.provider, model.id and model.endpoint are needed)"
        )
    entry_of(names["provider"])
    known = registry().model(names["provider"], names["id"])
    writes = known.capabilities.verbosity if known else None
    thinking = model.get("thinking")
    thinking = thinking if isinstance(thinking, Mapping) else {}
    can_think = known.capabilities.thinking if known else None
    image = model.get("image")
    return ModelConfig(
        provider=names["provider"],
        model=names["id"],
        endpoint=names["endpoint"],
        max_tokens=_positive(model.get("maxTokens")) or (known.max_output_tokens if known else _DEFAULT_MAX_TOKENS),
        context_window=_positive(context_tokens)
        or (known.context_window if known else None)
        or settings.HALO.max_context_tokens,
        vision=image if isinstance(image, bool) else bool(known and known.capabilities.image),
        prompt_caching=_caching(model.get("promptCaching")),
        thinking=thinking.get("enabled") is True,
        thinking_effort=str(thinking.get("effort") or thinking.get("budget") or "") or None,
        thinking_budget=_positive(thinking.get("budget_tokens")),
        thinking_mode=can_think.mode if can_think else "adaptive",
        verbosity=str(model.get("verbosity") or "") or (writes.default if writes else None),
        secrets=dict(secrets or {}),
    )


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _caching(value: object) -> str | None:
    if value is True:
        return "5m"
    return str(value) if value in ("5m", "1h") else None


def provider_for(config: ModelConfig) -> Provider:
    """The provider to call with this model. Raises UnknownProvider, BadRequest for a script that is not allowed."""
    entry = entry_of(config.provider)
    if entry.family == "demo":
        return DemoProvider()
    if entry.family == "scripted":
        return _scripted()
    from .http import HttpProvider  # here: httpx and what it brings cost a start a fifth of a second

    return HttpProvider(entry.id, DIALECTS[entry.family], entry.wire_for(config.model))


def _scripted() -> Provider:
    from .scripted import ScriptedProvider

    if not scripts_allowed():
        raise BadRequest("The scripted provider is switched off: set general.models.allow_scripted, or choose another")
    return ScriptedProvider(DIALECTS)


def scripts_allowed() -> bool:
    return settings_store.general("models.allow_scripted") is True


def pricing_of(config: ModelConfig) -> Pricing | None:
    """What the model costs, None when the registry does not say."""
    entry = registry().providers.get(config.provider)
    model = entry.model(config.model) if entry else None
    return model.pricing if model else None
