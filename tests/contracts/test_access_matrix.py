"""C1, C2, C6: every route, frame and tool for every actor, as reviewed in tests/access_matrix.yaml.

The cells come from the file, the things from the registries: what is in only one of them fails. Frames are sent over a
real socket in tests/halo_site/hub/test_access_frames.py.
"""

import asyncio
import hashlib
import io
import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from django.apps import apps
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import get_commands
from django.test.client import MULTIPART_CONTENT
from django.utils import timezone
from PIL import Image

from agents_app.commands import BUILT_IN
from agents_app.seed import seed_home
from agents_app.tools import ALWAYS, GIVEN, RELAY, TEAM, TOOLS, tools_for
from agents_app.tools.contract import WARN, ToolContext
from agents_app.tools.run import run_tool
from halo_site import tokens
from halo_site.auth import COOKIE
from halo_site.lib.access_level import Access
from halo_site.tokens import Kind
from sessions_app.commands.context import Context
from sessions_app.commands.dispatch import SWITCHED, run
from sessions_app.models import Entry, Session
from tests.accounts import Browser, logged_in
from workspaces_app import sandbox
from workspaces_app.access import Caller
from workspaces_app.models import Membership, Workspace
from workspaces_app.socket_frames import FRAMES

MATRIX = yaml.safe_load((Path(__file__).parents[1] / "access_matrix.yaml").read_text())
ACTORS: list[str] = MATRIX["actors"]
FRAME_ACTORS = ACTORS[2:]
FEATURES = ("workspaces", "agents", "sessions", "relay", "cron", "channels", "evolution", "extensions")
OUR_APPS = ("halo_site", *(f"{name}_app" for name in FEATURES))
OUTSIDE_NINJA = {"GET /api/openapi.json", "GET /api/docs"}
NOWHERE = "/no/such/workspace"


def routes() -> set[str]:
    """`GET /api/x/{id}` of everything that is mounted; converters of path parameters left out."""
    from halo_site.api import api

    found = set()
    for bound in api._get_bound_routers():
        for path, view in bound.path_operations.items():
            plain = "/".join(part if ":" not in part else "{" + part.split(":")[1] for part in path.split("/"))
            for operation in view.operations:
                found |= {f"{method} /api{plain}" for method in operation.methods}
    return found


# ---- the registries and the file agree


def test_C1_every_route_has_a_reviewed_row_and_every_row_a_route():
    assert routes() | OUTSIDE_NINJA == set(MATRIX["routes"])


def test_C1_nothing_is_mounted_beside_the_api_and_the_staff_site():
    """A plain Django view would be in neither registry: it belongs into a router, or into a row of its own here."""
    from halo_site.urls import urlpatterns

    assert [str(one.pattern) for one in urlpatterns] == ["api/", r"^api(?:/.*)?\Z", "admin/"]


def test_C1_every_frame_has_a_reviewed_row_and_every_row_a_frame():
    assert set(FRAMES) == set(MATRIX["frames"])


ALL_TOOLS = TOOLS | GIVEN | TEAM | RELAY | ALWAYS


def test_C1_every_tool_has_a_reviewed_level_and_every_level_a_tool():
    assert set(ALL_TOOLS) == set(MATRIX["tools"])
    for name, tool in ALL_TOOLS.items():
        row = MATRIX["tools"][name]
        assert tool.sandboxed is isinstance(row, dict), name
        assert tool.needs == (row["sandbox"][1] if tool.sandboxed else row[0]), name


def test_C1_every_command_is_reviewed():
    ours = {name for name, app in get_commands().items() if app in OUR_APPS}
    assert ours == set(MATRIX["commands"])


def test_C1_every_slash_command_has_a_reviewed_row_and_every_row_a_command():
    lines = {
        line
        for command in BUILT_IN.values()
        for line in ([f"{command.name} {verb.name}" for verb in command.verbs] or [command.name])
    }
    assert lines == set(MATRIX["slash"])


def test_C1_no_row_is_short():
    for name, row in MATRIX["routes"].items():
        assert len(row["cells"]) == len(ACTORS), name
    for name, cells in MATRIX["frames"].items():
        assert len(cells) == len(FRAME_ACTORS), name


