"""The staff page of extensions: what it shows, and that its verbs change the disk (spec/README 12, 26)."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

import halo_site.urls  # noqa: F401 - finds the pages
from extensions_app import registry
from extensions_app.isolation import Isolation
from extensions_app.models import Extension
from halo_site import body_rules, request_class, tokens
from halo_site.tokens import Kind
from workspaces_app.models import AuditEvent

from .zips import good, zipped

pytestmark = pytest.mark.django_db
LIST, UPLOAD = "/admin/extensions_app/extension/", "/admin/extensions_app/extension/upload/"


@pytest.fixture
def root(tmp_path, settings) -> Path:
    settings.HALO = replace(settings.HALO, home=tmp_path)
    registry.root().mkdir(parents=True)
    return registry.root()


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("eve", is_staff=True), backend="halo_site.backends.PasswordBackend")
    return client


def texts(answer) -> str:
    return answer.content.decode()


def test_staff_install_see_and_remove_an_extension(root, staff):
    page = texts(staff.post(UPLOAD, {"file": zipped(good())}, follow=True))
    assert "Installed Molecule viewer 1.2.0." in page
    assert ".mol .pdb" in page
    row = Extension.objects.get()
    assert (row.folder, row.version, row.error) == ("mol-view", "1.2.0", "")
    staff.post(f"{LIST}{row.pk}/delete/", {"post": "yes"})
    assert list(root.iterdir()) == []
    assert not Extension.objects.exists()
    assert list(AuditEvent.objects.order_by("pk").values_list("action", "target", "actor_name")) == [
        ("extension.install", "mol-view", "eve"),
        ("extension.remove", "mol-view", "eve"),
    ]


def test_a_broken_extension_is_shown_in_red_with_its_reason_and_can_be_removed(root, staff):
    (root / "broken").mkdir()
    registry.refresh()
    page = texts(staff.get(LIST))
    assert '<div class="h-errtext">there is no halo-extension.json</div>' in page
    staff.post(f"{LIST}{Extension.objects.get().pk}/delete/", {"post": "yes"})
    assert not (root / "broken").exists()


def test_a_bad_zip_is_answered_with_its_reason_and_changes_nothing(root, staff):
    page = texts(staff.post(UPLOAD, {"file": zipped({"index.html": b"x"})}, follow=True))
    assert "Not installed: there is no halo-extension.json" in page
    assert "Choose a zip file first." in texts(staff.post(UPLOAD, {}, follow=True))
    assert list(root.iterdir()) == []


def test_C58_an_older_version_is_installed_after_a_tick_in_the_box(root, staff):
    staff.post(UPLOAD, {"file": zipped(good())})
    page = texts(staff.post(UPLOAD, {"file": zipped(good(version="1.0.0"))}, follow=True))
    assert "Not installed: mol-view 1.0.0 is older than 1.2.0, which is installed" in page
    assert "tick the box and send the zip again" in page
    assert Extension.objects.get().version == "1.2.0"
    page = texts(staff.post(UPLOAD, {"file": zipped(good(version="1.0.0")), "older": "1"}, follow=True))
    assert "Installed Molecule viewer 1.0.0." in page
    assert Extension.objects.get().version == "1.0.0"


def test_C58_the_list_says_which_of_two_opens_a_type(root, staff):
    staff.post(UPLOAD, {"file": zipped(good(id="one"))})
    staff.post(UPLOAD, {"file": zipped(good(id="two", extensions=[".mol"], priority="option"))})
    page = texts(staff.get(LIST))
    assert ".mol .pdb" in page
    assert ".mol (opens with one)" in page


def test_members_install_nothing_here(root):
    client = Client()
    client.force_login(User.objects.create_user("ann"), backend="halo_site.backends.PasswordBackend")
    assert client.post(UPLOAD, {"file": zipped(good())})["Location"].startswith("/admin/login/")
    assert list(root.iterdir()) == []


def test_the_page_says_when_extensions_are_not_caged(root, staff, monkeypatch):
    assert "without their cage" not in texts(staff.get(LIST))
    monkeypatch.setattr("extensions_app.admin.isolation", lambda: Isolation.COMPAT)
    assert "without their cage" in texts(staff.get(LIST))


def test_D8_the_upload_page_gives_the_right_to_send_a_zip_and_nothing_else(root, staff):
    cookie = staff.get(LIST).cookies[body_rules.UPLOAD_COOKIE]
    assert (cookie["path"], cookie["samesite"], bool(cookie["httponly"])) == (UPLOAD, "Strict", True)
    sent = [f"{body_rules.UPLOAD_COOKIE}={cookie.value}".encode()]
    cap = request_class.body_cap
    assert cap(b"POST", UPLOAD.encode(), sent) == 101 << 20
    assert cap(b"POST", UPLOAD.encode(), []) == 1 << 20
    assert cap(b"POST", b"/admin/", sent) == 1 << 20
    forged = f"{body_rules.UPLOAD_COOKIE}={tokens.issue(Kind.ASSET, {}, life=60)}".encode()
    assert cap(b"POST", UPLOAD.encode(), [forged]) == 1 << 20


def test_the_index_follows_the_disk_and_is_written_once(root, django_assert_num_queries):
    for name in ("one", "two"):
        (root / name).mkdir()
    registry.refresh()
    assert [row.folder for row in Extension.objects.all()] == ["one", "two"]
    with django_assert_num_queries(3):  # savepoint, look, release
        registry.refresh()
    (root / "one").rmdir()
    registry.refresh()
    assert [row.folder for row in Extension.objects.all()] == ["two"]
