"""Tool activate_skill: load the instructions of a skill. Given by itself to agents with a skill they may use."""

from pydantic import Field

from halo_site.lib.db import engine_threads
from halo_site.lib.errors import NotFound

from ..disabled import disabled_at
from ..skill_use import activation_text, offered_skills
from ..skills import Skill, find_skill
from .contract import Tool, ToolContext, ToolParams, ToolResult, refused
from .cut import MODEL_LIMIT
from .door import in_thread


class Params(ToolParams):
    """Load a skill: instructions for a special task, and the list of files that come with it."""

    skill_id: str = Field(min_length=1, description="An id out of <available_skills>")


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    """Everything is looked at anew: files, levels and what is disabled may have changed since the prompt was built."""
    disabled = await engine_threads().run(disabled_at, ctx.workspace)
    limit = ctx.limits.get("tool_result_render_chars", MODEL_LIMIT)

    def look() -> ToolResult:
        offered = offered_skills(ctx.workspace, ctx.skills, ctx.level, disabled)
        wanted = params.skill_id.strip()
        named = [skill for skill in offered if wanted in (skill.id, skill.file.name)]
        if not named:
            return refused(_why_not(wanted, ctx, offered))
        skill = min(named, key=lambda skill: skill.id != wanted)  # no name takes the id of another
        return ToolResult(activation_text(skill, ctx.placeholders, limit))

    return await in_thread(look)


def _why_not(wanted: str, ctx: ToolContext, offered: list[Skill]) -> str:
    listed = ", ".join(skill.id for skill in offered) or "none"
    try:
        found = find_skill(ctx.workspace, wanted)
    except NotFound:
        found = None
    if found is not None and found.id in ctx.skills and found.file.error:
        return f'The skill "{wanted}" cannot be loaded: {found.file.error}. Available skills: {listed}'
    return f'There is no skill "{wanted}" here for you, or it is not available. Available skills: {listed}'


TOOL = Tool(name="activate_skill", params=Params, run=run, read_only=True)
