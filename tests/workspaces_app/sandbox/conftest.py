"""A machine to break out of: a home with credentials, a server home in it, and a workspace, outside /tmp.

/tmp is emptied in the sandbox; what lies there would be safe for the wrong reason.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from workspaces_app import sandbox
from workspaces_app.child import Outcome, run_child
from workspaces_app.sandbox import probe

ROOT = Path(__file__).parents[3]
CANARY = "canary-7f3a-must-stay-inside"


@dataclass(frozen=True)
class Machine:
    user: Path  # what ~ is
    home: Path  # ~/.halo
    workspace: Path
    secrets: tuple[Path, ...]  # every file holds the canary


def _ordinary_folder() -> Path:
    """Not one that a sandbox empties: a checkout may lie in a folder for temporary files."""
    for folder in (ROOT / ".cache", Path.home() / ".cache", Path("/srv")):
        if not any(folder.is_relative_to(emptied) for emptied in ("/tmp", "/var/tmp", "/run", tempfile.gettempdir())):
            folder.mkdir(parents=True, exist_ok=True)
            return folder
    pytest.skip("every folder here is one that a sandbox empties")


@pytest.fixture
def machine(settings, monkeypatch) -> Iterator[Machine]:
    base = Path(tempfile.mkdtemp(prefix="sandbox-", dir=_ordinary_folder()))
    user = base / "users" / "ann"
    home = user / ".halo"
    workspace = user / "projects" / "my shop"
    for folder in (home / "global" / "logs", home / "secrets", home / "cells", workspace / ".halo" / "tmp"):
        folder.mkdir(parents=True)
    names = (
        ".ssh/id_ed25519 .aws/credentials .gnupg/key .docker/config.json .config/gh/hosts.yml .npmrc .netrc "
        ".git-credentials .bash_history .halo/secrets/halo.sqlite3 .halo/secrets/settings.yaml .halo/global/logs/x.log "
        ".halo/global/evo.db .halo/global/cron.db-wal"
    )
    secrets = tuple(user / name for name in names.split())
    inner = (
        ".halo/sessions/default/1.jsonl",
        ".halo/logs/x",
        ".halo/evo/runs/r",
        ".halo/settings.yaml",
        ".halo/halo.db",
    )
    secrets += tuple(workspace / name for name in inner)
    for path in secrets:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY if path.suffix != ".yaml" else f"x: {{params: {{y: {CANARY}}}}}\n")
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("HALO_JWT_SECRET", CANARY)
    settings.HALO = replace(settings.HALO, home=home)
    yield Machine(user, home, workspace, secrets)
    shutil.rmtree(base)


@pytest.fixture(scope="session")
def bubblewrap() -> None:
    """Skips only where no bubblewrap is installed at all; one that is installed and does not work fails the tests."""
    if not probe.candidates():
        pytest.skip(probe.MISSING)
    assert sandbox.status().available, sandbox.status().reason


Run = Callable[..., Awaitable[Outcome]]


@pytest.fixture
def inside(machine, bubblewrap) -> Run:
    """await inside("command"): how it ended in the sandbox of the workspace, at level workspace."""

    async def run(
        command: str,
        *,
        workspace: Path | None = None,
        level: Access = Access.WORKSPACE,
        timeout: float = 60.0,  # seconds; for a busy machine
        limit: int = 1_000_000,
    ) -> Outcome:
        async with sandbox.cell(workspace or machine.workspace, level, session_id="s") as made:
            return await run_child(
                made.wrap(["/bin/bash", "-c", "--", command]),
                cwd=Path("/"),
                env={},
                timeout=timeout,
                abort=asyncio.Event(),
                limit=limit,
                guard=made.guard,
            )

    return run
