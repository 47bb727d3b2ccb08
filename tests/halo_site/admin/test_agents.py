"""Agents and skills on the staff site: broken ones with their reason, switches per workspace."""

import json
from pathlib import Path

import pytest

from agents_app.disabled import disabled_in
from agents_app.mcp.states import Key, Known, store
from halo_site.lib.access_level import Access
from tests.agents_app.test_agents import MODEL, make
from tests.agents_app.test_skills import skill
from tests.homes import own_home
from workspaces_app.models import AuditEvent, Workspace

pytestmark = pytest.mark.django_db
PAGE = "/admin/agents/"


@pytest.fixture
def space(settings, tmp_path):
    home = own_home(settings, tmp_path)
    folder = tmp_path / "work"
    folder.mkdir()
    make(home / "global/agents", "shared", MODEL + "name: Shared One\n")
    make(folder / ".halo/agents", "broken", "tools: file_read\n")
    skill(home / "global", "notes")
    skill(folder / ".halo", "bad", more="verbs: x\n")
    return Workspace.objects.create(path=str(folder), name="work")


def test_staff_see_what_there_is_and_why_it_does_not_run(signed_in, space):
    staff = signed_in("staff")
    shared = staff.get(PAGE).content.decode()
    assert "Shared One" in shared
    assert "broken" not in shared
    text = staff.get(PAGE, {"workspace": space.pk}).content.decode()
    assert "a list is needed, such as [file_read]" in text
    assert "line 4: verbs must be a list" in text
    assert "Shared One" in text


def test_a_switch_counts_in_this_workspace_and_leaves_a_row(signed_in, space):
    staff = signed_in("staff")
    where = f"{PAGE}?workspace={space.pk}"
    answer = staff.post(where, {"kind": "skill", "id": "notes", "scope": "global"})
    assert (answer.status_code, answer["Location"]) == (302, where)
    assert disabled_in(space.pk) == {("skill", "notes", "global")}
    assert json.loads(Path(space.path, ".halo/disabled.json").read_text())["skill"] == ["global:notes"]
    assert "disabled here" in staff.get(where).content.decode()
    assert AuditEvent.objects.get(action="skill.disable").workspace == space
    staff.post(where, {"kind": "skill", "id": "notes", "scope": "global"})
    assert disabled_in(space.pk) == frozenset()


def test_nothing_unknown_is_switched(signed_in, space):
    staff = signed_in("staff")
    staff.post(f"{PAGE}?workspace={space.pk}", {"kind": "skill", "id": "ghost", "scope": "global"})
    staff.post(PAGE, {"kind": "skill", "id": "notes", "scope": "global"})
    assert disabled_in(space.pk) == frozenset()


def test_others_do_not_get_in(signed_in, space):
    assert signed_in("member").get(PAGE).status_code == 302


def test_mcp_servers_are_listed_with_their_last_error_and_no_switch(signed_in, space):
    make(Path(space.path, ".halo/agents"), "tooled", MODEL + "mcp: [{name: files, transport: stdio, command: x}]\n")
    staff = signed_in("staff")
    assert "not needed yet" in staff.get(PAGE, {"workspace": space.pk}).content.decode()
    key = Key(Path(space.path), "tooled", Access.FULL, "files")
    store(Known(key, "failed", "it ended with exit code 3"))
    text = staff.get(PAGE, {"workspace": space.pk}).content.decode()
    assert "it ended with exit code 3" in text
    assert 'value="mcp"' not in text
    assert "files" not in staff.get(PAGE).content.decode()
