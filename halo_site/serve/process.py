"""The server process: daphne owns the loop; engine, notices and children are tasks in it (DEPENDENCIES R3)."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from typing import Any

from daphne.server import Server, twisted_loop

from halo_site.lib.env import Env
from halo_site.lib.garbage import collect_from_now_on

from . import listen
from .qcluster import QCluster

log = logging.getLogger("halo.serve")
DEADLINE = 4.8  # seconds from the signal to the end, whatever hangs
ENGINE_GRACE = 3.5
ENGINE = "sessions_app.engine.engine"
REST = ("halo_site.urls", "agents_app.providers.http")


class ServerProcess:
    """Built, then `run()` once. It holds its parts; each has a module of its own."""

    def __init__(self, env: Env, *, host: str, port: int, qcluster: bool, tell: Callable[[str], None] = print) -> None:
        from halo_site.asgi import application
        from halo_site.request_class import CappedServer

        self.env, self.host, self.port, self.tell = env, host, port, tell
        self.exit_code = 0
        self.loop = twisted_loop
        self.server: Server = CappedServer(
            application=application,
            endpoints=[listen.endpoint(host, port)],
            signal_handlers=False,
            ready_callable=lambda: self.loop.call_soon(self._start),
            application_close_timeout=5,
            server_name="halo",
            verbosity=0,
        )
        self.child = QCluster(self._tell_staff) if qcluster else None
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._ending: asyncio.Task[None] | None = None

    def run(self) -> int:
        """Blocks until the server ended; the exit code."""
        self.loop.set_exception_handler(self._stray)
        self.server.run()
        if self.server.abort_start:
            print(
                f"Port {self.port} on {self.host} is in use or not allowed. Give another one: -p PORT", file=sys.stderr
            )
            return 1
        if self._ending is not None:
            self.loop.run_until_complete(self._ending)
        return self.exit_code

    # ---- start

    def _start(self) -> None:
        from halo_site import transport
        from halo_site.auth import authenticate_scope

        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, self._on_signal, number)
        host, port = self.server.listening_addresses[0]
        transport.start_web(authenticate_scope)  # before the engine: its first frames need a way out
        self._warm = self.loop.create_task(self._load_the_rest(), name="load the rest")
        log.info("listening", extra={"host": host, "port": port, "pid": os.getpid()})
        self.tell(f"Halo is running at {listen.address(host, port)}")

    def _tell_staff(self, text: str) -> None:
        """Into the trail that staff read in the admin; from the loop, so the write goes to a thread."""
        self._told = self.loop.create_task(asyncio.to_thread(_audit, text), name="tell staff")

    async def _load_the_rest(self) -> None:
        """What is not needed to answer: the engine first, then what the first request would load.

        In a thread, so that the loop answers meanwhile. What people send before the engine is there waits in the
        queue. A part that does not load ends the server.
        """
        try:
            await asyncio.to_thread(load, ENGINE)
            self._start_engine()
            await asyncio.to_thread(load, *REST)
            await asyncio.to_thread(_try_sandbox)
        except Exception:
            log.critical("a part of the program does not load", exc_info=True)
            self.exit_code = 1
            self.end("a part of the program does not load")
            return
        collect_from_now_on()
        if self.child and self._ending is None:
            self._spawn("qcluster", self.child.run())

    def _start_engine(self) -> None:
        from sessions_app.engine.engine import Engine

        if self._ending is None:
            self.engine = Engine("server")
            self._spawn("engine", self.engine.run())

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks[name] = task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        """A task that must live as long as the server is over: without it the server only looks alive."""
        if task.cancelled() or self._ending is not None:
            return
        log.critical("task %s ended", task.get_name(), exc_info=task.exception())
        self.exit_code = 1
        self.loop.call_later(0.1, self.end, f"{task.get_name()} failed")

    def _stray(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        info = (type(error), error, error.__traceback__) if isinstance(error, BaseException) else None
        log.error("loop: %s", context.get("message", "error"), exc_info=info)

    # ---- end

    def _on_signal(self, number: int) -> None:
        self.end(signal.Signals(number).name)

    def end(self, reason: str) -> None:
        """Begin the shutdown; later calls change nothing."""
        if self._ending is not None:
            return
        watchdog = threading.Timer(DEADLINE, os._exit, [self.exit_code or 1])
        watchdog.daemon = True
        watchdog.start()
        self._ending = self.loop.create_task(self._shut_down(reason))

    async def _shut_down(self, reason: str) -> None:
        from halo_site import transport
        from halo_site.hub import close_all

        log.info("shutting down", extra={"reason": reason})
        self._stop_listening()
        await asyncio.gather(self._step(self._end_engine), self._step(self._end_child))
        for step in (close_all, self._end_tasks, transport.close):
            await self._step(step)
        self.server.stop()

    async def _step(self, step: Callable[[], Awaitable[None]]) -> None:
        """A part that fails to end must not keep the others, or the process, alive."""
        try:
            await step()
        except Exception:
            log.exception("%s failed while shutting down", step.__name__)

    async def _end_tasks(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _stop_listening(self) -> None:
        for listener in self.server.listeners:
            listener.addCallback(lambda port: port and port.stopListening())

    async def _end_engine(self) -> None:
        task = self._tasks.get("engine")
        if task is None or task.done():
            return
        try:
            await asyncio.wait_for(self.engine.shutdown(), ENGINE_GRACE)
        except TimeoutError:
            log.warning("runs did not end in %.1f s; recovery takes them at the next start", ENGINE_GRACE)

    async def _end_child(self) -> None:
        if self.child is None:
            return
        task = self._tasks.get("qcluster")
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self.child.stop()


def _try_sandbox() -> None:
    """Once at the start, so that a missing sandbox is in the log before the first command asks for it."""
    from workspaces_app.sandbox import status

    status()


def _audit(text: str) -> None:
    from django.db import connection

    from workspaces_app.models import AuditEvent

    try:
        AuditEvent.objects.create(action="server.warning", target="qcluster", detail={"message": text})
    finally:
        connection.close()


def load(*names: str) -> None:
    for name in names:
        import_module(name)
