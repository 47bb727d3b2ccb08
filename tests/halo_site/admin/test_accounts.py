"""SECURITY-BAR L7: staff give nobody rights, least of all themselves; each change and each refusal is an audit row."""

import pytest
from django.contrib.auth.models import Permission, User

from halo_site.auth import COOKIE, identify, new_login, token_of
from workspaces_app.models import AuditEvent, Membership, Workspace

pytestmark = pytest.mark.django_db


def form_of(user: User, **more: str) -> dict[str, str]:
    """What the change page posts for a user."""
    return {
        "username": user.username,
        "email": user.email,
        "is_active": "on" if user.is_active else "",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
        **more,
    }


def change(client, user, **more):
    return client.post(f"/admin/auth/user/{user.pk}/change/", form_of(user, **more))


def refused(who: User) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action="user.refused", actor=who))


@pytest.mark.parametrize("flag", ["is_superuser", "is_staff", "groups", "user_permissions"])
def test_L7_staff_cannot_give_a_member_any_flag(signed_in, flag):
    client, other = signed_in("staff"), User.objects.create_user("other")
    value = str(Permission.objects.first().pk) if flag == "user_permissions" else "on"
    assert change(client, other, **{flag: value}).status_code == 403
    other.refresh_from_db()
    rights = (other.is_superuser, other.is_staff, other.user_permissions.exists())
    assert rights == (False, False, False)
    assert refused(client.user)[0].detail == {"fields": [flag]}


def test_L7_staff_cannot_raise_or_change_themselves(signed_in):
    client = signed_in("staff")
    assert change(client, client.user, is_superuser="on").status_code == 403
    assert change(client, client.user, email="new@example.org").status_code == 403
    client.user.refresh_from_db()
    assert (client.user.is_superuser, client.user.email) == (False, "")
    assert len(refused(client.user)) == 2


def test_L7_staff_cannot_make_a_new_superuser(signed_in):
    client = signed_in("staff")
    data = {"username": "x", "password1": "long enough 1", "password2": "long enough 1", "is_superuser": "on"}
    assert client.post("/admin/auth/user/add/", data).status_code == 403
    assert not User.objects.filter(username="x").exists()
    assert refused(client.user)


def test_L7_staff_cannot_touch_a_superuser_or_other_staff(signed_in):
    client = signed_in("staff")
    for target in (User.objects.create_superuser("root"), User.objects.create_user("peer", is_staff=True)):
        assert client.get(f"/admin/auth/user/{target.pk}/change/").status_code == 200  # to look
        assert change(client, target, is_active="").status_code == 403
        new = {"password1": "stolen password 1", "password2": "stolen password 1", "usable_password": "true"}
        assert client.post(f"/admin/auth/user/{target.pk}/password/", new).status_code == 403
        assert client.post(f"/admin/auth/user/{target.pk}/delete/", {"post": "yes"}).status_code == 403
        target.refresh_from_db()
        assert target.is_active
        assert not target.check_password("stolen password 1")
    assert len(refused(client.user)) == 4


def test_L7_queue_groups_and_axes_logs_have_no_page_even_for_superusers(signed_in):
    client = signed_in("superuser")
    for path in ("django_q/schedule/add/", "django_q/ormq/", "django_q/success/", "auth/group/", "axes/accesslog/"):
        assert client.get(f"/admin/{path}").status_code == 404
    assert client.get("/admin/axes/accessattempt/add/").status_code == 403


def end_logins(client, *users: User):
    return client.post("/admin/auth/user/", {"action": "end_logins", "_selected_action": [user.pk for user in users]})


def test_staff_log_ordinary_people_out_everywhere_but_no_superuser(signed_in):
    client, member = signed_in("staff"), User.objects.create_user("member")
    root = User.objects.create_superuser("root")
    logins = [token_of(new_login(user)) for user in (member, root)]
    assert end_logins(client, member, root).status_code == 302
    assert [identify({COOKIE: token}) is None for token in logins] == [True, False]
    assert [event.target for event in AuditEvent.objects.filter(action="logout.everywhere")] == ["member"]
    assert refused(client.user)[0].target == "root"


def test_a_superuser_logs_other_superusers_out(signed_in):
    client, root = signed_in("superuser"), User.objects.create_superuser("root")
    login = token_of(new_login(root))
    end_logins(client, root)
    assert identify({COOKIE: login}) is None


def test_staff_keep_ordinary_accounts(signed_in):
    client = signed_in("staff")
    data = {
        "username": "newcomer", "usable_password": "true",
        "password1": "long enough 1", "password2": "long enough 1",
    }  # fmt: skip
    assert client.post("/admin/auth/user/add/", data).status_code == 302
    user = User.objects.get(username="newcomer")
    assert user.check_password("long enough 1")
    assert change(client, user, email="n@example.org").status_code == 302
    new = {"password1": "even longer 22", "password2": "even longer 22", "usable_password": "true"}
    assert client.post(f"/admin/auth/user/{user.pk}/password/", new).status_code == 302
    user.refresh_from_db()
    assert (user.email, user.check_password("even longer 22")) == ("n@example.org", True)
    assert client.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="newcomer").exists()
    actions = list(AuditEvent.objects.filter(actor=client.user).order_by("pk").values_list("action", "target"))
    assert actions == [(f"user.{verb}", "newcomer") for verb in ("add", "change", "change", "delete")]
    assert "even longer" not in str(list(AuditEvent.objects.values_list("detail", flat=True)))


def test_a_superuser_gives_and_takes_flags_and_the_row_says_which(signed_in):
    client, other = signed_in("superuser"), User.objects.create_user("other")
    assert change(client, other, is_staff="on").status_code == 302
    other.refresh_from_db()
    assert other.is_staff
    event = AuditEvent.objects.get(action="user.change")
    assert (event.actor, event.actor_name, event.target) == (client.user, client.user.username, "other")
    assert "Staff status" in str(event.detail)


def test_the_last_superuser_stays(signed_in):
    client = signed_in("superuser")
    answer = change(client, client.user, is_superuser="", is_staff="on")
    assert "last superuser" in answer.content.decode()
    assert "last superuser" in change(client, client.user, is_active="", is_superuser="on").content.decode()
    assert client.post(f"/admin/auth/user/{client.user.pk}/delete/", {"post": "yes"}).status_code == 403
    client.user.refresh_from_db()
    assert client.user.is_superuser
    assert client.user.is_active


def test_a_weak_password_is_refused_by_the_same_rules_as_in_the_app(signed_in):
    client = signed_in("superuser")
    data = {"username": "weak", "usable_password": "true", "password1": "short", "password2": "short"}
    assert client.post("/admin/auth/user/add/", data).status_code == 200
    assert not User.objects.filter(username="weak").exists()


def test_the_page_of_a_user_shows_where_they_work_but_cannot_change_it(signed_in):
    client, other = signed_in("staff"), User.objects.create_user("other")
    workspace = Workspace.objects.create(path="/x/harbour", name="harbour")
    Membership.objects.create(workspace=workspace, user=other, level="readonly")
    page = client.get(f"/admin/auth/user/{other.pk}/change/").content.decode()
    assert "harbour" in page
    row = Membership.objects.get()
    more = {
        "memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "1", "memberships-0-id": str(row.pk),
        "memberships-0-user": str(other.pk), "memberships-0-workspace": str(workspace.pk),
        "memberships-0-level": "full",
    }  # fmt: skip
    change(client, other, **more)
    row.refresh_from_db()
    assert row.level == "readonly"
