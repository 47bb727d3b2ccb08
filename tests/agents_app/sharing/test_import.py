"""Taking over a shared archive: preview, all or nothing, undo, hostile zips (spec settings; SECURITY-BAR E1)."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test.client import MULTIPART_CONTENT

from agents_app.seed import SEEDS
from agents_app.sharing import actions, bundle, desk
from agents_app.sharing.actions import Actor, Wanted
from agents_app.sharing.plan import Choice
from halo_site.lib import settings_store, settings_write
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Conflict, HaloError, NotFound, StorageFull
from tests.accounts import Browser, logged_in, owner, person
from tests.extensions_app import test_install
from tests.extensions_app.zips import with_entry, zipped
from workspaces_app.models import AuditEvent, Membership, Workspace

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[3]

SHARED: dict[str, bytes] = {
    "README.md": b"about",
    ".halo/INDEX.md": b"index",
    ".halo/INSTRUCTIONS.md": b"theirs",
    ".halo/docs/guide.md": b"guide",
    ".halo/prompts/all/A.md": b"a",
    ".halo/agents/mine/agent.yaml": b'name: Mine\napi_key: "{{mine.params.api_key}}"\n',
    ".halo/agents/mine/AGENT.md": b"I am.",
    ".halo/skills/local/SKILL.md": b"---\nname: local\ndescription: x\n---\nuse {{params.city}}",
    "sub/.halo/INSTRUCTIONS.md": b"below",
}


@pytest.fixture
def space(home, workspace) -> Workspace:
    (workspace / ".halo").mkdir()
    return Workspace.objects.create(path=str(workspace), name="space")


@pytest.fixture
def admin(space) -> Browser:
    return logged_in(owner())


def files(base: Path) -> dict[str, str]:
    """Everything in a workspace but where imports are laid out."""
    found = {str(path.relative_to(base)): path for path in base.rglob("*")}
    return {
        name: os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "/"
        for name, path in found.items()
        if not name.startswith(desk.FOLDER)
    }


def write(space: Workspace, name: str, text: str) -> Path:
    file = Path(space.path, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def take(space: Workspace, archive: dict[str, bytes] | None = None, **options: Any) -> actions.Imported:
    """Look, then import what was shown. options: of Choice, and values."""
    file = zipped(SHARED if archive is None else archive)
    values = options.pop("values", {})
    wanted = Wanted(actions.preview(space, file).id, Choice(**options), values)
    file.seek(0)
    return actions.do_import(space, file, wanted, name="shared.zip", actor=Actor())


def undo(space: Workspace, *, force: bool = False) -> list[str]:
    return actions.do_undo(space, force=force, actor=Actor())


# ---- the good way


def test_a_preview_says_what_would_come_and_writes_nothing(space):
    write(space, ".halo/INDEX.md", "index")
    write(space, ".halo/INSTRUCTIONS.md", "ours")
    before = files(Path(space.path))
    seen = actions.preview(space, zipped(SHARED))
    assert {step.item.path: step.verdict for step in seen.steps} == {
        ".halo/INDEX.md": "same",
        ".halo/INSTRUCTIONS.md": "differs",
        ".halo/agents/mine": "new",
        ".halo/docs/guide.md": "new",
        ".halo/prompts/all/A.md": "new",
        ".halo/skills/local": "new",
        "sub/.halo/INSTRUCTIONS.md": "new",
    }
    assert [(one.path, one.reason) for one in seen.left_out] == [("README.md", "about")]
    assert seen.unset == {"mine.params.api_key", "local.params.city"}
    assert seen.last is None
    assert files(Path(space.path)) == before
    assert not Path(space.path, desk.FOLDER).exists()


def test_what_is_new_comes_and_what_is_ours_stays(space):
    write(space, ".halo/INSTRUCTIONS.md", "ours")
    write(space, "README.md", "my project")
    done = take(space)
    found = files(Path(space.path))
    assert found[".halo/agents/mine/AGENT.md"] == "I am."
    assert found["sub/.halo/INSTRUCTIONS.md"] == "below"
    assert (found[".halo/INSTRUCTIONS.md"], found["README.md"]) == ("ours", "my project")
    assert done.kept == [".halo/INSTRUCTIONS.md"]
    assert done.missing == ["local.params.city", "mine.params.api_key"]
    assert AuditEvent.objects.get().action == "workspace.import"


def test_a_replaced_folder_is_replaced_as_a_whole(space):
    write(space, ".halo/agents/mine/old.md", "old")
    take(space, replace=[".halo/agents/mine"])
    assert sorted(os.listdir(Path(space.path, ".halo/agents/mine"))) == ["AGENT.md", "agent.yaml"]


def test_what_would_hide_an_agent_of_the_home_comes_only_when_named(space, home):
    (home / "global/agents/mine").mkdir(parents=True)
    take(space)
    assert not Path(space.path, ".halo/agents/mine").exists()
    take(space, replace=[".halo/agents/mine"])
    assert Path(space.path, ".halo/agents/mine").is_dir()


def test_values_are_stored_with_it_and_only_where_nobody_set_one(space):
    folder = Path(space.path)
    take(space, values={"mine.params.api_key": "k-123", "local.params.city": ""})
    assert settings_store.params_of("mine", folder) == {"api_key": "k-123"}
    assert "k-123" not in str(AuditEvent.objects.values_list()), "no secret in the trail"
    undo(space)
    assert settings_store.params_of("mine", folder) == {"api_key": "k-123"}, "they stay, like after any removal"
    before = files(folder)
    for key in ("mine.params.api_key", "mine.params.other", "general.agent.max_retries", "x"):
        with pytest.raises(BadRequest):
            take(space, values={key: "new"})
    assert files(folder) == before


def test_what_share_packs_comes_back_the_same_elsewhere(space, home, tmp_path):
    source = tmp_path / "source"
    for name, data in SHARED.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    (source / ".halo/INDEX.md").write_text("[g](docs/guide.md)")
    (source / ".halo/agents/mine/agent.yaml").write_text("name: Mine\napi_key: abcdef\n")
    script = [sys.executable, "-B", str(SEEDS / "skills/workspace/stage.py"), str(source), "--global", str(home)]
    subprocess.run(script, check=True, capture_output=True)
    told = json.loads(subprocess.run([*script, "--zip"], check=True, capture_output=True).stdout)
    with (source / told["zip"]).open("rb") as file:
        seen = actions.preview(space, file)
        file.seek(0)
        actions.do_import(space, file, Wanted(seen.id), name="a.zip", actor=Actor())
    assert [one.reason for one in seen.left_out] == ["about"]
    assert "mine.params.api_key" in seen.unset
    found = files(Path(space.path))
    assert {name for name in found if found[name] != "/"} == set(SHARED) - {"README.md"}


# ---- undo


@pytest.fixture
def lived_in(space) -> dict[str, str]:
    """A workspace where each kind of place is taken; what it holds."""
    write(space, ".halo/INSTRUCTIONS.md", "ours")
    write(space, ".halo/agents/mine/agent.yaml", "name: Ours\n")
    write(space, ".halo/skills/local", "a file where a folder comes")
    Path(space.path, ".halo/docs").mkdir()
    Path(space.path, ".halo/docs/guide.md").symlink_to("/nowhere")
    return files(Path(space.path))


TAKEN = [".halo/INSTRUCTIONS.md", ".halo/agents/mine", ".halo/skills/local", ".halo/docs/guide.md"]


def test_an_undo_leaves_everything_as_it_was(space, lived_in):
    take(space, replace=TAKEN)
    assert files(Path(space.path))[".halo/docs/guide.md"] == "guide"
    undo(space)
    assert files(Path(space.path)) == lived_in
    with pytest.raises(NotFound, match="no import to undo"):
        undo(space)


def test_only_the_last_import_can_be_taken_back(space):
    take(space, {".halo/INDEX.md": b"one"})
    take(space, {".halo/INDEX.md": b"two"}, replace=[".halo/INDEX.md"])
    assert len(os.listdir(Path(space.path, desk.FOLDER))) == 1
    undo(space)
    assert files(Path(space.path))[".halo/INDEX.md"] == "one"
    with pytest.raises(NotFound):
        undo(space)


def test_an_undo_loses_no_change_unasked(space):
    take(space)
    write(space, ".halo/agents/mine/AGENT.md", "edited")
    write(space, "sub/mine.txt", "x")
    with pytest.raises(Conflict, match=r"would be lost: \.halo/agents/mine") as caught:
        undo(space)
    assert caught.value.extra == {"changed": [".halo/agents/mine"]}
    assert files(Path(space.path))[".halo/agents/mine/AGENT.md"] == "edited"
    undo(space, force=True)
    assert files(Path(space.path)) == {".halo": "/", "sub": "/", "sub/mine.txt": "x"}


@pytest.mark.parametrize("state", ["done", "moving"])
def test_without_what_was_there_before_nothing_is_taken_away(space, lived_in, state):
    take(space, replace=TAKEN)
    (base,) = Path(space.path, desk.FOLDER).iterdir()
    shutil.rmtree(base / "old")
    journal = base / "journal.json"
    journal.write_text(journal.read_text().replace('"done"', f'"{state}"'))
    with pytest.raises(HaloError, match=r"no longer in|no import"):
        undo(space)
    assert files(Path(space.path))[".halo/agents/mine/AGENT.md"] == "I am."


# ---- all or nothing


def test_a_failure_at_any_step_leaves_everything_as_it_was(space, lived_in, monkeypatch):
    for name in ("_copy", "move", "_write"):
        real = getattr(desk, name)
        calls = 0
        for failing in range(1, 40):
            calls = 0

            def once(*args: Any, _real: Any = real, _failing: int = failing, **more: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == _failing:
                    raise StorageFull("The disk is full")
                return _real(*args, **more)

            with monkeypatch.context() as patch:
                patch.setattr(desk, name, once)
                try:
                    take(space, replace=TAKEN)
                except StorageFull:
                    assert files(Path(space.path)) == lived_in, f"{name} {failing}"
                    assert os.listdir(Path(space.path, desk.FOLDER)) == []
                else:
                    break
        undo(space)
        assert calls > 1, f"{name} was tried at several places"


def test_values_that_cannot_be_stored_take_the_files_back(space, lived_in, monkeypatch):
    def full(*_: object) -> None:
        raise StorageFull("The disk is full")

    monkeypatch.setattr(settings_write, "write_many", full)
    with pytest.raises(StorageFull):
        take(space, replace=TAKEN, values={"mine.params.api_key": "x"})
    assert files(Path(space.path)) == lived_in


CHILD = """
import sys
sys.path[:0] = [{repo!r}]
from pathlib import Path
import halo_site.lib.crashpoint  # reads the environment, which the next line clears
import tests.conftest
from agents_app.sharing import desk
from agents_app.sharing.bundle import opened
from agents_app.sharing.digest import digest_of
from agents_app.sharing.plan import Step
from tests.agents_app.sharing.test_import import SHARED
from tests.extensions_app.zips import zipped
from workspaces_app.jail import Jail
jail = Jail(Path({root!r}), confined=True)
with desk.alone(jail), opened(zipped(SHARED)) as bundle:
    if {undo}:
        desk.take_back(jail, force=False)
    ours = Jail(bundle.folder, confined=True)
    steps = [Step(i, digest_of(ours, i.path), digest_of(jail, i.path), False, 1) for i in bundle.items]
    desk.bring(jail, bundle.folder, steps, name="a.zip", at=1, then=lambda: None)
