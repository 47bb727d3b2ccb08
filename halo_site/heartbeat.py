"""Signs of life of this process, for the staff dashboard: where several processes serve one database, each keeps a row.

A lease tells of a process only while it runs a session. The row goes with a clean end; that of a process which died
stays for `KEPT`, so that staff see it is missing.
"""

import asyncio
import atexit
import logging
import os
import socket
from datetime import timedelta

from django.db import DatabaseError, connection
from django.db.models.functions import Now

from halo_site.lib.db import engine_threads
from halo_site.lib.errors import HaloError
from halo_site.models import Heartbeat
from halo_site.proc import memory_of, name_of
from sessions_app.engine.owner import this_owner

log = logging.getLogger("halo.serve")
EVERY = 10.0  # seconds
KEPT = timedelta(minutes=15)
LAST_WORD = 1.0  # seconds that an ending process waits for its row to go


async def beat_for_ever() -> None:
    """Until cancelled. A database that is away for a while makes this process look silent, which is true."""
    atexit.register(_forget_at_exit)  # daphne on its own ends without cancelling anything
    threads = engine_threads()  # always the same one of them, so that `forget` comes after the last `beat`
    try:
        while True:
            try:
                await threads.run_for(0, beat)
            except (DatabaseError, HaloError) as error:
                log.warning("could not leave a sign of life: %s", error)
            await asyncio.sleep(EVERY)
    finally:
        try:
            await asyncio.wait_for(threads.run_for(0, forget), LAST_WORD)
        except (DatabaseError, HaloError, TimeoutError) as error:
            log.warning("the sign of life of this process stays behind: %s", error)


def beat() -> None:
    """Say that this process lives; forget those silent for long. Times are the database's, as those of leases."""
    pid = os.getpid()
    facts = {"memory": memory_of(pid), "seen_at": Now()}
    if not Heartbeat.objects.filter(owner=this_owner()).update(**facts):
        Heartbeat.objects.create(
            owner=this_owner(), name=name_of(pid), host=socket.gethostname()[:255], pid=pid, started_at=Now(), **facts
        )
    Heartbeat.objects.filter(seen_at__lt=Now() - KEPT).delete()


def forget() -> None:
    """This process ends as it should."""
    Heartbeat.objects.filter(owner=this_owner()).delete()


def _forget_at_exit() -> None:
    try:
        forget()
    except DatabaseError:
        log.warning("the sign of life of this process stays behind", exc_info=True)
    finally:
        connection.close()
