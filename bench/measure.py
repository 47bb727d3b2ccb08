"""The measurements. Each takes a prepared installation and gives plain numbers (ms unless named otherwise)."""

import asyncio
import json
import os
import statistics
import sys
from typing import Any

from tests.server import ROOT

from .clients import HTTPConn, WSClient, now, raw_get, raw_post
from .numbers import busy_seconds, summary, usage
from .target import Chat, Halo, Turn, kind_of
from .throttle import held

QUICK = "hello [[fake tokens=20]]"
LOAD = "hello [[fake tokens=200]]"
WARM = "warm up [[fake tokens=1]]"
SLOW = "hello [[fake tokens=200 delay=100]]"


class Prober:
    """Asks the health route at a fixed rate meanwhile: shows stalls of the event loop."""

    def __init__(self, base: str, rate: float = 20.0) -> None:
        self.base, self.period = base, 1 / rate
        self.values: list[float] = []

    async def __aenter__(self) -> "Prober":
        self.conn = await HTTPConn.open(self.base)
        self.task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        raw = raw_get(self.base, "/api/health", {})
        while True:
            begun = now()
            await self.conn.request(raw)
            self.values.append((now() - begun) * 1000)
            await asyncio.sleep(max(0.0, self.period - (now() - begun)))

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.conn.transport.close()


async def boot(halo: Halo, *, times: int = 5) -> dict[str, Any]:
    """Process start to the first answer of the health route; memory 5 s later; SIGTERM to the end, while 50 stream."""
    seconds, ends, idle = [], [], {}
    for at in range(times):
        seconds.append(await halo.start())
        if at == times - 1:
            await asyncio.sleep(5)
            idle = usage(halo.pid)
        await halo.stop()
    for _ in range(times):
        await halo.start()
        await halo.login()
        ends.append(await end_of(halo))
    return {"seconds": summary(seconds), "idle_rss_mb": idle["rss_mb"], "end_s": summary(ends)}


async def end_of(halo: Halo, *, sessions: int = 50) -> float:
    """Seconds from SIGTERM to the end of the process, in the middle of `sessions` streamed turns."""
    workspace = await halo.open_folder(halo.work / "ending")
    chats = [Chat(halo, workspace) for _ in range(sessions)]
    for chat in chats:
        await chat.open()
        chat.post(SLOW)
    for chat in chats:
        while kind_of((await chat.ws.next(30))[1]) != "chat:stream":
            pass
    begun = now()
    await halo.stop()
    return now() - begun


async def straight(llm: str, content: str, times: int, width: int = 1) -> dict[str, Any]:
    """The same reply without us: first token and end, and replies per second over `width` connections."""
    raw = raw_post(llm, "/v1/chat/completions", _body(content))
    first: list[float] = []
    whole: list[float] = []

    async def one(conn: HTTPConn) -> None:
        for _ in range(times):
            begun = now()
            await conn.request(raw, marker=b"t000")
            whole.append((now() - begun) * 1000)
            first.append((conn.marker_at - begun) * 1000)
        conn.transport.close()

    begun = now()
    await asyncio.gather(*[one(await HTTPConn.open(llm)) for _ in range(width)])
    per_second = round(len(whole) / (now() - begun), 1)
    return {"first_ms": summary(first), "done_ms": summary(whole), "replies_per_s": per_second}


def _body(content: str) -> dict[str, Any]:
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return {"model": "fake", **options, "messages": [{"role": "user", "content": content}]}


async def first_delta(halo: Halo, *, turns: int = 60) -> dict[str, Any]:
    """What we add to the time to the first token: in one session, and in a fresh one each time."""
    base = await straight(halo.llm, QUICK, 200)
    out: dict[str, Any] = {"straight_ms": base["first_ms"]}
    async with halo.running():
        workspace = await halo.open_folder(halo.work / "first-delta")
        for name, fresh in (("same_session", False), ("fresh_session", True)):
            done: list[Turn] = []
            chat: Chat | None = None
            for _ in range(turns):
                if chat is None or fresh:
                    if chat:
                        chat.close()
                    chat = Chat(halo, workspace)
                    await chat.open()
                    if not fresh:
                        await chat.turn(WARM)
                done.append(await chat.turn(QUICK))
            assert chat
            chat.close()
            found = summary([turn.first for turn in done if turn.first is not None])
            out[name] = {
                "first_ms": found,
                "ack_ms": summary([turn.ack for turn in done if turn.ack is not None]),
                "overhead_median_ms": round(found["median"] - base["first_ms"]["median"], 2),
                "overhead_p95_ms": round(found["p95"] - base["first_ms"]["median"], 2),
                "errors": sum(bool(turn.error) for turn in done),
                "tokens_complete": all(turn.tokens == 20 for turn in done),
            }
    return out


