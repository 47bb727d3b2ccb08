"""Many roots with sub-agents at once, on one process (bench/trees.py has a hundred)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions_app.engine import kept_trees
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, Turn
from tests.fakes.model_server import FakeModelServer

from ..conftest import Say
from ..engine.conftest import Viewer
from .test_delegation import InDb, team

__all__ = ["team"]

ROOTS = 12
DELEGATE = '[[fake tool=start_session calls=3 at_once=1 args={"agent_id":"slow","message":"dig"}]]'


async def test_many_trees_end_with_every_report_read_and_no_session_stuck(
    team: Path,
    vendor: FakeModelServer,
    viewer: Viewer,
    say: Say,
    in_db: InDb,
    engine: Engine,
):
    roots = [(await in_db(say, f"{number} {DELEGATE}", sid=f"root{number}")).session_key for number in range(ROOTS)]
    await until_quiet(in_db, roots)
    statuses = await in_db(lambda: set(Turn.objects.values_list("status", flat=True)))
    assert statuses == {"done"}
    for root in roots:
        children = await in_db(lambda root=root: list(Session.objects.filter(parent=root)))
        assert len(children) == 3
        assert all(child.stopped_at and not child.report_due for child in children)
        reports = await in_db(
            lambda root=root: list(
                Entry.objects.filter(session=root, kind="agent").values_list("source_session", "turn")
            )
        )
        assert {source for source, _ in reports} == {child.pk for child in children}
        assert len(reports) == 3
        assert all(turn for _, turn in reports)
    assert engine.runs == {}


async def until_quiet(in_db: Callable[..., Any], roots: list[int], seconds: float = 90.0) -> None:
    async with asyncio.timeout(seconds):
        for root in roots:
            while not await in_db(kept_trees.is_quiet, root):
                await asyncio.sleep(0.05)
