"""The registry: files of the home, read again when they change; broken ones left out."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_app.providers import registry as module
from agents_app.providers.catalogue_schema import Pricing
from agents_app.providers.contract import Usage
from agents_app.providers.demo import DemoProvider
from agents_app.providers.http import HttpProvider
from agents_app.providers.pricing import cost_micros
from agents_app.providers.registry import (
    UnknownProvider,
    list_providers,
    pricing_of,
    provider_for,
    registry,
    resolve_model,
)
from halo_site.lib.errors import BadRequest

HOST = """
id: examplehost
displayName: Example Host
defaultEndpoint: http://127.0.0.1:8099/v1
defaultModelId: small-1
secrets: [{key: api_key, description: API key, default: <<EXAMPLE_KEY>>, secret: true}]
models:
  - id: small-1
    maxOutputTokens: 8192
    contextWindow: 64000
    pricing: {input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, currency: EUR}
    capabilities:
      image: true
      promptCaching: {default: 5m, ttlPresets: [{value: 5m, label: 5min}]}
      thinking: {mode: manual, defaultEnabled: true, default: medium, effortPresets: [{value: low, label: Low}]}
"""


@pytest.fixture
def models() -> Iterator[Path]:
    """The models folder of the home, with one file; empty again afterwards."""
    directory = module.models_dir()
    directory.mkdir(parents=True, exist_ok=True)
    before = set(directory.iterdir())
    assert not before
    (directory / "examplehost.yaml").write_text(HOST)
    yield directory
    for path in directory.iterdir():
        path.unlink()


def block(**changes: object) -> dict[str, object]:
    return {"provider": "examplehost", "id": "small-1", "endpoint": "http://h/v1"} | changes


def test_a_home_without_files_has_the_shipped_providers():
    assert {"demo", "openai", "anthropic"} <= set(registry().providers)
    assert registry() is registry()


def test_files_of_the_home_replace_the_shipped_ones(models: Path):
    assert list(registry().providers) == ["examplehost"]


def test_an_edited_file_is_seen_at_once(models: Path):
    before = registry()
    assert registry() is before
    (models / "examplehost.yaml").write_text(HOST.replace("64000", "32000"))
    os.utime(models / "examplehost.yaml", ns=(1, 1))
    assert registry().providers["examplehost"].models[0].context_window == 32000
    (models / "other.yaml").write_text("id: other\ndefaultEndpoint: http://o/v1\n")
    assert list(registry().providers) == ["examplehost", "other"]


BROKEN = {
    "syntax": "id: [",
    "no id": "displayName: x",
    "list": "- a",
    "empty": "",
    "bad id": "id: ../x",
    "bad number": "id: x\nmodels: [{id: m, maxOutputTokens: -1}]",
    "unknown wire": "id: x\nwire: {thinkng: type}",
    "unknown model wire": "id: x\nmodels: [{id: m, wire: {cache: 9h}}]",
    "family": "id: x\nfamily: telepathy",
    "bomb": "id: x\na: &a [1]\nb: [*a, *a]",
    "code": "id: !!python/object/apply:os.system [true]",
    "deep": "id: x\na: " + "[" * 3000,
    "huge": "id: x\ndescription: " + "y" * 300_000,
    "twice": HOST,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_left_out_and_named(models: Path, name: str):
    (models / "zz-broken.yaml").write_text(BROKEN[name])
    known = registry()
    assert list(known.providers) == ["examplehost"]
    [broken] = known.broken
    assert broken.file == "zz-broken.yaml"
    assert broken.error
    assert "\n" not in broken.error
    assert list_providers()["broken"] == [{"file": "zz-broken.yaml", "error": broken.error}]


def test_bytes_that_are_no_text_are_a_broken_file(models: Path):
    (models / "b.yaml").write_bytes(b"id: \xff\xfe")
    assert [item.file for item in registry().broken] == ["b.yaml"]


def test_the_app_gets_the_keys_of_the_file(models: Path):
    [entry] = list_providers()["providers"]
    assert (entry["id"], entry["displayName"], entry["defaultModelId"]) == ("examplehost", "Example Host", "small-1")
    assert entry["secrets"][0]["default"] == "<<EXAMPLE_KEY>>"
    assert entry["models"][0]["capabilities"]["thinking"]["effortPresets"] == [{"value": "low", "label": "Low"}]
    assert "wire" not in entry
    assert "wire" not in entry["models"][0]


def test_a_model_is_the_agents_block_over_the_registry(models: Path):
    config = resolve_model(block(), secrets={"api_key": "sk-hidden"})
    assert (config.max_tokens, config.context_window, config.vision) == (8192, 64000, True)
    assert (config.thinking, config.thinking_mode, config.prompt_caching) == (False, "manual", None)
    assert "sk-hidden" not in repr(config)
    own = resolve_model(
        block(
            maxTokens=100,
            image=False,
            promptCaching=True,
            thinking={"enabled": True, "budget": "high", "budget_tokens": 5},
        ),
        context_tokens=5000,
    )
    assert (own.max_tokens, own.context_window, own.vision) == (100, 5000, False)
    assert (own.thinking, own.thinking_effort, own.thinking_budget, own.prompt_caching) == (True, "high", 5, "5m")


def test_an_unknown_model_has_safe_defaults(models: Path):
    config = resolve_model(block(id="never-heard-of", promptCaching="1h"))
    assert (config.max_tokens, config.context_window, config.vision) == (16384, 200_000, False)
    assert config.prompt_caching == "1h"


def test_a_model_of_another_provider_lends_its_figures(models: Path):
    (models / "proxy.yaml").write_text("id: proxy\ndefaultEndpoint: http://p/v1\n")
    assert resolve_model(block(provider="proxy")).context_window == 64000


@pytest.mark.parametrize("field", ["provider", "id", "endpoint"])
def test_a_missing_field_is_named(models: Path, field: str):
    with pytest.raises(BadRequest, match=f"model.{field} missing in agent.yaml"):
        resolve_model(block(**{field: ""}))


def test_an_unknown_provider_is_explained(models: Path):
    with pytest.raises(UnknownProvider, match=r'Unknown provider "nobody".*agent\.yaml.*models directory'):
        resolve_model(block(provider="nobody"))


@pytest.mark.parametrize(
    "odd", [{"thinking": "yes"}, {"maxTokens": "many"}, {"maxTokens": True}, {"promptCaching": []}]
)
def test_odd_values_of_an_agent_fall_back(models: Path, odd: dict[str, object]):
    config = resolve_model(block(**odd))
    assert (config.max_tokens, config.thinking, config.prompt_caching) == (8192, False, None)


def test_the_family_picks_the_code(models: Path):
    assert isinstance(provider_for(resolve_model(block())), HttpProvider)
    (models / "d.yaml").write_text("id: d\nfamily: demo\n")
    assert isinstance(provider_for(resolve_model(block(provider="d"))), DemoProvider)


def test_cost_is_unknown_without_a_price_and_exact_with_one(models: Path):
    price = pricing_of(resolve_model(block()))
    usage = Usage(input_tokens=1000, output_tokens=200, cache_read_tokens=10_000, cache_write_tokens=100)
    assert cost_micros(usage, price) == 1000 * 3 + 200 * 15 + 3000 + 375
    assert price.currency == "EUR"
    assert pricing_of(resolve_model(block(id="other"))) is None
    assert cost_micros(usage, None) is None
    assert cost_micros(usage, Pricing(input=1, output=0)) == 1000 + 10_000 + 100
    assert cost_micros(Usage(), price) == 0
