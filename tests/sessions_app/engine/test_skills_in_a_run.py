"""A run with a skill: offered in the prompt, loaded by the tool, gone once it is switched off."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from agents_app.disabled import set_disabled
from sessions_app.models import ToolCall
from tests.agents_app.test_skills import skill
from tests.fakes.model_server import FakeModelServer
from workspaces_app.models import Workspace

from ..conftest import Say
from .conftest import Viewer
from .test_engine import one_family, vendor  # noqa: F401  fixtures

InDb = Callable[..., Any]


def prompt_of(request: Any) -> str:
    return str(request["messages"][0]["content"])


async def test_a_skill_is_offered_loaded_and_switched_off(
    one_family: None,  # noqa: F811
    agent_folder: Path,
    vendor: FakeModelServer,  # noqa: F811
    viewer: Viewer,
    say: Say,
    workspace: Workspace,
    in_db: InDb,
):
    file = agent_folder / "agent.yaml"
    file.write_text(file.read_text() + "skills: [notes]\n")
    skill(Path(settings.HALO.global_dir), "notes", "Work in {{workspace_root}} with {{params.key}}.")
    vendor.will(tool_calls=[{"name": "activate_skill", "arguments": {"skill_id": "notes"}}])
    vendor.will(text="done")
    await in_db(say, "write notes")
    await viewer.completes()
    first, second = (request["body"] for request in vendor.requests)
    assert "<id>notes</id>" in prompt_of(first)
    assert "activate_skill" in [tool["function"]["name"] for tool in first["tools"]]
    loaded = second["messages"][-1]["content"]
    assert loaded == f"# Skill: notes\n\nWork in {workspace.path} with {{{{notes.params.key}}}}."
    assert await in_db(lambda: ToolCall.objects.get().outcome) == "ok"

    await in_db(set_disabled, workspace, "skill", "notes", "global", off=True)
    vendor.will(text="without")
    await in_db(say, "again")
    await viewer.completes(2)
    third = vendor.requests[2]["body"]
    assert "<id>notes</id>" not in prompt_of(third)
    assert "activate_skill" not in [tool["function"]["name"] for tool in third["tools"]]
