"""What the context ring of a session is measured against."""

from pathlib import Path

from django.conf import settings

from agents_app.agents import load_agent
from agents_app.providers.contract import ProviderError
from agents_app.providers.registry import resolve_model
from halo_site.lib.errors import HaloError


def context_window(workspace_path: str, agent_id: str) -> int:
    """Tokens the model of an agent takes; the site's default while agent or model cannot be read."""
    try:
        agent = load_agent(Path(workspace_path), agent_id)
        model = agent.config.model.model_dump(by_alias=True, exclude_none=True)
        return resolve_model(model, secrets={}, context_tokens=agent.config.context.max_tokens).context_window
    except (HaloError, ProviderError):
        return int(settings.HALO.max_context_tokens)