"""


def killed(space: Workspace, point: str, *, undoing: bool = False) -> None:
    code = CHILD.format(repo=str(ROOT), root=space.path, undo=undoing)
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "HALO_CRASH_AT": point}, cwd=ROOT)
    assert done.returncode == -9


@pytest.mark.parametrize("point", ["import.staged", "import.moved:1", "import.moved:4", "import.before_done"])
def test_after_a_kill_at_any_step_opening_the_folder_finds_nothing_imported(admin, space, lived_in, point):
    killed(space, point)
    assert admin.post("/api/fs/workspace/resolve", {"path": space.path}).status_code == 200
    found = files(Path(space.path))
    assert {name: found[name] for name in lived_in} == lived_in
    assert set(found.values()) - set(lived_in.values()) <= {"/"}, "opening makes the folders of .halo"
    assert os.listdir(Path(space.path, desk.FOLDER)) == []
    with pytest.raises(NotFound):
        undo(space)
    take(space, replace=TAKEN)


def test_a_kill_in_an_undo_ends_with_the_undo_done(space, lived_in):
    take(space, replace=TAKEN)
    killed(space, "import.moved", undoing=True)
    assert ".halo/agents/mine" in undo(space), "told as done, not as missing"
    assert files(Path(space.path)) == lived_in
    with pytest.raises(NotFound):
        undo(space)


def test_the_workspace_that_changed_since_the_preview_is_left_alone(space):
    file = zipped(SHARED)
    seen = actions.preview(space, file)
    write(space, ".halo/agents/mine/agent.yaml", "name: Quicker\n")
    file.seek(0)
    before = files(Path(space.path))
    with pytest.raises(Conflict, match="changed since the preview"):
        actions.do_import(space, file, Wanted(seen.id), name="a.zip", actor=Actor())
    assert files(Path(space.path)) == before
    assert not Path(space.path, desk.FOLDER).exists()


def test_a_journal_that_came_with_the_folder_reaches_no_further_than_an_import(space):
    """A cloned folder may hold one: its undo must not put a hook into .git."""
    base = f"{desk.FOLDER}/000000000000001-aa"
    write(space, f"{base}/old/0", "evil")
    items = [{"path": ".git/hooks/post-checkout", "digest": "x", "had": True}]
    document = {"state": "moving", "at": 1, "name": "x", "items": items, "made": []}
    write(space, f"{base}/journal.json", json.dumps(document))
    write(space, ".git/hooks/post-checkout", "good")
    take(space)
    undo(space)
    assert files(Path(space.path))[".git/hooks/post-checkout"] == "good"


def test_links_that_lead_out_are_not_written_through(space, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(space.path, ".halo/agents").symlink_to(outside)
    seen = actions.preview(space, zipped(SHARED))
    assert {step.item.path: step.verdict for step in seen.steps}[".halo/agents/mine"] == "blocked"
    take(space)
    assert list(outside.iterdir()) == []


def test_an_import_folder_that_is_a_link_is_refused(space, tmp_path):
    (tmp_path / "outside").mkdir()
    Path(space.path, desk.FOLDER).symlink_to(tmp_path / "outside")
    with pytest.raises(HaloError):
        take(space)
    assert list((tmp_path / "outside").iterdir()) == []


# ---- hostile archives

CLASHING = {"js/a.js/below", "JS/A.js", "index.html", "INDEX.HTML"}  # with files of an extension
NAMES = [*(name for name in test_install.NAMES if name not in CLASHING)]
NAMES += [".halo/index.md", ".halo/INDEX.md", ".halo/INDEX.md/x", ".HALO/x", ".halo/skills/../../../evil", "/.halo/x"]
NOT_OURS = {"no manifest", "two wrappers", "nested"}  # wrong for an extension only


def share(**_: Any) -> dict[str, bytes]:
    return SHARED


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:30] for name in NAMES])
def test_E1_a_bad_name_refuses_the_whole_archive(space, name):
    with pytest.raises(BadRequest, match="Not imported"):
        take_raw(space, with_entry(name, files=SHARED))


@pytest.mark.parametrize("name", [name for name in test_install.HOSTILE if name not in NOT_OURS])
def test_E1_a_hostile_archive_changes_nothing(space, monkeypatch, name):
    monkeypatch.setattr(test_install, "good", share)
    with pytest.raises(BadRequest, match="Not imported"):
        take_raw(space, test_install.HOSTILE[name]())


def test_E1_a_link_is_refused(space):
    with pytest.raises(BadRequest, match="is a link"):
        take_raw(space, with_entry(".halo/docs/x", b"../../secret", mode=0o120777, files=SHARED))


def take_raw(space: Workspace, file: io.BytesIO) -> None:
    before = files(Path(space.path))
    try:
        actions.do_import(space, file, Wanted("0"), name="a.zip", actor=Actor())
    finally:
        assert files(Path(space.path)) == before
        assert not Path(space.path, desk.FOLDER).exists()


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".halo/skills/local/.git/config", ".halo/settings.yaml"])
def test_no_hook_and_no_setting_ever_comes(space, name):
    take(space, SHARED | {name: b"evil"})
    assert "evil" not in files(Path(space.path)).values()


def test_an_archive_with_nothing_of_ours_is_refused_with_a_word(space):
    for archive in (
        {"README.md": b"x"},
        {"wrapper/" + name: data for name, data in SHARED.items() if "sub" not in name},
    ):
        with pytest.raises(BadRequest, match="must be at its top"):
            take(space, {name: data for name, data in archive.items() if not name.endswith("INSTRUCTIONS.md")})


def test_too_many_or_too_large_files_are_refused(space, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 100_000)
    with pytest.raises(BadRequest, match="unpacks to more than"):
        take(space, SHARED | {".halo/docs/a": os.urandom(90_000), ".halo/docs/b": os.urandom(90_000)})
    with pytest.raises(HaloError, match="more than 2000 files"):
        take(space, {f".halo/docs/{number}": b"" for number in range(2_001)})


# ---- routes


def post(browser: Browser, space: Workspace, where: str = "", file: io.BytesIO | None = None, **fields: Any) -> Any:
    data = {"file": file or zipped(SHARED), **fields}
    return browser.post(f"/api/workspaces/import{where}?projectId={space.path}", data, MULTIPART_CONTENT)


def test_over_the_api_look_choose_and_take_back(admin, space, published, django_capture_on_commit_callbacks):
    write(space, ".halo/INSTRUCTIONS.md", "ours")
    seen = post(admin, space).json()
    assert [item["verdict"] for item in seen["items"] if item["path"] == ".halo/INSTRUCTIONS.md"] == ["differs"]
    need = next(need for need in seen["needs"] if need["key"] == "mine.params.api_key")
    assert (need["secret"], need["required"], need["hasValue"]) == (True, True, False)
    choices = {"replace": [".halo/INSTRUCTIONS.md"], "leave": [".halo/INDEX.md"], "values": {need["key"]: "k-9876543"}}
    with django_capture_on_commit_callbacks(execute=True):
        done = post(admin, space, "/apply", plan=seen["plan"], choices=json.dumps(choices))
    assert done.status_code == 200, done.content
    assert done.json()["kept"] == [".halo/INDEX.md"]
    assert done.json()["missing"] == ["local.params.city"]
    told = [event.type for _, event in published]
    assert {"agents:changed", "skills:changed", "settings:changed"} <= set(told)
    again = post(admin, space).json()
    assert again["last"]["name"] == "extension.zip"
    assert all(need["hasValue"] for need in again["needs"] if need["key"] == "mine.params.api_key")
    assert "k-9876543" not in json.dumps(again)
    back = admin.post("/api/workspaces/import/undo", {"projectId": space.path})
    assert ".halo/INSTRUCTIONS.md" in back.json()["restored"]
    assert files(Path(space.path))[".halo/INSTRUCTIONS.md"] == "ours"


def test_a_changed_item_is_named_when_an_undo_is_refused(admin, space):
    take(space)
    write(space, ".halo/INDEX.md", "edited")
    refused = admin.post("/api/workspaces/import/undo", {"projectId": space.path})
    assert (refused.status_code, refused.json()["changed"]) == (409, [".halo/INDEX.md"])
    assert admin.post("/api/workspaces/import/undo", {"projectId": space.path, "force": True}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "plan is required"),
        ({"plan": "0", "choices": "{"}, "choices cannot be read"),
        ({"plan": "0", "choices": '{"replace": 5}'}, "choices cannot be read: replace"),
        ({"plan": "0", "choices": '{"values": {"a": []}}'}, "choices cannot be read: values.a"),
    ],
)
def test_what_cannot_be_read_says_why(admin, space, fields, said):
    answer = post(admin, space, "/apply", **fields)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize("level", ["workspace", "readonly"])
def test_importing_needs_full_access(space, level):
    user = person()
    Membership.objects.create(workspace=space, user=user, level=level)
    assert post(logged_in(user), space).status_code == 403
    Membership.objects.update(level=Access.FULL.value)
    assert post(logged_in(user), space).status_code == 200


# ---- terminal


def run(space: Workspace, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("import_workspace", *words, "-w", space.path)
    return capsys.readouterr().out


def test_in_a_terminal_first_a_preview_then_yes_then_undo(space, tmp_path, capsys):
    archive = tmp_path / "shared.zip"
    archive.write_bytes(zipped(SHARED).getvalue())
    write(space, ".halo/INDEX.md", "ours")
    values = tmp_path / "values.yaml"
    values.write_text("mine.params.api_key: k-1\n")
    shown = run(space, capsys, str(archive))
    assert ".halo/INDEX.md  index, 1 files: DIFFERS from yours" in shown
    assert "mine.params.api_key  needs a value" in shown
    assert not Path(space.path, ".halo/agents").exists()
    done = run(space, capsys, str(archive), "--yes", "--replace", "all", "--values", str(values))
    assert "Still to be set in Settings: local.params.city" in done
    assert settings_store.params_of("mine", Path(space.path)) == {"api_key": "k-1"}
    assert "As before: .halo/INDEX.md" in run(space, capsys, "--undo")
    assert files(Path(space.path))[".halo/INDEX.md"] == "ours"


def test_in_a_terminal_what_is_wrong_is_said(space, tmp_path):
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    for words, said in (
        (["-w", str(tmp_path), "x.zip"], "is not a workspace"),
        (["-w", space.path], "Name an archive"),
        (["-w", space.path, "x.zip", "--undo"], "Name an archive"),
        (["-w", space.path, str(tmp_path / "bad.zip")], "Not imported: this is not a zip file"),
        (["-w", space.path, str(tmp_path / "none.zip")], "No such file"),
        (["-w", space.path, "--undo"], "no import to undo"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("import_workspace", *words)


def test_names_in_an_archive_do_not_steer_the_terminal(space, tmp_path, capsys):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(".halo/INDEX.md", "x")
        made.writestr(".halo/skills/w/SKILL.md", "x")
        made.writestr(".halo/skills/w/config.yaml", 'params:\n- {key: k, description: "a\\e[2Jb"}\n')
    assert "\x1b" not in run(space, capsys, str(archive))
