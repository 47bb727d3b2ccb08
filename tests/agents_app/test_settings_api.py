"""Routes of settings and providers over HTTP (spec http-api, settings-auth-secrets)."""

import json
import os
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from agents_app.agents import load_agent
from agents_app.seed import AGENTS, seed_home
from halo_site.lib import settings_store
from tests.accounts import logged_in, owner, person
from tests.agents_app.test_agents import MODEL, make
from workspaces_app.models import AuditEvent, Membership, Workspace
from workspaces_app.sandbox import Status

pytestmark = pytest.mark.django_db
CANARY = "sk-canary-0123456789"


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


def field(browser, path: str, **query) -> dict:
    answer = browser.get("/api/settings/schema", query).json()
    return next(part for section in answer["sections"] for part in section["fields"] if part["path"] == path)


def test_a_value_is_set_shown_and_unset_again(admin, published):
    assert field(admin, "general.agent.max_retries")["source"] == "unset"
    body = {"scope": "global", "key": "general.agent.max_retries", "value": 7}
    assert admin.patch("/api/settings", body).json() == {"ok": True}
    shown = field(admin, "general.agent.max_retries")
    assert (shown["value"], shown["source"], shown["hasValue"], shown["default"]) == (7, "global", True, "5")
    assert admin.get("/api/settings").json()["general"] == {"agent": {"max_retries": 7}}
    assert published[0][0] == "site"
    assert (published[0][1].type, published[0][1].scope) == ("settings:changed", "global")
    for _ in range(2):
        answer = admin.delete("/api/settings", json.dumps(body), content_type="application/json")
        assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert field(admin, "general.agent.max_retries")["hasValue"] is False


def test_a_workspace_shows_what_it_inherits_and_overrides(admin, space, published):
    query = {"projectId": space.path}
    admin.patch("/api/settings", {"key": "general.agent.max_retries", "value": 7})
    assert field(admin, "general.agent.max_retries", **query)["inheritedFromGlobal"] is True
    admin.patch("/api/settings", {"scope": "workspace", "key": "general.agent.max_retries", "value": 8} | query)
    shown = field(admin, "general.agent.max_retries", **query)
    assert (shown["value"], shown["source"], shown["inheritedFromGlobal"]) == (8, "workspace", False)
    assert published[-1][0] == f"workspace.{space.pk}"
    assert field(admin, "general.agent.max_retries")["value"] == 7


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"key": "general.server.trust_proxy", "value": True, "scope": "workspace"},
            "is global-only and cannot be set per workspace",
        ),
        ({"key": "general.agent.max_retries", "value": "many"}, "general.agent.max_retries"),
        ({"key": "general.agent.max_retries", "value": 10**30}, "must be a whole number"),
        ({"key": "general.agent.max_retries", "value": 21}, "must be from 1 to 20"),
        ({"key": "general.agent.max_retries", "value": [1]}, "single value"),
        ({"key": "general.compact.compress_at", "value": "nan"}, "must be a number"),
        ({"key": "general.language", "value": "fr"}, "must be one of en-US, zh-CN"),
        ({"key": "general.evolution.triggers.pre_compact", "value": "perhaps"}, "must be true or false"),
        ({"key": "a.__proto__.b", "value": 1}, "Invalid key"),
        ({"key": "a.params.constructor", "value": 1}, "Invalid key"),
        ({"key": "general.nothing", "value": 1}, "Invalid key"),
        ({"key": "", "value": 1}, "Invalid key"),
        ({"key": "a.params.b", "value": {"x": 1}}, "single value"),
        ({"key": "a.params.b", "value": "x" * 70_000}, "longer than"),
        ({"value": 1}, "key required"),
        ({"key": "a.params.b", "value": 1, "scope": "somewhere"}, "scope must be"),
        ({"key": 5, "value": 1}, "key"),
    ],
)
def test_bad_values_are_refused_with_the_reason_and_nothing_is_written(admin, home, space, body, error):
    answer = admin.patch("/api/settings", {"projectId": space.path} | body)
    assert answer.status_code == 400
    assert error in answer.json()["error"]
    assert (home / "secrets/settings.yaml").read_text() == ""


