"""The git status of a repository of 26,000 files, a hundred of them changed."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .measure import get_times
from .target import Halo
from .watching import plant

CHANGED = 100
WHO = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")


def commit(root: Path) -> None:
    if not root.exists():
        plant(root)
    for words in (("init", "-q"), ("add", "-A"), (*WHO, "commit", "-qm", "all")):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    for number in range(CHANGED):
        (root / f"a{number % 26}" / f"b{number // 26 % 10}" / f"c{number}" / "f0.txt").write_text("changed")


async def repository(halo: Halo, *, rounds: int = 15) -> dict[str, Any]:
    root = halo.work / "watched"  # the folder of `watching`
    if not (root / ".git").exists():
        await asyncio.to_thread(commit, root)
    async with halo.running():
        key = await halo.open_folder(root)
        times = await get_times(halo, "/api/git/status?" + urlencode({"projectId": key}), rounds)
    return {"status_ms": times}
