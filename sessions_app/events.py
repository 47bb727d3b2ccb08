"""What a session announces to its viewers: the frames of spec ws-protocol, as frozen dataclasses.

Frames of a run carry `seq` (rising per session and `task_id`; starts at `lease_epoch * 2**32`); the first frame of
a run names the last `seq` before it in `prev`. Frames about a stored row carry `entry_id` instead and are applied
by id (ARCHITECTURE 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from halo_site.lib.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent(Event):
    """A frame about one session. `task_id` is the sub-session it belongs to; None = the root."""

    session_id: str
    task_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(SessionEvent):
    """A frame of a run: ordered by `seq`."""

    seq: int | None = None
    prev: int | None = None
    replay: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatThinking(RunEvent):
    type: ClassVar[str] = "chat:thinking"
    text: str
    agent_name: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStream(RunEvent):
    """New text only; the client appends it to the block of the same turn."""

    type: ClassVar[str] = "chat:stream"
    text: str
    agent_name: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted(RunEvent):
    type: ClassVar[str] = "agent:tool_call"
    tool: str
    tool_use_id: str
    input: dict[str, Any]
    agent_name: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(RunEvent):
    """Live output of a running tool, joined for 100 ms. Not stored: carries no seq."""

    type: ClassVar[str] = "agent:tool_output"
    tool_use_id: str
    text: str
    dropped: int = 0  # characters left out


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultArrived(RunEvent):
    type: ClassVar[str] = "agent:tool_result"
    result: str
    tool_use_id: str
    agent_name: str
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUsage(RunEvent):
    """`usage`: {inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens?, ttftMs?,
    e2eMs?, thinkingEffort?}."""

    type: ClassVar[str] = "chat:usage"
    context_tokens: int
    output_tokens: int
    turn_id: str | None = None
    model_id: str | None = None
    usage: dict[str, Any] | None = None
    cost_micros: int | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFollowup(RunEvent):
    """A queued batch starts: the client closes the bubble and opens an empty one."""

    type: ClassVar[str] = "chat:followup"
    agent_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatComplete(RunEvent):
    """A merged turn is over."""

    type: ClassVar[str] = "chat:complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSystem(RunEvent):
    """A small grey line."""

    type: ClassVar[str] = "chat:system"
    text: str
    agent_name: str | None = None
    code: str | None = None  # stopped, interrupted, lowered, stalled, looping: what the line is about


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReset(RunEvent):
    """A retry after partial output: drop text and thinking of that `turn_id`."""

    type: ClassVar[str] = "stream_reset"
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError(RunEvent):
    """`code` set = `error` is a finished sentence for the person, shown as it is."""

    type: ClassVar[str] = "error"
    error: str
    code: str | None = None
    agent_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactStarted(RunEvent):
    """Older messages are being summarised."""

    type: ClassVar[str] = "compact:started"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactSummarizing(RunEvent):
    """The model was asked for the summary."""

    type: ClassVar[str] = "compact:summarizing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactDone(RunEvent):
    """Over: `session:compacted` came before, or a `chat:system` line says why nothing was changed."""

    type: ClassVar[str] = "compact:done"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCompacted(RunEvent):
    """A summary stands for older messages; `context_tokens` is an estimate until the next call."""

    type: ClassVar[str] = "session:compacted"
    context_tokens: int
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext(RunEvent):
    type: ClassVar[str] = "agent:context"
    agent_name: str
    system_prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUser(SessionEvent):
    """A stored user message, for the sockets that did not send it. `origin`: {kind, name?} when no person wrote it."""

    type: ClassVar[str] = "chat:user"
    text: str
    entry_id: int
    client_msg_id: str | None = None
    origin: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(SessionEvent):
    """`items`: [{entryId, text, origin}], in the order in which they will be read.

    `removed`: entries that were taken back; any other that is missing now was read.
    """

    type: ClassVar[str] = "queue:changed"
    items: Sequence[dict[str, Any]]
    removed: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted(SessionEvent):
    """A sub-agent got work. `task`: its beginning, 200 characters at most."""

    type: ClassVar[str] = "agent:start"
    agent_name: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDone(SessionEvent):
    """A sub-agent is through, whichever way."""

    type: ClassVar[str] = "agent:done"
    agent_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStopped(SessionEvent):
    type: ClassVar[str] = "chat:stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted(SessionEvent):
    type: ClassVar[str] = "session:deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync(SessionEvent):
    """Snapshot and replay follow by themselves. `reason`: gap, slow, recovered, changed."""

    type: ClassVar[str] = "resync"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalChanged(Event):
    """A goal of this workspace moved on. `status`: intake, running, paused, done, halted, cleared."""

    type: ClassVar[str] = "goal:changed"
    workspace_path: str
    goal_session_id: str
    worker_session_id: str
    status: str
    round: int
    max_rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanged(Event):
    """A list row changed: lists may fetch again."""

    type: ClassVar[str] = "session:changed"
    workspace_path: str
    session_id: str