@pytest.mark.parametrize("key", ["a.__proto__.b", "a.params.constructor", "a.prototype.b", "a", "a..b", ""])
def test_a_key_that_could_never_be_set_is_not_unset_either(admin, key):
    answer = admin.delete("/api/settings", json.dumps({"key": key}), content_type="application/json")
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid key"})


def test_a_workspace_write_needs_its_workspace(admin):
    answer = admin.patch("/api/settings", {"scope": "workspace", "key": "a.params.b", "value": 1})
    assert (answer.status_code, answer.json()["error"]) == (400, "projectId required for workspace settings")
    answer = admin.patch(
        "/api/settings", {"scope": "workspace", "projectId": "/nowhere", "key": "a.params.b", "value": 1}
    )
    assert (answer.status_code, answer.json()["error"]) == (404, "Project not found")


def test_global_settings_belong_to_the_owner_and_a_workspaces_to_full_members(space):
    for level, own in (("readonly", 403), ("workspace", 403), ("full", 200)):
        browser = member(space, level)
        body = {"projectId": space.path, "key": "openai.secrets.api_key", "value": "k"}
        assert browser.patch("/api/settings", body | {"scope": "workspace"}).status_code == own
        assert browser.patch("/api/settings", body | {"scope": "global"}).status_code == 403
        assert browser.put("/api/settings", {"scope": "global", "settings": {}}).status_code == 403
        assert browser.get("/api/settings/schema", {"projectId": space.path}).status_code == 200


def test_secrets_never_leave_the_server(admin, space, home):
    for key in ("openai.secrets.api_key", "gone.secrets.token", "gone.params.token"):
        admin.patch("/api/settings", {"key": key, "value": CANARY})
    assert settings_store.secrets_of("openai") == {"api_key": CANARY}
    for path in ("/api/settings", "/api/settings/schema", "/api/settings/providers", "/api/agent-configs/models"):
        for query in ({}, {"projectId": space.path}):
            assert CANARY not in admin.get(path, query).content.decode()
    assert field(admin, "openai.secrets.api_key")["value"] == "sk********89"
    assert CANARY not in json.dumps(list(AuditEvent.objects.values_list("target", "detail")), default=str)


def test_a_masked_value_that_comes_back_changes_nothing(admin):
    admin.patch("/api/settings", {"key": "openai.secrets.api_key", "value": CANARY})
    admin.patch("/api/settings", {"key": "openai.secrets.api_key", "value": "sk********89"})
    assert settings_store.secrets_of("openai")["api_key"] == CANARY
    everything = admin.get("/api/settings").json()
    assert admin.put("/api/settings", {"scope": "global", "settings": everything}).status_code == 200
    assert settings_store.secrets_of("openai")["api_key"] == CANARY


def test_a_put_replaces_the_file_or_nothing(admin):
    admin.patch("/api/settings", {"key": "kimi.secrets.api_key", "value": "old"})
    bad = {"general": {"agent": {"max_retries": 3}, "nothing": 1}}
    assert admin.put("/api/settings", {"scope": "global", "settings": bad}).status_code == 400
    assert settings_store.secrets_of("kimi") == {"api_key": "old"}
    assert (
        admin.put(
            "/api/settings", {"scope": "global", "settings": {"general": {"agent": {"max_retries": 3}}}}
        ).status_code
        == 200
    )
    assert (settings_store.number("agent.max_retries"), settings_store.secrets_of("kimi")) == (3, {})


