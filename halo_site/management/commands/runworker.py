"""`manage.py runworker NAME...`: a process that runs agents (`engine`) beside web processes (ARCHITECTURE 2).

Channels' own syntax. A channel-layer message is only a wake-up, so the work itself is claimed from the database.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from channels.management.commands.runworker import Command as RunWorker
from django.conf import settings

from halo_site.lib import logs
from halo_site.lib.errors import HaloError
from halo_site.lib.home import prepare_home

DEADLINE = 4.8  # seconds from the signal to the end, whatever hangs
NO_LAYER = (
    "runworker needs a channel layer that processes share: set REDIS_URL (and DATABASE_URL), "
    "or use `manage.py serve`, which does this work itself."
)


class Command(RunWorker):  # type: ignore[misc]
    help = "Run agents in a process of their own: `runworker engine`"
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> NoReturn:
        sys.stdout.flush()
        os._exit(self._work(options["channels"]))

    def _work(self, names: list[str]) -> int:
        if not settings.HALO.redis_url:
            return self._refuse(NO_LAYER)
        workers = known_workers()
        if unknown := [name for name in names if name not in workers]:
            return self._refuse(f"Unknown worker {unknown[0]!r}; this version has: {', '.join(workers)}")
        try:
            prepare_home(settings.HALO)
            logs.start(settings.HALO, file=settings.HALO.global_dir / "logs" / f"worker-{os.getpid()}.log")
            from halo_site.serve import first_start

            first_start.check_secret()
            first_start.prepare_database(self.stdout.write)
        except HaloError as error:
            self.stderr.write(str(error))
            return 1
        return asyncio.run(run_until_signal([workers[name] for name in names]))

    def _refuse(self, text: str) -> int:
        self.stderr.write(text)
        return 2


def known_workers() -> dict[str, Callable[[asyncio.Event], Awaitable[None]]]:
    """Name on the command line -> coroutine that works until the event is set, then ends cleanly."""
    from halo_site.serve.worker import engine

    return {"engine": engine}


async def run_until_signal(workers: list[Callable[[asyncio.Event], Awaitable[None]]]) -> int:
    """0 after SIGTERM or SIGINT; 1 when a worker failed, so that a supervisor starts the process again."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        watchdog = threading.Timer(DEADLINE, os._exit, [1])
        watchdog.daemon = True
        watchdog.start()
        ending.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    results = await asyncio.gather(*(worker(ending) for worker in workers), return_exceptions=True)
    return 1 if any(isinstance(result, BaseException) for result in results) else 0
