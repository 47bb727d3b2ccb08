"""Reads of sessions for those who subscribe: many who ask at once share one read and its encoded bytes."""

import asyncio

from halo_site.lib.db import DbThreads
from sessions_app.views import View, read_view

Wanted = tuple[int, bool]  # session key, with archiveCount


class Reader:
    """A read that is shared always starts after the call that asked for it."""

    def __init__(self, threads: DbThreads) -> None:
        self._threads = threads
        self._running: dict[Wanted, asyncio.Task[View | None]] = {}
        self._next: dict[Wanted, asyncio.Task[View | None]] = {}

    async def read(self, session_key: int, *, with_archive_count: bool) -> View | None:
        """None = the session is gone. Raises what the database raises."""
        wanted = (session_key, with_archive_count)
        task = self._next.get(wanted)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._after(self._running.get(wanted), wanted))
            self._next[wanted] = task
        # Shielded: one viewer who leaves does not end the read of the others.
        return await asyncio.shield(task)

    async def _after(self, running: "asyncio.Task[View | None] | None", wanted: Wanted) -> View | None:
        if running is not None:
            await asyncio.wait([running])
        task = self._next.pop(wanted)
        self._running[wanted] = task
        try:
            return await self._threads.run_for(wanted[0], _read, *wanted)
        finally:
            if self._running.get(wanted) is task:
                del self._running[wanted]


def _read(session_key: int, with_archive_count: bool) -> View | None:
    return read_view(session_key, with_archive_count=with_archive_count)