def test_orphans_are_listed_until_somebody_deletes_them(admin, home):
    admin.patch("/api/settings", {"key": "weather.params.city", "value": "Bonn"})
    schema = admin.get("/api/settings/schema").json()
    assert schema["orphans"] == [{"key": "weather.params.city", "kind": "param", "scope": "global"}]
    skill = home / "global/skills/weather"
    skill.mkdir(parents=True)
    (skill / "config.yaml").write_text("params:\n  - {key: city, description: City, default: no}\n")
    assert admin.get("/api/settings/schema").json()["orphans"] == []
    shown = field(admin, "weather.params.city")
    assert (shown["value"], shown["default"], shown["kind"]) == ("Bonn", "no", "param")


def test_an_orphan_goes_and_comes_with_its_skill_and_is_deleted_where_it_stands(admin, home, space):
    key, here = "weather.params.city", {"projectId": space.path}
    for scope, city in (("global", "Bonn"), ("workspace", "Kiel")):
        admin.patch("/api/settings", {"key": key, "value": city, "scope": scope} | here)

    def orphans() -> list[str]:
        found = admin.get("/api/settings/schema", here).json()["orphans"]
        assert {orphan["key"] for orphan in found} <= {key}
        return sorted(orphan["scope"] for orphan in found)

    skill = home / "global/skills/weather"
    skill.mkdir(parents=True)
    (skill / "config.yaml").write_text("params:\n  - {key: city, description: City}\n")
    assert orphans() == []
    shutil.rmtree(skill)
    assert orphans() == ["global", "workspace"]
    for scope, left in (("workspace", ["global"]), ("global", [])):
        body = json.dumps({"key": key, "scope": scope} | here)
        assert admin.delete("/api/settings", body, content_type="application/json").json() == {"ok": True}
        assert orphans() == left


def test_a_broken_file_is_shown_with_its_line_and_refuses_writes(admin, home):
    (home / "secrets/settings.yaml").write_text("general:\n  a: [\n")
    errors = admin.get("/api/settings/schema").json()["errors"]
    assert errors[0]["scope"] == "global"
    assert errors[0]["line"] >= 2
    answer = admin.patch("/api/settings", {"key": "general.agent.max_retries", "value": 3})
    assert answer.status_code == 409
    assert (home / "secrets/settings.yaml").read_text() == "general:\n  a: [\n"


def test_the_default_provider_is_a_choice_of_those_installed(admin):
    shown = field(admin, "general.agent.default_provider")
    assert shown["type"] == "enum"
    assert {"demo", "openai", "anthropic"} <= set(shown["options"])


# -- providers ----------------------------------------------------------------------------------------------------


def test_providers_say_which_has_a_key_and_that_this_is_the_demo(admin, space):
    answer = admin.get("/api/settings/providers", {"projectId": space.path}).json()
    assert answer["current"] == {
        "agentId": "default",
        "scope": "global",
        "provider": "demo",
        "model": "demo",
        "endpoint": "demo://local",
        "demo": True,
    }
    keys = {entry["id"]: entry["hasKey"] for entry in answer["providers"]}
    assert (keys["demo"], keys["openai"]) == (True, False)
    admin.patch("/api/settings", {"key": "openai.secrets.api_key", "value": "k"})
    assert {entry["id"]: entry["hasKey"] for entry in admin.get("/api/settings/providers").json()["providers"]}[
        "openai"
    ]


def test_connecting_a_model_binds_the_agent_and_all_that_ran_the_demo(
    admin, space, workspace, published, django_capture_on_commit_callbacks
):
    body = {
        "provider": "openai",
        "model": "local-1",
        "endpoint": "http://127.0.0.1:11434/v1",
        "secrets": {"api_key": CANARY},
    }
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin.put("/api/settings/model", body)
    assert answer.status_code == 200, answer.content
    assert sorted(answer.json()["agents"]) == sorted(AGENTS)
    for name in AGENTS:
        model = load_agent(workspace, name).model
        assert (model["provider"], model["id"], model["endpoint"]) == ("openai", "local-1", body["endpoint"])
    assert load_agent(workspace, "default").config.tools, "the rest of the file stays"
    assert settings_store.secrets_of("openai") == {"api_key": CANARY}
    assert admin.get("/api/settings/providers").json()["current"]["demo"] is False
    row = AuditEvent.objects.get(action="model.connect")
    assert row.detail["provider"] == "openai"
    assert CANARY not in json.dumps(row.detail)
    assert [event.type for _, event in published] == ["settings:changed", "agents:changed"]


