"""The door of the staff site: throttled like the API's, protected against other sites, and each try is an audit row."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from workspaces_app.models import AuditEvent

pytestmark = pytest.mark.django_db

GOOD = "a-password-1"


@pytest.fixture
def staff(db) -> User:
    return User.objects.create_user("sue", password=GOOD, is_staff=True)


def enter(client: Client, password: str, name: str = "sue"):
    return client.post("/admin/login/?next=/admin/", {"username": name, "password": password})


def events() -> list[tuple[str, str, str]]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", "target", "address"))


def test_a_login_and_a_logout_leave_rows_with_the_address(staff):
    client = Client(REMOTE_ADDR="192.0.2.7")
    assert enter(client, GOOD)["Location"] == "/admin/"
    assert client.post("/admin/logout/")["Location"] == "/admin/login/"
    assert events() == [("login", "sue", "192.0.2.7"), ("logout", "sue", "192.0.2.7")]
    assert client.get("/admin/").status_code == 302


def test_a_wrong_password_leaves_a_row_without_the_password(staff):
    assert enter(Client(), "hunter2-secret").status_code == 200
    event = AuditEvent.objects.get()
    assert (event.action, event.target, event.actor) == ("login.failed", "sue", None)
    assert "hunter2" not in str(event.detail)


def test_a_member_with_the_right_password_does_not_get_in(staff):
    User.objects.create_user("member", password=GOOD)
    assert enter(Client(), GOOD, "member").status_code == 200
    assert events()[0][0] == "login.failed"


def test_A1_the_sixth_try_is_locked_even_with_the_right_password(staff):
    for _ in range(5):
        enter(Client(REMOTE_ADDR="192.0.2.7"), "wrong")
    answer = enter(Client(REMOTE_ADDR="192.0.2.8"), GOOD)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 15 * 60
    assert Client(REMOTE_ADDR="192.0.2.9").get("/admin/").status_code == 302


def test_a_page_of_another_site_can_post_nothing(staff):
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost", "origin": "https://evil.example"})
    client.force_login(staff, backend="halo_site.backends.PasswordBackend")
    assert client.post("/admin/auth/user/add/", {"username": "x"}).status_code == 403
    same = Client(enforce_csrf_checks=True, headers={"host": "localhost", "origin": "http://localhost"})
    same.force_login(staff, backend="halo_site.backends.PasswordBackend")
    assert same.post("/admin/auth/user/add/", {"username": "x"}).status_code == 403  # without the form's token


def test_next_never_leads_to_another_site(staff):
    client = Client()
    answer = client.post("/admin/login/?next=//evil.example/", {"username": "sue", "password": GOOD})
    assert "evil" not in answer["Location"]


def test_B5_admin_pages_may_compile_strings_and_nothing_else(staff):
    policy = Client().get("/admin/login/")["Content-Security-Policy"]
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert scripts.split() == ["script-src", "'self'", "'unsafe-eval'"]


def test_no_page_holds_an_inline_script_or_names_another_host(signed_in):
    import re

    client = signed_in("superuser")
    for path in ("", "auth/user/", "auth/user/add/", "workspaces_app/workspace/add/", "sessions_app/session/"):
        page = client.get(f"/admin/{path}").content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)", page), path
        assert not re.search(r"\son\w+=[\"']", page), path
        assert not re.search(r"(src|href)=[\"'](https?:)?//", page), path


def test_a_password_that_the_environment_manages_is_not_changed_here(signed_in, settings):
    from dataclasses import replace

    settings.HALO = replace(settings.HALO, password="from-the-environment-1")
    client = signed_in("superuser", "admin")
    answer = client.get("/admin/password_change/", follow=True)
    assert "HALO_PASSWORD" in answer.content.decode()


def test_ones_own_new_password_is_an_audit_row(staff):
    client = Client()
    enter(client, GOOD)
    new = {"old_password": GOOD, "new_password1": "another one 2", "new_password2": "another one 2"}
    assert client.post("/admin/password_change/", new).status_code == 302
    assert events()[-1][:2] == ("password.change", "sue")
