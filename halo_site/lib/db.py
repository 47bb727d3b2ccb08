"""Units of work: plain functions in one transaction, run on named threads, awaited once (DEPENDENCIES R5).

A cancelled await does not mean "not written": the thread finishes its transaction. Never infer anything from
CancelledError.
"""

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from django.db import Error, InterfaceError, OperationalError, close_old_connections, connection, transaction

from .errors import StorageFull, Unavailable

P = ParamSpec("P")
T = TypeVar("T")


class DbThreads:
    """A fixed set of single threads, each with its own lasting connection.

    SQLite: one (more writers only wait for each other). PostgreSQL: several; work of one key stays on one thread.
    """

    def __init__(self, name: str, size: int | None = None) -> None:
        count = size or (1 if connection.vendor == "sqlite" else 4)
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix=f"{name}-{i}") for i in range(count)]
        self._next = 0
        _all.add(self)

    async def run(self, unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one unit of work; the least surprising thread is the next one."""
        self._next = (self._next + 1) % len(self._threads)
        return await self.run_for(self._next, unit, *args, **kwargs)

    async def run_for(self, key: int, unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run on the thread of `key`: units of one session keep their order."""
        context = contextvars.copy_context()
        call = partial(context.run, partial(_fresh, unit, *args, **kwargs))
        thread = self._threads[key % len(self._threads)]
        return await asyncio.get_running_loop().run_in_executor(thread, call)

    def close(self) -> None:
        """End the threads and their connections."""
        for thread in self._threads:
            thread.submit(_hang_up).result(timeout=10)
            thread.shutdown(wait=True)
        _all.discard(self)


_all: WeakSet[DbThreads] = WeakSet()


def close_all() -> None:
    """End every thread set of this process; `engine_threads()` makes new ones afterwards."""
    global _engine
    known = list(_all)  # before the next line lets go of a set that nobody else holds
    _engine = None
    for threads in known:
        threads.close()


def _hang_up() -> None:
    connection.close()  # looked up here, in the thread whose connection it is


IDLE = 1.0  # seconds after which a connection is asked whether it still works
_used = threading.local()  # .at: monotonic, end of this thread's last unit


def _fresh(unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # Health checks of Django fire per request only; a lasting thread must drop a connection the server closed.
    idle = time.monotonic() - getattr(_used, "at", 0.0) > IDLE
    if not connection.in_atomic_block and (idle or connection.errors_occurred):
        close_old_connections()
    try:
        return unit(*args, **kwargs)
    except (OperationalError, InterfaceError) as error:
        # Loops that live as long as the process must be able to tell an outage, which passes, from a fault.
        if _is_outage(error):
            raise _mapped(error) from error
        raise
    finally:
        _used.at = time.monotonic()


def in_transaction(unit: Callable[P, T]) -> Callable[P, T]:
    """One transaction that is retried on a deadlock or serialization failure, at most 5 times.

    Raises StorageFull when the disk is full and Unavailable when the database stayed locked or is gone.
    """
    return _transaction(unit, transaction.atomic)


def in_light_transaction(unit: Callable[P, T]) -> Callable[P, T]:
    """The same without waiting for the disk: for what may be undone by a power failure (not by a crash of ours).

    It is on disk, too, as soon as any later transaction of the same database is.
    """
    return _transaction(unit, _without_flush)


@contextmanager
def _without_flush() -> Iterator[None]:
    outermost = not connection.in_atomic_block
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            if outermost:
                cursor.execute("SET LOCAL synchronous_commit TO OFF")
            yield
    elif outermost:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
            try:
                with transaction.atomic():
                    yield
            finally:
                cursor.execute("PRAGMA synchronous=FULL")
    else:
        with transaction.atomic():
            yield


def _transaction(unit: Callable[P, T], atomic: Callable[[], AbstractContextManager[object]]) -> Callable[P, T]:
    @wraps(unit)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(5):
            try:
                with atomic():
                    return unit(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block:  # the outermost transaction decides
                    raise
                if _retryable(error) and attempt < 4:
                    time.sleep(random.uniform(0, 0.02 * 2**attempt))
                    continue
                raise _mapped(error) from error
        raise AssertionError("unreachable")

    return call


def _retryable(error: OperationalError) -> bool:
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) in ("40P01", "40001")


def _is_outage(error: Error) -> bool:
    """The database is locked, full or gone. A missing table is none: on SQLite that is an OperationalError, too."""
    if isinstance(error, InterfaceError) or connection.vendor == "postgresql":
        return True
    text = str(error).lower()
    return any(word in text for word in ("locked", "busy", "full", "readonly", "disk i/o", "unable to open"))


def _mapped(error: Error) -> Exception:
    text = str(error).lower()
    if "full" in text or getattr(error.__cause__, "sqlstate", None) in ("53100", "53400"):
        return StorageFull()
    if "readonly" in text or "read-only" in text or "disk i/o" in text or "unable to open" in text:
        return StorageFull("Storage cannot be written: the message was not saved")
    return Unavailable("The database is busy or gone; try again in a few seconds")


_engine: DbThreads | None = None


def engine_threads() -> DbThreads:
    """The threads on which everything that writes to sessions runs in this process, made at first use.

    On SQLite that is one thread for engine and hub together: a second writer would only wait for the first.
    """
    global _engine
    if _engine is None:
        _engine = DbThreads("db")
    return _engine
