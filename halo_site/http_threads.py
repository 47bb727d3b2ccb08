"""Django's views on a small fixed set of threads, each with a lasting database connection (DEPENDENCIES R5).

Without this, Django starts a thread, and with it a connection, for every request.
"""

import itertools
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.db import connection

Application = Callable[..., Awaitable[None]]
THREADS = 4


class HttpThreads:
    """Round robin: a slow view holds up only what lands on its thread."""

    def __init__(self, application: Application, count: int = THREADS) -> None:
        self._application = application
        self._all = [ThreadPoolExecutor(1, thread_name_prefix=f"http-{i}") for i in range(count)]
        self._threads = itertools.cycle(self._all)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with ThreadSensitiveContext(executor=next(self._threads)):
            await self._application(scope, receive, send)

    def close(self) -> None:
        """Let go of the database connections; for tests, whose database goes away before the process does."""
        for thread in self._all:
            thread.submit(lambda: connection.close()).result(timeout=10)
            thread.shutdown()
