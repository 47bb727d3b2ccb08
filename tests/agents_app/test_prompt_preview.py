"""`manage.py show_prompt` and its route: what a model would get."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from agents_app.seed import seed_home
from halo_site.lib import settings_write
from tests.accounts import logged_in, owner
from tests.agents_app.test_agents import MODEL, make
from tests.agents_app.test_skills import skill
from workspaces_app.models import Workspace
from workspaces_app.sandbox import Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(home, workspace):
    seed_home(home)
    skill(home / "global", "notes")
    make(
        workspace / ".halo/agents",
        "mine",
        MODEL + "tools: [grep, file_write]\nskills: [notes]\n",
        persona="Key {{mine.params.key}} city {{mine.params.city}}",
    )
    return Workspace.objects.create(path=str(workspace), name="ws")


def shown(*arguments: str) -> str:
    out = StringIO()
    call_command("show_prompt", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_prompt_of_a_root_of_a_child_and_at_a_level(space, monkeypatch):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="the level then shows in the tools"))
    text = shown(space.path, "mine")
    assert "The project workspace is at: " in text
    assert "Your available tools: file_write, grep, activate_skill, continue_task." in text
    child = shown(space.path, "mine", "--child", "--level", "readonly")
    assert "The workspace root is: " in child
    assert "Your available tools: grep, activate_skill, continue_task." in child
    assert shown(space.path, "mine", "--sources").splitlines()[0] == f"{space.path}/.halo/agents/mine/AGENT.md"


def test_the_command_says_what_is_wrong(space, tmp_path):
    with pytest.raises(CommandError, match='agent "ghost" not found'):
        shown(space.path, "ghost")
    with pytest.raises(CommandError, match="is not a folder"):
        shown(str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match="workingDir"):
        shown(space.path, "mine", "--working-dir", "../x")


def test_the_route_gives_the_same_text_with_tools_skills_and_sources(space):
    browser = logged_in(owner())
    answer = browser.get("/api/agent-configs/mine/prompt", {"projectId": space.path}).json()
    assert answer["text"] == shown(space.path, "mine").removesuffix("\n")
    assert answer["tools"] == ["file_write", "grep", "activate_skill", "continue_task"]
    assert answer["skills"] == ["notes"]
    assert any(path.endswith("TOOL_GUIDELINES.md") for path in answer["sources"])


def test_what_is_disabled_here_is_not_in_it(space):
    browser = logged_in(owner())
    browser.patch("/api/skills/notes/toggle", {"projectId": space.path})
    assert "activate_skill" not in shown(space.path, "mine")
    browser.patch("/api/agent-configs/mine/toggle", {"projectId": space.path})
    assert browser.get("/api/agent-configs/mine/prompt", {"projectId": space.path}).status_code == 404


def test_a_secret_parameter_is_masked_for_people(space, home):
    declared = "params:\n  - {key: key, secret: true}\n  - {key: city}\n"
    make(home / "global/agents", "mine", MODEL)
    (home / "global/agents/mine/agent-config.yaml").write_text(declared)
    settings_write.write("global", None, "mine.params.key", "sk-canary")
    settings_write.write("global", None, "mine.params.city", "Bonn")
    text = shown(space.path, "mine")
    assert "Key *** city Bonn" in text