def test_connecting_again_touches_one_agent_and_keeps_the_key(admin, workspace):
    admin.put("/api/settings/model", {"provider": "openai", "secrets": {"api_key": CANARY}})
    answer = admin.put(
        "/api/settings/model", {"provider": "openai", "model": "other", "secrets": {"api_key": "sk********89"}}
    )
    assert answer.json() == {"agents": ["default"]}
    assert load_agent(workspace, "default").model["id"] == "other"
    assert load_agent(workspace, "executor").model["id"] != "other"
    assert settings_store.secrets_of("openai") == {"api_key": CANARY}


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"provider": "nobody"}, 400, "Unknown provider"),
        ({}, 400, "provider required"),
        ({"provider": "openai", "endpoint": "file:///etc/passwd"}, 400, "http://"),
        ({"provider": "openai", "endpoint": "http://x y"}, 400, "without spaces"),
        ({"provider": "openai", "secrets": {"other": "x"}}, 400, "no secret other"),
        ({"provider": "openai", "secrets": {"api_key": 5}}, 400, "secrets"),
        ({"provider": "openai", "agentId": "gone"}, 404, "not found"),
        ({"provider": "openai", "agentId": "../x"}, 400, "Invalid agent id"),
    ],
)
def test_a_model_that_cannot_be_connected_changes_nothing(admin, home, workspace, body, status, error):
    answer = admin.put("/api/settings/model", body)
    assert (answer.status_code, error in answer.json()["error"]) == (status, True), answer.json()
    assert load_agent(workspace, "default").model["provider"] == "demo"
    assert (home / "secrets/settings.yaml").read_text() == ""


def test_members_connect_models_of_their_workspaces_agents_only(space, workspace):
    make(workspace / ".halo/agents", "mine", MODEL)
    for level, own in (("readonly", 403), ("workspace", 403), ("full", 200)):
        browser = member(space, level)
        body = {"projectId": space.path, "provider": "openai", "secrets": {"api_key": "k"}}
        assert browser.put("/api/settings/model", body).status_code == 403
        assert browser.put("/api/settings/model", body | {"agentId": "mine"}).status_code == own
        test = browser.post("/api/settings/providers/demo/test", {"projectId": space.path})
        assert test.status_code == own
        assert browser.post("/api/settings/providers/demo/test", {}).status_code == 403
    assert settings_store.secrets_of("openai") == {}
    assert settings_store.secrets_of("openai", workspace) == {"api_key": "k"}


def test_the_test_button_answers_for_the_demo_and_saves_nothing(admin, home):
    report = admin.post("/api/settings/providers/demo/test", {}).json()
    assert report["ok"] is True
    assert report["error"] == ""
    assert (home / "secrets/settings.yaml").read_text() == ""


class Refuser(BaseHTTPRequestHandler):
    """A model server that knows no key. Remembers what it was shown."""

    shown: list[str] = []

    def answer(self) -> None:
        self.shown.append(self.headers.get("authorization", ""))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b'{"error": {"message": "wrong key", "type": "invalid_request_error"}}'
        self.send_response(401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *args) -> None:
        pass


def test_the_test_button_uses_the_given_key_and_says_what_the_server_said(admin, home):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuser)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        body = {"endpoint": f"http://127.0.0.1:{server.server_port}/v1", "model": "m", "secrets": {"api_key": CANARY}}
        answer = admin.post("/api/settings/providers/openai/test", body)
    finally:
        server.shutdown()
        server.server_close()
    report = answer.json()
    assert (report["ok"], report["errorKind"]) == (False, "account")
    assert report["reachMs"] is not None
    assert set(Refuser.shown) == {f"Bearer {CANARY}"}
    assert CANARY not in answer.content.decode()
    assert (home / "secrets/settings.yaml").read_text() == ""


