"""What a tool is, what it gets and what it gives back (spec tools)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from halo_site.lib.access_level import Access

from ..providers.contract import Block, ToolSpec

ERROR = "__TOOL_ERROR__\n"  # first line of a failure (red)
WARN = "__TOOL_WARN__\n"  # first line of a caller's mistake or a deliberate refusal (yellow)


class ToolParams(BaseModel):
    """Arguments of one tool. The class docstring is the description the model reads."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`text` for model and person; `blocks` only when the result holds images (then text + image blocks)."""

    text: str
    blocks: Sequence[Block] = ()

    @property
    def is_error(self) -> bool:
        return self.text.startswith(ERROR)


def failed(message: str) -> ToolResult:
    return ToolResult(ERROR + message)


def refused(message: str) -> ToolResult:
    return ToolResult(WARN + message)


def no_sandbox(tool: str, reason: str) -> ToolResult:
    """The answer where a tool may only run inside a sandbox and there is none."""
    return refused(
        f"Access denied: {tool} requires bubblewrap (bwrap) for non-full access levels. "
        f"It is not available here ({reason}). Use the file tools, or ask the owner for full access."
    )


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """What one call may touch. Made by the engine for each call."""

    workspace: Path  # real path of the workspace root; relative arguments start here
    session_id: str
    session_key: int = 0  # of its row; 0 outside the engine
    agent_id: str
    team: Sequence[str] = ()  # ids of agents it may start and ask
    level: Access
    abort: asyncio.Event  # set = stop now; a running command's process group is killed
    resume: Callable[[], bool] = field(default=lambda: False)  # ask for one more turn; False = nothing to resume
    output: Callable[[str], None] = field(default=lambda text: None)  # live output of a running command
    shell_timeout: float = 600.0  # seconds
    limits: dict[str, int] = field(default_factory=dict)  # general.limits.*
    skills: Sequence[str] = ()  # ids the agent lists; with agent_id the owners whose params it may use
    placeholders: Mapping[str, str] = field(default_factory=dict)  # built-in placeholders as in this run's prompt


P = TypeVar("P", bound=ToolParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[P]):
    name: str
    params: type[P]
    run: Callable[[P, ToolContext], Awaitable[ToolResult]]
    needs: Access = Access.READONLY  # below this level the tool is not offered, and refused when called
    sandboxed: bool = False  # readonly sessions are offered it as well, where there is a sandbox (spec tools 2.2)
    read_only: bool = False  # neighbouring read-only calls of one reply run at once
    reads_with: Callable[[Mapping[str, Any]], bool] | None = None  # arguments that make a call read-only; None = any
    uncut: bool = False  # its result goes to the model whole, however long
    told: str | None = None  # its description, where it does not come from `params`: tools of others
    schema: Mapping[str, Any] | None = None  # likewise of its arguments

    @property
    def description(self) -> str:
        return self.told if self.told is not None else (self.params.__doc__ or "").strip()

    def read_only_for(self, arguments: Mapping[str, Any]) -> bool:
        """Whether this one call changes nothing. arguments: as the model wrote them, not checked yet."""
        return self.read_only and (self.reads_with is None or self.reads_with(arguments))

    def spec(self) -> ToolSpec:
        schema = _schema(self.params) if self.schema is None else dict(self.schema)
        return ToolSpec(name=self.name, description=self.description, schema=schema)


@cache
def _schema(params: type[ToolParams]) -> dict[str, Any]:
    """The JSON schema without titles. Made once per tool: pydantic takes about a millisecond for one."""
    schema: dict[str, Any] = params.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for part in schema.get("properties", {}).values():
        part.pop("title", None)
    return schema
