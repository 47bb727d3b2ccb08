"""A world of several processes on PostgreSQL and Redis: web processes and engines that may die or freeze."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.rows import dict_row

from tests.server import DAPHNE, Process, RunningServer, bind_agent, environment, is_up
from tests.socket_client import SocketClient

from .world import BACKOFF, World, log_in, open_folder

POSTGRES = os.environ.get("DATABASE_URL") or "postgres://postgres@127.0.0.1:5432/postgres"
REDIS = os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379/8"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def services_listen() -> bool:
    return listens(5432) and listens(6379)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SeveralProcesses(World):
    """`webs` daphne processes and `engines` engine processes, which share one new database."""

    def __init__(
        self, folder: Path, *, webs: int = 1, engines: int = 2, family: str = "openai", postgres: str = POSTGRES
    ) -> None:
        super().__init__(folder, family=family)
        self.name = f"halo_crash_{uuid4().hex[:10]}"
        self.admin_url = postgres
        self.url = postgres.rpartition("/")[0] + "/" + self.name
        self.webs = webs
        self.count = engines
        self.bases: list[str] = []
        self.processes: list[Process] = []
        self.engines: list[Process] = []

    async def __aenter__(self) -> "SeveralProcesses":
        await self.models.__aenter__()
        self.workspace.mkdir()
        self.client = None
        await asyncio.to_thread(self._first_start)
        endpoint = self.models.messages if self.family == "anthropic" else self.models.chat
        bind_agent(self.home, endpoint, provider="anthropic" if self.family == "anthropic" else "openai")
        await asyncio.gather(*(asyncio.to_thread(self.start_engine) for _ in range(self.count)))
        await asyncio.gather(*(asyncio.to_thread(self._start_web) for _ in range(self.webs)))
        cookie = await asyncio.to_thread(log_in, self.bases[0])
        self.cookie = cookie
        await asyncio.to_thread(open_folder, self.bases[0], cookie, self.workspace)
        self.client = await self.new_client(self.bases[0])
        return self

    async def new_client(self, base: str) -> SocketClient:
        client = SocketClient(base, self.cookie, backoff=BACKOFF)
        await client.__aenter__()
        client.open(self.sid, str(self.workspace))
        await client.until(lambda: client.link == "open")
        return client

    def _environment(self) -> dict[str, str]:
        return environment(self.home, DATABASE_URL=self.url, REDIS_URL=REDIS)

    def _first_start(self) -> None:
        with psycopg.connect(self.admin_url, autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{self.name}"')
        with RunningServer(self.home, DATABASE_URL=self.url, REDIS_URL=REDIS) as server:
            assert server.terminate() == 0, server.out.text

    def start_engine(self, **services: str) -> Process:
        """services: DATABASE_URL or REDIS_URL, where this engine reaches them another way."""
        process = Process("runworker", "engine", env=self._environment() | services)
        process.out.wait_for("Halo engine worker is running")
        self.processes.append(process)
        self.engines.append(process)
        return process

    def _start_web(self) -> None:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        options = ("-b", "127.0.0.1", "-p", str(port), "halo_site.asgi:application")
        process = Process(*options, env=self._environment(), program=DAPHNE)
        self.processes.append(process)
        deadline = time.monotonic() + 60
        while not is_up(base):
            assert process.popen.poll() is None, process.out.text
            assert time.monotonic() < deadline, process.out.text
        self.bases.append(base)

    async def __aexit__(self, *error: object) -> None:
        if self.client is not None:
            await self.client.__aexit__(*error)
        for process in self.processes:
            await asyncio.to_thread(process.kill)
        await self.models.__aexit__(*error)  # type: ignore[arg-type]
        with psycopg.connect(self.admin_url, autocommit=True) as db:
            db.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')

    def query(self, sql: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.url, row_factory=dict_row) as db:
            return db.execute(sql).fetchall()  # type: ignore[call-overload]

    def said(self) -> str:
        return "\n".join(process.out.text[-2000:] for process in self.processes)

    async def owner(self) -> Process:
        """The engine that runs our session now."""
        assert self.client
        while True:
            rows = await asyncio.to_thread(self.query, "SELECT lease_owner FROM sessions_app_session")
            pids = [row["lease_owner"].split(":")[1] for row in rows if row["lease_owner"]]
            for engine in self.engines:
                if str(engine.pid) in pids:
                    return engine
            await asyncio.sleep(0)

    async def freeze(self, engine: Process) -> None:
        engine.popen.send_signal(signal.SIGSTOP)

    async def wake(self, engine: Process) -> None:
        engine.popen.send_signal(signal.SIGCONT)