def test_C6_looking_changes_nothing_on_disk(admin, space, home, workspace):
    def state():
        files = [path for base in (home, workspace) for path in base.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files if "sqlite" not in path.name}

    before = state()
    for path in (
        "settings",
        "settings/schema",
        "settings/providers",
        "agent-configs",
        "agent-configs/models",
        "agent-configs/tools",
        "agent-configs/default/yaml",
    ):
        assert admin.get(f"/api/{path}", {"projectId": space.path}).status_code == 200
    assert state() == before


def test_a_link_in_a_workspace_does_not_let_a_binding_or_a_setting_write_outside(admin, space, workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "agent.yaml").write_text(MODEL)
    (workspace / ".halo/agents").mkdir(parents=True)
    os.symlink(outside, workspace / ".halo/agents/mine")
    body = {"projectId": space.path, "provider": "openai", "agentId": "mine"}
    assert admin.put("/api/settings/model", body).status_code in (400, 403, 404)
    put = {"projectId": space.path, "scope": "workspace", "yaml": "name: x"}
    assert admin.put("/api/agent-configs/mine/yaml", put).status_code == 403
    assert (outside / "agent.yaml").read_text() == MODEL
    shutil.rmtree(workspace / ".halo")
    os.symlink(outside, workspace / ".halo")
    (outside / "settings.yaml").write_text("a: {params: {b: canary}}")
    change = {"projectId": space.path, "scope": "workspace", "key": "a.params.b", "value": "x"}
    assert admin.patch("/api/settings", change).status_code >= 400
    assert "canary" in (outside / "settings.yaml").read_text()
    assert settings_store.params_of("a", workspace) == {}


@pytest.mark.parametrize("level", ["readonly", "full"])
def test_whoever_works_here_sees_what_holds_commands(space, monkeypatch, level):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="not installed"))
    answer = member(space, level).get("/api/settings/schema", {"projectId": space.path}).json()
    assert answer["sandbox"] == {"program": "", "version": "", "reason": "not installed", "network": "proxy"}


def test_a_file_that_somebody_else_changed_meanwhile_is_not_replaced(admin, home):
    file = home / "secrets/settings.yaml"

    def put(retries: int, **more):
        body = {"scope": "global", "settings": {"general": {"agent": {"max_retries": retries}}}} | more
        return admin.put("/api/settings", body)

    seen = admin.get("/api/settings/schema").json()["versions"]["global"]
    mine = put(3, version=seen)
    assert mine.status_code == 200
    before = file.read_text()
    stale = put(4, version=seen)
    assert (stale.status_code, file.read_text()) == (409, before)
    assert stale.json() == {"error": "Somebody else changed these settings. Load them again; nothing was saved."}
    file.write_text(before + "# by hand\n")
    assert put(5, version=mine.json()["version"]).status_code == 409, "an editor is somebody else, too"
    assert put(6, version=admin.get("/api/settings/schema").json()["versions"]["global"]).status_code == 200
    assert put(7).status_code == 200, "without a version the last one wins, as before"


def test_a_workspace_has_a_version_of_its_own(admin, space):
    before = admin.get("/api/settings/schema", {"projectId": space.path}).json()["versions"]
    body = {"scope": "workspace", "projectId": space.path, "settings": {"general": {"agent": {"max_retries": 2}}}}
    assert admin.put("/api/settings", body | {"version": before["workspace"]}).status_code == 200
    after = admin.get("/api/settings/schema", {"projectId": space.path}).json()["versions"]
    assert after["global"] == before["global"]
    assert after["workspace"] != before["workspace"]
