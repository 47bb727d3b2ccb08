"""What the engine and a provider say to each other. Pure data; no Django, no httpx.

Conversation format (spec models 2.4): a list of `{"role": "user"|"assistant", "content": [block, ...]}` with blocks
`text {text}`, `image {source: {type: "base64", media_type, data}}`, `thinking {thinking, signature?}`,
`tool_use {id, name, input}`, `tool_result {tool_use_id, content: str | [text|image], is_error?}`.
Roles alternate; providers translate on every call and keep no state of their own.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

Block = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it. `schema` is a JSON schema of type object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The resolved model of one agent: agent.yaml over the registry (spec models 2.1, agents-and-prompts 2.2)."""

    provider: str
    model: str
    endpoint: str
    max_tokens: int
    context_window: int
    vision: bool = False
    prompt_caching: str | None = None  # None, "5m", "1h"
    thinking: bool = False
    thinking_effort: str | None = None
    thinking_budget: int | None = None
    thinking_mode: Literal["adaptive", "manual"] = "adaptive"
    verbosity: str | None = None  # how much the model writes, where it can be told
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # api_key ...; never logged


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    config: ModelConfig
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    may_call: bool = True  # False: the vendor is told to allow no call; the tools stay, the history may hold calls
    session_id: str = ""  # for vendors that route their prompt cache by it
    workspace_path: str = ""  # the demo provider writes its suggestions for this folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Spec models 2.6: `input_tokens` is uncached input; never negative."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Display only; the sum of the text deltas equals the final text."""

    kind: Literal["text", "thinking", "tool_args"]
    text: str
    tool_use_id: str | None = None


StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """The authoritative result of one call: the last item of the stream.

    `blocks` go into the history as they are. A tool_use block whose arguments were not valid JSON has
    `input: {}` and its id in `bad_arguments` with the parser's message: the tool is not run, the model is told.
    `notes` are sentences for the person (refusal, content filter).
    """

    blocks: Sequence[Block]
    stop_reason: StopReason
    usage: Usage
    ttft_ms: int | None  # request start to first delta of any kind
    duration_ms: int
    bad_arguments: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


class ErrorKind(StrEnum):
    """Spec models 3.8, in the order of its table. It decides what is retried."""

    OVERFLOW = "overflow"
    ACCOUNT = "account"
    THROTTLE = "throttle"
    SERVER = "server"
    NETWORK = "network"
    EMPTY = "empty"
    REPAIR = "repair"
    IMAGE = "image"
    FATAL = "fatal"


class ProviderError(Exception):
    """A model call failed. The text may be shown to a person and never holds a key.

    `retry_after`: seconds the vendor asked us to wait, None if it did not say.
    """

    def __init__(
        self, message: str, *, kind: ErrorKind, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


class Provider(Protocol):
    """One vendor family, ready to be called."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """Deltas while they arrive, then exactly one ModelReply.

        Raises ProviderError. Cancelling the consuming task closes the connection at once.
        """
        ...
