"""Routes of agents over HTTP: who may, what is refused, what comes back."""

import pytest

from agents_app.agents import load_agent
from agents_app.seed import seed_home
from tests.accounts import logged_in, owner, person
from tests.agents_app.test_agents import MODEL, make
from workspaces_app.models import AuditEvent, Membership, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def space(home, workspace):
    seed_home(home)
    return Workspace.objects.create(path=str(workspace), name="ws")


@pytest.fixture
def admin(space):
    return logged_in(owner())


def member(space, level: str):
    user = person(f"member-{level}")
    Membership.objects.create(workspace=space, user=user, level=level)
    return logged_in(user)


def test_agents_of_both_scopes_are_listed_best_first(admin, space, workspace):
    make(workspace / ".halo/agents", "mine", MODEL + "priority: 200\ntools: [grep]\n")
    make(workspace / ".halo/agents", "broken", "tools: x\n")
    rows = admin.get("/api/agent-configs", {"projectId": space.path}).json()["agents"]
    assert [(row["id"], row["scope"]) for row in rows][:2] == [("mine", "workspace"), ("default", "global")]
    assert rows[0]["model"] == {
        "provider": "demo",
        "id": "demo",
        "endpoint": "demo://local",
        "thinking": {"enabled": False},
    }
    assert rows[0]["tools"] == ["grep"]
    broken = next(row for row in rows if row["id"] == "broken")
    assert broken["model"] is None
    assert "line 1" in broken["error"]


def test_a_workspace_of_others_is_not_found(space):
    stranger = logged_in(person("stranger"))
    answer = stranger.get("/api/agent-configs", {"projectId": space.path})
    assert (answer.status_code, answer.json()) == (404, {"error": "Project not found"})
    assert stranger.get("/api/agent-configs/default/yaml", {"projectId": space.path}).status_code == 404


def test_tools_and_models_are_listed(admin):
    tools = admin.get("/api/agent-configs/tools").json()["tools"]
    assert {tool["name"] for tool in tools} >= {"file_read", "shell_exec"}
    assert all(tool["description"] for tool in tools)
    assert {entry["id"] for entry in admin.get("/api/agent-configs/models").json()["providers"]} >= {"demo", "openai"}


def test_31_a_retired_tool_is_neither_offered_nor_told_of(admin, space, workspace):
    offered = [tool["name"] for tool in admin.get("/api/agent-configs/tools").json()["tools"]]
    assert "grep" in offered
    assert "draft" not in offered
    make(workspace / ".halo/agents", "mine", MODEL + "tools: [grep, draft]\n")
    prompt = admin.get("/api/agent-configs/mine/prompt", {"projectId": space.path}).json()
    assert prompt["tools"] == ["grep", "continue_task"]
    assert "Your available tools: grep, continue_task." in prompt["text"]
    assert "`draft`" not in prompt["text"]


def test_a_yaml_comes_back_exactly_as_it_was_put(admin, home, workspace):
    text = "name: no\ndescription: 1.10  # a comment\n" + MODEL + "tools: [grep]\n"
    answer = admin.put("/api/agent-configs/default/yaml", {"yaml": text, "scope": "global"})
    assert answer.status_code == 200
    assert (answer.json()["agent"]["name"], answer.json()["agent"]["description"]) == ("no", "1.10")
    assert admin.get("/api/agent-configs/default/yaml").json()["yaml"] == text
    assert load_agent(workspace, "default").config.tools == ("grep",)
    assert AuditEvent.objects.filter(action="agent.change", target="default").count() == 1


C67 = {
    "language: no": "language",
    "name: x\nname: y": "line 2",
    "name: x\nmodel:\n\tid: 1": "line 3",
    "name: !!python/object/apply:os.system [id]": "line 1",
    "tools: file_read": "line 1",
    'model: {maxTokens: "200k"}': "line 1",
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(f"b{i}: &b{i} [{','.join(['*' + (f'b{i - 1}' if i else 'a')] * 9)}]" for i in range(9)): "anchors",
    "x: " + "[" * 60 + "]" * 60: "line 1",
}


@pytest.mark.parametrize("text", C67, ids=range(len(C67)))
def test_C67_a_put_is_either_kept_exactly_or_refused_with_the_line(admin, home, text):
    file = home / "global/agents/default/agent.yaml"
    before = file.read_text()
    answer = admin.put("/api/agent-configs/default/yaml", {"yaml": text})
    if text == "language: no":
        assert answer.status_code == 200
        assert 'unknown key "language"' in answer.json()["warnings"][0]
        assert file.read_text() == text
    else:
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("Invalid YAML: ")
        assert C67[text] in answer.json()["error"]
        assert file.read_text() == before


def test_a_fallback_without_a_provider_is_saved_with_a_warning(admin):
    model = "provider: demo, id: demo, endpoint: 'demo:', fallback: [{provider: nobody, id: m, endpoint: e}]"
    answer = admin.put("/api/agent-configs/default/yaml", {"yaml": f"name: x\nmodel: {{{model}}}\n"}).json()
    assert answer["warnings"] == ['line 2: model.fallback: there is no provider "nobody"; it is passed over']


def test_what_will_not_run_is_saved_with_warnings(admin):
    text = "name: x\nmodel:\n  provider: nobody\n  id: m\ntools:\n  - grep\n  - nonsense\n"
    warnings = admin.put("/api/agent-configs/default/yaml", {"yaml": text}).json()["warnings"]
    assert warnings == [
        "line 2: model.endpoint missing: the agent cannot run",
        'line 3: model.provider: there is no provider "nobody"',
        'line 7: tools: there is no tool "nonsense"; it is ignored',
    ]


@pytest.mark.parametrize(
    ("agent_id", "body", "status", "error"),
    [
        ("gone", {"yaml": "name: x"}, 404, "Agent not found"),
        ("a..b", {"yaml": "name: x"}, 400, "Invalid agent id"),
        ("%2e%2e", {"yaml": "name: x"}, None, None),
        ("default", {}, 400, "yaml required"),
        ("default", {"yaml": 5}, 400, None),
        ("default", {"yaml": "name: x", "scope": "both"}, 400, "scope must be global or workspace"),
        ("default", {"yaml": "name: x", "scope": "workspace"}, 400, "projectId is required"),
        ("default", {"yaml": "x" * 300_000}, 413, None),
    ],
)
def test_bad_requests_are_told_why(admin, agent_id, body, status, error):
    answer = admin.put(f"/api/agent-configs/{agent_id}/yaml", body)
    assert answer.status_code == (status or answer.status_code)
    assert 400 <= answer.status_code < 500
    if error:
        assert answer.json()["error"] == error


def test_agents_of_the_home_belong_to_the_owner_and_those_of_a_workspace_to_full_members(space, workspace):
    make(workspace / ".halo/agents", "mine", MODEL)
    for level, status in (("readonly", 403), ("workspace", 403), ("full", 200)):
        browser = member(space, level)
        body = {"yaml": MODEL, "projectId": space.path}
        assert browser.put("/api/agent-configs/mine/yaml", body | {"scope": "workspace"}).status_code == status
        assert browser.put("/api/agent-configs/default/yaml", body | {"scope": "global"}).status_code == 403
        assert browser.get("/api/agent-configs/mine/yaml", {"projectId": space.path}).status_code == 200


def test_without_a_login_there_is_nothing(space):
    from tests.accounts import Browser

    for path in ("/api/agent-configs", "/api/agent-configs/tools", "/api/settings", "/api/settings/schema"):
        assert Browser().get(path).status_code == 401
