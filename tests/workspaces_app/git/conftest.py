"""A person's folder with a real repository, outside /tmp (which sandboxes empty), and a browser that looks at it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.accounts import Browser, logged_in, owner, person
from workspaces_app.models import Membership, Workspace
from workspaces_app.sandbox import probe

ROOT = Path(__file__).parents[3]


@dataclass
class Repo:
    """A work tree; `git` runs as the owner would in a terminal."""

    path: Path

    def git(self, *words: str, ok: bool = True) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.path.parent), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {f"GIT_{who}_{what}": "ann@x.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(["git", *words], cwd=self.path, env=env, capture_output=True, text=True)
        assert not ok or done.returncode == 0, done.stderr
        return done.stdout

    def write(self, name: str, text: str = "x\n") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, name: str, text: str = "x\n", message: str = "a change") -> str:
        self.write(name, text)
        self.git("add", "-A", "--", name)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD").strip()


@dataclass
class Panel:
    """The source-control panel of one person."""

    browser: Browser
    project: str

    def get(self, route: str, **query: Any) -> Any:
        return self.browser.get(f"/api/git/{route}", {"projectId": self.project, **query})

    def post(self, route: str, **body: Any) -> Any:
        return self.browser.post(f"/api/git/{route}", {"projectId": self.project, **body})

    def files(self) -> dict[str, str]:
        """Path -> its two letters."""
        return {one["path"]: one["index"] + one["workingDir"] for one in self.get("status").json()["files"]}


@pytest.fixture(scope="session", autouse=True)
def _bubblewrap() -> None:
    if not probe.candidates():
        pytest.skip(probe.MISSING)


@pytest.fixture
def home(settings, monkeypatch) -> Iterator[Path]:
    """`~` of the server's account, with a server home in it."""
    for base in (ROOT / ".cache", Path.home() / ".cache"):
        if not any(base.is_relative_to(place) for place in ("/tmp", "/var/tmp", "/run", tempfile.gettempdir())):
            break
    else:
        pytest.skip("every folder here is one that a sandbox empties")
    base.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="git-", dir=base)).resolve()
    for name in (".halo/global", ".halo/secrets"):
        (folder / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    settings.HALO = replace(settings.HALO, home=folder / ".halo")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder(home, db) -> Repo:
    """A workspace that is no repository."""
    path = home / "my shop"
    path.mkdir()
    Workspace.objects.create(path=str(path), name="my shop")
    return Repo(path)


@pytest.fixture
def repo(folder) -> Repo:
    """A workspace with one commit on `main`."""
    folder.git("init", "-q", "-b", "main")
    folder.commit("readme.md", "one\n", "first")
    return folder


@pytest.fixture
def panel(folder) -> Panel:
    """The owner's."""
    return Panel(logged_in(owner()), str(folder.path))


@pytest.fixture
def member(folder):
    """member("workspace"): the panel of somebody with that level."""

    def make(level: str) -> Panel:
        user = person(f"{level}-{Membership.objects.count()}")
        Membership.objects.create(workspace=Workspace.objects.get(path=str(folder.path)), user=user, level=level)
        return Panel(logged_in(user), str(folder.path))

    return make
