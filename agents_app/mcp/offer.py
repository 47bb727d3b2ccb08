"""Makes tools of what the servers of an agent offer, for one run."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, TooLarge, UnsupportedMedia
from workspaces_app import sandbox

from .. import images
from ..agents import Agent
from ..tools.contract import Tool, ToolContext, ToolParams, ToolResult, failed, refused
from . import wire
from .config import McpServer as Entry
from .errors import McpDown, McpFailed
from .pool import pool
from .server import McpServer
from .states import Key
from .values import Launch, ValueMissing, launch_of

IMAGE_LIMIT = wire.MESSAGE_LIMIT  # bytes


class Arguments(ToolParams):
    """Whatever the server's schema says: the server checks it."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Offer:
    """`missing`: beginning of tool names -> why there are none with it. Texts are for people and models alike."""

    tools: tuple[Tool[Any], ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


async def offer(agent: Agent, workspace: Path, level: Access, *, vision: bool, abort: asyncio.Event) -> Offer:
    """Starts the agent's servers that `level` may use, all at once, and waits until each is ready or failed.

    A server that fails takes nothing else with it. `abort` ends the waiting, not the starting.
    """
    planned = await asyncio.to_thread(_plan, agent, workspace, level)
    servers: list[tuple[McpServer, Access]] = []
    missing: dict[str, str] = {}
    for key, entry, launch in planned:
        if isinstance(launch, str):
            missing[_prefix(key.name)] = f"MCP server {key.name}: {launch}"
            pool().note(key, launch)
        else:
            servers.append((pool().get(key, launch, entry.tools), entry.needs))
    problems = asyncio.gather(*(_problem(server) for server, _ in servers))
    stop = asyncio.ensure_future(abort.wait())
    try:
        first: set[asyncio.Future[Any]] = {problems, stop}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if problems.done():
            missing |= {
                _prefix(server.key.name): said
                for (server, _), said in zip(servers, problems.result(), strict=True)
                if said
            }
    finally:
        stop.cancel()
        problems.cancel()
    tools: dict[str, Tool[Any]] = {}
    for server, needs in servers:
        for offered in server.tools:  # of a server that failed: those it had; their calls tell why
            tools.setdefault(offered.full_name, _tool(server, offered, needs, vision))
    return Offer(tuple(tools.values()), missing)


def _prefix(name: str) -> str:
    return f"mcp__{name}__"


async def _problem(server: McpServer) -> str:
    try:
        await server.ready()
    except McpDown as error:
        return str(error)
    return ""


def _plan(agent: Agent, workspace: Path, level: Access) -> list[tuple[Key, Entry, Launch | str]]:
    """What to start, or why not; servers above `level` are left out."""
    planned: list[tuple[Key, Entry, Launch | str]] = []
    for entry in agent.config.mcp:
        if not level.covers(entry.needs):
            continue
        launch: Launch | str
        try:
            launch = launch_of(entry, agent.id, workspace, ours=agent.scope == "global")
        except ValueMissing as error:
            launch = str(error)
        if entry.transport == "stdio" and level is not Access.FULL:
            state = sandbox.status()
            if not state.available:
                launch = f"below full access it needs a sandbox, and there is none here ({state.reason})"
        planned.append((Key(workspace, agent.id, level, entry.name), entry, launch))
    return planned


def _tool(server: McpServer, offered: wire.Offered, needs: Access, vision: bool) -> Tool[Arguments]:
    async def run(params: Arguments, ctx: ToolContext) -> ToolResult:
        if not ctx.level.covers(server.key.level):
            return refused(f"Access denied: MCP server {server.key.name} was started for {server.key.level} access.")
        return await _call(server, offered.name, dict(params.model_extra or {}), ctx.abort, vision)

    return Tool(
        name=offered.full_name,
        params=Arguments,
        run=run,
        needs=needs,
        read_only=offered.read_only,
        told=offered.description,
        schema=offered.schema,
    )


async def _call(
    server: McpServer, name: str, arguments: dict[str, Any], abort: asyncio.Event, vision: bool
) -> ToolResult:
    work = asyncio.ensure_future(server.call(name, arguments))
    stop = asyncio.ensure_future(abort.wait())
    first: set[asyncio.Future[Any]] = {work, stop}
    try:
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return failed(f"MCP server {server.key.name}: the call was stopped")
        return await asyncio.to_thread(_shown, server, work.result(), vision)
    except McpFailed as error:
        return failed(str(error))
    finally:
        stop.cancel()
        work.cancel()


def _shown(server: McpServer, got: wire.Called, vision: bool) -> ToolResult:
    """Texts in order, one below the other; images after them."""
    texts: list[str] = []
    blocks: list[dict[str, Any]] = []
    for part in got.parts:
        match part.kind:
            case "text":
                texts.append(server.say(part.text))
            case "left_out":
                texts.append(f"[left out: {part.text}]")
            case "image" if not vision:
                texts.append("[left out: an image; this model takes none]")
            case "image":
                try:
                    blocks.append(_image(part.data))
                except (BadRequest, TooLarge, UnsupportedMedia) as error:
                    texts.append(f"[left out: an image of MCP server {server.key.name}: {error}]")
    text = "\n".join(texts) or (f"{len(blocks)} image(s)" if blocks else "(no output)")
    if got.is_error:
        return ToolResult(failed(f"MCP server {server.key.name}: {text}").text, blocks)
    return ToolResult(text, blocks)


def _image(data: bytes) -> dict[str, Any]:
    sent = images.fit(images.check(data, limit=IMAGE_LIMIT), edge=images.TOOL_EDGE)
    source = {"type": "base64", "media_type": sent.media_type, "data": base64.b64encode(sent.data).decode()}
    return {"type": "image", "source": source}
