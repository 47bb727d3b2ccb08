"""Tool activate_skill: what is off, too strong or gone is refused at the moment of the call."""

import pytest
from asgiref.sync import sync_to_async

from agents_app.disabled import set_disabled
from agents_app.tools.contract import WARN
from halo_site.lib.access_level import Access
from tests.agents_app.test_skills import skill
from workspaces_app.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


@pytest.fixture
def shared(home):
    skill(home / "global", "notes", "At {{workspace_root}}: $1.")
    skill(home / "global", "strong", more="requiresAccess: full\n")
    return home / "global"


async def test_the_text_of_a_skill_arrives_with_its_placeholders_filled(call, context, shared):
    ctx = context(skills=["notes"], placeholders={"workspace_root": "/ws"})
    result = await call("activate_skill", ctx=ctx, skill_id="notes")
    assert result.text == "# Skill: notes\n\nAt /ws: $1."


async def test_C5_a_skill_above_the_sessions_level_is_refused_at_the_call(call, context, shared):
    for level, refused in ((Access.WORKSPACE, True), (Access.FULL, False)):
        result = await call("activate_skill", ctx=context(level, skills=["strong"]), skill_id="strong")
        assert result.text.startswith(WARN) is refused


@pytest.mark.parametrize("wanted", ["ghost", "strong", "../notes"])
async def test_a_skill_the_agent_does_not_list_is_refused_with_those_it_has(call, context, shared, wanted):
    result = await call("activate_skill", ctx=context(skills=["notes"]), skill_id=wanted)
    assert result.text.startswith(WARN)
    assert result.text.endswith("Available skills: notes")


async def test_a_skill_that_was_switched_off_meanwhile_is_not_available(call, context, shared, workspace):
    row = await sync_to_async(Workspace.objects.create)(path=str(workspace), name="w")
    await sync_to_async(set_disabled)(row, "skill", "notes", "global", off=True)
    result = await call("activate_skill", ctx=context(skills=["notes"]), skill_id="notes")
    assert result.text.startswith(WARN)
    assert "At " not in result.text


async def test_a_name_never_takes_the_id_of_another_skill(call, context, shared):
    skill(shared, "notes", "The real one.")
    (skill(shared, "impostor") / "SKILL.md").write_text("---\nname: notes\n---\nThe false one.")
    result = await call("activate_skill", ctx=context(skills=["impostor", "notes"]), skill_id="notes")
    assert "The real one." in result.text
    alone = await call("activate_skill", ctx=context(skills=["impostor"]), skill_id="notes")
    assert "The false one." in alone.text, "models may use names, too"


async def test_a_broken_skill_says_why(call, context, shared):
    skill(shared, "notes", more="verbs: x\n")
    result = await call("activate_skill", ctx=context(skills=["notes"]), skill_id="notes")
    assert "line 4: verbs must be a list" in result.text
