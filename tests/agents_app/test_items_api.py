"""Making, deleting and switching agents and skills over HTTP: who may, what is refused, what comes back."""

import json
import os

import pytest

from agents_app.agents import AgentNotFound, default_agent, load_agent
from agents_app.disabled import disabled_at, disabled_in
from agents_app.models import DisabledItem
from agents_app.seed import seed_home
from tests.accounts import logged_in, owner, person
from tests.agents_app.test_agents import MODEL, make
from tests.agents_app.test_skills import skill
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


# -- agents --------------------------------------------------------------------------------------------------------


def test_a_new_agent_works_at_once(admin, home, workspace):
    answer = admin.post("/api/agent-configs", {"name": "Code  Reviewer!", "description": "Reads: changes"})
    assert answer.status_code == 201
    row = answer.json()["agent"]
    assert (row["id"], row["name"], row["scope"], row["error"]) == ("code-reviewer", "Code Reviewer!", "global", "")
    assert answer.json()["conflictScope"] is None
    agent = load_agent(workspace, "code-reviewer")
    assert agent.model["provider"] == "demo"
    assert agent.config.system_prompt == "You are Code Reviewer!. Reads: changes"
    assert agent.persona == "# Code Reviewer!\n\nReads: changes"
    assert (agent.config.tools, agent.config.skills) == ((), ())
    assert AuditEvent.objects.filter(action="agent.create", target="code-reviewer").count() == 1


def test_an_agent_that_hides_another_is_told(admin, space):
    body = {"name": "default", "scope": "workspace", "projectId": space.path}
    assert admin.post("/api/agent-configs", body).json()["conflictScope"] == "global"
    admin.post("/api/agent-configs", {"name": "Twin", "scope": "workspace", "projectId": space.path})
    answer = admin.post("/api/agent-configs", {"name": "Twin", "scope": "global", "projectId": space.path})
    assert answer.json()["conflictScope"] == "workspace"


@pytest.mark.parametrize("name", ["", "  ", "!!!", "..", "/"])
def test_a_name_without_letters_is_refused(admin, name):
    answer = admin.post("/api/agent-configs", {"name": name})
    assert (answer.status_code, answer.json()["error"]) == (400, "Invalid agent name")
    answer = admin.post("/api/skills", {"name": name})
    assert (answer.status_code, answer.json()["error"]) == (400, "Invalid skill name")


def test_a_chinese_name_makes_a_chinese_folder(admin):
    assert admin.post("/api/agent-configs", {"name": "审查 员"}).json()["agent"]["id"] == "审查-员"


def test_a_taken_id_is_refused_and_changes_nothing(admin, home):
    before = (home / "global/agents/default/agent.yaml").read_text()
    answer = admin.post("/api/agent-configs", {"name": "DEFAULT"})
    assert (answer.status_code, answer.json()["error"]) == (409, "Agent already exists")
    assert (home / "global/agents/default/agent.yaml").read_text() == before


def test_deleting_takes_the_whole_folder_and_only_that(admin, space, workspace, tmp_path):
    folder = make(workspace / ".halo/agents", "mine", MODEL)
    (tmp_path / "keep.txt").write_text("x")
    (folder / "link").symlink_to(tmp_path)
    answer = admin.delete(f"/api/agent-configs/mine?scope=workspace&projectId={space.path}")
    assert answer.json() == {"ok": True}
    assert not folder.exists()
    assert (tmp_path / "keep.txt").exists()
    again = admin.delete(f"/api/agent-configs/mine?scope=workspace&projectId={space.path}")
    assert (again.status_code, again.json()["error"]) == (404, "Agent not found")


def test_what_belongs_to_halo_cannot_be_deleted_and_neither_the_last_agent(admin, home):
    answer = admin.delete("/api/agent-configs/executor")
    assert answer.status_code == 400
    assert "Disable it" in answer.json()["error"]
    for place in (home / "global/agents").iterdir():
        os.rename(place, home / place.name)
    make(home / "global/agents", "only", MODEL)
    answer = admin.delete("/api/agent-configs/only")
    assert (answer.status_code, answer.json()["error"]) == (400, "The last global agent cannot be deleted")


