"""What a turn works with: agent, model, prompt and tools as they are when the turn starts (spec sessions 3.3)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.conf import settings

from agents_app.agents import Agent, list_agents, load_agent
from agents_app.disabled import Disabled
from agents_app.outfit import Material, material
from agents_app.prompt_files import BuiltPrompt, present_time
from agents_app.providers.catalogue_schema import Pricing
from agents_app.providers.contract import ModelConfig, Provider, ToolSpec, Usage
from agents_app.providers.pricing import cost_micros
from agents_app.providers.registry import entry_of, held, pricing_of, provider_for, resolve_model
from agents_app.tools.contract import Tool
from halo_site.lib import settings_store
from halo_site.lib.access_level import Access
from halo_site.lib.remembered import Remembered

from .next_step import Call
from .run import Run
from .values import Facts


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """`general.compact.*`; the agent's own compress_at counts first."""

    compress_at: float
    keep_messages: int
    max_summary_input: int  # characters, of a summary made without a model
    max_message_slice: int
    summarize_timeout_sec: int


@dataclass(frozen=True, slots=True)
class Kit:
    """What stays from turn to turn as long as no file is changed: all of a setup but the session's own."""

    agent: Agent
    at: int
    config: ModelConfig
    provider: Provider
    provider_name: str
    material: Material
    specs: Sequence[ToolSpec]
    tool_characters: int
    pricing: Pricing | None
    max_attempts: int
    limits: dict[str, int]
    compaction: CompactionRules


@dataclass(frozen=True, slots=True)
class Setup:
    agent: Agent
    at: int  # which of the agent's models: 0 its own, then its fallbacks
    config: ModelConfig
    provider: Provider
    provider_name: str
    system: str
    tools: Mapping[str, Tool[Any]]
    skills: Sequence[str]  # ids the agent lists
    placeholders: Mapping[str, str]
    specs: Sequence[ToolSpec]
    tool_characters: int  # of their descriptions, in every request
    pricing: Pricing | None
    max_attempts: int
    shell_timeout: float  # seconds
    limits: dict[str, int]  # general.limits.*
    team: Sequence[str]  # ids of agents it may delegate to
    compaction: CompactionRules
    prompt_to_keep: dict[str, Any] | None  # {hash, at, config} when they are not those stored with the session
    changed: Sequence[str]  # parts of the agent that are not what they were at the session's last turn
    missing: Mapping[str, str]  # beginning of tool names -> why there are none: MCP servers that do not run

    @property
    def thinking_label(self) -> str:
        if not self.config.thinking:
            return ""
        return str(self.config.thinking_budget or self.config.thinking_effort or "medium")

    def cost(self, usage: Usage) -> tuple[int | None, str]:
        """(millionths, currency); (None, "") when no price is known."""
        micros = cost_micros(usage, self.pricing)
        return micros, self.pricing.currency if micros is not None and self.pricing else ""

    @property
    def fixed_characters(self) -> int:
        """Of what every request holds, whatever was said."""
        return len(self.system) + self.tool_characters

    def only_reads(self, call: Call) -> bool:
        tool = self.tools.get(call.name)
        return tool is not None and tool.read_only_for(call.input)

    def no_tool(self, name: str) -> str:
        """What a model that calls a tool it has not is told."""
        for beginning, why in self.missing.items():
            if name.startswith(beginning):
                return why
        return f"There is no tool named {name!r}. Your tools: {', '.join(self.tools)}."

    def sizes(self) -> str:
        """The fixed parts of every request, largest first, for the person who has to shorten one (CASES C40)."""
        parts = {
            "the system prompt (agent, instructions, project knowledge)": len(self.system),
            "the tool descriptions": self.tool_characters,
        }
        ranked = sorted(parts.items(), key=lambda part: -part[1])
        return "Fixed parts: " + ", ".join(f"{name} about {size // 4:,} tokens" for name, size in ranked) + "."


async def build(run: Run, at: int = 0) -> Setup:
    """Read agent, model, prompt and tools (remembered while no file changes), and start its MCP servers.

    at: which of the agent's models. Raises HaloErrors that a person may read.
    """
    known = (run.facts, run.batch.level, run.batch.disabled, at)
    setup = await asyncio.to_thread(_build, *known)
    if not setup.agent.config.mcp:
        return setup
    from agents_app.mcp.offer import offer  # processes whose agents have no servers do without

    workspace = Path(run.facts.workspace_path)
    offered = await offer(setup.agent, workspace, run.batch.level, vision=setup.config.vision, abort=run.aborted)
    for why in offered.missing.values():
        run.say(f"{why.removesuffix('.')}. Its tools are missing or do not work in this turn.", "mcp")
    return await asyncio.to_thread(_build, *known, offered.tools, offered.missing)


