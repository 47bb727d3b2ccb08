"""What an agent works with in one run: tools, skills and the system prompt. For the engine and for previews."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halo_site.lib.access_level import Access

from . import tools
from .agents import Agent
from .disabled import NOTHING, Disabled
from .prompt_files import BuiltPrompt, PromptMaterial, present_time, prompt_material
from .skill_use import offered_skills, skills_block
from .skills import Skill
from .tools.contract import Tool


@dataclass(frozen=True, slots=True)
class Outfit:
    """`tools` by name, in the order in which the model is told of them. `skills`: those it may activate."""

    tools: Mapping[str, Tool[Any]]
    skills: tuple[Skill, ...]
    prompt: BuiltPrompt


@dataclass(frozen=True, slots=True)
class Material:
    """An outfit before the time is put into its prompt."""

    tools: Mapping[str, Tool[Any]]
    skills: tuple[Skill, ...]
    prompt: PromptMaterial

    def outfit(self, now: str = "") -> Outfit:
        """now: as of `PromptMaterial.at`; "" = the present time."""
        return Outfit(self.tools, self.skills, self.prompt.at(now or present_time()))


def material(
    agent: Agent,
    workspace: Path,
    *,
    level: Access,
    is_root: bool,
    vision: bool = False,
    disabled: Disabled = NOTHING,
    working_dir: str = "",
    channel: Mapping[str, str] | None = None,
    more: Sequence[Tool[Any]] = (),
) -> Material:
    """Read from the files as they are.

    See prompt_material for working_dir and channel. more: tools of its MCP servers, which run already.
    """
    skills = offered_skills(workspace, agent.config.skills, level, disabled)
    given = [
        *tools.tools_for(
            agent.config.tools,
            level,
            vision=vision,
            skills=bool(skills),
            team=agent.can_delegate,
            goal=agent.id == "goal" and agent.scope == "global" and is_root,
        ),
        *more,
    ]
    prompt = prompt_material(
        agent,
        workspace,
        is_root=is_root,
        tools=tuple(tool.name for tool in given),
        working_dir=working_dir,
        channel=channel,
        skills=skills_block(skills),
        disabled=disabled,
    )
    return Material({tool.name: tool for tool in given}, tuple(skills), prompt)
