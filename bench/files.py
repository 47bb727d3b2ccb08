"""What files cost: a level of 5,000 entries, a search, an upload and a download of `size` MiB.

The memory of a large transfer is the highest of the server meanwhile, above the one before.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from .clients import now
from .measure import get_times
from .target import Halo

MIB = 1024 * 1024
FOLDERS, FILES, ROUNDS = 1000, 4000, 30
HEAD = b'--b\r\nContent-Disposition: form-data; name="files"; filename="large.bin"\r\n\r\n'
TAIL = b"\r\n--b--\r\n"


def plant(level: Path) -> None:
    for number in range(FOLDERS):
        (level / f"folder {number}" / "inner").mkdir(parents=True)
    for number in range(FILES):
        (level / f"file {number}.txt").touch()


async def files(halo: Halo, *, size: int = 1024) -> dict[str, Any]:
    root = halo.work / "files"
    shutil.rmtree(root, ignore_errors=True)
    await asyncio.to_thread(plant, root / "level")
    async with halo.running():
        key = await halo.open_folder(root)
        level = urlencode({"projectId": key, "path": "level"})
        search = urlencode({"projectId": key, "q": "file 39", "limit": 15})
        out: dict[str, Any] = {
            "level_ms": await get_times(halo, f"/api/files/tree?{level}", ROUNDS),
            "search_ms": await get_times(halo, f"/api/files/search?{search}", ROUNDS),
            "mib": size,
        }
        headers = halo.headers | {"Origin": halo.base}
        async with httpx.AsyncClient(base_url=halo.base, headers=headers, timeout=600, trust_env=False) as http:
            for mib in (1, size):  # after the small ones the code is loaded, and they had what they take
                before, begun = forget_peak(halo.pid), now()
                path = await upload(http, key, mib)
                out["upload"] = cost(halo, mib, before, now() - begun)
                before, begun = forget_peak(halo.pid), now()
                await download(http, key, path, mib)
                out["download"] = cost(halo, mib, before, now() - begun)
    shutil.rmtree(root)
    return out


def cost(halo: Halo, mib: int, before: float, took: float) -> dict[str, float]:
    return {"mib_per_s": round(mib / took, 1), "memory_mb": round(peak(halo.pid) - before, 1)}


def peak(pid: int) -> float:
    """Highest resident memory since `forget_peak`, MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


def forget_peak(pid: int) -> float:
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


async def multipart(size: int) -> AsyncIterator[bytes]:
    yield HEAD
    block = bytes(MIB)
    for _ in range(size):
        yield block
    yield TAIL


async def upload(http: httpx.AsyncClient, key: str, size: int) -> str:
    """Its path in the workspace."""
    length = len(HEAD) + size * MIB + len(TAIL)
    answer = await http.post(
        "/api/files/upload",
        params={"projectId": key},
        content=multipart(size),
        headers={"content-type": "multipart/form-data; boundary=b", "content-length": str(length)},
    )
    answer.raise_for_status()
    stored = answer.json()["uploaded"][0]
    assert stored["size"] == size * MIB, stored
    return str(stored["path"])


async def download(http: httpx.AsyncClient, key: str, path: str, size: int) -> None:
    received = 0
    asked = {"projectId": key, "path": path}
    async with http.stream("GET", "/api/files/download", params=asked) as answer:
        async for data in answer.aiter_raw():
            received += len(data)
    assert received == size * MIB, received