def test_a_folder_on_the_way_that_is_a_link_is_not_followed_when_deleting(admin, space, workspace, tmp_path):
    outside = tmp_path / "outside"
    make(outside, "victim", MODEL)
    (workspace / ".halo").mkdir()
    (workspace / ".halo/agents").symlink_to(outside)
    answer = admin.delete(f"/api/agent-configs/victim?scope=workspace&projectId={space.path}")
    assert answer.status_code == 403
    assert (outside / "victim/agent.yaml").exists()


def test_a_disabled_agent_is_as_good_as_absent_in_that_workspace_only(admin, space, workspace):
    answer = admin.patch(f"/api/agent-configs/default/toggle?scope=global&projectId={space.path}")
    assert answer.json() == {"ok": True, "disabled": True}
    mirrored = json.loads((workspace / ".halo/disabled.json").read_text())
    assert mirrored == {"agent": ["global:default"], "skill": []}
    off = disabled_in(space.pk)
    assert off == disabled_at(workspace) == {("agent", "default", "global")}
    with pytest.raises(AgentNotFound):
        load_agent(workspace, "default", off)
    assert default_agent(workspace, off).id == "executor"
    rows = {row["id"]: row for row in admin.get("/api/agent-configs", {"projectId": space.path}).json()["agents"]}
    assert (rows["default"]["disabled"], rows["executor"]["disabled"]) == (True, False)
    assert load_agent(None, "default").id == "default"
    again = admin.patch("/api/agent-configs/default/toggle", {"scope": "global", "projectId": space.path})
    assert again.json() == {"ok": True, "disabled": False}
    assert [row.action for row in AuditEvent.objects.filter(target="default")] == ["agent.enable", "agent.disable"]


def test_a_toggle_needs_a_workspace(admin):
    for path in ("/api/agent-configs/default/toggle", "/api/skills/halo/toggle"):
        answer = admin.patch(path)
        assert (answer.status_code, answer.json()["error"]) == (400, "projectId required")


def test_a_global_agent_behind_a_disabled_one_of_the_workspace_stays_hidden(admin, space, workspace):
    make(workspace / ".halo/agents", "executor", MODEL)
    admin.patch(f"/api/agent-configs/executor/toggle?projectId={space.path}")
    assert DisabledItem.objects.get().scope == "workspace", "without a scope: the one that serves the id"
    with pytest.raises(AgentNotFound):
        load_agent(workspace, "executor", disabled_in(space.pk))


def test_markdown_files_come_with_their_path(admin, space, workspace, home):
    make(workspace / ".halo/agents", "mine", MODEL, persona="I am.")
    where = {"projectId": space.path, "scope": "workspace"}
    files = admin.get("/api/agent-configs/mine/md-all", where).json()["files"]
    assert files["AGENT.md"] == {
        "content": "I am.",
        "exists": True,
        "path": str(workspace / ".halo/agents/mine/AGENT.md"),
        "readOnly": False,
    }
    assert files["INDEX.md"] == {
        "content": "",
        "exists": False,
        "path": str(workspace / ".halo/INDEX.md"),
        "readOnly": True,
    }
    answer = admin.put("/api/agent-configs/mine/md/INSTRUCTIONS.md", where | {"content": "Be kind."})
    assert answer.json() == {"ok": True, "path": str(workspace / ".halo/INSTRUCTIONS.md")}
    assert admin.get("/api/agent-configs/mine/md/INSTRUCTIONS.md", where).json()["content"] == "Be kind."
    assert admin.put("/api/agent-configs/mine/md/INDEX.md", where | {"content": "x"}).status_code == 400
    assert admin.get("/api/agent-configs/mine/md/agent.yaml", where).status_code == 400
    admin.put("/api/agent-configs/default/md/INSTRUCTIONS.md", {"content": "Global."})
    assert (home / "global/INSTRUCTIONS.md").read_text() == "Global."


