"""stage.py of `/workspace share`: what goes along, what never does (spec skills 6.2, settings 33 to 38)."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.seed import SEEDS

SCRIPT = SEEDS / "skills/workspace/stage.py"
sys.path.append(str(SCRIPT.parent))

from redact import redact_defaults, redact_yaml, suspicious  # noqa: E402  the script's own sibling

KEY = "AKIA" + "A1B2C3D4E5F6G7H8"


def write(base: Path, name: str, text: str) -> Path:
    file = base / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def shared(tmp_path) -> Path:
    """The home's global/ folder."""
    base = tmp_path / "global"
    for name, text in {
        "INSTRUCTIONS.md": "GLOBAL RULES",
        "USER.md": "private",
        "agents/default/agent.yaml": "name: Default\nskills: [halo]\n",
        "agents/helper/agent.yaml": "name: Helper\nskills:\n  - tool  # a comment\n  - ghost\n",
        "agents/off/agent.yaml": "name: Off\n",
        "agents/twin/agent.yaml": "name: Twin of the home\n",
        "agents/secret/agent.yaml": "name: Secret\ninternal: true\n",
        "skills/halo/SKILL.md": "x",
        "skills/tool/SKILL.md": "---\nname: tool\ntoken: abc\n---\nbody\n",
        "skills/unused/SKILL.md": "x",
        "prompts/all/A.md": "a",
        "prompts/bootstrap/B.md": "b",
    }.items():
        write(base, name, text)
    manifest = {"agents/default/agent.yaml": "1", "skills/halo/SKILL.md": "1", "prompts/all/A.md": "1"}
    write(base, ".template-files.json", json.dumps(manifest))
    return base


@pytest.fixture
def space(workspace) -> Path:
    for name, text in {
        ".halo/INDEX.md": "See [d](docs/guide.md), [all](docs/more/), [out](docs/../../secret.md).",
        ".halo/docs/guide.md": f"key {KEY}\nmail anna@example.org\n",
        ".halo/docs/more/a.md": "a",
        ".halo/docs/unlinked.md": "u",
        ".halo/USER.md": "private",
        ".halo/memory/2026-01-01.md": "private",
        ".halo/assets/a.png": "x",
        ".halo/sessions/default/1.jsonl": "private",
        ".halo/settings.yaml": "openai: {secrets: {api_key: sk-1}}",
        ".halo/halo.db": "private",
        ".halo/evo/runs/x/sandbox/.halo/INSTRUCTIONS.md": "evo",
        ".halo/agents/mine/agent.yaml": "name: Mine\napi_key: abc  # mine\ntoken: <<K>>\nskills: [local]\n",
        ".halo/agents/mine/AGENT.md": "I am.",
        ".halo/agents/mine/USER.md": "private",
        ".halo/agents/twin/agent.yaml": "name: Twin here\n",
        ".halo/skills/local/SKILL.md": "x",
        ".halo/skills/local/run.py": "TOKEN = 'ghp_" + "a" * 30 + "'\n",
        ".halo/skills/local/config.yaml": "params:\n  - {key: api_key, default: plain, secret: true}\n",
        "sub/.halo/INSTRUCTIONS.md": "Sub rules",
        "node_modules/p/.halo/INSTRUCTIONS.md": "foreign",
        "code.py": "print()",
    }.items():
        write(workspace, name, text)
    write(workspace, ".halo/disabled.json", '{"agent": ["global:off", "workspace:twin"], "skill": []}')
    return workspace


