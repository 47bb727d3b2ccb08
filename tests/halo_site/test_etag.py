"""Lists that have not changed are not sent again (ARCHITECTURE 10)."""

import pytest

from tests.accounts import logged_in, owner
from tests.homes import own_home
from workspaces_app.models import Workspace

LISTS = (
    "/api/workspaces",
    "/api/agent-configs",
    "/api/skills",
    "/api/needs",
    "/api/sessions/logs",
    "/api/commands",
    "/api/extensions",
)


@pytest.mark.django_db
@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_sent_again_only_when_it_changed(settings, tmp_path, path):
    own_home(settings, tmp_path)
    (tmp_path / "work").mkdir()
    workspace = Workspace.objects.create(path=str(tmp_path / "work"), name="work")
    browser = logged_in(owner())
    first = browser.get(path, {"projectId": workspace.path})
    assert first.status_code == 200
    assert first["Content-Type"].startswith("application/json")
    assert first["Cache-Control"] == "private, no-cache"
    second = browser.get(path, {"projectId": workspace.path}, headers={"If-None-Match": first["ETag"]})
    assert (second.status_code, second.content, second["ETag"]) == (304, b"", first["ETag"])
    other = browser.get(path, {"projectId": workspace.path}, headers={"If-None-Match": '"another"'})
    assert other.content == first.content


@pytest.mark.django_db
def test_a_changed_list_has_another_tag_and_a_refusal_has_none(settings, tmp_path):
    own_home(settings, tmp_path)
    browser = logged_in(owner())
    before = browser.get("/api/workspaces")["ETag"]
    Workspace.objects.create(path=str(tmp_path), name="new")
    assert browser.get("/api/workspaces", headers={"If-None-Match": before}).status_code == 200
    assert "ETag" not in browser.get("/api/skills", {"projectId": "/no/such"})
