"""What a goal knows of itself, and what follows from a report. Pure (spec sessions 15)."""

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

Status = Literal["intake", "running", "paused", "done", "halted", "cleared"]
ACTIVE: tuple[Status, ...] = ("intake", "running", "paused")
LEADING: tuple[Status, ...] = ("intake", "running")  # a person's words for the worker go to the goal
NEED_INPUT = "<NEED_INPUT>"
MOST_DECISIONS = 5
MOST_UNCHANGED = 3


@dataclass(frozen=True, slots=True)
class Goal:
    """Kept as JSON on the goal's session. Times are Unix milliseconds, tokens those the worker's tree wrote.

    reported: index of the worker's newest turn that was judged; -1 = none.
    """

    goal_id: str
    worker: str
    status: Status
    created_at: int
    round: int = 0
    max_rounds: int = 10
    max_wall_ms: int = 4 * 3600 * 1000
    max_tokens: int | None = None
    started_at: int | None = None
    token_baseline: int = 0
    spec_hash: str = ""
    delegated: int = 0
    no_progress: int = 0
    last_report_hash: str = ""
    halt_reason: str = ""
    reported: int = -1

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        return cls(**stored)

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE


@dataclass(frozen=True, slots=True)
class Report:
    """How a run of the worker ended. spec_hash: of GOAL_SPEC.md now. tokens: written so far over its lifetime."""

    text: str
    turn: int
    spec_hash: str
    tokens: int
    now: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The goal afterwards, and the line above the report that the goal's session gets."""

    goal: Goal
    header: str


def fingerprint(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def judge(goal: Goal, report: Report) -> Verdict:
    """Spec first, then a question (no counter moves), then the round and its guardrails."""
    goal = replace(goal, reported=report.turn)
    if report.spec_hash != goal.spec_hash:
        return _halted(goal, "spec-tampered")
    cap = goal.max_rounds
    if NEED_INPUT in report.text:
        return Verdict(goal, f"[Goal question · round {goal.round}/{cap}]")
    same = fingerprint(report.text) == goal.last_report_hash
    goal = replace(
        goal,
        round=goal.round + 1,
        no_progress=goal.no_progress + 1 if same else 0,
        last_report_hash=fingerprint(report.text),
    )
    elapsed = report.now - (goal.started_at or report.now)
    if goal.no_progress >= MOST_UNCHANGED:
        return _halted(goal, f"{MOST_UNCHANGED} unchanged reports")
    if goal.round >= cap:
        return _halted(goal, f"round cap {cap} reached")
    if elapsed > goal.max_wall_ms:
        return _halted(goal, f"time cap {duration(goal.max_wall_ms)} reached")
    if goal.max_tokens is not None and report.tokens - goal.token_baseline > goal.max_tokens:
        return _halted(goal, f"token cap {goal.max_tokens:,} reached")
    progress = f"no-progress {goal.no_progress}/{MOST_UNCHANGED}"
    return Verdict(goal, f"[Goal round {goal.round}/{cap} · elapsed {duration(elapsed)} · {progress}]")


def _halted(goal: Goal, reason: str) -> Verdict:
    return Verdict(replace(goal, status="halted", halt_reason=reason), f"[Goal HALTED: {reason}]")


def duration(milliseconds: int) -> str:
    """`1h12m`, `12m`; under a minute `0m`."""
    minutes = max(0, milliseconds) // 60_000
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m"