def stage(space: Path, shared: Path, *more: str, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-B", str(SCRIPT), str(space), "--global", str(shared), *more],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    return found


def staged(space: Path) -> dict[str, str]:
    base = space / ".halo/tmp/share/staged"
    return {str(file.relative_to(base)): file.read_text() for file in base.rglob("*") if file.is_file()}


def manifest(space: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(staged(space)["share-manifest.json"])
    return found


def test_what_goes_along(space, shared):
    told = stage(space, shared)
    assert set(staged(space)) == {
        *("README.md", "share-manifest.json", ".halo/INSTRUCTIONS.md", ".halo/INDEX.md", "sub/.halo/INSTRUCTIONS.md"),
        *(".halo/docs/guide.md", ".halo/docs/more/a.md", ".halo/agents/mine/agent.yaml", ".halo/agents/mine/AGENT.md"),
        *(".halo/agents/helper/agent.yaml", ".halo/agents/twin/agent.yaml", ".halo/prompts/all/A.md"),
        *(".halo/skills/local/SKILL.md", ".halo/skills/local/run.py", ".halo/skills/local/config.yaml"),
        ".halo/skills/tool/SKILL.md",
    }
    assert told["staged_at"] == ".halo/tmp/share/staged"
    assert told["summary"] == {
        "agents": 3,
        "skills": 2,
        "instructions": 2,
        "docs_count": 2,
        "prompts": 1,
        "yaml_redactions": 3,
        "markdown_auto_redactions": 1,
        "markdown_suspicious": 2,
        "excluded_user_md": 2,
        "excluded_memory_files": 1,
        "excluded_asset_files": 1,
        "missing_skills": ["ghost"],
    }


def test_a_disabled_agent_of_the_workspace_lets_the_homes_through(space, shared):
    stage(space, shared)
    assert staged(space)[".halo/agents/twin/agent.yaml"] == "name: Twin of the home\n"
    assert {"id": "twin", "scope": "global"} in manifest(space)["included"]["agents"]
    assert manifest(space)["excluded"]["internal_agents"] == ["secret"]


def test_literal_secrets_become_placeholders_and_references_stay(space, shared):
    stage(space, shared)
    files = staged(space)
    mine = files[".halo/agents/mine/agent.yaml"]
    assert mine == 'name: Mine\napi_key: "{{mine.params.api_key}}"\ntoken: <<K>>\nskills: [local]\n'
    assert 'token: "{{tool.params.token}}"' in files[".halo/skills/tool/SKILL.md"]
    assert 'default: "{{local.params.api_key}}"' in files[".halo/skills/local/config.yaml"]
    assert "- `mine.params.api_key`" in files["README.md"]
    assert "[REDACTED:aws-access-key]" in files[".halo/docs/guide.md"]
    assert "anna@example.org" in files[".halo/docs/guide.md"], "an address is flagged, not removed"
    finds = [
        (find["file"], find["line"], find["pattern"]) for find in manifest(space)["redactions"]["markdown_suspicious"]
    ]
    assert finds == [(".halo/docs/guide.md", 2, "e-mail"), (".halo/skills/local/run.py", 1, "vendor-token")]
    assert KEY not in json.dumps(manifest(space)), "not even the manifest holds the key"


def test_nothing_that_is_told_names_a_path_of_this_machine(space, shared, tmp_path):
    told = stage(space, shared)
    assert str(tmp_path) not in json.dumps(told) + json.dumps(manifest(space)) + staged(space)["README.md"]


def test_a_second_run_gives_the_same_tree(space, shared):
    stage(space, shared)
    first = staged(space)
    write(space, ".halo/tmp/share/staged/left.over", "x")
    stage(space, shared)
    second = staged(space)
    del first["share-manifest.json"], second["share-manifest.json"]
    assert first == second


def test_without_instructions_of_its_own_the_global_ones_go_along(space, shared):
    stage(space, shared)
    assert staged(space)[".halo/INSTRUCTIONS.md"] == "GLOBAL RULES"
    assert ".halo/INSTRUCTIONS.md (copy of the global file)" in manifest(space)["included"]["instructions"]
    write(space, ".halo/INSTRUCTIONS.md", "OWN")
    stage(space, shared)
    assert staged(space)[".halo/INSTRUCTIONS.md"] == "OWN"


def test_links_that_lead_out_are_not_followed(space, shared, tmp_path):
    private = write(tmp_path, "passwd", "root:x")
    (space / ".halo/skills/local/link").symlink_to(private)
    (space / ".halo/skills/local/folder").symlink_to(tmp_path)
    (space / "sub/.halo/INSTRUCTIONS.md").unlink()
    (space / "sub/.halo/INSTRUCTIONS.md").symlink_to(private)
    stage(space, shared)
    assert "root:x" not in "".join(staged(space).values())
    assert ".halo/skills/local/link" in manifest(space)["excluded"]["links"]
    assert manifest(space)["excluded"]["skipped_folders"] == ["node_modules"]


def test_a_folder_of_the_workspace_that_is_a_link_is_not_entered(space, shared, tmp_path):
    for name in ("skills/stray", "agents/stray", "prompts/all", "docs/more/out"):
        place = space / ".halo" / name
        place.parent.mkdir(exist_ok=True)
        outside = tmp_path / "outside" / name
        write(outside, "note.md", "canary")
        place.symlink_to(outside)
    write(space, ".halo/INDEX.md", "[d](docs/more/out/note.md)")
    stage(space, shared)
    assert "canary" not in "".join(staged(space).values())
    assert ".halo/skills/stray/note.md" in manifest(space)["excluded"]["links"]


def test_private_files_stay_even_when_the_index_links_to_them(space, shared):
    links = ("docs/USER.md", "docs/user.md", "docs/notes.db", "docs/.env", "docs/settings.yaml", "docs/two%20words.md")
    for name in links:
        write(space, f".halo/{name.replace('%20', ' ')}", "canary")
    write(space, ".halo/INDEX.md", " ".join(f"[x]({name})" for name in links))
    stage(space, shared)
    assert manifest(space)["included"]["docs"] == [".halo/docs/two words.md"]


def test_folders_that_are_passed_over_are_told(space, shared):
    write(space, ".halo/skills/local/build/tool.py", "x")
    stage(space, shared)
    assert manifest(space)["excluded"]["skipped_folders"] == ["node_modules", "local/build"]


def test_a_skill_whose_name_is_passed_over_elsewhere_is_looked_at_and_packed(space, shared):
    write(space, ".halo/skills/build/SKILL.md", f"---\nname: build\ntoken: abc\n---\n{KEY}\nmail anna@example.org\n")
    write(space, ".halo/docs/dist/notes.md", f"{KEY}\n")
    write(space, ".halo/INDEX.md", "[n](docs/dist/notes.md)")
    stage(space, shared)
    assert KEY not in "".join(staged(space).values())
    assert 'token: "{{build.params.token}}"' in staged(space)[".halo/skills/build/SKILL.md"]
    finds = manifest(space)["redactions"]["markdown_suspicious"]
    assert {"file": ".halo/skills/build/SKILL.md", "pattern": "e-mail"}.items() <= finds[0].items()
    told = stage(space, shared, "--zip", "--keep-all")
    with zipfile.ZipFile(space / told["zip"]) as archive:
        assert {".halo/skills/build/SKILL.md", ".halo/docs/dist/notes.md"} <= set(archive.namelist())


def test_a_staging_folder_that_is_a_link_is_refused(space, shared, tmp_path):
    (tmp_path / "victim").mkdir()
    (space / ".halo/tmp").symlink_to(tmp_path / "victim")
    assert "is a link" in stage(space, shared, code=1)["error"]


def test_without_a_halo_folder_there_is_nothing_to_share(tmp_path, shared):
    (tmp_path / "plain").mkdir()
    assert "there is no .halo folder" in stage(tmp_path / "plain", shared, code=1)["error"]


def test_the_archive_waits_until_every_find_is_decided(space, shared):
    assert "nothing is staged yet" in stage(space, shared, "--zip", code=1)["error"]
    stage(space, shared)
    assert [find["line"] for find in stage(space, shared, "--zip", code=1)["undecided"]] == [2, 1]
    write(space, ".halo/tmp/share/staged/.halo/skills/local/run.py", "TOKEN = ''\n")
    told = stage(space, shared, "--zip", "--keep", ".halo/docs/guide.md:2")
    with zipfile.ZipFile(space / told["zip"]) as archive:
        names = set(archive.namelist())
    assert names == set(staged(space)) - {"share-manifest.json"}
    assert "sub/.halo/INSTRUCTIONS.md" in names
    assert told["zip"].startswith(".halo/tmp/share/workspace-20")


# -- redaction on its own ------------------------------------------------------------------------------------------


def notes() -> tuple[list[tuple[str, str]], Any]:
    found: list[tuple[str, str]] = []
    return found, lambda field, placeholder: found.append((field, placeholder))


PLACE = '"{{x.params.%s}}"'


@pytest.mark.parametrize(
    ("text", "fresh"),
    [
        ("password: a,b # c", "password: " + PLACE % "password"),
        ("a:\n  Bot-Token: 'x: y'\nb: 1", "a:\n  Bot-Token: " + PLACE % "Bot-Token" + "\nb: 1"),
        ("token: |\n  line\n\n  more\nb: 1", "token: " + PLACE % "token" + "\nb: 1"),
        ("secret:\n  on the next line\nb: 1", "secret: " + PLACE % "secret" + "\nb: 1"),
        ("token: first\n  and more\nb: 1", "token: " + PLACE % "token" + "\nb: 1"),
        ("m: {token: abc, b: 1}", "m: {token: " + PLACE % "token" + ", b: 1}"),
        ('m: {"token": "a, b"}', 'm: {"token": ' + PLACE % "token" + "}"),
        ("m: {\n  token: abc,\n}", "m: {\n  token: " + PLACE % "token" + ",\n}"),
        ("- token: abc", "- token: " + PLACE % "token"),
        ("token: {{x.params.t}}", "token: {{x.params.t}}"),
        ("token: <<T>>", "token: <<T>>"),
        ("token: true\npassword:\n  nested: 1\nmax_token: 5", "token: true\npassword:\n  nested: 1\nmax_token: 5"),
    ],
)
def test_a_secret_goes_however_it_is_written(text, fresh):
    assert redact_yaml(text, "x", notes()[1]) == fresh


def test_a_default_goes_when_its_field_is_secret():
    text = "params:\n  - key: region\n    default: eu\n  - key: pin\n    secret: true\n    default: '1234'\n"
    found, note = notes()
    assert redact_defaults(text, "x", note) == text.replace("'1234'", PLACE % "pin")
    assert found == [("default", "{{x.params.pin}}")]


@given(
    st.text(
        alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="{}[]<>&*#'\"|,:"), min_size=8
    )
)
def test_no_literal_survives_under_the_name_of_a_secret(value):
    for shape in ("api_key: {}", "a: {{api_key: {}, b: 1}}", '- api_key: "{}"', "api_key: '{}'  # x"):
        assert value not in redact_yaml(shape.format(value), "x", notes()[1]).replace("{{x.params.api_key}}", "")


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "private-key"),
        ("Authorization: Basic abc", "authorization"),
        ("bearer abcdefgh1234", "authorization"),
        ("postgres://me:pw@host/db", "url-with-password"),
        ("x " + "aB3" * 14, "long-random-text"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "jwt"),
        ("use kT7vQ2mZ9xB4nR6wY1pL8sD3 here", "random-text"),
        ('{"db_password": "correct7horse9battery2"}', "assigned-secret"),
        ("API_KEY=9f86d081884c7d659a2feaa0c55ad015", "assigned-secret"),
        ("export STRIPE=sk_live_" + "abcdefgh12345678", "vendor-token"),
        ("glpat-" + "abcdefgh12345678", "vendor-token"),
        ("12345678:AA" + "x" * 33, "vendor-token"),
        ("plain words, https://example.org/a?b=c and 2026", None),
        ("model: claude-3-5-sonnet-20241022-v2", None),
        ("token = base64.b64decode(header)", None),
        ("def test_a_wrong_method_is_answered_with_405(): ...", None),
        ("max_tokens: 4096, key: value, secret: see your settings", None),
        ("commit 9f86d081884c7d659a2feaa0c55ad015", None),
        ("a" * 60, None),
    ],
)
def test_what_only_a_person_can_judge_is_flagged(line, pattern):
    assert [find["pattern"] for find in suspicious(line)] == ([pattern] if pattern else [])
