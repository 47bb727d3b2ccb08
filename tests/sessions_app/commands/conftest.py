"""A workspace with skills, and somebody who types."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from sessions_app.commands import dispatch
from sessions_app.commands.context import Context, Result
from sessions_app.models import Session
from workspaces_app.access import Caller
from workspaces_app.models import Workspace

from ..conftest import Say

SKILLS = {
    "notes": "command: /notes\nrequiresAccess: workspace\nverbs:\n  - {name: draft, desc: Draft from git}\n"
    "  - {name: publish, requiresAccess: full}",
    "agent": "command: /agent\nverbs:\n  - {name: list, builtin: true}\n  - {name: create, requiresAccess: full}",
}


@pytest.fixture
def skills(workspace: Workspace, agent_folder: Path) -> Path:
    """Skills of the workspace, listed by the agent."""
    folder = Path(workspace.path, ".halo", "skills")
    for name, header in SKILLS.items():
        (folder / name).mkdir(parents=True)
        head = f"---\nname: {name}\ndescription: About {name}\n{header}\n---\n"
        (folder / name / "SKILL.md").write_text(head + "Do $1 for $ARGUMENTS in {{agent_name}}")
    yaml = (agent_folder / "agent.yaml").read_text()
    (agent_folder / "agent.yaml").write_text(yaml + "skills: [notes, agent]\n")
    return folder


@pytest.fixture
def aliases(db: None) -> Path:
    file = Path(settings.HALO.global_dir, "aliases.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('top:\n  "/ss": "/session switch"\n  "/h": "/help"\nverb: {sw: switch, n: new}\n')
    yield file
    file.unlink(missing_ok=True)


Type = Callable[..., Result | None]


@pytest.fixture
def context(workspace: Workspace, owner: User) -> Callable[..., Context]:
    """Of the owner in the browser, unless told otherwise."""

    def make(**values: Any) -> Context:
        level = values.get("level", Access.FULL)
        defaults: dict[str, Any] = {"workspace": workspace, "caller": Caller.of(owner), "level": level}
        if not values.get("prefix"):
            defaults["guest"] = level is Access.READONLY
        return Context(**(defaults | values))

    return make


@pytest.fixture
def type_(context: Callable[..., Context]) -> Type:
    """`type_("/session list", level=..., active=...)`: what a line does."""

    def run(line: str, **values: Any) -> Result | None:
        return dispatch.run(*dispatch.split(line), context(**values))

    return run


@pytest.fixture
def conversation(say: Say) -> Callable[[str], Session]:
    def make(sid: str) -> Session:
        return Session.objects.get(pk=say(f"About {sid}", sid=sid).session_key)

    return make
