"""The functions a model may call: one module per tool, and their registry."""

from collections.abc import Iterable
from typing import Any

from halo_site.lib.access_level import Access
from halo_site.lib.remembered import do_not_keep
from workspaces_app import sandbox

from . import (
    activate_skill,
    continue_task,
    file_edit,
    file_list,
    file_read,
    file_write,
    glob,
    grep,
    shell_exec,
    view_image,
    web_fetch,
)
from .contract import Tool

# In the order in which models are told of them; it never depends on an agent, so that prompts stay byte-stable.
TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        file_read.TOOL,
        file_write.TOOL,
        file_edit.TOOL,
        file_list.TOOL,
        grep.TOOL,
        glob.TOOL,
        shell_exec.TOOL,
        view_image.TOOL,
        web_fetch.TOOL,
    )
}

# Given without being listed: to agents with a skill they may use.
GIVEN: dict[str, Tool[Any]] = {activate_skill.TOOL.name: activate_skill.TOOL}

# Given to every agent that has a tool.
ALWAYS: dict[str, Tool[Any]] = {continue_task.TOOL.name: continue_task.TOOL}

# Given, all or none, to agents with a team. `sessions_app` brings them: a team means sessions.
TEAM: dict[str, Tool[Any]] = {}

# Given, all or none, to agents that list the first of them, at full access. `relay_app` brings them.
RELAY: dict[str, Tool[Any]] = {}

# Given, all or none, to the agent `goal`. `sessions_app` brings them where goal mode is on.
GOAL: dict[str, Tool[Any]] = {}

# Names an agent.yaml may list although no tool answers to them here (spec tools 2.1).
ACCEPTED_NAMES = frozenset({"relay_send", "draft", "goal_context"})
NEEDS_VISION = frozenset({"view_image"})


def add_team_tools(*tools: Tool[Any]) -> None:
    """Once, from `SessionsConfig.ready`."""
    TEAM.update({tool.name: tool for tool in tools})


def add_relay_tools(*tools: Tool[Any]) -> None:
    """From `RelayConfig.ready`; again with other descriptions where relay cannot work."""
    RELAY.update({tool.name: tool for tool in tools})


def add_goal_tools(*tools: Tool[Any]) -> None:
    """Once, where goal mode is on."""
    GOAL.update({tool.name: tool for tool in tools})


def add_tool(tool: Tool[Any]) -> None:
    """For apps above, in their `AppConfig.ready`. A taken name raises ValueError."""
    if tool.name in TOOLS or tool.name in GIVEN or tool.name in ALWAYS:
        raise ValueError(f"there is a tool {tool.name!r} already")
    TOOLS[tool.name] = tool


def tools_for(
    names: Iterable[str],
    level: Access,
    *,
    vision: bool = False,
    skills: bool = False,
    team: bool = False,
    goal: bool = False,
) -> list[Tool[Any]]:
    """The tools an agent gets: those it lists, that the level covers, that the model can use. Unknown names: none.

    skills: it has some that it may use, so it gets `activate_skill` too. team: it may delegate. goal: it leads
    a session to a goal, instead of a team.
    """
    listed = frozenset(names)
    given = [
        tool
        for tool in TOOLS.values()
        if tool.name in listed and _offered(tool, level) and (vision or tool.name not in NEEDS_VISION)
    ]
    given += [tool for tool in RELAY.values() if "relay_send" in listed and _offered(tool, level)]
    given += [tool for tool in GOAL.values() if goal and _offered(tool, level)]
    given += [*(TEAM.values() if team and not (goal and GOAL) else ()), *(GIVEN.values() if skills else ())]
    # Without any tool nothing can be interrupted half-way, and some models take no tools at all.
    return [*given, *ALWAYS.values()] if given else []


def _offered(tool: Tool[Any], level: Access) -> bool:
    """The first question about a readonly session tries the sandbox: not on the event loop."""
    if tool.sandboxed and level is Access.READONLY:
        do_not_keep()  # what it lacks may be installed meanwhile
        return sandbox.status().available
    return level.covers(tool.needs)
