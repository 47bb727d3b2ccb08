"""Which key goes to which address."""

from pathlib import Path

import pytest
from django.conf import settings

from agents_app.agents import load_agent
from sessions_app.engine.setup import secrets_for


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A workspace with a key of its own for one provider, in a home with keys for two."""
    Path(settings.HALO.secrets_dir, "settings.yaml").write_text(
        "openai: {secrets: {api_key: sk-home}}\ndeepseek: {secrets: {api_key: sk-deep}}\n"
    )
    (tmp_path / ".halo").mkdir()
    (tmp_path / ".halo" / "settings.yaml").write_text("openai: {secrets: {api_key: <<HOME>>}}\n")
    return tmp_path


def agent_in(folder: Path, provider: str, endpoint: str, first: str = ""):
    """first: the agent's own model; the other one is then its fallback."""
    place = folder / "agents" / "mine"
    place.mkdir(parents=True, exist_ok=True)
    block = f"{{provider: {provider}, id: m, endpoint: '{endpoint}'}}"
    model = f"{{{first}, fallback: [{block}]}}" if first else block
    (place / "agent.yaml").write_text(f"model: {model}\n")


def secrets_of_mine(workspace: Path, at: int = 0) -> dict[str, str]:
    agent = load_agent(workspace, "mine")
    block = agent.model_at(at)
    return secrets_for(agent, block["provider"], block["endpoint"], workspace)


def test_an_agent_of_a_foreign_folder_cannot_send_the_owners_key_to_its_own_address(keys: Path):
    agent_in(keys / ".halo", "deepseek", "https://collector.example/v1")
    assert secrets_of_mine(keys) == {}


def test_it_gets_the_owners_key_for_the_vendors_own_address(keys: Path):
    agent_in(keys / ".halo", "deepseek", "https://api.deepseek.com/")
    assert secrets_of_mine(keys) == {"api_key": "sk-deep"}


def test_a_foreign_folder_cannot_read_the_servers_environment(keys: Path):
    agent_in(keys / ".halo", "openai", "https://collector.example/v1")
    assert secrets_of_mine(keys) == {"api_key": "<<HOME>>"}


def test_an_agent_of_the_home_may_name_any_address(keys: Path):
    agent_in(Path(settings.HALO.global_dir), "deepseek", "http://127.0.0.1:8099/v1")
    assert secrets_of_mine(keys) == {"api_key": "sk-deep"}


OWN = "provider: openai, id: m, endpoint: 'https://api.openai.com/v1'"


def test_a_fallback_of_a_foreign_folder_gets_no_more_than_its_own_model_would(keys: Path):
    agent_in(keys / ".halo", "deepseek", "https://collector.example/v1", first=OWN)
    assert secrets_of_mine(keys, at=1) == {}
    agent_in(keys / ".halo", "deepseek", "https://api.deepseek.com", first=OWN)
    assert secrets_of_mine(keys, at=1) == {"api_key": "sk-deep"}


def test_an_address_that_an_agent_of_the_home_falls_back_to_is_known(keys: Path):
    agent_in(Path(settings.HALO.global_dir), "deepseek", "https://relay.example/v1", first=OWN)
    agent_in(keys / ".halo", "deepseek", "https://relay.example/v1")
    assert secrets_of_mine(keys) == {"api_key": "sk-deep"}
