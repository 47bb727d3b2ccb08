"""Our server as the benchmarks see it: how to start it, log in, open a folder, and read its frames.

Another product is measured by the same code: give it a class with the same methods.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from tests.server import PASSWORD, ROOT, bind_agent, environment

from .clients import HTTPConn, WSClient, now, raw_get

TOKEN = re.compile(rb"t\d{3} ")


@dataclass
class Turn:
    """Times in ms after the chat frame was sent."""

    ack: float | None = None
    first: float | None = None
    done: float | None = None
    deltas: int = 0
    tokens: int = 0
    resyncs: int = 0
    error: str = ""


@dataclass
class Halo:
    """One installation: a home, its processes, and the address of its web process."""

    work: Path
    llm: str  # base address of a running fake model server
    port: int = 9741
    scaled: int = 0  # number of engine processes; 0 = one process with SQLite
    database: str = ""
    redis: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    cookie: str = ""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie}

    @property
    def pid(self) -> int:
        return self.processes[0].pid

    def environ(self) -> Mapping[str, str]:
        env = environment(self.home, HALO_LOG_LEVEL="warn")
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
        env.pop("DATABASE_URL", None)
        env.pop("REDIS_URL", None)
        if self.scaled:
            env |= {"DATABASE_URL": self.database, "REDIS_URL": self.redis}
        return env

    async def prepare(self) -> None:
        """First start, done before anything is measured."""
        shutil.rmtree(self.home, ignore_errors=True)
        await self.start()
        await self.stop()
        bind_agent(self.home, f"{self.llm}/v1")

    async def start(self, timeout: float = 60.0) -> float:
        """Seconds from process start to the first 200 of the health route."""
        manage = [sys.executable, str(ROOT / "manage.py")]
        begun = now()
        if self.scaled:
            web = [str(Path(sys.executable).parent / "daphne"), "-b", "127.0.0.1", "-p", str(self.port)]
            self._spawn([*manage, "runworker", "engine"])
            await self._worker_ready()
            for _ in range(self.scaled - 1):
                self._spawn([*manage, "runworker", "engine"])
            self._spawn([*web, "halo_site.asgi:application"])
            self.processes.insert(0, self.processes.pop())
        else:
            self._spawn([*manage, "serve", "-p", str(self.port), "--no-qcluster"])
        raw = raw_get(self.base, "/api/health", {})
        while now() - begun < timeout:
            if self.processes[0].poll() is not None:
                raise RuntimeError(f"the server ended with {self.processes[0].returncode}")
            try:
                conn = await HTTPConn.open(self.base)
                await conn.request(raw, timeout=5)
                conn.transport.close()
                if conn.status == 200:
                    return now() - begun
            except (TimeoutError, OSError):
                pass
            await asyncio.sleep(0.005)
        raise RuntimeError("the server did not become healthy")

    async def _worker_ready(self) -> None:
        """The first worker migrates; wait until it says that it runs."""
        log = self.work / "server.log"
        for _ in range(1200):
            if b"engine worker is running" in log.read_bytes():
                return
            await asyncio.sleep(0.05)
        raise RuntimeError("the engine worker did not start")

    def _spawn(self, command: list[str]) -> None:
        with (self.work / "server.log").open("ab") as out:
            self.processes.append(
                subprocess.Popen(
                    command, env=self.environ(), stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=ROOT
                )
            )

    async def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        begun = now()
        while any(process.poll() is None for process in self.processes) and now() - begun < 15:
            await asyncio.sleep(0.02)
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self.processes.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Halo"]:
        await self.start()
        try:
            await self.login()
            yield self
        finally:
            await self.stop()

    async def login(self) -> None:
        async with httpx.AsyncClient(base_url=self.base, timeout=60) as http:
            answer = await http.post("/api/auth/login", json={"password": PASSWORD}, headers={"Origin": self.base})
            answer.raise_for_status()
            self.cookie = f"halo_token={answer.cookies['halo_token']}"

    async def open_folder(self, path: Path) -> str:
        path.mkdir(parents=True, exist_ok=True)
        key = str(path.resolve())
        async with httpx.AsyncClient(base_url=self.base, headers=self.headers, timeout=60) as http:
            answer = await http.post("/api/fs/workspace/resolve", json={"path": key}, headers={"Origin": self.base})
            answer.raise_for_status()
        return key

    def list_path(self, workspace: str, limit: int = 0) -> str:
        return "/api/sessions/logs?" + urlencode({"projectId": workspace} | ({"limit": limit} if limit else {}))

    def open_path(self, workspace: str, sid: str) -> str:
        return f"/api/sessions/logs/{quote(sid, safe='')}?" + urlencode({"projectId": workspace})

    def seed(self, folder: Path, sessions: int, long: list[int]) -> list[str]:
        """Fill the database while the server is down; sids of the sessions with `long` entries."""
        command = [sys.executable, "-m", "bench.seed", str(folder), str(sessions), json.dumps(long)]
        done = subprocess.run(command, env=self.environ(), cwd=ROOT, check=True, stdout=subprocess.PIPE)
        sids: list[str] = json.loads(done.stdout)
        return sids


def kind_of(frame: bytes) -> str:
    """The type of a frame, without parsing it: `type` comes first."""
    return frame[9 : frame.index(b'"', 9)].decode() if frame.startswith(b'{"type":"') else json.loads(frame)["type"]


class Chat:
    """One socket with one subscribed session."""

    count = 0

    def __init__(self, halo: Halo, workspace: str, sid: str = "") -> None:
        Chat.count += 1
        self.halo, self.workspace = halo, workspace
        self.sid = sid or f"sid_b{os.getpid():x}_{Chat.count}"
        self.sent = 0

    def subscribe(self) -> dict[str, Any]:
        return {"type": "subscribe", "sessionId": self.sid, "projectId": self.workspace}

    async def open(self, timeout: float = 60.0) -> float:
        """Seconds from connect to the answered subscribe."""
        begun = now()
        url = self.halo.base.replace("http", "ws", 1) + "/ws"
        self.ws = await WSClient.connect(url, self.halo.headers, timeout=timeout)
        self.ws.send(self.subscribe())
        while True:
            at, frame = await self.ws.next(timeout)
            if kind_of(frame) == "state:snapshot" and b'"sessionId"' in frame:
                return at - begun
            if kind_of(frame) == "error":
                raise RuntimeError(frame.decode())

    def post(self, text: str) -> float:
        self.sent += 1
        return self.ws.send(
            {
                "type": "chat",
                "sessionId": self.sid,
                "projectId": self.workspace,
                "message": text,
                "clientMsgId": f"{self.sid}-{self.sent}-{now()}",
            }
        )

    async def turn(self, text: str, timeout: float = 60.0) -> Turn:
        """Send one message and read frames until the run is complete."""
        turn = Turn()
        begun = self.post(text)
        deadline = begun + timeout
        while True:
            at, frame = await self.ws.next(max(0.01, deadline - now()))
            ms = (at - begun) * 1000
            kind = kind_of(frame)
            if kind == "chat:stream":
                turn.first = ms if turn.first is None else turn.first
                turn.deltas += 1
                turn.tokens += len(TOKEN.findall(frame))
            elif kind == "chat:ack":
                turn.ack = ms if turn.ack is None else turn.ack
            elif kind == "error":
                turn.error = frame.decode()
                return turn
            elif kind == "resync":  # everything comes again: a snapshot, and the replay of a run that is still on
                turn.resyncs, turn.tokens = turn.resyncs + 1, 0
            elif kind == "state:snapshot" and turn.resyncs and turn.ack is not None:
                snapshot = json.loads(frame)["snapshot"]
                if not snapshot["running"] and not snapshot["queue"]:
                    replies = [row["content"] for row in snapshot["recentMessages"] if row["type"] == "assistant"]
                    turn.tokens = len(TOKEN.findall(replies[-1].encode()))
                    turn.done = ms
                    return turn
            elif kind == "chat:complete":
                turn.done = ms
                return turn

    def close(self) -> None:
        self.ws.close()