async def throughput(
    halo: Halo, *, sessions: int = 50, each: int = 10, engine_share: float | None = None
) -> dict[str, Any]:
    """`sessions` sessions, `each` turns of 200 tokens at zero delay in each, all at once.

    engine_share: of a core, all that each engine process gets.
    """
    ceiling = await straight(halo.llm, LOAD, 20, 10)
    async with halo.running():
        workspace = await halo.open_folder(halo.work / f"throughput-{sessions}")
        chats = [Chat(halo, workspace) for _ in range(sessions)]
        for chat in chats:
            await chat.open()
            await chat.turn(WARM)
        results: list[Turn] = []

        async def work(chat: Chat) -> None:
            for _ in range(each):
                results.append(await chat.turn(LOAD, timeout=120))

        before, busy = [usage(process.pid) for process in halo.processes], busy_seconds()
        engines = () if engine_share is None else [process.pid for process in halo.processes[1:]]
        async with Prober(halo.base) as prober, held(engines, engine_share or 1.0):
            begun = now()
            ends = await asyncio.gather(*(work(chat) for chat in chats), return_exceptions=True)
            wall = now() - begun
            machine = (busy_seconds() - busy) / wall / (os.cpu_count() or 1)
        after = [usage(process.pid) for process in halo.processes]
        for chat in chats:
            chat.close()
    good = [turn for turn in results if turn.done is not None and not turn.error]
    spent = [round(b["cpu_s"] - a["cpu_s"], 2) for a, b in zip(before, after, strict=True)]
    return {
        "turns": len(good),
        "errors": len(results) - len(good) + sum(isinstance(end, BaseException) for end in ends),
        "turns_per_s": round(len(good) / wall, 1),
        "straight_replies_per_s": ceiling["replies_per_s"],
        "tokens_lost": sum(200 - turn.tokens for turn in good),
        "resyncs": sum(turn.resyncs for turn in results),
        "frames_per_turn": round(sum(turn.deltas for turn in good) / max(1, len(good)), 1),
        "first_ms": summary([turn.first for turn in good if turn.first]),
        "turn_ms": summary([turn.done for turn in good if turn.done]),
        "health_ms": summary(prober.values),
        "rss_mb": [round(usage["rss_mb"], 1) for usage in after],
        "cpu_s": round(sum(spent), 2),
        "cpu_s_of_each": spent,
        "machine_busy": round(machine, 2),
    }


