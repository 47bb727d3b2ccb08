"""How soon a folder is watched, and how soon a change is on the wire: 26,000 files, all of them kept."""

import asyncio
from pathlib import Path
from typing import Any

from .clients import WSClient, now
from .numbers import summary, usage
from .target import Halo, kind_of

FOLDERS, FILES = 2_600, 10  # 26,000 files
BETWEEN = 0.45  # seconds: each write is the first of a burst of its own


def plant(root: Path) -> None:
    for number in range(FOLDERS):
        folder = root / f"a{number % 26}" / f"b{number // 26 % 10}" / f"c{number}"
        folder.mkdir(parents=True, exist_ok=True)
        for file in range(FILES):
            (folder / f"f{file}.txt").write_text("x")


async def watch(halo: Halo, *, subscribes: int = 5, writes: int = 40) -> dict[str, Any]:
    """Each subscribe is the first one: the watcher of the one before ended with its socket."""
    root = halo.work / "watched"
    if not root.exists():
        await asyncio.to_thread(plant, root)
    async with halo.running():
        key = await halo.open_folder(root)
        before = usage(halo.pid)["rss_mb"]
        armed = []
        for number in range(subscribes):
            ws = await WSClient.connect(f"{halo.base.replace('http', 'ws', 1)}/ws", halo.headers)
            begun = ws.send({"type": "subscribe", "projectId": key})
            armed.append((await _answer(ws) - begun) * 1000)
            if number < subscribes - 1:
                ws.transport.close()
                await asyncio.sleep(0.3)
        idle = usage(halo.pid)
        await asyncio.sleep(5)
        cpu = (usage(halo.pid)["cpu_s"] - idle["cpu_s"]) / 5
        latency = []
        for number in range(writes):
            file = root / f"a{number % 26}" / "b0" / f"c{number % 26}" / "f0.txt"
            await asyncio.sleep(BETWEEN)
            begun = now()
            file.write_text(str(number))
            while True:
                at, frame = await ws.next(20)
                if kind_of(frame) == "file:changed":
                    break
            latency.append((at - begun) * 1000)
        ws.transport.close()
    return {
        "subscribe_ms": summary(armed),
        "write_to_frame_ms": summary(latency),
        "rss_mb": round(idle["rss_mb"] - before, 1),
        "idle_cpu_percent": round(cpu * 100, 2),
    }


async def _answer(ws: WSClient) -> float:
    while True:
        at, frame = await ws.next(60)
        if kind_of(frame) == "files:watching":
            return at