def test_a_saved_agent_warns_of_skills_and_members_that_are_not_there(admin, home):
    skill(home / "global", "notes")
    text = MODEL + "skills: [notes, ghost]\nteam:\n  - executor\n  - nobody\n"
    warnings = admin.put("/api/agent-configs/default/yaml", {"yaml": text}).json()["warnings"]
    assert warnings == [
        'line 2: skills: there is no skill "ghost" here',
        'line 5: team: there is no agent "nobody" here',
    ]


# -- skills --------------------------------------------------------------------------------------------------------


def test_a_new_skill_is_a_folder_to_fill_in(admin, home):
    body = {"name": "Release Notes", "description": "Gather: group, write", "command": "notes"}
    answer = admin.post("/api/skills", body)
    assert answer.status_code == 201
    row = answer.json()["skill"]
    assert (row["id"], row["name"], row["command"], row["error"]) == ("release-notes", "release-notes", "/notes", "")
    assert row["description"] == "Gather: group, write"
    assert row["warnings"] == []
    assert "## When to use" in (home / "global/skills/release-notes/SKILL.md").read_text()
    assert admin.post("/api/skills", body).json() == {"error": "Skill already exists"}
    assert admin.post("/api/skills", {"name": "b", "command": "a b"}).status_code == 400


def test_skills_are_listed_with_what_they_are_and_why_they_fail(admin, space, home, workspace):
    skill(home / "global", "notes", more="requiresAccess: workspace\nverbs: [{name: draft, requiresAccess: full}]\n")
    skill(workspace / ".halo", "notes", more="verbs: wrong\n")
    rows = admin.get("/api/skills", {"projectId": space.path}).json()["skills"]
    own, shared = (row for row in rows if row["id"] == "notes")
    assert (own["scope"], own["overridden"], shared["overridden"]) == ("workspace", False, True)
    assert "line 4: verbs must be a list" in own["error"]
    assert shared["requiresAccess"] == "workspace"
    assert shared["verbs"] == [{"name": "draft", "desc": "", "builtin": False, "requiresAccess": "full"}]


def test_a_skill_that_does_not_get_its_slash_says_so_in_the_list(admin, space, home):
    skill(home / "global", "first", more="command: /x\n")
    skill(home / "global", "second", more="command: /x\n")
    skill(home / "global", "thief", more="command: /help\n")
    rows = {row["id"]: row["warnings"] for row in admin.get("/api/skills").json()["skills"] if not row["builtIn"]}
    assert rows == {
        "first": [],
        "second": ['skill "second": /x belongs to "first"; it works without a slash'],
        "thief": ['skill "thief": /help belongs to Halo; it works without a slash'],
    }
    built_in = [row for row in admin.get("/api/skills").json()["skills"] if row["builtIn"]]
    assert built_in
    assert not any(row["warnings"] for row in built_in)


def test_C65_a_skill_with_a_colon_is_listed_whole(admin, home):
    folder = home / "global/skills/audit"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: audit\ndescription: Use for audits. Triggers on: review, check\nallowed-tools: Read\n---\nBody"
    )
    row = next(row for row in admin.get("/api/skills").json()["skills"] if row["id"] == "audit")
    assert row["description"] == "Use for audits. Triggers on: review, check"
    assert row["error"] == ""


def test_members_with_workspace_access_may_switch_skills_but_not_make_or_delete_them(space, workspace):
    skill(workspace / ".halo", "notes")
    where = {"projectId": space.path, "scope": "workspace"}
    browser = member(space, "workspace")
    assert browser.patch("/api/skills/notes/toggle", where).json() == {"ok": True, "disabled": True}
    assert browser.post("/api/skills", where | {"name": "x"}).status_code == 403
    assert browser.delete(f"/api/skills/notes?scope=workspace&projectId={space.path}").status_code == 403
    assert browser.patch("/api/agent-configs/default/toggle", {"projectId": space.path}).status_code == 403
    full = member(space, "full")
    assert full.delete(f"/api/skills/notes?scope=workspace&projectId={space.path}").status_code == 200
    assert full.post("/api/skills", {"name": "x"}).status_code == 403, "the home belongs to the owner"


