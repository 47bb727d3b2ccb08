"""Everything a crash case needs: a server that may be armed to die, a fake model server, a client, and the evidence.

    async with World(tmp_path) as world:
        await world.start(crash_at="claim.after")
        mid = world.say("do it")
        await world.death()
        await world.start()
        await world.settled()
        world.judge()

Real processes, real sockets; only the model is a fake. The model server and the client outlive the server's deaths.
"""

import asyncio
import json
import os
import random
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen
from uuid import uuid4

from tests.fakes.model_server import FakeModelServer
from tests.server import PASSWORD, RunningServer, bind_agent, prepared_home
from tests.socket_client import SocketClient

from .checker import Evidence, Request, Sent, Shown, check

BACKOFF = (0.05, 0.5)  # a person's browser waits longer; a test does not
SETTLED = 90.0  # seconds for recovery and all answers, on a busy machine


class World:
    def __init__(self, folder: Path, *, family: str = "openai") -> None:
        self.folder = folder
        self.home = folder / "home"
        self.workspace = folder / "workspace"
        self.family = family
        self.sid = f"sid_{uuid4().hex[:12]}"
        self.models = FakeModelServer()
        self.server: RunningServer | None = None
        self.port = 0
        self.cookie = ""
        self.sent: list[tuple[str, str]] = []  # (client message id, mark)
        self.killed_at: list[float] = []
        self.reached: set[str] = set()
        self.dice = random.Random(int(os.environ.get("HALO_CRASH_SEED", "0")) or None)

    async def __aenter__(self) -> "World":
        await self.models.__aenter__()
        await asyncio.to_thread(prepared_home, self.home)
        self.workspace.mkdir()
        (self.workspace / "README.md").write_text("# Demo\n")
        provider = "anthropic" if self.family == "anthropic" else "openai"
        endpoint = self.models.messages if self.family == "anthropic" else self.models.chat
        bind_agent(self.home, endpoint, provider=provider)
        self.client: SocketClient | None = None
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.client is not None:
            await self.client.__aexit__(*error)
        if self.server is not None:
            await asyncio.to_thread(self.server.kill)
        await self.models.__aexit__(*error)  # type: ignore[arg-type]

    # ---- the server

    async def start(self, *, crash_at: str = "", after_start: bool = False, **env: str) -> None:
        """Start on the same port as before; armed to die at a point (`name` or `name:visit`) when asked.

        after_start: the first start of this world, so log in and open the folder too, which must survive.
        """
        if after_start:  # the row of the workspace and our socket exist before the armed server runs
            await self.start()
            await self.terminate()
            self.killed_at.clear()
        log = self.folder / "points.log"
        env |= {"HALO_CRASH_LOG": str(log)} | ({"HALO_CRASH_AT": crash_at} if crash_at else {})
        self.server = RunningServer(self.home, wait=False, port=str(self.port), **env)
        if not await self._listening():
            return
        self.port = int(self.server.base.rpartition(":")[2])
        if self.client is None:
            await self._log_in()

    async def _listening(self) -> bool:
        """False when an armed server died before it listened."""
        assert self.server
        try:
            await asyncio.to_thread(self.server.wait_until_it_listens)
        except AssertionError:
            if self.server.popen.poll() is None or self.server.popen.returncode != -9:
                raise
            return False
        return True

    async def _log_in(self) -> None:
        base = self.server.base  # type: ignore[union-attr]
        self.cookie = await asyncio.to_thread(log_in, base)
        await self.open(self.workspace)
        self.client = SocketClient(base, self.cookie, backoff=BACKOFF)
        await self.client.__aenter__()
        self.client.open(self.sid, str(self.workspace))
        await self.client.until(lambda: self.client.link == "open")  # type: ignore[union-attr]

    async def open(self, *folders: Path) -> None:
        for folder in folders:
            await asyncio.to_thread(open_folder, self.server.base, self.cookie, folder)  # type: ignore[union-attr]

    async def death(self, timeout: float = 60.0) -> None:
        """Wait for the armed server to have killed itself."""
        assert self.server
        code = await asyncio.to_thread(self.server.wait, timeout)
        self.killed_at.append(time.monotonic())
        assert code == -9, f"ended with {code}:\n{self.server.out.text[-4000:]}"

    async def kill(self) -> None:
        assert self.server
        self.server.popen.kill()
        self.killed_at.append(time.monotonic())
        await asyncio.to_thread(self.server.wait, 20)

    async def terminate(self) -> float:
        """SIGTERM; seconds it took."""
        assert self.server
        begun = time.monotonic()
        code = await asyncio.to_thread(self.server.terminate)
        self.killed_at.append(begun)
        assert code == 0, self.server.out.text[-4000:]
        return time.monotonic() - begun

    # ---- the person

    def say(self, text: str, directive: str = "") -> str:
        """Send a message with a mark of its own; its client message id."""
        assert self.client
        mark = f"mark-{uuid4().hex[:10]}"
        fake = f" [[fake {directive}]]" if directive else ""
        mid = self.client.chat(self.sid, str(self.workspace), f"{text} {mark}{fake}")
        self.sent.append((mid, mark))
        return mid

    def hand_on(self, text: str, directive: str = "") -> None:
        """Ask for something that the agent gives to another session, which answers as directed."""
        file = self.home / "global" / "agents" / "default" / "agent.yaml"
        listed = file.read_text()
        if "relay_send" not in listed:
            file.write_text(listed.replace("  - shell_exec\n", "  - shell_exec\n  - relay_send\n"))
        task = {
            "workspace": str(self.workspace),
            "session_id": f"{self.sid}_other",
            "message": f"dig [[fake {directive}]]",
        }
        self.models.will(tool_calls=[{"name": "relay_send", "arguments": task}])
        self.say(text, "tokens=3")

    async def acked(self, mid: str) -> None:
        """Until the message is acknowledged, or an armed server died before that."""
        client, server = self.client, self.server
        assert client
        if server is None:
            await client.until(lambda: client.is_acked(mid), 30)
            return
        dead = asyncio.create_task(asyncio.to_thread(server.popen.wait))
        waiting = asyncio.create_task(client.until(lambda: client.is_acked(mid), 30))
        await asyncio.wait({dead, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not dead.done():
            await waiting
        for task in (dead, waiting):
            task.cancel()

    async def shown(self, characters: int) -> None:
        """Wait until so much streamed text has arrived in all."""
        assert self.client
        await self.client.until(lambda: len(self._streamed()) >= characters, 30)

    async def running(self) -> None:
        """Wait until a reply streams anew."""
        assert self.client
        before = len(self._streamed())
        await self.shown(before + 50)

    async def after_a_random_number_of_frames(self, most: int) -> None:
        assert self.client
        client = self.client
        wanted = len(client.log) + self.dice.randint(0, most)
        await client.until(lambda: len(client.log) >= wanted or not client.view(self.sid).running, 30)

    def _streamed(self) -> str:
        assert self.client
        return "".join(str(frame["text"]) for frame in self.client.received("chat:stream"))

    async def settled(self, timeout: float = SETTLED) -> None:
        """Wait until every message was acknowledged and the session is at rest in the database."""
        assert self.client
        client = self.client
        await client.until(lambda: all(client.is_acked(mid) for mid, _ in self.sent), timeout)
        deadline = time.monotonic() + timeout
        while not await asyncio.to_thread(self._at_rest):
            assert time.monotonic() < deadline, f"not at rest\n{self.said()}"
            await client_tick(client)

    def _at_rest(self) -> bool:
        """One statement: several would see the rows at several moments."""
        [facts] = self.query(
            "SELECT (SELECT count(*) FROM sessions_app_entry WHERE turn_id IS NULL AND deleted IS NULL"
            " AND kind IN ('user', 'agent'))"
            " + (SELECT count(*) FROM sessions_app_session WHERE lease_owner IS NOT NULL)"
            " + (SELECT count(*) FROM sessions_app_turn WHERE status = 'running')"
            " + (SELECT count(*) FROM relay_app_replyto WHERE closed_at IS NULL) AS busy"
        )
        return not facts["busy"]

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Rows as the database holds them now, read without the product."""
        path = self.home / "secrets" / "halo.sqlite3"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    # ---- the evidence

    def rows(self, table: str) -> list[dict[str, Any]]:
        found = self.query(f"SELECT * FROM sessions_app_{table} ORDER BY id")
        for row in found:
            for name in ("blocks", "meta", "origin"):
                if isinstance(row.get(name), str):
                    row[name] = json.loads(row[name])
        return found

    def evidence(self) -> Evidence:
        assert self.client
        acked = {mid for mid, _ in self.sent if self.client.is_acked(mid)}
        return Evidence(
            sent=[Sent(mid, mark, self.sid, mid in acked) for mid, mark in self.sent],
            shown=self._shown(),
            killed_at=self.killed_at,
            requests=[
                Request(item["body"], 400 if item["outcome"] == "refused" else 200, self.family)
                for item in self._requests()
            ],
            sessions=self.rows("session"),
            turns=self.rows("turn"),
            entries=self.rows("entry"),
            tool_calls=self.rows("toolcall"),
            model_calls=self.rows("modelcall"),
            relays=self.query("SELECT id, closed_at, outcome FROM relay_app_replyto"),
            effects=self.effects(),
            transcripts={
                str(path.relative_to(self.workspace)): path.read_bytes()
                for path in (self.workspace / ".halo" / "sessions").rglob("*.jsonl")
            },
            leftovers=self._leftovers(),
        )

    def _requests(self) -> list[dict[str, Any]]:
        return [item for item in self.models.requests if isinstance(item.get("body"), dict)]

    def _shown(self) -> list[Shown]:
        """Text per reply as it grew on this client's screen."""
        assert self.client
        text: Counter[str] = Counter()
        seen: list[Shown] = []
        have: dict[str, str] = {}
        for at, way, frame in self.client.log:
            if way != "in" or frame["type"] not in ("chat:stream", "stream_reset", "resync", "state:snapshot"):
                continue
            if frame["type"] != "chat:stream":
                have.clear()  # the server tells it anew from here
                continue
            turn = str(frame["turnId"])
            text[turn] += 1
            have[turn] = have.get(turn, "") + str(frame["text"])
            seen.append(Shown(turn, have[turn], at))
        whole = {turn for turn, count in text.items() if count}
        return [item for item in seen if item.turn_id in whole and starts_at_the_beginning(item.text)]

    def effects(self) -> dict[str, int]:
        """Marks that commands of the agent appended to a file, with how often."""
        file = self.workspace / "effects.txt"
        return dict(Counter(file.read_text().split())) if file.exists() else {}

    def _leftovers(self) -> list[str]:
        names = re.compile(r"\.tmp$|^\.?tmp|\.part$|~$")
        found = [str(path) for path in self.workspace.rglob("*") if names.search(path.name)]
        return found + [f"process {line}" for line in processes_in(self.workspace)]

    def judge(self) -> Evidence:
        """Fails with every broken invariant."""
        evidence = self.evidence()
        broken = check(evidence)
        assert not broken, "\n".join(map(str, broken)) + "\n\n" + self.story(evidence)
        return evidence

    def story(self, evidence: Evidence) -> str:
        lines = [f"entries of {self.sid}:"]
        for row in evidence.entries:
            lines.append(f"  {row['id']} {row['kind']} turn={row['turn_id']} {row['meta']} {str(row['text'])[:80]!r}")
        lines += [f"  turn {row['id']} {row['status']} {row['stop_reason']}" for row in evidence.turns]
        lines += [f"  request {json.dumps(request.body.get('messages'))[:600]}" for request in evidence.requests]
        return "\n".join(lines) + "\n" + self.said()

    def said(self) -> str:
        """The last words of the server."""
        return self.server.out.text[-3000:] if self.server else ""

    def points(self) -> set[str]:
        """Crash points any server of this world has reached."""
        log = self.folder / "points.log"
        return set(log.read_text().split()) if log.exists() else set()


def starts_at_the_beginning(text: str) -> bool:
    """The fake's tokens are numbered: a reply taken up in the middle (after a reconnect) is not compared."""
    return text.startswith("t000")


async def client_tick(client: SocketClient) -> None:
    """Let the next frame, or a tenth of a second, pass."""
    try:
        seen = len(client.log)
        await client.until(lambda: len(client.log) > seen, 0.1)
    except TimeoutError:
        return


def post_json(url: str, value: object, cookie: str = "") -> tuple[dict[str, Any], str]:
    base = re.match(r"http://[^/]+", url)[0]  # type: ignore[index]
    headers = {"Content-Type": "application/json", "Origin": base} | ({"Cookie": cookie} if cookie else {})
    with urlopen(HttpRequest(url, json.dumps(value).encode(), headers), timeout=60) as answer:
        return json.loads(answer.read() or b"{}"), answer.headers.get("Set-Cookie", "")


def log_in(base: str) -> str:
    _, cookie = post_json(base + "/api/auth/login", {"password": PASSWORD})
    return cookie.partition(";")[0]


def open_folder(base: str, cookie: str, folder: Path) -> None:
    post_json(base + "/api/fs/workspace/resolve", {"path": str(folder)}, cookie)


def processes_in(folder: Path) -> list[str]:
    """Command lines of processes whose current folder is inside `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
