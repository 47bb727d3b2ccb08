"""How soon the first page of a large csv is there; each look is a child process of its own."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .measure import get_times
from .target import Halo

LINE = b"17,Ada Lovelace,2026-03-04T12:00:00Z,1234.50,a cell of some length\n"
MB = 1_000_000


def plant(file: Path, size: int) -> None:
    block = LINE * (MB // len(LINE))
    with file.open("wb") as out:
        out.write(b"id,name,at,amount,note\n")
        for _ in range(size * MB // len(block)):
            out.write(block)


async def tables(halo: Halo, *, size: int = 1000, rounds: int = 10) -> dict[str, Any]:
    """size: MB of the file."""
    root = halo.work / "tables"
    root.mkdir(exist_ok=True)
    await asyncio.to_thread(plant, root / "large.csv", size)
    try:
        async with halo.running():
            key = await halo.open_folder(root)
            asked = urlencode({"projectId": key, "path": "large.csv"})
            times = await get_times(halo, f"/api/data-preview/csv?{asked}", rounds)
    finally:
        (root / "large.csv").unlink()
    return {"mb": size, "first_page_ms": times}
