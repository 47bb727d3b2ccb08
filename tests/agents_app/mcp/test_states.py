"""How servers are, for people: over HTTP: each level its own words."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents_app.mcp.states import Key, Known, store
from agents_app.models import McpState
from halo_site.lib.access_level import Access
from tests.accounts import logged_in, owner, person
from tests.agents_app.test_agents import MODEL, make
from workspaces_app.models import Membership, Workspace

pytestmark = pytest.mark.django_db
ENTRY = "mcp: [{name: files, transport: stdio, command: x, env: {KEY: '{{mine.secrets.key}}'}, tools: [a]}]\n"


@pytest.fixture
def space(home, workspace):
    make(workspace / ".halo/agents", "mine", MODEL + ENTRY)
    return Workspace.objects.create(path=str(workspace), name="ws")


@pytest.fixture
def note(space, workspace):
    def write(level: Access, state: str, error: str = "", tools: tuple[str, ...] = ()) -> None:
        store(Known(Key(workspace, "mine", level, "files"), state, error, tools))  # type: ignore[arg-type]

    return write


def shown(browser, space):
    answer = browser.get("/api/agent-configs/mine/mcp", {"projectId": space.path})
    assert answer.status_code == 200
    return answer.json()["servers"]


def test_a_server_nobody_needed_yet_is_listed_without_its_values(space):
    assert shown(logged_in(owner()), space) == [
        {
            "name": "files",
            "transport": "stdio",
            "requiresAccess": "workspace",
            "timeoutSec": 60,
            "only": ["a"],
            "states": [],
        }
    ]


def test_the_last_error_and_the_tools_known_before_stay(space, note):
    note(Access.FULL, "ready", tools=("mcp__files__a",))
    note(Access.FULL, "failed", "it ended")
    [server] = shown(logged_in(owner()), space)
    [state] = server["states"]
    assert (state["level"], state["state"], state["error"], state["tools"]) == (
        "full",
        "failed",
        "it ended",
        ["mcp__files__a"],
    )
    assert McpState.objects.count() == 1


def test_words_of_a_stronger_session_are_not_shown_to_a_weaker_person(space, note):
    note(Access.FULL, "failed", "words about the whole machine")
    note(Access.WORKSPACE, "ready")
    for level, seen in (("readonly", []), ("workspace", ["workspace"]), ("full", ["workspace", "full"])):
        user = person(f"member-{level}")
        Membership.objects.create(workspace=space, user=user, level=level)
        [server] = shown(logged_in(user), space)
        assert [state["level"] for state in server["states"]] == seen


def test_a_server_of_a_killed_process_counts_as_ended(space, note):
    note(Access.FULL, "ready")
    McpState.objects.update(seen_at=timezone.now() - timedelta(minutes=4))
    assert shown(logged_in(owner()), space)[0]["states"][0]["state"] == "ended"


def test_nothing_is_written_for_a_workspace_that_is_gone(space, note):
    space.delete()
    note(Access.FULL, "ready")
    assert McpState.objects.count() == 0


def test_an_unknown_agent_and_a_foreign_workspace_are_not_found(space):
    assert logged_in(owner()).get("/api/agent-configs/ghost/mcp", {"projectId": space.path}).status_code == 404
    assert logged_in(person("x")).get("/api/agent-configs/mine/mcp", {"projectId": space.path}).status_code == 404
