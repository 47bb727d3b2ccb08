"""Which slash commands a person has, and what a line means (spec commands 4 to 21, its invariants by number)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.commands import (
    BUILT_IN,
    BuiltIn,
    Here,
    ListVerbs,
    Refused,
    RunSkill,
    Unknown,
    available,
    meaning,
    owners,
)
from agents_app.skill_file import parse
from agents_app.skills import Skill
from halo_site.lib.access_level import Access


def skill(skill_id: str, header: str = "", body: str = "Do $1 for $ARGUMENTS", **state) -> Skill:
    text = f"---\nname: {skill_id}\ndescription: About {skill_id}\n{header}\n---\n{body}"
    return Skill(skill_id, "global", Path("/skills", skill_id), parse(text, skill_id), **state)


NOTES = skill(
    "notes",
    "command: /notes\nrequiresAccess: workspace\nverbs:\n  - {name: draft}\n  - {name: publish, requiresAccess: full}",
)
AGENT = skill(
    "agent",
    "command: /agent\nverbs:\n  - {name: list, builtin: true}\n  - {name: create, requiresAccess: full}\n"
    "  - {name: explain}",
)


def here(level: Access = Access.FULL, *skills: Skill, listed: str = "", goal: bool = False) -> Here:
    ids = listed.split() if listed else [each.id for each in skills]
    return Here(skills, frozenset(ids), level, goal)


def names(place: Here) -> list[str]:
    return [command.name for command in available(place)]


def verbs(place: Here, name: str) -> list[str]:
    return next([verb.name for verb in command.verbs] for command in available(place) if command.name == name)


def test_without_skills_there_are_the_built_ins():
    assert names(here()) == ["agent", "evo", "help", "session", "skill", "workspace"]
    assert names(here(Access.READONLY)) == ["agent", "help", "session", "skill", "workspace"]


def test_2_readonly_sees_only_the_verbs_it_may_run():
    place = here(Access.READONLY, AGENT)
    assert verbs(place, "agent") == ["list", "switch", "desc", "explain"]
    assert verbs(place, "workspace") == ["info"]
    assert meaning("/agent delete x", place) == Refused("access_required", "agent delete", required=Access.FULL)
    assert meaning("/agent create x", place) == Refused("access_required", "agent create", "agent", Access.FULL)


def test_4_a_built_in_is_never_taken_and_of_two_skills_the_first_keeps_the_slash():
    thief, first, second = skill("thief", "command: session"), skill("a", "command: x"), skill("b", "command: /x")
    found, warnings = owners([thief, first, second])
    assert found == {"x": first}
    assert warnings == {
        "thief": 'skill "thief": /session belongs to Halo; it works without a slash',
        "b": 'skill "b": /x belongs to "a"; it works without a slash',
    }
    assert owners([AGENT]) == ({}, {}), "it serves the other verbs of ours"
    assert meaning("/session list", here(Access.FULL, thief)) == BuiltIn("session", "list", "")
    assert second.usable


def test_5_a_verb_has_a_level_of_its_own_or_that_of_its_skill():
    place = here(Access.WORKSPACE, NOTES)
    assert verbs(place, "notes") == ["draft"]
    assert meaning("/notes publish now", place) == Refused("access_required", "notes publish", "notes", Access.FULL)
    assert isinstance(meaning("/notes draft", place), RunSkill)
    assert isinstance(meaning("/notes unheard of", place), RunSkill), "an unknown verb is for the body to judge"
    low = here(Access.READONLY, NOTES)
    assert "notes" not in names(low)
    assert meaning("/notes unheard of", low) == Refused("access_required", "notes", "notes", Access.WORKSPACE)


@pytest.mark.parametrize(
    ("state", "listed", "reason"),
    [({"disabled": True}, "notes", "disabled"), ({}, "other", "not_allowed")],
)
def test_6_27_a_skill_that_is_off_or_not_the_agents_is_neither_shown_nor_run(state, listed, reason):
    place = here(Access.FULL, skill("notes", "command: notes", **state), listed=listed)
    assert "notes" not in names(place)
    assert meaning("/notes x", place) == Refused(reason, "notes", "notes")


def test_6_a_disabled_skill_takes_its_verbs_from_the_object_and_leaves_ours():
    place = here(Access.FULL, skill("agent", "verbs: [{name: create}]", disabled=True))
    assert verbs(place, "agent") == ["list", "switch", "desc", "delete"]
    assert meaning("/agent create x", place) == Refused("disabled", "agent", "agent")
    assert meaning("/agent list", place) == BuiltIn("agent", "list", "")


def test_a_skill_that_cannot_load_says_why():
    place = here(Access.FULL, skill("notes", "command: notes\nmetadata: a: b"))
    assert meaning("/notes", place) == Unknown("notes"), "nobody knows what a broken header would have asked for"
    broken = here(Access.FULL, skill("agent", "verbs: wrong"))
    refused = meaning("/agent create", broken)
    assert isinstance(refused, Refused)
    assert (refused.reason, "verbs must be a list" in refused.error) == ("load_failed", True)


def test_8_goal_is_there_only_when_it_is_switched_on_and_for_full_access():
    assert meaning("/goal create x", here()) == Unknown("goal")
    assert "goal" not in names(here())
    assert "goal" in names(here(goal=True))
    assert "goal" not in names(here(Access.WORKSPACE, goal=True))
    assert meaning("/goal status", here(goal=True)) == BuiltIn("goal", "status", "")
    assert owners([skill("g", "command: goal")])[0] == {}


def test_people_who_may_not_invoke_a_skill_still_have_its_verbs_on_an_object():
    hidden = skill("workspace", "command: /workspace\nuser-invocable: false\nverbs: [{name: setup}]")
    assert verbs(here(Access.FULL, hidden), "workspace") == ["info", "switch", "import", "setup"]
    assert names(here(Access.FULL, skill("x", "command: x\nuser-invocable: false"))) == names(here())


def test_bare_objects_and_help_list_the_verbs():
    for line in ("/agent", "/agent help", "/agent  ", "/notes", "/notes help"):
        found = meaning(line, here(Access.FULL, AGENT, NOTES))
        assert isinstance(found, ListVerbs), line
    assert isinstance(meaning("/plain", here(Access.FULL, skill("plain", "command: plain"))), RunSkill)


def test_the_line_reaches_the_log_and_the_agent():
    found = meaning('/notes draft "a b" c', here(Access.FULL, NOTES))
    assert isinstance(found, RunSkill)
    assert found.shown == '[Skill activated: /notes] draft "a b" c'
    assert found.text({}) == '[Skill activated: /notes]\n\nDo draft for draft "a b" c'
    bare = meaning("/plain", here(Access.FULL, skill("plain", "command: plain")))
    assert isinstance(bare, RunSkill)
    assert bare.shown == "[Skill activated: /plain]"


def test_evo_is_for_full_access_whatever_its_hint():
    assert meaning("/evo look here", here()) == BuiltIn("evo", "", "look here")
    assert meaning("/evo", here(Access.WORKSPACE)) == Refused("access_required", "evo", required=Access.FULL)


LEVELS = st.sampled_from(["", "requiresAccess: full", "requiresAccess: workspace", "requiresAccess: readonly"])


@given(LEVELS, LEVELS, st.sampled_from(list(Access)), st.booleans())
def test_what_is_shown_can_be_run_and_what_is_hidden_cannot(own, of_verb, level, disabled):
    gate = f", {of_verb}" if of_verb else ""
    place = here(level, skill("notes", f"command: notes\n{own}\nverbs: [{{name: go{gate}}}]", disabled=disabled))
    shown = any("go" in [verb.name for verb in command.verbs] for command in available(place))
    assert shown is isinstance(meaning("/notes go", place), RunSkill)


@given(st.text(max_size=40))
def test_any_line_has_a_meaning(line):
    assert meaning(line, here(Access.READONLY, NOTES, AGENT)) is not None


def test_every_gate_is_a_level_or_open():
    for command in BUILT_IN.values():
        assert {verb.requires for verb in command.verbs} <= {None, *Access}
