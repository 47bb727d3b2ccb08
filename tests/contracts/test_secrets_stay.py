"""One canary: planted as the keys of two providers, looked for in everything that a server says, stores and sends.

Spec settings, invariant 8. Masked it may be shown; as it is, or as base64 of it, it is in the settings files and in the
header of a model call.
"""

import asyncio
import base64
import io
import json
import os
import re
import sqlite3
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.crash.world import log_in, open_folder
from tests.fakes.model_server import FakeModelServer
from tests.server import PASSWORD, Process, RunningServer, environment, prepared_home
from tests.socket_client import SocketClient

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="reads every table of SQLite"),
]

# Of no vendor's shape: the log would mask one that it knows (`sk-...`), whoever wrote it there.
GLOBAL, WORKSPACE = "canary-of-the-server-0123456789", "canary-of-the-folder-9876543210"
MATRIX = yaml.safe_load((Path(__file__).parents[1] / "access_matrix.yaml").read_text())
SID = "sid_canary"
ASKED = "{{openai.secrets.api_key}} {{anthropic.secrets.api_key}} {{local.secrets.api_key}} <<OPENAI_API_KEY>>"
AGENT = """name: Local
model:
  provider: openai
  id: fake
  endpoint: '{chat}'
  fallback: [{{provider: anthropic, id: claude-sonnet-4-6, endpoint: '{messages}'}}]
tools: [shell_exec]
skills: [local]
"""
SKILL = f"---\nname: local\ndescription: A skill that asks for keys\n---\nUse {ASKED}.\n"


def forms(secret: str) -> Iterator[bytes]:
    """The bytes that give a secret away: it, and what its base64 has in common wherever it stands in a longer text."""
    raw = secret.encode()
    yield raw
    for offset in range(3):
        first, last = -(-offset * 4 // 3), (offset + len(raw)) // 3 * 4
        yield base64.b64encode(b"\0" * offset + raw)[first:last]


FORMS = [form for secret in (GLOBAL, WORKSPACE) for form in forms(secret)]


@dataclass
class Search:
    """Every text that was looked at, by where it came from, and where a secret was."""

    seen: dict[str, str] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)

    def look(self, place: str, data: bytes) -> None:
        self.seen[place] = self.seen.get(place, "") + data.decode(errors="replace")
        if any(form in data for form in FORMS):
            self.leaks.append(place)

    def saw(self, place: str, text: str = "") -> bool:
        """Whether a place whose name matches was looked at and held this text: else the search proves nothing."""
        return any(re.search(place, name) and text in said for name, said in self.seen.items())


def contents(file: Path) -> bytes:
    data = file.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return b"\n".join(packed.read(name) for name in packed.namelist())
    return data