# ---- a small world, whole enough that each call could succeed


@dataclass
class World:
    folder: Path
    workspace: Workspace
    session: Session
    entry: Entry
    users: dict[str, User]
    other: Workspace
    foreign: Session

    def browser(self, actor: str) -> Browser:
        if actor == "none":
            return Browser()
        if actor == "scoped":
            browser = Browser()
            browser.cookies[COOKIE] = tokens.issue(Kind.ASSET, {"sub": str(self.users["superuser"].pk)}, life=3600)
            return browser
        return logged_in(self.users[actor])

    def fill(self, value: Any, project: str) -> Any:
        if isinstance(value, dict):
            return {key: self.fill(item, project) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        known = {"{project}": project, "{sid}": self.session.sid}
        return known.get(value, value)


@pytest.fixture(autouse=True)
def an_engine_runs(monkeypatch):
    """As far as /api/ready can see."""
    monkeypatch.setattr("halo_site.ready.seconds_since_scan", lambda: 0.0)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("seed") / "home"
    home.mkdir()
    before = django_settings.HALO
    django_settings.HALO = replace(before, home=home)
    try:
        seed_home(home)
    finally:
        django_settings.HALO = before
    return home


@pytest.fixture
def world(seeded, db, tmp_path, settings) -> World:
    home = tmp_path / "home"
    shutil.copytree(seeded, home, copy_function=shutil.copy2)
    settings.HALO = replace(settings.HALO, home=home)
    folder, elsewhere = tmp_path / "work", tmp_path / "other"
    for place in (folder, elsewhere):
        (place / ".halo" / "agents" / "local").mkdir(parents=True)
        (place / ".halo" / "agents" / "local" / "agent.yaml").write_text("name: Local\n")
        (place / "page.html").write_text("<p>page</p>")
        (place / ".halo" / "skills" / "local").mkdir(parents=True)
        (place / ".halo" / "skills" / "local" / "SKILL.md").write_text("---\nname: local\ndescription: x\n---\n")
    workspace = Workspace.objects.create(path=str(folder), name="work")
    other = Workspace.objects.create(path=str(elsewhere), name="other")
    users = {name: User.objects.create_user(name) for name in ("elsewhere", "readonly", "workspace", "full")}
    users["staff"] = User.objects.create_user("staff", is_staff=True)
    users["superuser"] = User.objects.create_superuser("owner")
    for level in Access:
        Membership.objects.create(workspace=workspace, user=users[level.value], level=level.value)
    Membership.objects.create(workspace=other, user=users["elsewhere"], level="full")
    session, entry = conversation(workspace, "sid_work_1", users["full"])
    foreign, _ = conversation(other, "sid_other_1", users["elsewhere"])
    (Path(settings.HALO.home) / "sample").mkdir()
    (folder / "table.csv").write_text("a,b\n1,2\n")
    return World(folder, workspace, session, entry, users, other, foreign)


def conversation(workspace: Workspace, sid: str, user: User) -> tuple[Session, Entry]:
    now = timezone.now()
    session = Session.objects.create(
        workspace=workspace,
        sid=sid,
        agent_id="default",
        agent_name="Default",
        created_by=user,
        created_at=now,
        updated_at=now,
    )
    origin = {"kind": "person", "sender": user.pk, "level": "full"}
    entry = Entry.objects.create(
        session=session, kind="user", text="hello", origin=origin, created_at=now, meta={"pos": 1.0}
    )
    return session, entry


def call(world: World, actor: str, name: str, *, project: str | None = None) -> Any:
    row = MATRIX["routes"][name]
    method, path = name.split(" ")
    project = str(world.folder) if project is None else project
    for key, value in world.fill(row.get("path", {}), project).items():
        path = path.replace("{" + key + "}", str(value))
    if query := world.fill(row.get("query", {}), project):
        path += "?" + urlencode(query)
    browser = world.browser(actor)
    if row.get("file"):
        return browser.post(path, {row.get("field", "file"): png()}, MULTIPART_CONTENT)
    if method == "GET":
        return browser.get(path)
    body = world.fill(row.get("body", {}), project)
    return browser.generic(method, path, json.dumps(body), "application/json")


def png() -> io.BytesIO:
    picture = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(picture, "png")
    picture.seek(0)
    picture.name = "red.png"
    return picture


# What a server beside the test writes by itself: its signs of life, and the index of the files the scanner found.
BY_ITSELF = {"halo_site.Heartbeat", "extensions_app.Extension"}


def rows_mark() -> str:
    """Every row of the database that somebody's request could change."""
    mark = hashlib.sha256()
    for model in apps.get_models():
        if model._meta.label in BY_ITSELF:
            continue
        rows = model._base_manager.order_by("pk").values_list()
        mark.update(repr((model._meta.label, list(rows))).encode())
    return mark.hexdigest()


def fingerprint(world: World) -> str:
    """Everything in the database and in the folders a request could touch."""
    mark = hashlib.sha256(rows_mark().encode())
    for root in (world.folder, Path(world.other.path), Path(django_settings.HALO.home)):
        for place, folders, files in os.walk(root):
            folders.sort()
            for file in sorted(files):
                path = Path(place) / file
                found = path.lstat()
                mark.update(repr((str(path), found.st_mode, found.st_size, path.read_bytes())).encode())
            mark.update(repr((place, os.stat(place).st_mode)).encode())
    return mark.hexdigest()


CELLS = [
    pytest.param(name, actor, status, id=f"{name} as {actor}")
    for name, row in MATRIX["routes"].items()
    for actor, status in zip(ACTORS, row["cells"], strict=True)
]


@pytest.mark.parametrize(("name", "actor", "status"), CELLS)
def test_C1_route(world, name, actor, status):
    row = MATRIX["routes"][name]
    before = fingerprint(world)
    answer = call(world, actor, name)
    assert answer.status_code == status, answer.content
    if status >= 400 and name != "GET /api/auth/check":
        assert answer.json()["error"]
    if (status >= 400 and not row.get("counts")) or name.startswith("GET "):
        assert fingerprint(world) == before
    if status == 401 and name not in ("GET /api/auth/check", "POST /api/auth/login", "POST /api/auth/change-password"):
        assert answer.json() == {"error": "Unauthorized"}


FOREIGN = [
    pytest.param(name, actor, id=f"{name} as {actor}")
    for name, row in MATRIX["routes"].items()
    for actor, status in zip(ACTORS, row["cells"], strict=True)
    if actor in ("elsewhere", "staff") and status == 404
]


@pytest.mark.parametrize(("name", "actor"), FOREIGN)
def test_C2_a_foreign_workspace_has_the_body_of_a_missing_one(world, name, actor):
    foreign = call(world, actor, name)
    missing = call(world, actor, name, project=NOWHERE)
    owners = call(world, "superuser", name, project=NOWHERE)
    assert foreign.content == missing.content == owners.content


SESSION_ROUTES = [name for name in MATRIX["routes"] if "{sid}" in name]


@pytest.mark.parametrize("name", SESSION_ROUTES)
@pytest.mark.parametrize("actor", ["full", "superuser"])
def test_C2_a_right_project_with_a_foreign_session_is_404(world, name, actor):
    before = fingerprint(world)
    own = world.session
    world.session = world.foreign
    foreign = call(world, actor, name)
    world.session = Session(sid="sid_none_1")
    missing = call(world, actor, name)
    world.session = own
    assert foreign.status_code == 404
    assert foreign.content == missing.content
    assert fingerprint(world) == before


@pytest.mark.parametrize("name", [name for name in SESSION_ROUTES if name.startswith("GET ")])
def test_C2_without_a_project_a_foreign_session_is_404_too(world, name):
    path = name.split(" ")[1].replace("{sid}", world.foreign.sid).replace("{number}", "1")
    assert world.browser("full").get(path).status_code in (400, 404)
    assert world.browser("staff").get(path).status_code in (400, 404)


IN_PATHS = {"agent_id": "default", "skill_id": "local", "file": "AGENT.md", "number": "1", "provider_id": "demo"}
IN_PATHS |= {"id": "none", "host": "no-such-host.example", "token": "forged", "path": "page.html"}


def filled(world: World, name: str) -> str:
    """The path of a route with something in each of its places. Raises KeyError for a place nobody thought of."""
    return re.sub(r"\{(\w+)\}", lambda at: (IN_PATHS | {"sid": world.session.sid})[at[1]], name.split(" ")[1])


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_C6_head_and_options_change_nothing_anywhere(world, method):
    browser = world.browser("superuser")
    before = fingerprint(world)
    for name in MATRIX["routes"]:
        path = filled(world, name)
        assert browser.generic(method, f"{path}?projectId={world.folder}&path={world.folder}").status_code < 500
    assert fingerprint(world) == before


def test_C6_get_on_every_path_changes_nothing_even_where_it_is_not_meant(world):
    browser = world.browser("superuser")
    before = fingerprint(world)
    for name in MATRIX["routes"]:
        path = filled(world, name)
        for query in ("", f"?projectId={world.folder}&path={world.folder}", f"?projectId={NOWHERE}"):
            assert browser.get(path + query).status_code < 500
    assert fingerprint(world) == before


# ---- tools, by level


@pytest.mark.parametrize("name", MATRIX["tools"])
@pytest.mark.parametrize("level", list(Access))
@pytest.mark.parametrize("boxed", [True, False], ids=["sandbox", "none"])
def test_C1_tool(tmp_path, monkeypatch, name, level, boxed):
    state = sandbox.Status(program="/nonexistent/bwrap") if boxed else sandbox.Status(reason="not installed")
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", state)
    row = MATRIX["tools"][name]
    cells = row if isinstance(row, list) else row["sandbox" if boxed else "none"]
    offered_from, works_from = (Access(value) for value in cells)
    listed = ["relay_send" if name in RELAY else name, "file_read"]
    offered = {tool.name for tool in tools_for(listed, level, vision=True, skills=name in GIVEN, team=name in TEAM)}
    assert (name in offered) is level.covers(offered_from)
    if level.covers(works_from):
        return
    before = sorted(tmp_path.rglob("*"))
    arguments = {
        "path": "a.txt",
        "content": "x",
        "command": "touch b.txt",
        "pattern": "*",
        "old_text": "a",
        "new_text": "b",
        "old_string": "a",
        "new_string": "b",
        "url": "http://127.0.0.1:1/",
    }

    async def run() -> str:
        ctx = ToolContext(workspace=tmp_path, session_id="s", agent_id="default", level=level, abort=asyncio.Event())
        return (await run_tool(ALL_TOOLS[name], arguments, ctx)).text

    assert asyncio.run(run()).startswith(WARN)
    assert sorted(tmp_path.rglob("*")) == before


# ---- slash commands, by level

# What follows the command, so that it would do something if it were run.
ARGUMENTS = {
    "agent delete": "local confirm",
    "agent switch": "default",
    "skill delete": "local confirm",
    "skill disable": "local",
    "session switch": "1",
}


@pytest.mark.parametrize("line", [line for line in MATRIX["slash"] if line.split()[0] not in SWITCHED])
@pytest.mark.parametrize("level", list(Access))
@pytest.mark.parametrize("account", [False, True], ids=["member", "account"])
def test_C1_slash_command(world, line, level, account):
    needed = Access(MATRIX["slash"][line][account])
    context = Context(
        workspace=world.workspace,
        caller=Caller.of(world.users["superuser"]),  # behind an account stands whoever made it; its level counts
        level=level,
        active=world.session.sid,
        prefix="sid_work_" if account else "",
        guest=not account and level is Access.READONLY,
    )
    before = fingerprint(world)
    name, _, verb = line.partition(" ")
    result = run(name, f"{verb} {ARGUMENTS.get(line, '')}".strip(), context)
    assert result is not None
    refused = "access; you have" in result.text or result.text == "/evo needs full access."
    assert refused is not level.covers(needed), result.text
    if refused:
        assert fingerprint(world) == before
