"""Puts goal mode together, once, where `features.goal_mode` is on: without it nothing of this is reachable."""

from typing import TYPE_CHECKING

from agents_app.tools import add_goal_tools

from .. import debts, run_end
from ..commands import dispatch
from ..models import Session
from . import actions, tools, verbs

if TYPE_CHECKING:
    from ..engine.run import Run


class _Bindings:
    """A goal's stake in sessions that end, and in rounds nobody lived to judge."""

    def interim(self, session: Session, dispatches: list[int], text: str) -> None:
        return

    def lost(self, session: Session, why: str, *, for_good: bool) -> None:
        if for_good:
            actions.dissolve(session)
        else:
            actions.hold(session)

    def settle_idle(self) -> int:
        return actions.settle_idle()


async def judge_round(run: "Run") -> None:
    if run.facts.is_root:
        await run.threads.run_for(run.facts.key, actions.settle, run.facts.key)


def register() -> None:
    dispatch.add_command("goal", verbs.VERBS)
    add_goal_tools(*tools.TOOLS)
    debts.add_debtor(_Bindings())
    run_end.on_run_end("goal", judge_round)
