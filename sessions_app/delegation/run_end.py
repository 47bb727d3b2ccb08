"""The step of a run's end in which a child reports."""

from typing import TYPE_CHECKING

from . import reports

if TYPE_CHECKING:
    from ..engine.run import Run


async def report_to_parent(run: "Run") -> None:
    if not run.facts.is_root:
        await run.threads.run_for(run.facts.key, reports.settle, run.facts.key)