def _build(
    facts: Facts,
    level: Access,
    disabled: Disabled,
    at: int,
    more: Sequence[Tool[Any]] = (),
    missing: Mapping[str, str] = MappingProxyType({}),
) -> Setup:
    """more, missing: of MCP servers."""
    known = (facts.workspace_path, facts.agent_id, facts.is_root, facts.working_dir or "", level, disabled, at)
    kit = _kit(*known, more) if more else _kits.get((settings.HALO, *known), lambda: _kit(*known))
    prompt, at_of_prompt = _prompt(facts, kit)
    stored = facts.prompt or {}
    before = stored.get("config")
    agent = kit.agent
    kept = {"hash": prompt.files_hash, "at": at_of_prompt, "config": agent.marks}
    return Setup(
        agent=agent,
        at=at,
        config=kit.config,
        provider=kit.provider,
        provider_name=kit.provider_name,
        system=prompt.text,
        tools=kit.material.tools,
        skills=agent.config.skills,
        team=agent.config.team if agent.can_delegate else (),
        placeholders=prompt.values,
        specs=kit.specs,
        tool_characters=kit.tool_characters,
        pricing=kit.pricing,
        max_attempts=kit.max_attempts,
        shell_timeout=settings.HALO.shell_timeout.total_seconds(),
        limits=kit.limits,
        compaction=kit.compaction,
        prompt_to_keep=None if kept == stored else kept,
        changed=[name for name, mark in agent.marks.items() if before and before.get(name) != mark],
        missing=missing,
    )


_kits: Remembered[Kit] = Remembered(200)


def _kit(
    workspace_path: str,
    agent_id: str,
    is_root: bool,
    working_dir: str,
    level: Access,
    disabled: Disabled,
    at: int,
    more: Sequence[Tool[Any]] = (),
) -> Kit:
    workspace = Path(workspace_path)
    with held():
        agent = load_agent(workspace, agent_id, disabled)
        block = agent.model_at(at)
        config = resolve_model(
            block,
            secrets=secrets_for(agent, block["provider"], block["endpoint"], workspace),
            context_tokens=agent.config.context.max_tokens,
        )
        worn = material(
            agent,
            workspace,
            level=level,
            is_root=is_root,
            vision=config.vision,
            disabled=disabled,
            working_dir=working_dir,
            more=more,
        )
        specs = [tool.spec() for tool in worn.tools.values()]
        return Kit(
            agent=agent,
            at=at,
            config=config,
            provider=provider_for(config),
            provider_name=entry_of(config.provider).display_name or config.provider,
            material=worn,
            specs=specs,
            tool_characters=sum(len(spec.description) + len(str(spec.schema)) for spec in specs),
            pricing=pricing_of(config),
            max_attempts=settings_store.number("agent.max_retries", workspace),
            limits=settings_store.limits(),
            compaction=_compaction(agent, workspace),
        )


def _compaction(agent: Agent, workspace: Path) -> CompactionRules:
    share = agent.config.context.compress_at or settings_store.general("compact.compress_at", workspace)
    assert isinstance(share, float | int)
    return CompactionRules(
        compress_at=float(share),
        keep_messages=settings_store.number("compact.keep_messages", workspace),
        max_summary_input=settings_store.number("compact.max_summary_input", workspace),
        max_message_slice=settings_store.number("compact.max_message_slice", workspace),
        summarize_timeout_sec=settings_store.number("compact.summarize_timeout_sec", workspace),
    )


def secrets_for(agent: Agent, provider: str, endpoint: str, workspace: Path) -> dict[str, str]:
    """The keys of one of the agent's providers, as far as its endpoint may have them.

    A workspace may be somebody else's folder. An agent in it that names an address of its own gets the keys of that
    workspace only; the owner's key goes to addresses that the provider's file or an agent of the home names.
    """
    if agent.scope == "global" or _known_endpoint(provider, endpoint):
        return settings_store.secrets_of(provider, workspace)
    return settings_store.secrets_of(provider, workspace, only="workspace")


def _known_endpoint(provider: str, endpoint: str) -> bool:
    entry = entry_of(provider)
    models = [listed.agent.config.model for listed in list_agents(None) if listed.agent]
    ours = [(model.provider, model.endpoint) for model in models]
    ours += [(named.provider, named.endpoint) for model in models for named in model.fallback]
    known = [
        entry.default_endpoint,
        *entry.endpoint_presets,
        *(address for owner, address in ours if owner == provider),
    ]
    return endpoint.rstrip("/") in {address.rstrip("/") for address in known if address}


def _prompt(facts: Facts, kit: Kit) -> tuple[BuiltPrompt, str]:
    """The prompt, and its `{{now}}`: that of the first build with the present files (spec README 34)."""
    stored = facts.prompt or {}
    now = present_time()
    then = str(stored.get("at") or now)
    found = kit.material.prompt.at(then)
    if stored.get("hash") in (None, found.files_hash):
        return found, then
    return kit.material.prompt.at(now), now
