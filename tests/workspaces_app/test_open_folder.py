"""Opening folders as workspaces, and looking around to find one."""

import os
import unicodedata

import pytest
from django.conf import settings

from halo_site.lib.access_level import Access
from tests.accounts import logged_in, owner, person
from workspaces_app.models import AuditEvent, Membership, Workspace

pytestmark = pytest.mark.django_db


def resolve(browser, path):
    return browser.post("/api/fs/workspace/resolve", {"path": str(path)})


def test_the_owner_opens_a_folder_and_becomes_its_member(tmp_path):
    admin = owner()
    answer = resolve(logged_in(admin), tmp_path)
    assert answer.status_code == 200
    workspace = Workspace.objects.get()
    assert answer.json() == {"id": workspace.pk, "path": str(tmp_path), "name": tmp_path.name, "level": "full"}
    assert (tmp_path / ".halo").is_dir()
    assert Membership.objects.get().level == "full"
    assert AuditEvent.objects.get().action == "workspace.create"


def test_opening_twice_changes_nothing_but_the_time(tmp_path):
    browser = logged_in(owner())
    first = resolve(browser, tmp_path).json()
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    assert resolve(browser, tmp_path).json() == first
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    assert (Workspace.objects.count(), Membership.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        (None, 400, "path required"),
        ("", 400, "path required"),
        ("  ", 400, "path required"),
        ("relative/path", 404, "path not found"),
        ("/no/such/folder/anywhere", 404, "path not found"),
        ("/etc/hostname", 400, "not a directory"),
        ("/", 400, "filesystem root cannot be a workspace"),
        ("//", 400, "filesystem root cannot be a workspace"),
        ("/tmp/a\0b", 400, "Invalid JSON body"),
        ("/" + "x" * 5000, 404, "path not found"),
    ],
)
def test_what_cannot_be_opened_says_why(path, status, error):
    answer = logged_in(owner()).post("/api/fs/workspace/resolve", {"path": path})
    assert (answer.status_code, answer.json()) == (status, {"error": error})
    assert not Workspace.objects.exists()


def test_the_folders_of_the_server_itself_are_no_workspaces():
    browser = logged_in(owner())
    for folder in (settings.HALO.home, settings.HALO.secrets_dir, settings.HALO.global_dir):
        assert resolve(browser, folder).status_code == 400
    assert not Workspace.objects.exists()


def test_C4_other_spellings_of_a_path_are_the_same_workspace(tmp_path):
    browser = logged_in(owner())
    folder = tmp_path / "caf\u00e9"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    first = resolve(browser, folder).json()
    for spelling in (f"{folder}/", f"{tmp_path}//caf\u00e9", f"{tmp_path}/./x/../caf\u00e9", tmp_path / "link"):
        answer = resolve(browser, spelling)
        assert answer.json() == first or answer.status_code == 404
    decomposed = unicodedata.normalize("NFD", str(folder))
    assert resolve(browser, decomposed).status_code in (200, 404)
    assert Workspace.objects.count() == 1


def test_C4_a_path_that_starts_like_a_workspace_gives_no_rights(tmp_path):
    (tmp_path / "team").mkdir()
    (tmp_path / "team-secret").mkdir()
    anna = person()
    workspace = Workspace.objects.create(path=str(tmp_path / "team"), name="team")
    Membership.objects.create(workspace=workspace, user=anna, level=Access.FULL.value)
    browser = logged_in(anna)
    assert resolve(browser, tmp_path / "team").status_code == 200
    assert resolve(browser, tmp_path / "team-secret").status_code == 404
    assert resolve(browser, tmp_path / "team" / "..").status_code == 404


def test_a_member_opens_a_workspace_and_keeps_the_level(tmp_path):
    anna = person()
    workspace = Workspace.objects.create(path=str(tmp_path), name="team")
    Membership.objects.create(workspace=workspace, user=anna, level=Access.READONLY.value)
    assert resolve(logged_in(anna), tmp_path).json()["level"] == "readonly"
    assert Membership.objects.get().level == "readonly"


def test_C2_a_foreign_workspace_answers_like_a_missing_one(tmp_path):
    Workspace.objects.create(path=str(tmp_path), name="team")
    browser = logged_in(person())
    answers = {resolve(browser, path).content for path in (tmp_path, "/no/such/place", tmp_path / "nothing", "/etc")}
    assert answers == {b'{"error":"path not found"}'}


