"""Hold processes to a share of a core, as a slower machine would: on few cores, engines, client, fake and database
compete, and only an engine that is short of time shows what a second one adds."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from .clients import now
from .numbers import cpu_seconds

ENGINE_SHARE = 0.3  # of a core: then two engines, too, find the rest of a small machine unoccupied
STEP = 0.01  # seconds


@asynccontextmanager
async def held(pids: Iterable[int], share: float) -> AsyncIterator[None]:
    """Each of `pids` gets `share` CPU seconds per second of the block: it is stopped while it had more."""
    tasks = [asyncio.create_task(_hold(pid, share)) for pid in pids]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hold(pid: int, share: float) -> None:
    begun, before = now(), cpu_seconds(pid)
    try:
        while True:
            over = cpu_seconds(pid) - before > share * (now() - begun)
            os.kill(pid, signal.SIGSTOP if over else signal.SIGCONT)
            await asyncio.sleep(STEP)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
