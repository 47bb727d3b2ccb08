"""The ordered end of a run, after release and `complete` (ARCHITECTURE 5.7, STYLE 9).

Features fill their step in `AppConfig.ready()`; the order is written here, whoever registers first.
`Run.compacted` tells the evolution step in which turns a summary was made.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine.run import Run

log = logging.getLogger("halo.engine")

STEPS = ("interim", "parent", "relay", "cron", "goal", "evolution", "transcript")

Step = Callable[["Run"], Awaitable[None]]
_acts: dict[str, Step] = {}


def on_run_end(step: str, act: Step) -> None:
    """Fill one step. An unknown or taken name raises at boot."""
    if step not in STEPS:
        raise ValueError(f"unknown step {step!r}; known: {', '.join(STEPS)}")
    if step in _acts:
        raise ValueError(f"step {step!r} is taken")
    _acts[step] = act


async def finish(run: "Run") -> None:
    """Every step in order; a failing one is logged and never stops the next."""
    for step in STEPS:
        await take(step, run)


async def take(step: str, run: "Run") -> None:
    """One step alone: a compaction by hand has no end of a run, yet evolution hears of it (spec sessions 10.8)."""
    act = _acts.get(step)
    if act is None:
        return
    try:
        await act(run)
    except Exception:
        log.exception("run end step %s failed for session %s", step, run.facts.sid)