@dataclass
class World:
    home: Path
    folder: Path
    server: RunningServer
    vendor: FakeModelServer
    http: httpx.AsyncClient
    cookie: str
    search: Search = field(default_factory=Search)

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A call of the owner, whose answer is searched too."""
        answer = await self.http.request(method, path, **more)
        self.search.look(f"{method} {path}", answer.content + repr(answer.headers.multi_items()).encode())
        return answer

    def look_at_files(self) -> None:
        settings = {self.home / "secrets" / "settings.yaml", self.folder / ".halo" / "settings.yaml"}
        for place in (self.home, self.folder):
            for file in place.rglob("*"):
                if file.is_file() and file not in settings:
                    self.search.look(f"file {file.relative_to(place.parent)}", contents(file))

    def look_at_tables(self) -> None:
        [file] = self.home.rglob("halo.sqlite3")
        with closing(sqlite3.connect(file)) as database:
            database.text_factory = bytes
            names = [row[0].decode() for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:
                cells = (cell for row in database.execute(f'SELECT * FROM "{name}"') for cell in row)
                self.search.look(f"table {name}", b"\n".join(cell for cell in cells if isinstance(cell, bytes)))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    home, folder = tmp_path / "home", tmp_path / "workspace"
    await asyncio.to_thread(prepared_home, home)
    folder.mkdir()
    async with FakeModelServer() as vendor:
        for name, text in (
            ("agents/local/agent.yaml", AGENT.format(chat=vendor.chat, messages=vendor.messages)),
            ("agents/local/AGENT.md", f"Mine are {ASKED}.\n"),
            ("skills/local/SKILL.md", SKILL),
        ):
            (home / "global" / name).parent.mkdir(parents=True, exist_ok=True)
            (home / "global" / name).write_text(text)
        with RunningServer(home, HALO_LOG_LEVEL="debug") as server:
            cookie = await asyncio.to_thread(log_in, server.base)
            await asyncio.to_thread(open_folder, server.base, cookie, folder)
            headers = {"Origin": server.base, "Referer": f"{server.base}/admin/"}
            cookies = dict([cookie.split("=", 1)])
            async with httpx.AsyncClient(base_url=server.base, headers=headers, cookies=cookies, timeout=60) as http:
                yield World(home, folder, server, vendor, http, cookie)


async def plant(world: World) -> None:
    """The key of one provider for the whole server, that of the other for the workspace."""
    for scope, key, value in (
        ("global", "openai.secrets.api_key", GLOBAL),
        ("workspace", "anthropic.secrets.api_key", WORKSPACE),
        ("global", "general.agent.max_retries", 1),
    ):
        body = {"scope": scope, "projectId": str(world.folder), "key": key, "value": value}
        assert (await world.ask("PATCH", "/api/settings", json=body)).status_code == 200
    assert GLOBAL in (world.home / "secrets" / "settings.yaml").read_text()
    assert WORKSPACE in (world.folder / ".halo" / "settings.yaml").read_text()


def refusal(secret: str) -> dict[str, Any]:
    hidden = base64.b64encode(f"Bearer {secret}".encode()).decode()
    return {"error": {"message": f"Incorrect API key {secret} of {hidden}", "type": "server_error"}}


async def talk(world: World) -> None:
    """Both vendors echo their keys: one steps in for the other and has a tool used, then nobody answers."""
    vendor, project = world.vendor, str(world.folder)
    vendor.will(status=500, error=refusal(GLOBAL))
    vendor.will(
        tool_calls=[
            {"name": "activate_skill", "arguments": {"skill_id": "local"}},
            {
                "name": "shell_exec",
                "arguments": {"command": f"echo at=$HALO_HOME; env; env | base64 -w0; echo '{ASKED}'"},
            },
        ]
    )
    vendor.will(text="I stand in.")
    vendor.will(status=401, error=refusal(GLOBAL))
    vendor.will(status=500, error=refusal(GLOBAL))
    vendor.will(status=401, error=refusal(WORKSPACE))
    async with (
        SocketClient(world.server.base, world.cookie) as tab,
        SocketClient(world.server.base, world.cookie) as late,
    ):
        view = tab.open(SID, project)
        for count in (1, 2, 3):
            tab.chat(SID, project, f"Say {ASKED}", agentId="local")
            await tab.until(lambda count=count: view.completes >= count)  # type: ignore[misc]
        await late.until(lambda: late.link == "open")
        seen = late.open(SID, project)
        await late.until(lambda: seen.loaded)
        for name, client in (("tab", tab), ("late tab", late)):
            world.search.look(f"frames of the {name}", json.dumps([frame for _, _, frame in client.log]).encode())
    assert {request["key"] for request in vendor.requests} == {GLOBAL, WORKSPACE}


async def ask_every_route(world: World) -> None:
    """Each GET of the access matrix, for the talk and the agent, as the owner of the server."""
    known = {"{project}": str(world.folder), "{sid}": SID, "default": "local", "workspace": "global"}
    for name, row in MATRIX["routes"].items():
        method, path = name.split(" ")
        if method != "GET":
            continue
        for key, value in row.get("path", {}).items():
            path = path.replace("{" + key + "}", str(known.get(value, value)))
        query = {key: known.get(value, value) for key, value in row.get("query", {}).items()}
        await world.ask("GET", path, params=query)
    for provider, endpoint in (("openai", world.vendor.chat), ("anthropic", world.vendor.messages)):
        world.vendor.will(status=401, error=refusal(GLOBAL if provider == "openai" else WORKSPACE))
        body = {"projectId": str(world.folder), "model": "fake", "endpoint": endpoint}
        await world.ask("POST", f"/api/settings/providers/{provider}/test", json=body)


async def walk_the_staff_site(world: World) -> None:
    """Every page of the staff site that a link without a question mark leads to, as a superuser."""
    page = await world.ask("GET", "/admin/login/")
    [token] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[:1]
    form = {"username": "admin", "password": PASSWORD, "next": "/admin/", "csrfmiddlewaretoken": token}
    assert (await world.ask("POST", "/admin/login/", data=form)).status_code == 302
    found, waiting = {"/admin/"}, ["/admin/", "/admin/dashboard/cards/", "/admin/search/?s=canary"]
    while waiting:
        page = await world.ask("GET", waiting.pop())
        links = {unescape(link) for link in re.findall(r'href="(/admin/[^"?#]*)"', page.text)} - found
        found |= links
        waiting += links


async def run(world: World, *command: str) -> None:
    """A command of `manage.py` on the same home."""
    process = await asyncio.to_thread(Process, *command, env=environment(world.home, HALO_LOG_LEVEL="debug"))
    await asyncio.to_thread(process.wait)
    world.search.look(f"command {command[0]}", process.out.text.encode())


async def test_a_secret_is_only_in_its_settings_file_and_in_the_header_of_a_model_call(world: World):
    search, folder = world.search, str(world.folder)
    await plant(world)
    await talk(world)
    await ask_every_route(world)
    await walk_the_staff_site(world)
    await run(world, "show_prompt", folder, "local")
    await run(world, "sessions", "list", "--workspace", folder)
    await run(world, "doctor")
    for request in world.vendor.requests:
        hidden = {name: text for name, text in request["headers"].items() if name not in ("authorization", "x-api-key")}
        sent = json.dumps([request["path"], hidden, request["body"]])
        search.look(f"request {request['n']} to a vendor", sent.encode())
    search.look("standard output", world.server.out.text.encode())
    world.look_at_files()
    world.look_at_tables()
    assert search.leaks == []
    echoed = "frames of the tab,frames of the late tab,/entries,/needs,/transcript/,/modelcall/[0-9],/test,file .*jsonl"
    for place in (*echoed.split(","), "table .*modelcall", "table .*entry"):
        assert search.saw(place, "Incorrect API key ***"), f"what a vendor echoed did not get to {place}"
    for place in ("command show_prompt", "/prompt$", "/md/AGENT.md$", "request 1 "):
        assert search.saw(place, "Mine are {{openai.secrets.api_key}}"), f"the agent's words did not get to {place}"
    for place in ("frames of the tab", "request 3 "):
        assert search.saw(place, "Use {{openai.secrets.api_key}}"), f"the skill's words did not get to {place}"
        assert search.saw(place, f"at={world.home}"), f"the shell's environment did not get to {place}"
    assert search.saw("/skills/local/md$", "Use {{openai.secrets.api_key}}")
    assert search.saw("file .*server.log", "listening")
    for name in ("", "/schema"):
        assert search.saw(f"GET /api/settings{name}$", "ca********89"), "a stored key is shown masked"
    for page in ("$", "dashboard/cards", "session/[0-9]+/change", "auditevent/[0-9]+/change", "toolcall/[0-9]"):
        assert search.saw(f"GET /admin/(.*_app/)?{page}"), f"no link led to {page}"
