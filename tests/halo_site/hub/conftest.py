"""A real daphne server on loopback in this process: real sockets, and the hub within reach of the tests."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from halo_site import transport
from halo_site.lib.access_level import Access
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session, Turn
from tests.socket_client import SocketClient, WebSocket
from workspaces_app.models import Membership, Workspace


class HubServer:
    """Started once per test process: Twisted's reactor cannot be started twice."""

    def __init__(self) -> None:
        from daphne.server import Server, twisted_loop

        from halo_site.asgi import application
        from halo_site.hub.service import the_hub

        self.loop = twisted_loop
        self.hub = the_hub()
        self._ready = threading.Event()
        self._server = Server(
            application=application,
            endpoints=["tcp:port=0:interface=127.0.0.1"],
            signal_handlers=False,
            ready_callable=lambda: self.loop.call_soon(self._ready.set),
            websocket_max_message_size=1 << 20,
            websocket_max_frame_size=1 << 20,
            verbosity=0,
        )
        threading.Thread(target=self._server.run, name="daphne", daemon=True).start()
        assert self._ready.wait(60)

    @property
    def base(self) -> str:
        host, port = self._server.listening_addresses[0]
        return f"http://{host}:{port}"

    def close(self) -> None:
        from halo_site.asgi import http_threads

        http_threads.close()

    def call(self, act: Callable[..., Any], *args: Any) -> Any:
        """Run a plain function on the server's loop."""

        async def run() -> Any:
            return act(*args)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

    def run(self, work: Any) -> Any:
        """Run a coroutine on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


@pytest.fixture(scope="session")
def hub_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[HubServer]:
    django_db_blocker.unblock()  # the server's own threads work between tests, too
    server = HubServer()
    yield server
    server.run(transport.close())
    server.close()


@dataclass
class World:
    """A server, a workspace and one person who may do everything in it."""

    server: HubServer
    workspace: Workspace
    user: User
    cookie: str
    numbers: Any

    @property
    def path(self) -> str:
        return self.workspace.path

    def tab(self, cookie: str | None = None, **options: Any) -> SocketClient:
        options = {"backoff": (0.05, 0.4)} | options
        return SocketClient(self.server.base, self.cookie if cookie is None else cookie, **options)

    async def socket(self, cookie: str | None = None, *, limit: int = 1 << 20, **headers: str) -> WebSocket:
        """A bare connection, past the first snapshot. limit: bytes it reads ahead of the test."""
        socket = await self.upgrade(cookie, limit=limit, **headers)
        assert (await socket.receive_json())["type"] == "state:snapshot"
        return socket

    async def upgrade(self, cookie: str | None = None, *, limit: int = 1 << 20, **headers: str) -> WebSocket:
        cookie = self.cookie if cookie is None else cookie
        found = {"Origin": self.server.base} | ({"Cookie": cookie} if cookie else {}) | headers
        url = self.server.base.replace("http", "ws") + "/ws"
        return await WebSocket.connect(url, {name: value for name, value in found.items() if value}, limit=limit)

    def person(self, name: str, level: Access | None = None, **fields: Any) -> tuple[User, str]:
        """A user, member of the workspace if `level` is given, and the login cookie."""
        user = User.objects.create_user(name, password="a good password", **fields)
        if level is not None:
            Membership.objects.create(workspace=self.workspace, user=user, level=level.value)
        return user, login_cookie(user)

    def session(self, sid: str | None = None, *, workspace: Workspace | None = None, **fields: Any) -> Session:
        now = timezone.now()
        values = {"agent_id": "default", "agent_name": "Default", "created_at": now, "updated_at": now} | fields
        return Session.objects.create(
            workspace=workspace or self.workspace, sid=sid or f"sid_{next(self.numbers)}", **values
        )

    def turn(self, session: Session, status: str = "done", **fields: Any) -> Turn:
        index = Turn.objects.filter(session=session).count()
        return Turn.objects.create(session=session, index=index, status=status, started_at=timezone.now(), **fields)

    def entry(self, session: Session, kind: str, text: str = "", *, turn: Turn | None = None, **fields: Any) -> Entry:
        values = {"blocks": [], "meta": {}} | fields
        if kind == "assistant" and not values["blocks"]:
            values["blocks"] = [{"type": "text", "text": text}]
        return Entry.objects.create(
            session=session, kind=kind, text=text, turn=turn, created_at=timezone.now(), **values
        )


def login_cookie(user: User) -> str:
    from halo_site.auth import COOKIE, new_login, token_of

    return f"{COOKIE}={token_of(new_login(user))}"


@pytest.fixture
def world(hub_server: HubServer, transactional_db: None, tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "work"
    (folder / ".halo").mkdir(parents=True)
    workspace = Workspace.objects.create(path=str(folder.resolve()), name="work")
    user = User.objects.create_superuser("owner", password="a good password")
    yield World(hub_server, workspace, user, login_cookie(user), itertools.count(1))
    hub_server.call(close_sockets, hub_server)


@pytest.fixture
def agent_folder() -> None:
    """The default agent, answered by the demo provider."""
    folder = Path(settings.HALO.global_dir, "agents", "default")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.yaml").write_text(
        "name: Default\nmodel: {provider: demo, id: demo, endpoint: 'demo:'}\ntools: [file_read, file_list]\n"
    )


@pytest.fixture
def engine(world: World, agent_folder: None) -> Iterator[Engine]:
    """Runs on the server's loop, as under `manage.py serve`."""
    made = world.server.call(Engine, "test")
    task = asyncio.run_coroutine_threadsafe(made.run(), world.server.loop)
    yield made
    world.server.run(made.shutdown())
    task.cancel()


def close_sockets(server: HubServer) -> None:
    for connection in list(server.hub.connections):
        connection.close(1001, "The test is over")
    for user in server.hub.users():
        server.hub.terminals.end_user(user)
        server.hub.close_user(user)
