"""A workspace on disk with a file outside that must never be read or changed, and people of every level."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.accounts import Browser, logged_in
from workspaces_app.models import Membership, Workspace

CANARY = "canary: must never be read or changed"


@dataclass
class Files:
    """Calls of the routes, for one person in one workspace."""

    root: Path
    workspace: Workspace
    browser: Browser

    def get(self, route: str, **query: Any) -> Any:
        return self.browser.get(f"/api/{route}", {"projectId": str(self.root), **query})

    def put(self, path: str, content: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
        body = {"projectId": str(self.root), "path": path, "content": content, **more}
        return self.browser.put("/api/files", body, headers=headers or {})

    def put_raw(self, path: str, data: bytes, headers: dict[str, str] | None = None, **query: Any) -> Any:
        asked = {"projectId": str(self.root), "path": path, **query}
        kind = "application/octet-stream"
        return self.browser.put("/api/files/raw", data, kind, query_params=asked, headers=headers or {})

    def post(self, route: str, headers: dict[str, str] | None = None, **body: Any) -> Any:
        return self.browser.post(f"/api/{route}", {"projectId": str(self.root), **body}, headers=headers or {})

    def delete(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
        asked = {"projectId": str(self.root), "path": path, **query}
        return self.browser.delete("/api/files", query_params=asked, headers=headers or {})

    def as_level(self, level: str) -> "Files":
        user = User.objects.create_user(f"{level}-member")
        Membership.objects.create(workspace=self.workspace, user=user, level=level)
        return Files(self.root, self.workspace, logged_in(user))


@pytest.fixture
def outside(tmp_path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(CANARY)
    return folder


@pytest.fixture
def files(db, tmp_path, outside) -> Files:
    root = tmp_path / "my work ü"
    root.mkdir()
    workspace = Workspace.objects.create(path=str(root), name="work")
    user = User.objects.create_user("full")
    Membership.objects.create(workspace=workspace, user=user, level="full")
    return Files(root, workspace, logged_in(user))


def body_of(answer: Any) -> bytes:
    """The whole body, also of an answer that only an event loop can read."""

    async def collected() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return asyncio.run(collected()) if answer.streaming else answer.content
