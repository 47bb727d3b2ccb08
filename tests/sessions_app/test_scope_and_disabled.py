"""What files and switches of a workspace do to an accepted message: `@scope`, disabled agents, the default agent."""

from pathlib import Path

import pytest

from agents_app.disabled import set_disabled
from halo_site.lib.errors import NotFound
from sessions_app import queue_edits
from sessions_app.models import Entry, Session
from workspaces_app.models import Workspace

from .conftest import Say

pytestmark = pytest.mark.django_db


def waiting() -> Entry:
    return Entry.objects.exclude(kind=Entry.Kind.NOTICE).get()


def test_a_scope_goes_to_the_model_and_stays_out_of_what_people_see(say: Say, workspace: Workspace):
    place = Path(workspace.path, "a/.halo")
    place.mkdir(parents=True)
    (place / "INSTRUCTIONS.md").write_text("Outer rule")
    say("@scope a fix it")
    entry = waiting()
    assert entry.text == "@scope a fix it"
    assert entry.meta["model_text"].endswith("Outer rule\n</workspace-instructions>\n\nfix it")


def test_a_scope_that_leads_nowhere_warns_and_the_message_goes_on(say: Say):
    say("@scope ../x fix it")
    notice = Entry.objects.get(kind=Entry.Kind.NOTICE)
    assert notice.text == '⚠ @scope "../x": there is no such folder in this workspace'
    assert not notice.in_context
    assert waiting().meta["model_text"] == "fix it"


def test_an_edited_message_has_the_scope_of_its_new_text(say: Say):
    accepted = say("@scope ../x fix it")
    queue_edits.edit_queued(accepted.session_key, accepted.entry_id, "just fix it")
    entry = waiting()
    assert entry.text == "just fix it"
    assert "model_text" not in entry.meta


def test_a_new_session_does_not_start_with_an_agent_that_is_off(say: Say, workspace: Workspace):
    set_disabled(workspace, "agent", "default", "global", off=True)
    with pytest.raises(NotFound):
        say("hello", agent_id="default")
    with pytest.raises(NotFound):
        say("hello")
    assert not Session.objects.exists()


def test_without_a_choice_the_agent_of_the_highest_priority_starts(say: Say, workspace: Workspace):
    mine = Path(workspace.path, ".halo/agents/mine")
    mine.mkdir(parents=True)
    (mine / "agent.yaml").write_text("priority: 5\nmodel: {provider: demo, id: demo, endpoint: 'demo:'}\n")
    say("hello")
    assert Session.objects.get().agent_id == "mine"
