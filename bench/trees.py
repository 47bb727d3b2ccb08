"""Hundred roots with three sub-agents each on one process, and what a run's end costs after its last model call.

`python -m bench.trees` runs an engine in this process, below HALO_HOME, and prints JSON.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from .alone import begin
from .numbers import summary

DELEGATE = '[[fake tool=start_session calls=3 at_once=1 args={"agent_id":"helper","message":"dig"}]]'
AGENT = "name: {name}\nmodel: {{provider: openai, id: '{model}', endpoint: '{endpoint}'}}\ntools: []\nteam: [{team}]\n"
GIVE_UP = 300.0


def prepare(home: Path, endpoint: str) -> tuple[Any, int]:
    """The workspace and its owner, and the two agents."""
    from django.contrib.auth.models import User

    from halo_site.lib.migrating import ensure_schema
    from workspaces_app.models import Membership, Workspace

    ensure_schema()
    for name, model, team in (("default", "fake", "helper"), ("helper", "fake:text=Done,ttft=500", "")):
        folder = home / "global" / "agents" / name
        folder.mkdir(parents=True)
        (folder / "agent.yaml").write_text(AGENT.format(name=name, model=model, endpoint=endpoint, team=team))
    (home / "work").mkdir()
    owner = User.objects.create_superuser("owner")
    workspace = Workspace.objects.create(path=str(home / "work"), name="work")
    Membership.objects.create(workspace=workspace, user=owner, level="full")
    return workspace, owner.pk


class Clock:
    """Times of one coroutine of the engine, in ms."""

    def __init__(self, act: Any) -> None:
        self.act, self.times = act, []  # type: ignore[var-annotated]

    async def __call__(self, *args: Any) -> Any:
        begun = time.perf_counter()
        try:
            return await self.act(*args)
        finally:
            self.times.append((time.perf_counter() - begun) * 1000)


async def main(home: Path, roots: int, alone: int) -> dict[str, Any]:
    from halo_site.lib.access_level import Access
    from sessions_app import actions, run_end
    from sessions_app.engine import kept_trees
    from sessions_app.engine import run as runs
    from sessions_app.engine.engine import Engine
    from sessions_app.models import Session, Turn
    from tests.fakes.model_server import FakeModelServer

    async with FakeModelServer() as models:
        engine = Engine("bench")
        call = engine.threads.run
        workspace, owner = await call(prepare, home, models.chat)
        write, finish = Clock(runs._write_end), Clock(run_end.finish)
        runs._write_end, run_end.finish = write, finish  # type: ignore[assignment]

        async def say(sid: str, text: str) -> int:
            accepted = await call(
                lambda: actions.accept(workspace=workspace, sid=sid, text=text, user_id=owner, level=Access.FULL)
            )
            return accepted.session_key

        async def quiet(key: int) -> None:
            async with asyncio.timeout(GIVE_UP):
                while not await call(kept_trees.is_quiet, key):
                    await asyncio.sleep(0.02)

        work = asyncio.create_task(engine.run())
        for number in range(alone):  # one after the other: what an end costs by itself
            await quiet(await say(f"alone{number}", "hello [[fake tokens=1]]"))
        await engine.finished()
        ends = [sum(pair) for pair in zip(write.times, finish.times, strict=True)]
        out = {"run_end_ms": summary(ends), "transaction_ms": summary(write.times), "steps_ms": summary(finish.times)}
        write.times.clear()
        finish.times.clear()
        begun = time.perf_counter()
        keys = [await say(f"root{number}", f"{number} {DELEGATE}") for number in range(roots)]
        for key in keys:
            await quiet(key)
        await engine.finished()
        took = time.perf_counter() - begun
        turns = await call(lambda: list(Turn.objects.values_list("status", flat=True)))
        stuck = await call(lambda: sum(not kept_trees.is_quiet(key) for key in keys))
        children = await call(lambda: Session.objects.exclude(parent=None).count())
        bad = sum(status != "done" for status in turns)
        out |= {"roots": roots, "children": children, "seconds": round(took, 1), "turns": len(turns) - alone}
        out |= {"not_done": bad, "stuck": stuck, "turn_end_ms": summary(write.times)}
        await engine.shutdown()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--roots", type=int, default=100)
    parser.add_argument("--alone", type=int, default=50, help="runs one after the other")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(main(begin(), given.roots, given.alone))))
