"""What a run and its transactions hand each other. Values only."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents_app.disabled import Disabled
from agents_app.providers.contract import Usage
from halo_site.lib.access_level import Access

from .history import Row
from .lease import Lease


@dataclass(frozen=True, slots=True)
class Abort:
    """A wish to end the running turn. tier: hard (queue runs next), stop (queue is folded), lowered (level dropped)."""

    tier: str
    upto: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """A turn that was just drained."""

    lease: Lease
    turn: int  # key
    index: int
    level: Access  # ceiling: fixed now, may only sink
    people: tuple[int, ...]  # user keys of the senders
    rows: tuple[Row, ...]  # what the history gets: all of it at a claim, what was drained later in the run
    disabled: Disabled  # agents and skills its workspace does without, as the turn begins
    notice: str = ""  # a line for the person before the turn; it is stored already
    only_kick: bool = False  # nothing but the wish of `continue_task`
    door: dict[str, Any] | None = None  # whom an answer in between goes to (rules.door)
    waiting: bool = False  # past the door: a child was at work when the turn began
    chain_id: str = ""  # of the tasks handed on between workspaces that it works for


@dataclass(frozen=True, slots=True)
class Facts:
    """What a run needs to know of its session; while it runs only `prompt` follows what is kept."""

    key: int
    sid: str
    root_key: int
    root_sid: str
    agent_id: str
    agent_name: str
    workspace_key: int
    workspace_path: str
    working_dir: str | None
    seq: int
    prompt: dict[str, Any] | None
    output_tokens: int  # over its lifetime, before this run
    context_tokens: int  # as its last model call counted them

    @property
    def is_root(self) -> bool:
        return self.key == self.root_key


@dataclass(frozen=True, slots=True)
class Intent:
    """A tool call about to start."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one tool call, in both copies."""

    id: str
    name: str
    outcome: str  # ok, error, aborted, not_run
    ui_text: str
    content: str | list[dict[str, Any]]
    is_error: bool
    duration_ms: int


@dataclass(slots=True)
class Said:
    """An assistant entry as far as it came: written at each save, final at the reply's end."""

    call_id: str
    entry: int
    blocks: list[dict[str, Any]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a model call ended, for its row and the counters."""

    key: int
    outcome: str
    usage: Usage = field(default_factory=Usage)
    ttft_ms: int | None = None
    cost_micros: int | None = None
    currency: str = ""
    error: str = ""
    side: bool = False  # the size it counted is not that of the conversation now


@dataclass(frozen=True, slots=True)
class Figures:
    """What the calls of a turn add up to; ttft is that of its first call."""

    model: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_micros: int | None = None
    ttft_ms: int | None = None

    def plus(self, model: str, usage: Usage, cost: int | None, ttft_ms: int | None) -> "Figures":
        return Figures(
            model=model,
            usage=Usage(
                input_tokens=self.usage.input_tokens + usage.input_tokens,
                output_tokens=self.usage.output_tokens + usage.output_tokens,
                cache_read_tokens=self.usage.cache_read_tokens + usage.cache_read_tokens,
                cache_write_tokens=self.usage.cache_write_tokens + usage.cache_write_tokens,
            ),
            cost_micros=self.cost_micros if cost is None else (self.cost_micros or 0) + cost,
            ttft_ms=ttft_ms if self.ttft_ms is None else self.ttft_ms,
        )


NO_FIGURES = Figures()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends. `notices`: (text, meta) rows the person sees."""

    status: str
    stop_reason: str
    error: dict[str, str] | None = None
    said: Said | None = None
    call: CallEnd | None = None
    results: tuple[str, Sequence[Result]] | None = None  # (call id, results still to be written)
    notices: Sequence[tuple[str, dict[str, Any]]] = ()
    abort: Abort | None = None
    kick: dict[str, Any] | None = None  # origin of the entry that makes the interrupted task go on


@dataclass(frozen=True, slots=True)
class Control:
    """What a control wake-up finds on the row. gone = deleted or taken over."""

    gone: bool = False
    abort: Abort | None = None
    level: Access = Access.READONLY
