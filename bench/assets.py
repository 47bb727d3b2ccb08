"""How many files of extensions one process answers in a second, over keep-alive connections."""

import asyncio
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.extensions_app.zips import MANIFEST, good, zipped

from .clients import HTTPConn, now, raw_get
from .numbers import summary, usage
from .target import Halo

WIDTH = 8
SIZE = 8_192  # bytes of the file


async def assets(halo: Halo, *, seconds: float = 5.0) -> dict[str, Any]:
    async with halo.running():
        address = await install(halo)
        raw = raw_get(halo.base, address, {})
        times: list[float] = []

        async def work(until: float) -> None:
            conn = await HTTPConn.open(halo.base)
            while now() < until:
                begun = now()
                await conn.request(raw)
                if conn.status != 200 or len(conn.body) != SIZE:
                    raise RuntimeError(f"{address}: {conn.status}, {len(conn.body)} bytes")
                times.append((now() - begun) * 1000)
            conn.transport.close()

        await work(now() + 0.2)
        times.clear()
        before, begun = usage(halo.pid)["cpu_s"], now()
        await asyncio.gather(*(work(begun + seconds) for _ in range(WIDTH)))
        took, spent = now() - begun, usage(halo.pid)["cpu_s"] - before
    return {
        "requests_per_s": round(len(times) / took),
        "requests_per_cpu_s": round(len(times) / spent),
        "answer_ms": summary(times),
    }


async def install(halo: Halo) -> str:
    """The path of a file of an extension, with a token."""
    headers = halo.headers | {"Origin": halo.base}
    async with httpx.AsyncClient(base_url=halo.base, headers=headers, timeout=60, trust_env=False) as http:
        archive = zipped(good() | {"js/large.js": b"x" * SIZE}).read()
        answer = await http.post("/api/extensions/install", files={"file": ("viewer.zip", archive, "application/zip")})
        answer.raise_for_status()
        name, version = MANIFEST["id"], MANIFEST["version"]
        answer = await http.get("/api/extensions/token?" + urlencode({"id": name, "version": version}))
        answer.raise_for_status()
        return f"/api/extensions/{name}/{version}/{answer.json()['token']}/js/large.js"
