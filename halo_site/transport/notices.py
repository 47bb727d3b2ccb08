"""News by way of the database: for processes that share neither a loop nor a channel layer with the server.

Such a process inserts `Notice` rows; the server reads them every 500 ms, passes them on as if they were its own and
deletes them after a minute.
"""

import asyncio
import atexit
import logging
import os
import queue
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

import orjson
from django.db import DatabaseError, connection
from django.utils import timezone

from halo_site.lib.db import DbThreads
from halo_site.lib.errors import HaloError
from halo_site.lib.events import Event
from halo_site.lib.packet import Packet
from halo_site.lib.publish import deliver_signal
from workspaces_app.models import Notice

from .local import Deliver

log = logging.getLogger(__name__)

PUBLISH, SIGNAL = "publish", "signal"
POLL = 0.5  # seconds
KEPT = timedelta(minutes=1)
SWEEP = 30.0
LATE = 10.0  # seconds in which a row may appear behind a higher id (two transactions on PostgreSQL)
BATCH = 500
MAX_WAITING = 5000


class NoticeTransport:
    """Rows are written by one thread of its own, in batches: publishing neither waits nor fails.

    The thread starts with the first news, so a process may fork before.
    """

    def __init__(self) -> None:
        self._waiting: queue.Queue[Notice | None] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def publish(self, topic: str, event: Event) -> None:
        parts = Packet.of(event).as_list()
        self._put(Notice(kind=PUBLISH, name=topic[:255], body=orjson.dumps([_text(part) for part in parts])))

    def signal(self, name: str, data: dict[str, object]) -> None:
        deliver_signal(name, data)
        self._put(Notice(kind=SIGNAL, name=name[:255], body=orjson.dumps(data)))

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and self._owner == os.getpid():
            self._waiting.put(None)
            thread.join(timeout=10)

    def _put(self, notice: Notice) -> None:
        with self._lock:
            if self._thread is None or self._owner != os.getpid():
                if self._owner != os.getpid():
                    self._waiting = queue.Queue(MAX_WAITING)
                self._owner = os.getpid()
                self._thread = threading.Thread(target=self._write, name="notices", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        try:
            self._waiting.put_nowait(notice)
        except queue.Full:
            log.warning("Too many notices wait; one is left out")

    def _write(self) -> None:
        waiting = self._waiting
        ended = False
        try:
            while not ended:
                first = waiting.get()
                batch = [first]
                while not waiting.empty() and len(batch) < BATCH:
                    batch.append(waiting.get_nowait())
                ended = None in batch
                self._save([notice for notice in batch if notice is not None])
        finally:
            connection.close()

    def _save(self, batch: list[Notice]) -> None:
        try:
            if batch:
                Notice.objects.bulk_create(batch)
        except DatabaseError:  # hints only: whoever listens finds out by looking at the rows
            log.warning("%d notices could not be written", len(batch), exc_info=True)
            connection.close()


class NoticeDrain:
    """The server's side."""

    def __init__(self, threads: DbThreads, deliver: Deliver) -> None:
        self._threads = threads
        self._deliver = deliver
        self._floor = 0  # ids up to here are done
        self._seen: dict[int, float] = {}  # done, above the floor: when

    async def run(self) -> None:
        """Until cancelled. What was there before the start is old news."""
        swept = 0.0
        begun = False
        while True:
            try:
                if not begun:
                    self._floor = await self._threads.run(newest_notice)
                    begun = True
                await self.drain()
                if time.monotonic() - swept > SWEEP:
                    swept = time.monotonic()
                    await self._threads.run(forget_old_notices)
            except (DatabaseError, HaloError):
                log.warning("Notices could not be read; trying again", exc_info=True)
            await asyncio.sleep(POLL)

    async def drain(self) -> int:
        """Pass on what is new; how many."""
        rows = await self._threads.run(notices_after, self._floor)
        fresh = [row for row in rows if row[0] not in self._seen]
        now = time.monotonic()
        for key, kind, name, body in fresh:
            self._seen[key] = now
            self._pass_on(kind, name, body)
        for key in sorted(self._seen):
            if now - self._seen[key] < LATE:
                break
            self._floor = key
            del self._seen[key]
        return len(fresh)

    def _pass_on(self, kind: str, name: str, body: bytes) -> None:
        try:
            content = orjson.loads(body)
            if kind == SIGNAL:
                deliver_signal(name, content)
            else:
                content[1] = content[1].encode()
                self._deliver(name, Packet.from_list(content))
        except (ValueError, TypeError, LookupError, AttributeError):
            log.warning("A notice makes no sense and is left out: %s %s", kind, name)


def _text(part: object) -> object:
    return part.decode() if isinstance(part, bytes) else part


def newest_notice() -> int:
    return Notice.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def notices_after(floor: int) -> Sequence[tuple[int, str, str, bytes]]:
    rows = Notice.objects.filter(pk__gt=floor).order_by("pk").values_list("pk", "kind", "name", "body")
    return [(key, kind, name, bytes(body)) for key, kind, name, body in rows[: 10 * BATCH]]


def forget_old_notices() -> int:
    return Notice.objects.filter(created_at__lt=timezone.now() - KEPT).delete()[0]