@pytest.mark.parametrize("path", ["/api/skills/..%2F..%2Fetc", "/api/agent-configs/a.b", "/api/skills/a%20b"])
def test_unsafe_ids_are_refused(admin, path):
    assert admin.delete(path).status_code == 400


# -- the text of a skill -------------------------------------------------------------------------------------------


def test_a_skills_text_is_read_and_saved(admin, space, workspace):
    skill(workspace / ".halo", "notes")
    where = {"projectId": space.path, "scope": "workspace"}
    before = admin.get("/api/skills/notes/md", where).json()
    assert before["exists"]
    assert not before["readOnly"]
    assert before["path"] == str(workspace / ".halo/skills/notes/SKILL.md")
    text = "---\nname: notes\ndescription: Takes notes\ncommand: /jot\n---\nBody\n"
    row = admin.put("/api/skills/notes/md", where | {"content": text}).json()["skill"]
    assert (row["description"], row["command"], row["error"]) == ("Takes notes", "/jot", "")
    assert admin.get("/api/skills/notes/md", where).json()["content"] == text
    assert AuditEvent.objects.filter(action="skill.change", target="notes").count() == 1


def test_a_text_that_could_not_load_is_refused_with_its_line_and_nothing_is_written(admin, space, workspace):
    skill(workspace / ".halo", "notes")
    file = workspace / ".halo/skills/notes/SKILL.md"
    before = file.read_text()
    body = {"projectId": space.path, "scope": "workspace", "content": "---\nname: notes\nverbs: wrong\n---\n"}
    answer = admin.put("/api/skills/notes/md", body)
    assert (answer.status_code, file.read_text()) == (400, before)
    assert "line 3: verbs must be a list" in answer.json()["error"]


def test_skills_that_belong_to_halo_are_shown_but_not_written(admin, home):
    before = admin.get("/api/skills/workspace/md").json()
    assert before["readOnly"]
    answer = admin.put("/api/skills/workspace/md", {"content": "---\nname: workspace\ndescription: x\n---\n"})
    assert answer.status_code == 400
    assert "belongs to Halo" in answer.json()["error"]
    assert admin.get("/api/skills/workspace/md").json() == before


# -- news for open pages -------------------------------------------------------------------------------------------


def news(captured) -> list[tuple[str, str, str, str | None]]:
    return [(topic, event.type, event.scope, event.project_id) for topic, event in captured]


def test_every_change_is_told_to_those_whom_it_concerns(
    admin, space, workspace, published, django_capture_on_commit_callbacks
):
    where = {"projectId": space.path, "scope": "workspace"}
    here = (f"workspace.{space.pk}", "workspace", space.path)
    text = "---\nname: fresh\ndescription: x\n---\n"
    calls = [
        lambda: admin.post("/api/skills", where | {"name": "fresh"}),
        lambda: admin.put("/api/skills/fresh/md", where | {"content": text}),
        lambda: admin.patch("/api/skills/fresh/toggle", where),
        lambda: admin.delete(f"/api/skills/fresh?scope=workspace&projectId={space.path}"),
        lambda: admin.post("/api/agent-configs", where | {"name": "fresh"}),
        lambda: admin.put("/api/agent-configs/fresh/md/AGENT.md", where | {"content": "words"}),
        lambda: admin.patch("/api/agent-configs/fresh/toggle", where),
        lambda: admin.delete(f"/api/agent-configs/fresh?scope=workspace&projectId={space.path}"),
    ]
    with django_capture_on_commit_callbacks(execute=True):
        assert all(call().status_code < 300 for call in calls)
    expected = ["skills:changed"] * 4 + ["agents:changed"] * 4
    assert news(published) == [(here[0], name, *here[1:]) for name in expected]


def test_a_change_in_the_home_is_told_to_everybody(admin, published, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        admin.post("/api/skills", {"name": "fresh"})
        admin.post("/api/skills", {"name": "fresh"})
    assert news(published) == [("site", "skills:changed", "global", None)], "a refusal is no news"
