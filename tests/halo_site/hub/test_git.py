"""The git routes on a real server: nothing stands still, and news reaches those who have the workspace open."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async

from tests.halo_site.hub.conftest import World
from workspaces_app.models import Workspace
from workspaces_app.sandbox import probe

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not probe.candidates(), reason=probe.MISSING),
]


def git(folder: Path | str, *words: str) -> None:
    names = [word for key in ("user.name", "user.email") for word in ("-c", f"{key}=ann@x.org")]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(world: World) -> Path:
    folder = Path(world.path)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("a")
    git(folder, "add", "a")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "init", "-q", "--bare", "remote.git")
    git(folder, "remote", "add", "origin", "./remote.git")
    (folder / ".git" / "info" / "exclude").write_text("remote.git\n.halo\n")
    return folder


@pytest.fixture
def client(world: World) -> Any:
    headers = {"Cookie": world.cookie, "Origin": world.server.base}
    return lambda: httpx.AsyncClient(base_url=world.server.base, headers=headers, timeout=60)


async def bound(world: World, path: str) -> Any:
    """A socket that has the workspace open, with its answer read."""
    socket = await world.socket()
    socket.send_json({"type": "subscribe", "projectId": path})
    socket.send_json({"type": "__ping__"})
    async with asyncio.timeout(60):
        while (await socket.receive_json())["type"] != "__pong__":
            pass
    return socket


async def frames_until(socket: Any, wanted: str) -> list[dict[str, Any]]:
    seen = []
    async with asyncio.timeout(60):
        while True:
            seen.append(await socket.receive_json())
            if seen[-1]["type"] == wanted:
                return seen


async def test_staging_is_told_to_those_who_have_the_workspace_open_only(world, repo, client, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    await sync_to_async(Workspace.objects.create)(path=str(other), name="other")
    here, there = await bound(world, world.path), await bound(world, str(other))
    (repo / "b").write_text("b")
    async with client() as http:
        answer = await http.post("/api/git/stage", json={"projectId": f"{world.path}/", "paths": ["b"]})
    assert answer.json() == {"ok": True}
    changed = [frame for frame in await frames_until(here, "file:changed") if frame.get("path") == ".git"]
    assert changed or (await frames_until(here, "file:changed"))[-1]["path"] == ".git"
    there.send_json({"type": "__ping__"})
    seen = await frames_until(there, "__pong__")
    assert not [frame for frame in seen if frame.get("path") == ".git"]


async def test_a_push_tells_its_progress_over_the_socket(world, repo, client):
    socket = await bound(world, world.path)
    async with client() as http:
        answer = await http.post("/api/git/push", json={"projectId": world.path})
    assert answer.json() == {"ok": True}
    seen: list[dict[str, Any]] = []
    while not (seen and seen[-1].get("done")):
        seen += await frames_until(socket, "git:progress")
    stages = [frame["stage"] for frame in seen if frame["type"] == "git:progress"]
    assert stages[0] == "Connecting"
    assert "Writing objects" in stages
    assert seen[-1]["workspacePath"] == world.path


async def test_a_slow_hook_holds_up_nobody_else(world, repo, client):
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.write_text(f'#!/bin/sh\nwhile [ ! -e "{repo}/go" ]; do sleep 0.05; done\n')
    hook.chmod(0o755)
    (repo / "b").write_text("b")
    async with client() as http:
        await http.post("/api/git/stage", json={"projectId": world.path, "paths": ["b"]})
        commits = [
            asyncio.create_task(http.post("/api/git/commit", json={"projectId": world.path, "message": f"{n}"}))
            for n in range(6)  # more than there are threads for views
        ]
        for _ in range(5):
            assert (await http.get("/api/workspaces")).status_code == 200
            assert (await http.get("/api/git/status", params={"projectId": world.path})).status_code == 200
        assert not all(commit.done() for commit in commits)
        (repo / "go").write_text("")
        answers = await asyncio.gather(*commits)
    assert [answer.status_code for answer in answers].count(200) >= 1
