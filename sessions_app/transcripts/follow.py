"""Transcripts follow their sessions a few seconds behind: one append for many turns, on a thread of its own.

What a killed process still owed is found by looking at the sessions that changed last, and at the files that deleted
ones left behind, at the start and now and then.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from django.db import DatabaseError
from django.db.models import F, OuterRef, Subquery

from halo_site.lib.db import DbThreads
from halo_site.lib.errors import HaloError

from ..models import Entry, Session
from .append import append
from .removal import remove_files_left_behind

if TYPE_CHECKING:
    from ..engine.run import Run

log = logging.getLogger("halo.transcript")

DELAY = 2.0  # seconds between a run's end and its lines in the file
LOOK_EVERY = 300.0  # seconds between looks for what was left behind
LOOK_AT = 200  # sessions


class Follower:
    """One per engine. `note` what changed; `run` writes it until cancelled, `flush` at once."""

    def __init__(self) -> None:
        self._noted: set[int] = set()
        self._news = asyncio.Event()
        self._threads = DbThreads("transcripts", 1)
        self._closed = False

    def note(self, session_key: int) -> None:
        self._noted.add(session_key)
        self._news.set()

    async def run(self) -> None:
        global _current
        _current = self
        try:
            looked = -LOOK_EVERY
            while True:
                if time.monotonic() - looked >= LOOK_EVERY:
                    looked = time.monotonic()
                    await self._look()
                try:
                    await asyncio.wait_for(self._news.wait(), LOOK_EVERY)
                except TimeoutError:
                    continue
                await asyncio.sleep(DELAY)
                await self.flush()
        finally:
            _current = None
            await asyncio.to_thread(self._threads.close)
            self._closed = True

    async def flush(self) -> None:
        """Returns when everything noted so far is in its file, or cannot be written now. Nothing after `run` ended."""
        self._news.clear()
        if self._closed:
            return
        keys, self._noted = self._noted, set()
        for key in sorted(keys):  # one unit each: the loop gets its turn in between
            await self._threads.run(_append, key)

    async def _look(self) -> None:
        try:
            for key in await self._threads.run(behind):
                self.note(key)
            await self._threads.run(remove_files_left_behind)
        except HaloError as error:  # the database is gone for a while; the next look finds them
            log.warning("transcripts: %s", error)


_current: Follower | None = None


async def append_at_run_end(run: "Run") -> None:
    """The step `transcript`."""
    if _current is not None:
        _current.note(run.facts.key)


def behind() -> list[int]:
    """Sessions among those that changed last whose files lack an entry."""
    latest = list(Session.objects.order_by("-updated_at", "-pk").values_list("pk", flat=True)[:LOOK_AT])
    newest = Entry.objects.filter(session=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = Session.objects.filter(pk__in=latest).annotate(newest=Subquery(newest)).filter(newest__gt=F("exported"))
    return list(found.values_list("pk", flat=True))


def _append(session_key: int) -> None:
    try:
        append(session_key)
    except (HaloError, OSError, DatabaseError) as error:
        log.warning("the transcript of session %d waits: %s", session_key, error)
