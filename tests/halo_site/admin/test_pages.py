"""Who sees which page, that each page opens, and that a longer list asks no more questions."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

import halo_site.urls  # noqa: F401 - finds the pages
from sessions_app.models import Session, Turn
from workspaces_app.models import AuditEvent, Membership, Workspace

from .seed import plant, session_in

pytestmark = pytest.mark.django_db

LISTS = (
    "extensions_app/extension",
    "relay_app/replyto",
    "sessions_app/session",
    "sessions_app/turn",
    "sessions_app/modelcall",
    "sessions_app/toolcall",
    "workspaces_app/workspace",
    "workspaces_app/auditevent",
    "auth/user",
)
SUPERUSER_LISTS = ("axes/accessattempt",)


@pytest.fixture
def seeded(tmp_path):
    return plant(tmp_path, per_day=4, days=3)


@pytest.mark.parametrize("role", ["superuser", "staff"])
def test_staff_open_every_list_and_one_row_of_each(signed_in, seeded, role):
    client = signed_in(role)
    AuditEvent.objects.create(action="test")
    for model, page in admin.site._registry.items():
        meta = model._meta
        if f"{meta.app_label}/{meta.model_name}" in SUPERUSER_LISTS and role == "staff":
            continue
        path = f"/admin/{meta.app_label}/{meta.model_name}/"
        assert client.get(path).status_code == 200, path
        row = model.objects.first()
        if row is not None:
            assert client.get(f"{path}{row.pk}/change/").status_code == 200, path
        assert page.get_actions is not None


def test_the_registry_holds_exactly_the_pages_we_mean():
    shown = {f"{model._meta.app_label}/{model._meta.model_name}" for model in admin.site._registry}
    assert shown == {*LISTS, *SUPERUSER_LISTS}


def test_sign_in_attempts_are_for_superusers(signed_in):
    assert signed_in("staff").get("/admin/axes/accessattempt/").status_code == 403
    assert signed_in("superuser").get("/admin/axes/accessattempt/").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["", "dashboard/cards/", "search/?s=a", *(f"{name}/" for name in LISTS), "sessions_app/session/1/transcript/",
     "sessions_app/session/1/transcript/1/", "workspaces_app/workspace/1/relink/"],
)  # fmt: skip
def test_members_and_strangers_are_sent_to_the_login(signed_in, path):
    for client in (signed_in("member"), Client()):
        answer = client.get(f"/admin/{path}")
        assert answer.status_code == 302
        assert answer["Location"].startswith("/admin/login/")


def test_a_staff_account_that_was_disabled_sees_nothing_any_more(signed_in):
    client = signed_in("staff")
    User.objects.filter(pk=client.user.pk).update(is_active=False)
    assert client.get("/admin/").status_code == 302


def test_unknown_pages_and_odd_addresses_are_no_server_errors(signed_in, seeded):
    client = signed_in("superuser")
    for path in (
        "nothing/here/",
        "sessions_app/session/99999/transcript/",
        f"sessions_app/session/{2**70}/transcript/",
        f"sessions_app/session/{seeded.talk.pk}/transcript/?before=abc",
        f"sessions_app/session/{seeded.talk.pk}/transcript/?before={2**70}",
        f"sessions_app/session/{seeded.talk.pk}/transcript/?before=-1",
        f"sessions_app/session/{seeded.talk.pk}/transcript/?before=%C2%B2",
        "sessions_app/session/?state=nonsense",
        "sessions_app/session/?depth=%00",
        "sessions_app/turn/?days=1e400",
        "workspaces_app/auditevent/?who=-1",
        "workspaces_app/auditevent/?who=99999999999999999999999",
        "?range=nonsense",
        "search/?s=%00",
        "search/?s=%25_'%22&page=abc",
    ):
        assert client.get(f"/admin/{path}").status_code in (200, 302, 400, 404), path


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_twenty_asks_as_many_questions_as_a_list_of_two(signed_in, tmp_path, name):
    client = signed_in("superuser")
    owner = User.objects.create_user("first")

    def grow(start: int, count: int) -> None:
        for n in range(start, start + count):
            workspace = Workspace.objects.create(path=f"/nowhere/{n}", name=f"w{n}")
            user = User.objects.create_user(f"u{n}")
            Membership.objects.create(workspace=workspace, user=user)
            session = session_in(workspace, f"s{n}", f"Talk {n}", owner, timezone.now())
            turn = Turn.objects.create(session=session, index=0, started_at=timezone.now(), status="done")
            turn.model_calls.create(call_id="c", provider="p", model="m", started_at=timezone.now())
            turn.tool_calls.create(call_id="c", tool_use_id="t", name="n", started_at=timezone.now())
            AuditEvent.objects.create(action="a", workspace=workspace, actor=user)

    def questions() -> int:
        client.get(f"/admin/{name}/")  # the counters of the sidebar are in the cache now
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert client.get(f"/admin/{name}/").status_code == 200
        return len(asked)

    grow(0, 2)
    few = questions()
    grow(2, 18)
    assert questions() <= few
    assert few < 20


def test_the_finder_finds_people_sessions_workspaces_and_pages_and_escapes_them(signed_in, tmp_path):
    client = signed_in("staff")
    who = User.objects.create_user("harbourmaster")
    workspace = Workspace.objects.create(path="/x/harbour", name="harbour <b>")
    session_in(workspace, "abc", "Harbour talk <script>", who, timezone.now())
    page = client.get("/admin/search/?s=harbour&extended=1").content.decode()
    assert "harbourmaster" in page
    assert "Harbour talk &lt;script&gt;" in page
    assert "harbour &lt;b&gt;" in page
    assert "<script>" not in page
    assert "Workspaces" in client.get("/admin/search/?s=workspaces").content.decode()
    assert "Nothing found" in client.get("/admin/search/?s=qqqqq").content.decode()
    for n in range(20):
        Session.objects.create(
            workspace=workspace, sid=f"n{n}", title=f"many {n}", created_at=timezone.now(), updated_at=timezone.now()
        )
    assert client.get("/admin/search/?s=many").content.decode().count("<li") == 6
