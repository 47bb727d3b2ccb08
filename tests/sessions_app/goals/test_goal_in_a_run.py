"""A round with a running engine: order, work, judgement, and the goal's next turn."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from sessions_app.engine.engine import Engine
from sessions_app.goals import actions as goals
from sessions_app.models import Entry, Session
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from ..conftest import Say
from ..engine.conftest import engine, in_db, viewer
from ..engine.test_engine import vendor
from .test_goals import goal_mode

__all__ = ["engine", "goal_mode", "in_db", "vendor", "viewer"]  # fixtures


@pytest.fixture
def agents(vendor: FakeModelServer, agent_folder: Path) -> None:
    for name, tools in (("default", "[file_list]"), ("goal", "[goal_context, file_list]")):
        folder = agent_folder.parent / name
        folder.mkdir(exist_ok=True)
        (folder / "agent.yaml").write_text(
            f"name: {name}\nmodel: {{provider: openai, id: fake, endpoint: '{vendor.chat}'}}\ntools: {tools}\n"
        )


async def test_a_round_goes_from_the_goal_to_the_worker_and_back(
    agents: None,
    engine: Engine,
    goal_mode: list[dict[str, Any]],
    vendor: FakeModelServer,
    say: Say,
    in_db: Any,
    workspace: Workspace,
    owner: User,
    settings: Any,
):
    async def until(fact: Any) -> None:
        async with asyncio.timeout(60):
            while not await in_db(fact):
                await asyncio.sleep(0.02)

    def settled(count: int) -> Any:
        return lambda: Session.objects.filter(lease_owner=None).count() == 2 and len(vendor.requests) == count

    key = (await in_db(say, "hello", sid="work")).session_key
    await until(lambda: Session.objects.filter(pk=key, lease_owner=None, turn_count=1).exists())
    goal = await in_db(
        lambda: goals.create(workspace, key, "ship", user_id=owner.pk, level=Access.FULL, home=Path(settings.HALO.home))
    )
    await until(settled(2))
    offered = {tool["function"]["name"] for tool in vendor.requests[1]["body"]["tools"]}
    assert {"goal_attach", "goal_finish", "query_session", "get_session_output"} <= offered
    assert "start_session" not in offered
    assert not any(name.startswith("goal") for name in offered_to_worker(vendor))
    spec = goals.folder_of(workspace.path, goal.sid) / goals.SPEC
    spec.write_text("All tests pass.")
    order = {"target_session_id": "work", "message": "do it"}
    vendor.will(tool_calls=[{"name": "goal_attach", "arguments": {"max_rounds": 4}}])
    vendor.will(tool_calls=[{"name": "query_session", "arguments": order}])
    await in_db(say, "agreed", sid=goal.sid)
    await until(lambda: Entry.objects.filter(session=goal, text__startswith="[Goal round 1/4").exists())
    await until(lambda: not Entry.objects.filter(session=goal, turn=None).exists())
    worker = await in_db(lambda: Entry.objects.get(session=key, kind="agent").text)
    assert worker == "[Goal work order · round 1/4]\ndo it"
    statuses = [frame["status"] for frame in goal_mode if frame["type"] == "goal:changed"]
    assert statuses == ["intake", "running", "running"]


def offered_to_worker(vendor: FakeModelServer) -> set[str]:
    return {tool["function"]["name"] for tool in vendor.requests[0]["body"]["tools"]}
