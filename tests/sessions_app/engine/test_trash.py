"""The engine's clock empties the trash of workspaces."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from sessions_app.engine import engine as module
from workspaces_app.files import trash
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace


async def test_what_was_deleted_a_week_ago_goes_while_the_server_runs(
    viewer: Any, workspace: Workspace, monkeypatch: Any, request: Any, tmp_path_factory: Any
):
    root = tmp_path_factory.mktemp("old")
    Jail(root, confined=True).create("a.txt")
    number = trash.discard(Jail(root, confined=True), "a.txt")
    bin = root / ".halo" / "trash"
    os.rename(bin / str(number), bin / str(number - trash.LIFE - 1))
    gone, seen = asyncio.Event(), []
    loop, real = asyncio.get_running_loop(), trash.age_out

    def watched(folder: Any) -> int:
        seen.append((folder, real(folder)))
        loop.call_soon_threadsafe(gone.set)
        return 0

    monkeypatch.setattr(module, "TRASH_AFTER", 0.0)
    monkeypatch.setattr(module.trash, "age_out", watched)
    engine = module.Engine("test")
    unit: Callable[..., Any] = engine.threads.run
    await unit(lambda: Workspace.objects.update(path=str(root)))
    task = asyncio.create_task(engine.run())
    try:
        async with asyncio.timeout(60):
            await gone.wait()
    finally:
        await engine.shutdown()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert seen == [(root, 1)]
