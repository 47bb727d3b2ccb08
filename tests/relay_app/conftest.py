"""Two workspaces with an agent that may relay, a strict model server, and a running engine."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents_app.providers import http
from agents_app.tools.contract import ToolContext
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access
from relay_app.models import ReplyTo
from relay_app.tools import TOOLS
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, Turn
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Membership, Workspace

from ..sessions_app.conftest import Say, agent_folder, owner, say, workspace
from ..sessions_app.engine.conftest import Viewer, engine, in_db, viewer
from ..sessions_app.engine.test_engine import quick_retries, vendor

__all__ = ["agent_folder", "engine", "in_db", "owner", "quick_retries", "say", "vendor", "viewer", "workspace"]

BY_NAME = {tool.name: tool for tool in TOOLS}


def write_agent(folder: Path, vendor: FakeModelServer, model: str = "fake", more: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.yaml").write_text(
        f"name: {folder.name.title()}\n"
        f"model: {{provider: openai, id: '{model}', endpoint: '{vendor.chat}'}}\n"
        f"tools: [shell_exec, relay_send]\n{more}"
    )


def folder_of(path: Path, user: User, level: Access = Access.FULL) -> Workspace:
    (path / ".halo").mkdir(parents=True)
    row = Workspace.objects.create(path=str(path.resolve()), name=path.name)
    Membership.objects.create(workspace=row, user=user, level=level.value)
    return row


@pytest.fixture
def home(workspace: Workspace) -> Workspace:
    """Where the caller lives."""
    Path(workspace.path, ".halo").mkdir(exist_ok=True)
    return workspace


@pytest.fixture
def dept(home: Workspace, owner: User, tmp_path: Path) -> Workspace:
    return folder_of(tmp_path / "dept", owner)


class Office:
    """What tests do and look at."""

    def __init__(self, vendor: FakeModelServer, viewer: Viewer, in_db: Callable[..., Any], say: Say) -> None:
        self.vendor, self.viewer, self.in_db, self.say = vendor, viewer, in_db, say

    async def session(self, workspace: Workspace, sid: str = "sid_caller", user: User | None = None) -> Session:
        """An idle root session that has answered once."""
        more: dict[str, Any] = {"workspace": workspace} | ({"user_id": user.pk} if user else {})
        await self.in_db(self.say, "hello [[fake text=Hi]]", sid=sid, **more)
        return await self.quiet(workspace, sid)

    async def quiet(self, workspace: Workspace, sid: str) -> Session:
        """Wait until the session is idle with an empty queue."""

        def look() -> Session | None:
            found = Session.objects.filter(workspace=workspace, sid=sid, lease_owner=None).first()
            waits = Entry.objects.filter(session=found, turn=None, deleted=None, kind__in=["user", "agent"]).exists()
            return None if found is None or waits else found

        return await self.fact(look)

    async def fact(self, look: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait until a function of the database gives something."""
        async with asyncio.timeout(seconds):
            while not (found := await self.in_db(look)):
                self.viewer.changed.clear()
                try:
                    await asyncio.wait_for(self.viewer.changed.wait(), 0.05)
                except TimeoutError:
                    continue
        return found

    async def call(self, name: str, caller: Session, level: Access = Access.FULL, **arguments: Any) -> dict[str, Any]:
        path = await self.in_db(lambda: Workspace.objects.get(pk=caller.workspace_id).path)
        ctx = ToolContext(
            workspace=Path(path),
            session_id=caller.sid,
            session_key=caller.pk,
            agent_id="default",
            level=level,
            abort=asyncio.Event(),
        )
        answer: dict[str, Any] = json.loads((await run_tool(BY_NAME[name], arguments, ctx)).text)
        return answer

    async def reports(self, caller: Session) -> list[str]:
        rows = Entry.objects.filter(session=caller, origin__kind="report").order_by("pk")
        return await self.in_db(lambda: list(rows.values_list("text", flat=True)))  # type: ignore[no-any-return]

    async def finals(self, caller: Session, count: int = 1) -> list[str]:
        """Wait for so many final reports."""

        def look() -> list[str] | None:
            rows = Entry.objects.filter(session=caller, origin__relay__part="final").order_by("pk")
            texts = list(rows.values_list("text", flat=True))
            return texts if len(texts) >= count else None

        found: list[str] = await self.fact(look)
        assert len(found) == count
        return found

    async def open_rows(self) -> int:
        return await self.in_db(ReplyTo.objects.open().count)  # type: ignore[no-any-return]

    async def at_work(self, workspace: Workspace, sid: str) -> Session:
        """Wait until the model was asked for this session."""
        running = Turn.objects.filter(session__workspace=workspace, session__sid=sid, status="running")
        turn = await self.fact(running.filter(model_calls__isnull=False).select_related("session").first)
        session: Session = turn.session
        return session


@pytest.fixture
def office(
    vendor: FakeModelServer, viewer: Viewer, in_db: Callable[..., Any], say: Say, agent_folder: Path, engine: Engine
) -> Office:
    write_agent(agent_folder, vendor)
    return Office(vendor, viewer, in_db, say)


@pytest.fixture
async def desk(home: Workspace) -> AsyncIterator[FakeModelServer]:
    """A model server of the callers' own, so that what reports make them say takes no reply from the targets."""
    async with FakeModelServer() as server:
        await asyncio.to_thread(write_agent, Path(home.path, ".halo", "agents", "default"), server, "fake:text=Noted")
        yield server
        await http.close_client()
