"""`manage.py agents`: who can be asked in a folder."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.agents_app.test_agents import MODEL, make

pytestmark = pytest.mark.django_db


def listed(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("agents", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue().splitlines()


def test_agents_of_the_folder_and_of_the_home_are_listed_with_what_they_are_for(home, workspace):
    make(workspace / ".halo" / "agents", "mine", f"name: Mine\ndescription: For this folder\npriority: 9\n{MODEL}")
    make(home / "global" / "agents", "shared", f"name: Shared\n{MODEL}")
    make(home / "global" / "agents", "hidden", f"name: Hidden\ninternal: true\n{MODEL}")
    assert listed("-w", str(workspace)) == ["[ws] mine — For this folder", "[global] shared — Shared"]


def test_a_folder_without_agents_lists_nothing_and_a_missing_one_is_named(home, workspace, tmp_path):
    assert listed("--workspace", str(workspace)) == []
    with pytest.raises(CommandError, match="Workspace does not exist"):
        listed("-w", str(tmp_path / "nowhere"))
