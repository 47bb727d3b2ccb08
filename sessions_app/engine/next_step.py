"""Every way forward inside a turn, as a closed union. Pure (STYLE 8)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a reply. `problem`: its arguments were not valid JSON, the tool must not run."""

    id: str
    name: str
    input: dict[str, Any]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    calls: Sequence[Call]


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over. `notes`: sentences for the person."""

    stop_reason: str
    notes: Sequence[str] = ()


NextStep = RunTools | Finish

CUT_AT_LIMIT = "The reply was cut off at the model's output limit."


def after_reply(
    stop_reason: str, blocks: Sequence[dict[str, Any]], bad_arguments: dict[str, str], notes: Sequence[str] = ()
) -> NextStep:
    """Run the tools the reply asks for, else the turn is over."""
    calls = {
        block["id"]: Call(block["id"], block["name"], block.get("input") or {}, bad_arguments.get(block["id"]))
        for block in reversed(blocks)  # a doubled id counts once, as its first call
        if block.get("type") == "tool_use"
    }
    if stop_reason == "tool_use" and calls:
        return RunTools(list(reversed(calls.values())))
    if stop_reason == "max_tokens":
        notes = [*notes, CUT_AT_LIMIT]
    return Finish(stop_reason, notes)


def groups(calls: Sequence[Call], only_reads: Callable[[Call], bool]) -> list[list[Call]]:
    """Neighbouring read-only calls run at once, every other call alone, in order (ARCHITECTURE 5.5)."""
    out: list[list[Call]] = []
    for shared, stretch in groupby(calls, only_reads):
        neighbours = list(stretch)
        out += [neighbours] if shared else [[call] for call in neighbours]
    return out
