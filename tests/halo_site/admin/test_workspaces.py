"""Workspaces: who may open and move one, and who may make whom a member."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from workspaces_app.models import AuditEvent, Membership, Workspace

from .seed import session_in

pytestmark = pytest.mark.django_db

BASE = "/admin/workspaces_app/workspace/"


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    (tmp_path / "old" / ".halo").mkdir(parents=True)
    return Workspace.objects.create(path=str(tmp_path / "old"), name="harbour")


def members(workspace: Workspace, *rows: tuple[User, str], kept: tuple[Membership, ...] = (), **more: str):
    """What the change page posts: the rows that exist, then new ones."""
    data = {"name": workspace.name, "memberships-TOTAL_FORMS": str(len(kept) + len(rows)),
            "memberships-INITIAL_FORMS": str(len(kept))}  # fmt: skip
    for n, row in enumerate(kept):
        data |= {f"memberships-{n}-id": str(row.pk), f"memberships-{n}-user": str(row.user_id)}
        data |= {f"memberships-{n}-level": row.level, f"memberships-{n}-workspace": str(workspace.pk)}
    for n, (user, level) in enumerate(rows, len(kept)):
        data |= {f"memberships-{n}-user": str(user.pk), f"memberships-{n}-level": level}
        data[f"memberships-{n}-workspace"] = str(workspace.pk)
    return data | more


def test_staff_make_members_and_each_step_is_an_audit_row(signed_in, workspace):
    client, ines = signed_in("staff"), User.objects.create_user("ines")
    address = f"{BASE}{workspace.pk}/change/"
    assert client.post(address, members(workspace, (ines, "readonly"))).status_code == 302
    row = Membership.objects.get()
    assert (row.user, row.level) == (ines, "readonly")
    changed = {"memberships-0-level": "full"}
    assert client.post(address, members(workspace, kept=(row,), **changed)).status_code == 302
    row.refresh_from_db()
    assert row.level == "full"
    gone = {"memberships-0-DELETE": "on"}
    assert client.post(address, members(workspace, kept=(row,), **gone)).status_code == 302
    assert not Membership.objects.exists()
    rows = AuditEvent.objects.filter(action__startswith="membership.").order_by("pk")
    assert [(row.action, row.target, row.workspace, row.detail["level"]) for row in rows] == [
        ("membership.add", "ines", workspace, "readonly"),
        ("membership.change", "ines", workspace, "full"),
        ("membership.delete", "ines", workspace, "full"),
    ]
    assert rows[1].detail["before"] == {"user": ines.pk, "level": "readonly"}


def test_L7_staff_cannot_make_themselves_a_member_or_raise_their_level(signed_in, workspace):
    client, ines = signed_in("staff"), User.objects.create_user("ines")
    address = f"{BASE}{workspace.pk}/change/"
    assert client.post(address, members(workspace, (client.user, "full"))).status_code == 403
    assert not Membership.objects.exists()
    own = Membership.objects.create(workspace=workspace, user=client.user, level="readonly")
    assert client.post(address, members(workspace, kept=(own,), **{"memberships-0-level": "full"})).status_code == 403
    theirs = Membership.objects.create(workspace=workspace, user=ines, level="full")
    swapped = members(workspace, kept=(own, theirs), **{"memberships-1-user": str(client.user.pk)})
    swapped |= {"memberships-0-user": str(ines.pk)}
    assert client.post(address, swapped).status_code in (200, 403)
    levels = dict(Membership.objects.values_list("user__username", "level"))
    assert levels == {"a-staff": "readonly", "ines": "full"}
    assert AuditEvent.objects.filter(action="workspace.refused", actor=client.user).count() >= 2


def test_only_a_superuser_opens_a_folder_of_the_machine(signed_in, tmp_path):
    (tmp_path / "new").mkdir()
    data = {"path": str(tmp_path / "new"), "name": "", "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    assert signed_in("staff").post(f"{BASE}add/", data).status_code == 403
    assert not Workspace.objects.exists()
    assert signed_in("superuser").post(f"{BASE}add/", data).status_code == 302
    made = Workspace.objects.get()
    assert (made.path, made.name) == (str(tmp_path / "new"), "new")
    assert (tmp_path / "new" / ".halo").is_dir()
    assert made.memberships.get().user.username == "a-superuser"
    rows = AuditEvent.objects.filter(action__startswith="workspace.").order_by("pk")
    assert [(row.action, row.actor_name) for row in rows] == [
        ("workspace.refused", "a-staff"),
        ("workspace.create", "a-superuser"),
    ]


@pytest.mark.parametrize("path", ["relative", "/no/such/folder", "/etc/hostname", "\0", ""])
def test_a_workspace_is_an_existing_folder(signed_in, path):
    data = {"path": path, "name": "x", "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    assert signed_in("superuser").post(f"{BASE}add/", data).status_code == 200
    assert not Workspace.objects.exists()


def test_the_servers_own_folders_are_never_a_workspace(signed_in, settings):
    client = signed_in("superuser")
    for path in (settings.HALO.home, settings.HALO.secrets_dir, settings.HALO.global_dir, "/"):
        data = {"path": str(path), "name": "x", "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
        assert client.post(f"{BASE}add/", data).status_code == 200
    assert not Workspace.objects.exists()


def test_a_moved_folder_keeps_its_sessions(signed_in, workspace, tmp_path):
    client = signed_in("staff")
    talk = session_in(workspace, "talk", "Talk", client.user, timezone.now())
    (tmp_path / "old").rename(tmp_path / "moved")
    assert client.get(f"{BASE}{workspace.pk}/relink/").status_code == 200
    new = str(tmp_path / "moved")
    assert client.post(f"{BASE}{workspace.pk}/relink/", {"path": new}).status_code == 302
    workspace.refresh_from_db()
    talk.refresh_from_db()
    assert (workspace.path, talk.workspace) == (new, workspace)
    event = AuditEvent.objects.get(action="workspace.relink")
    assert event.detail == {"from": str(tmp_path / "old"), "to": new}


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda base: (base / "x").mkdir(), "still there"),
        (lambda base: ((base / "old").rename(base / "y"), (base / "x").mkdir()), "no .halo folder"),
        (lambda base: None, "no such folder"),
    ],
)
def test_staff_relink_only_to_the_folder_that_moved(signed_in, workspace, tmp_path, prepare, words):
    prepare(tmp_path)
    answer = signed_in("staff").post(f"{BASE}{workspace.pk}/relink/", {"path": str(tmp_path / "x")})
    assert words in answer.content.decode()
    workspace.refresh_from_db()
    assert workspace.path == str(tmp_path / "old")


def test_two_workspaces_never_share_a_folder(signed_in, workspace, tmp_path):
    other = Workspace.objects.create(path=str(tmp_path / "gone"), name="other")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    answer = signed_in("superuser").post(f"{BASE}{other.pk}/relink/", {"path": str(tmp_path / "link")})
    assert "is the workspace harbour already" in answer.content.decode()


def test_a_workspace_with_sessions_is_not_deleted(signed_in, workspace):
    client = signed_in("superuser")
    talk = session_in(workspace, "talk", "Talk", client.user, timezone.now())
    assert client.post(f"{BASE}{workspace.pk}/delete/", {"post": "yes"}).status_code == 403
    talk.delete()
    assert client.post(f"{BASE}{workspace.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Workspace.objects.exists()
    assert AuditEvent.objects.filter(action="workspace.delete", target="harbour").exists()


def test_the_audit_trail_can_be_read_and_not_written(signed_in):
    client = signed_in("superuser")
    event = AuditEvent.objects.create(action="login", actor_name="ines", detail={"x": "<b>"})
    address = "/admin/workspaces_app/auditevent/"
    page = client.get(f"{address}{event.pk}/change/").content.decode()
    assert "&lt;b&gt;" in page
    assert client.post(f"{address}{event.pk}/change/", {"action": "x"}).status_code == 403
    assert client.post(f"{address}{event.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"{address}add/", {"action": "x"}).status_code == 403
    event.refresh_from_db()
    assert event.action == "login"