def test_a_vanished_folder_is_not_made_again(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    browser = logged_in(owner())
    resolve(browser, folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    assert resolve(browser, folder).status_code == 404
    assert not folder.exists()
    assert browser.get("/api/workspaces").json()["workspaces"][0]["missing"] is True


def test_the_list_shows_what_the_caller_may_open(tmp_path):
    browser = logged_in(owner())
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        resolve(browser, tmp_path / name)
    anna = person()
    Membership.objects.create(workspace=Workspace.objects.get(name="one"), user=anna, level="workspace")
    everything = browser.get("/api/workspaces").json()["workspaces"]
    assert [row["name"] for row in everything] == ["two", "one"]
    mine = logged_in(anna).get("/api/workspaces").json()["workspaces"]
    assert [(row["name"], row["level"], row["missing"]) for row in mine] == [("one", "workspace", False)]
    assert isinstance(mine[0]["openedAt"], int)


def test_only_the_owner_browses_the_disk(tmp_path):
    for name in ("beta", "Alpha", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / os.fsdecode(b"bad\xff")).mkdir()
    browser = logged_in(owner())
    answer = browser.get("/api/fs/browse", {"path": str(tmp_path)}).json()
    assert answer["path"] == str(tmp_path)
    assert answer["parent"] == str(tmp_path.parent)
    assert [entry["name"] for entry in answer["entries"]] == ["Alpha", "beta"]
    assert browser.get("/api/fs/browse", {"path": "tmp"}).json() == {"error": "absolute path required"}
    assert browser.get("/api/fs/browse", {"path": str(tmp_path / "no")}).status_code == 404
    assert browser.get("/api/fs/browse").json()["path"] == os.path.expanduser("~")
    assert browser.get("/api/fs/home").json() == {"home": os.path.expanduser("~")}
    staff = logged_in(person("staff", is_staff=True))
    for path in ("/api/fs/browse", "/api/fs/home"):
        assert staff.get(path).status_code == 403


def test_exists_tells_members_about_their_own_workspaces_only(tmp_path):
    browser = logged_in(owner())
    file = tmp_path / "file"
    file.write_text("")

    def ask(who, path):
        return who.get("/api/fs/exists", {"path": str(path)}).json()

    assert ask(browser, tmp_path) == {"exists": True, "isDirectory": True}
    assert ask(browser, file) == {"exists": True, "isDirectory": False}
    assert ask(browser, tmp_path / "no") == {"exists": False}
    assert ask(browser, "relative") == {"exists": False, "reason": "absolute path required"}
    anna = person()
    member = logged_in(anna)
    assert ask(member, tmp_path) == {"exists": False}
    workspace = Workspace.objects.create(path=str(tmp_path), name="team")
    Membership.objects.create(workspace=workspace, user=anna)
    assert ask(member, tmp_path) == {"exists": True, "isDirectory": True}


def mkdir(browser, project, path):
    return browser.post("/api/files/mkdir", {"projectId": str(project), "path": path})


def test_folders_are_made_with_their_parents_and_existing_ones_are_fine(tmp_path):
    browser = logged_in(owner())
    resolve(browser, tmp_path)
    for _ in range(2):
        assert mkdir(browser, tmp_path, "a/b").json() == {"ok": True, "path": "a/b"}
    assert (tmp_path / "a/b").is_dir()
    (tmp_path / "file").write_text("")
    assert mkdir(browser, tmp_path, "file").status_code in (400, 409)


def test_the_owner_makes_a_folder_where_nothing_is_a_workspace_yet(tmp_path):
    assert mkdir(logged_in(owner()), tmp_path, "fresh").status_code == 200
    assert (tmp_path / "fresh").is_dir()


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc/out", "~/out", "link/out"])
def test_D1_a_folder_is_never_made_outside(tmp_path, path):
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    answer = mkdir(logged_in(owner()), inside, path)
    assert answer.status_code in (400, 403)
    assert not (tmp_path / "out").exists()


def test_making_folders_needs_workspace_access(tmp_path):
    anna = person()
    workspace = Workspace.objects.create(path=str(tmp_path), name="team")
    member = Membership.objects.create(workspace=workspace, user=anna, level="readonly")
    assert mkdir(logged_in(anna), tmp_path, "a").status_code == 403
    member.level = "workspace"
    member.save()
    assert mkdir(logged_in(anna), tmp_path, "a").status_code == 200
    assert mkdir(logged_in(person("bert")), tmp_path, "b").json() == {"error": "Project not found"}
    assert mkdir(logged_in(anna), "", "b").json() == {"error": "projectId is required"}
    assert mkdir(logged_in(anna), tmp_path, "").json() == {"error": "path is required"}


def test_the_sample_project_is_made_once_and_then_left_alone():
    browser = logged_in(owner())
    answer = browser.post("/api/fs/sample").json()
    assert answer["path"] == os.path.realpath(settings.HALO.home / "sample")
    readme = settings.HALO.home / "sample" / "README.md"
    readme.write_text("mine")
    assert browser.post("/api/fs/sample").json()["id"] == answer["id"]
    assert readme.read_text() == "mine"
    assert logged_in(person()).post("/api/fs/sample").status_code == 403
