"""The supervised `qcluster` child: started after the server listens, restarted when it dies, ended with us."""

import asyncio
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from halo_site.lib.parent import PARENT_VARIABLE

from .respawn import respawn

log = logging.getLogger("halo.respawn")
GRACE = 3.0  # seconds from SIGTERM to SIGKILL


class QCluster:
    """One child and its five processes, in a process group of their own (DEPENDENCIES R2)."""

    def __init__(self, on_slow: Callable[[str], None] = lambda text: None) -> None:
        self.process: Process | None = None
        self._on_slow = on_slow
        self._restarts: list[float] = []

    async def run(self) -> None:
        """Until cancelled: keep one child alive."""
        while True:
            self.process = await self._start()
            code = await self.process.wait()
            self._kill_group(self.process.pid)
            self.process = None  # its number may soon be somebody else's
            verdict = respawn(self._restarts, time.monotonic())
            log.warning(
                "[respawn] qcluster ended, next start in %.0f s",
                verdict.delay,
                extra={"code": code, "slow": verdict.slow},
            )
            if verdict.slow:
                self._on_slow("Background tasks stop again and again: qcluster is restarted only every 5 minutes")
            await asyncio.sleep(verdict.delay)
            self._restarts = [*self._restarts, time.monotonic()][-10:]

    async def stop(self) -> None:
        """SIGTERM, a grace, then SIGKILL for the whole group. Call after `run` was cancelled."""
        process = self.process
        if process is None:
            return
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), GRACE)
            except TimeoutError:
                log.warning("[respawn] qcluster did not end in %.0f s: killed", GRACE)
        self._kill_group(process.pid)

    async def _start(self) -> Process:
        environment = os.environ | {PARENT_VARIABLE: str(os.getpid())}
        environment.pop("HALO_PASSWORD", None)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(settings.BASE_DIR) / "manage.py"),
            "qcluster",
            env=environment,
            stdin=DEVNULL,
            start_new_session=True,
        )
        log.info("[respawn] qcluster started", extra={"pid": process.pid})
        return process

    @staticmethod
    def _kill_group(group: int) -> None:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
