"""A secretary relays to two departments, each delegates to two sub-agents; one is interrupted by a follow-up, and the
server is killed while the other works. Each task ends in exactly one report (spec sessions, relay; I5)."""

import asyncio
import json
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer

from .world import World, client_tick

pytestmark = [
    pytest.mark.crash,
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="kills one server on SQLite"),
]

REPEAT = range(int(os.environ.get("HALO_CRASH_REPEAT", "3")))
SLOW = "tokens=400 delay=15"


class Department:
    """A workspace with a lead and a worker; the models of both are fakes of their own."""

    def __init__(self, name: str, folder: Path, lead: FakeModelServer, worker: FakeModelServer) -> None:
        self.path = folder / name
        self.lead, self.worker, self.sid = lead, worker, f"sid_{name}"
        self._write("lead", lead, "fake:text=Noted", "team: [worker]\ntools: [file_read]\n")
        self._write("worker", worker, "fake", "tools: [file_read]\n")

    def _write(self, agent: str, models: FakeModelServer, name: str, more: str) -> None:
        place = self.path / ".halo" / "agents" / agent
        place.mkdir(parents=True)
        model = f"model: {{provider: openai, id: '{name}', endpoint: '{models.chat}'}}\n"
        (place / "agent.yaml").write_text(f"name: {agent}\n{model}{more}")

    def delegates(self, directive: str = "tokens=3") -> None:
        """What the lead does with its next task: two workers, each told how to answer."""
        self.lead.will(
            tool_calls=[
                call("start_session", agent_id="worker", message=f"part {part} [[fake {directive}]]") for part in "ab"
            ]
        )
        self.lead.will(text="Two are at it.")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


async def until(world: World, fact: str) -> None:
    """Wait until a question to the database is answered with something else than 0."""
    deadline = time.monotonic() + 60
    while not (await asyncio.to_thread(world.query, fact))[0]["n"]:
        assert world.client
        assert time.monotonic() < deadline, world.story(world.evidence())
        await client_tick(world.client)


def at_work(sid: str) -> str:
    """Children of a session whose reply has begun."""
    return (
        "SELECT count(*) = 2 AS n FROM sessions_app_session c JOIN sessions_app_session p ON c.parent_id = p.id"
        f" WHERE p.sid = '{sid}' AND c.lease_owner IS NOT NULL AND EXISTS (SELECT 1 FROM sessions_app_modelcall m"
        " JOIN sessions_app_turn t ON m.turn_id = t.id WHERE t.session_id = c.id)"
    )


@pytest.mark.parametrize("_repeat", REPEAT)
async def test_every_department_reports_once_after_an_interrupt_and_a_kill(_repeat: int, tmp_path: Path) -> None:
    async with World(tmp_path) as world, AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(FakeModelServer()) for _ in range(4)]
        tax, law = Department("tax", tmp_path, *servers[:2]), Department("law", tmp_path, *servers[2:])
        agent = world.home / "global" / "agents" / "default" / "agent.yaml"
        agent.write_text(
            agent.read_text()
            .replace("  - shell_exec\n", "  - shell_exec\n  - relay_send\n  - relay_interrupt\n")
            .replace("id: fake", "id: 'fake:text=Noted'")
        )
        await world.start(after_start=True)
        await world.open(tax.path, law.path)

        tax.delegates(SLOW)
        law.delegates(SLOW)
        world.models.will(
            tool_calls=[
                call(
                    "relay_send",
                    workspace=str(place.path),
                    session_id=place.sid,
                    agent_id="lead",
                    message="Look into it.",
                )
                for place in (tax, law)
            ]
        )
        world.models.will(text="Both departments have it.")
        world.say("Ask tax and law")
        await until(world, at_work(tax.sid))
        await until(world, at_work(law.sid))

        tax.lead.will(text="Heard; the rest comes with the report.")
        world.models.will(
            tool_calls=[
                call("relay_interrupt", workspace=str(tax.path), session_id=tax.sid, message="Only this year, please.")
            ]
        )
        world.models.will(text="Told them.")
        world.say("Only this year for tax")
        await until(world, f"SELECT count(*) AS n FROM relay_app_replyto WHERE sends = 2 AND target_sid = '{tax.sid}'")
        await until(world, at_work(law.sid))
        await world.kill()
        await world.start()
        await world.settled()

        world.judge()
        finals = [
            entry
            for entry in world.rows("entry")
            if ((entry["origin"] or {}).get("relay") or {}).get("part") == "final"
        ]
        dispatches = world.query("SELECT id, target_sid, outcome, sends FROM relay_app_replyto ORDER BY id")
        assert {row["target_sid"]: row["sends"] for row in dispatches} == {tax.sid: 2, law.sid: 1}
        assert all(row["outcome"] for row in dispatches)
        assert sorted(entry["origin"]["relay"]["dispatch"] for entry in finals) == [row["id"] for row in dispatches]
        unread = [entry for entry in finals if entry["turn_id"] is None]
        assert not unread, json.dumps(unread, default=str)