async def fan_out(halo: Halo, *, sockets: int = 500, turns: int = 20) -> dict[str, Any]:
    """`sockets` sockets on one session: from the first to the last receipt of a frame, memory per idle socket.

    One user may hold 50 sockets, so they are spread over members.
    """
    async with halo.running():
        workspace = await halo.open_folder(halo.work / "fan-out")
        sender = Chat(halo, workspace)
        await sender.open()
        await sender.turn(WARM)
        await asyncio.sleep(1)
        cookies = await more_logins(halo, workspace, -(-sockets // 45))
        before = usage(halo.pid)["rss_mb"]
        arrivals: list[list[float]] = []
        ready = 0

        def on_text(at: float, frame: bytes) -> None:
            nonlocal ready
            kind = kind_of(frame)
            if kind == "state:snapshot" and b'"sessionId"' in frame:
                ready += 1
            elif kind == "chat:stream" and arrivals:
                arrivals[-1].append(at)

        url = halo.base.replace("http", "ws", 1) + "/ws"
        clients: list[WSClient] = []
        begun = now()
        for at in range(0, sockets, 20):
            group = [
                WSClient.connect(url, {"Cookie": cookies[(at + k) % len(cookies)]}, on_text)
                for k in range(min(20, sockets - at))
            ]
            fresh = await asyncio.gather(*group)
            for client in fresh:
                client.send(sender.subscribe())
            clients += fresh
        while ready < sockets and now() - begun < 60:
            await asyncio.sleep(0.005)
        subscribed = now() - begun
        await asyncio.sleep(2)
        after = usage(halo.pid)["rss_mb"]
        spread, last = [], []
        for _ in range(turns):
            arrivals.append([])
            sent = sender.post("hello [[fake tokens=1]]")
            limit = now() + 20
            while len(arrivals[-1]) < sockets and now() < limit:
                await asyncio.sleep(0.001)
            got = arrivals[-1]
            if len(got) == sockets:
                spread.append((max(got) - min(got)) * 1000)
                last.append((max(got) - sent) * 1000)
            await asyncio.sleep(0.5)
        for client in clients:
            client.close()
        sender.close()
    return {
        "sockets": ready,
        "complete_frames": len(spread),
        "first_to_last_ms": summary(spread),
        "send_to_last_ms": summary(last),
        "subscribed_per_s": round(ready / subscribed, 1),
        "kb_per_idle_socket": round((after - before) * 1024 / sockets, 1),
    }


async def more_logins(halo: Halo, workspace: str, count: int) -> list[str]:
    """Cookies of `count` members of the workspace: one user may hold 50 sockets only."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.members",
        workspace,
        str(count),
        cwd=ROOT,
        env=dict(halo.environ()),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("could not make members")
    cookies: list[str] = json.loads(out)
    return cookies


async def get_times(halo: Halo, path: str, times: int = 30) -> dict[str, Any]:
    raw = raw_get(halo.base, path, halo.headers)
    conn = await HTTPConn.open(halo.base)
    values = []
    for _ in range(times):
        begun = now()
        await conn.request(raw)
        values.append((now() - begun) * 1000)
        if conn.status != 200:
            raise RuntimeError(f"{path}: {conn.status}")
    conn.transport.close()
    return summary(values)


SIZES = (10, 10_000, 50_000)  # entries
TURNS_IN = SIZES[:2]  # the longest is only opened
TURN_ROUNDS = 100


async def history(halo: Halo, *, sizes: tuple[int, ...] = SIZES, sessions: int = 10_000) -> dict[str, Any]:
    """A turn, opening and listing, in short and long sessions and in a workspace of many."""
    folder = halo.work / "history"
    async with halo.running():
        workspace = await halo.open_folder(folder)
    sids = halo.seed(folder, sessions, list(sizes))
    out: dict[str, Any] = {"turn_ms": {}, "open_socket_ms": {}, "open_route_ms": {}}
    async with halo.running():
        out["list_first_page_ms"] = await get_times(halo, halo.list_path(workspace))
        conn = await HTTPConn.open(halo.base)
        health = raw_get(halo.base, "/api/health", {})
        idle = []
        for _ in range(30):
            begun = now()
            await conn.request(health)
            idle.append((now() - begun) * 1000)
        conn.transport.close()
        out["health_ms"] = summary(idle)
        for size, sid in zip(sizes, sids, strict=True):
            out["open_route_ms"][str(size)] = await get_times(halo, halo.open_path(workspace, sid))
            opened = []
            for _ in range(30):
                chat = Chat(halo, workspace, sid)
                opened.append(await chat.open() * 1000)
                chat.close()
            out["open_socket_ms"][str(size)] = summary(opened)
        # Alternating, and each as often the first as the second, so that a busy machine and what the turn
        # before left to do hit both alike.
        chats = []
        for size, sid in zip(sizes, sids, strict=True):
            if size in TURNS_IN:
                chat = Chat(halo, workspace, sid)
                await chat.open()
                await chat.turn(WARM)
                chats.append(chat)
        took: list[list[float]] = [[] for _ in chats]
        for round_ in range(TURN_ROUNDS):
            for at, chat in sorted(enumerate(chats), reverse=bool(round_ % 2)):
                turn = await chat.turn(QUICK)
                if turn.first is not None and not turn.error:
                    took[at].append(turn.first)
        for chat in chats:
            chat.close()
        for size, values in zip(TURNS_IN, took, strict=True):
            out["turn_ms"][str(size)] = summary(values)
    short, long = (statistics.median(values) if values else 0.0 for values in (took[0], took[-1]))
    out["turn_ratio"] = round(long / short, 2) if short else None
    return out
