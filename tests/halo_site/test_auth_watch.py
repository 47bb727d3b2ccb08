"""A3: whatever changes a person's rights is told to the hub, after commit, and nothing else is."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from halo_site.lib.publish import on_signal
from tests.accounts import PASSWORD, Browser, logged_in, person
from workspaces_app.models import Membership, Workspace


@pytest.fixture
def told(transactional_db):
    heard = []
    stop = on_signal("auth.changed", lambda data: heard.append(data["user"]))
    yield heard
    stop()


@pytest.mark.parametrize(
    "change", [{"is_active": False}, {"is_superuser": True}, {"is_staff": True}, {"username": "anne"}]
)
def test_A3_a_change_of_rights_is_told(told, change):
    user = person()
    assert told == []
    for name, value in change.items():
        setattr(user, name, value)
    user.save()
    assert told == [user.pk]


def test_A3_a_password_change_is_told_over_the_api_and_from_the_command_line(told):
    user = person()
    logged_in(user).post("/api/auth/change-password", {"oldPassword": PASSWORD, "newPassword": "fresh pass 2"})
    assert told == [user.pk]
    user = User.objects.get()
    user.set_password("another pass 3")
    user.save()
    assert told == [user.pk] * 2


def test_A3_a_login_and_a_new_mail_address_are_not_told(told):
    user = person()
    Browser().log_in("anna")
    user.refresh_from_db()
    user.email = "anna@halo.example"
    user.save()
    assert told == []


def test_A3_a_logout_is_told(told):
    user = person()
    browser = logged_in(user)
    browser.post("/api/auth/logout")
    browser.post("/api/auth/logout")
    assert told == [user.pk]


def test_A3_memberships_that_come_change_and_go_are_told(told, tmp_path):
    anna, bert = person(), person("bert")
    workspace = Workspace.objects.create(path=str(tmp_path), name="team")
    member = Membership.objects.create(workspace=workspace, user=anna, level="full")
    member.save()
    member.level = "readonly"
    member.save()
    assert told == [anna.pk, anna.pk]
    member.user = bert
    member.save()
    assert sorted(told[2:]) == [anna.pk, bert.pk]
    member.delete()
    assert told[4:] == [bert.pk]
    Membership.objects.create(workspace=workspace, user=anna)
    workspace.delete()
    assert told[5:] == [anna.pk, anna.pk]


def test_A3_a_deleted_user_is_told(told):
    user = person()
    key = user.pk
    user.delete()
    assert told == [key]


def test_A3_what_is_rolled_back_is_not_told(told):
    user = person()
    with transaction.atomic():
        user.is_superuser = True
        user.save()
        transaction.set_rollback(True)
    assert told == []
