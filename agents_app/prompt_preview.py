"""What a model would get for an agent now: for `manage.py show_prompt` and for the app."""

import os
from dataclasses import replace
from pathlib import Path

from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest

from .agents import load_agent
from .disabled import NOTHING, Disabled
from .outfit import Outfit, material
from .providers.registry import resolve_model
from .settings_sections import declared


def preview(
    workspace: Path,
    agent_id: str,
    *,
    level: Access = Access.FULL,
    child: bool = False,
    working_dir: str = "",
    disabled: Disabled = NOTHING,
) -> Outfit:
    """Built as the engine builds it, for a session that would start now.

    working_dir: relative to the workspace. Raises AgentNotFound, AgentBroken, UnknownProvider, BadRequest.
    """
    agent = load_agent(workspace, agent_id, disabled)
    config = resolve_model(agent.model, secrets={}, context_tokens=agent.config.context.max_tokens)
    inside = os.path.normpath(working_dir) if working_dir else ""
    if os.path.isabs(inside) or inside.split(os.sep)[0] == os.pardir or not os.path.isdir(workspace / inside):
        raise BadRequest("workingDir must be a folder inside the workspace")
    worn = material(
        agent,
        workspace,
        level=level,
        is_root=not child,
        vision=config.vision,
        disabled=disabled,
        working_dir="" if inside == os.curdir else inside,
    ).outfit()
    return replace(worn, prompt=replace(worn.prompt, text=_masked(worn.prompt.text, agent_id, workspace)))


def _masked(text: str, agent_id: str, workspace: Path) -> str:
    """Without the values of parameters that are declared secret: people look at this, it may be copied anywhere."""
    fields = declared(workspace)
    for key, value in settings_store.params_of(agent_id, workspace).items():
        part = fields.get(f"{agent_id}.params.{key}")
        if part is not None and part.secret and len(value) >= 4:
            text = text.replace(value, "***")
    return text
