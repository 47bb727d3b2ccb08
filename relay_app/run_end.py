"""The step of a run's end in which a root pays its callers."""

import logging
from typing import TYPE_CHECKING

from . import reports
from .availability import available
from .models import ReplyTo

if TYPE_CHECKING:
    from sessions_app.engine.run import Run

log = logging.getLogger("halo.relay")


async def send_final(run: "Run") -> None:
    if not run.facts.is_root:
        return
    if available():
        await run.threads.run_for(run.facts.key, reports.settle, run.facts.key)
    elif await run.threads.run_for(run.facts.key, _owes, run.facts.key):
        log.warning("session %s owes a relay report; a server will send it", run.facts.sid)


def _owes(session_key: int) -> bool:
    return ReplyTo.objects.open().filter(target=session_key).exists()
