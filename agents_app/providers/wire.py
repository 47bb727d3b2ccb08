"""What a dialect and the sender say to each other, and how one vendor of a family differs from the next. Pure."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from halo_site.lib.sse import SseEvent

from .contract import Block, Delta, ModelRequest, StopReason, Usage
from .errors import Vendor

Family = Literal["messages", "chat", "responses", "bedrock", "demo", "scripted"]


class Wire(BaseModel):
    """How a vendor, or one of its models, differs from its family: the `wire:` block of a registry file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # All families
    auth: Literal["bearer", "x-api-key"] | None = None  # None = what the family uses
    headers: dict[str, str] = {}  # fixed extra headers
    body: dict[str, Any] = {}  # fixed extra fields of the request
    concurrency: int = Field(default=0, ge=0)  # calls of one account at once, in one process; 0 = any number
    sigv4: str = ""  # AWS service: requests without an API key are signed for it

    # Chat completions: how thinking is asked for
    thinking: Literal["effort", "type", "off_only", "none"] = "effort"
    #   effort    reasoning_effort: <label> when on, nothing when off
    #   type      thinking: {type: enabled | disabled}
    #   off_only  thinking: {type: disabled} when off, nothing when on
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh")  # labels the vendor knows; ours are mapped to these
    cache_key: bool = False  # send the session id as prompt_cache_key
    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True  # ask for usage in the stream (stream_options)

    # Responses
    reasoning_summary: Literal["", "auto", "concise", "detailed"] = ""  # without it many models keep their thoughts

    # Messages
    version_header: bool = True  # anthropic-version
    cache: Literal["1h", "5m", "none"] = "1h"  # longest cache mark it takes
    adaptive_effort: bool = True  # output_config.effort together with adaptive thinking
    thinking_off: Literal["omit", "disabled"] = "omit"  # what is sent when thinking is off
    thinking_always: bool = False  # cannot be switched off


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """What a request is signed with (AWS Signature 4). Without a key pair: AWS's default credential chain."""

    service: str
    region: str
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    url: str
    headers: Mapping[str, str] = field(repr=False)  # holds the key
    body: bytes = field(repr=False)
    signing: Signing | None = None  # the sender signs, because that needs a clock and perhaps the network


class BrokenStream(ValueError):
    """The bytes are no stream of this kind: it cannot be read on. The text is ours and may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A ModelReply without the times, which the sender measures."""

    blocks: Sequence[Block]
    stop_reason: StopReason
    usage: Usage
    bad_arguments: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Reader(Protocol):
    """Bytes of a stream in, whole events out: `feed` every chunk, then `close` once. Pure.

    Raises LineTooLong, BrokenStream.
    """

    def feed(self, chunk: bytes) -> list[SseEvent]: ...

    def close(self) -> list[SseEvent]: ...


class Fold(Protocol):
    """One answer in the making. Not shared, no I/O; every method raises ProviderError for what the vendor got wrong."""

    @property
    def done(self) -> bool:
        """The vendor said that this was all: what follows on the wire is not waited for."""
        ...

    def feed(self, event: SseEvent) -> list[Delta]:
        """One event of the stream in; what to show of it."""
        ...

    def whole(self, document: dict[str, Any]) -> list[Delta]:
        """The answer of a server that did not stream although it was asked to."""
        ...

    def finish(self) -> Answer:
        """After the last event. A stream that ended too early is a NETWORK error, an empty answer never an answer."""
        ...


class Dialect(Protocol):
    """A family of vendors: requests out of our conversation format, answers back into it. Pure."""

    content_type: str  # a part of the content type that this family's streams have

    def request(self, request: ModelRequest, wire: Wire) -> WireRequest: ...

    def reader(self) -> Reader: ...

    def fold(self, vendor: Vendor, taken: Set[str] = frozenset()) -> Fold:
        """`taken`: ids of tool calls in the conversation; a vendor that uses one again gets a new one."""
        ...
