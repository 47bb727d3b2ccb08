"""The system prompt: its order, and the files it is made of (spec agents-and-prompts 3.2, 3.3, 3.5 to 3.7)."""

import pytest

from agents_app.agents import load_agent
from agents_app.frontmatter import split
from agents_app.outfit import material
from agents_app.placeholders import render
from agents_app.prompt_files import _for_platform, present_time, prompt_material, team_members
from agents_app.prompts import INDEX_NUDGE, PromptParts, compose, tools_line
from agents_app.seed import seed_home
from agents_app.tools import TEAM
from halo_site.lib import settings_write
from halo_site.lib.access_level import Access
from tests.agents_app.test_agents import MODEL, make

FULL = PromptParts(
    workspace="/ws",
    is_root=True,
    persona="PERSONA",
    roster="ROSTER",
    user="USER",
    instructions="INSTRUCTIONS",
    working_dir="/ws/a",
    chain="CHAIN",
    index="INDEX",
    bootstrap="BOOTSTRAP",
    root_scope="ROOT SCOPE",
    all_scope="ALL SCOPE",
    skills="SKILLS",
    tools=("file_read", "grep"),
)


def but(**changes) -> PromptParts:
    from dataclasses import replace

    return replace(FULL, **changes)


def in_order(text: str, *parts: str) -> None:
    places = [text.index(part) for part in parts]
    assert places == sorted(places), list(zip(parts, places, strict=True))


def test_a_root_prompt_has_exactly_this_shape():
    assert compose(FULL) == (
        "## User Profile\n\nUSER\n\n---\n\n"
        "PERSONA\n\n---\n\n"
        "ROSTER\n\n---\n\n"
        "## User Instructions\n\nINSTRUCTIONS\n\n---\n\n"
        "## User Instructions\n\nCHAIN\n\n---\n\n"
        "## Project Knowledge\n\nWhat is known about this project, kept in `.halo/INDEX.md`:\n\nINDEX\n\n"
        "The project workspace is at: /ws\n\n"
        "Working directory: /ws/a\n\n"
        "ROOT SCOPE\n\nALL SCOPE\n\nSKILLS\n\n"
        "Your available tools: file_read, grep. Only use tools in this list."
    )


def test_a_sub_agent_has_no_profile_no_root_scope_and_no_bootstrap():
    text = compose(but(is_root=False, user="", bootstrap="BOOTSTRAP"))
    for absent in ("User Profile", "ROOT SCOPE", "BOOTSTRAP", INDEX_NUDGE):
        assert absent not in text
    in_order(
        text,
        "PERSONA",
        "ROSTER",
        "INSTRUCTIONS",
        "CHAIN",
        "INDEX",
        "The workspace root is: /ws",
        "Working",
        "ALL SCOPE",
    )


def test_an_internal_agent_gets_its_words_the_place_and_the_tools():
    assert compose(but(internal=True)) == (
        "PERSONA\n\nThe project workspace is at: /ws\n\nWorking directory: /ws/a\n\nSKILLS\n\n"
        "Your available tools: file_read, grep. Only use tools in this list."
    )


def test_without_a_profile_a_root_begins_with_the_bootstrap():
    assert compose(but(user="")).startswith("BOOTSTRAP\n\n---\n\nPERSONA")
    assert "BOOTSTRAP" not in compose(FULL)
    assert "BOOTSTRAP" not in compose(but(user="", is_root=False))


def test_without_an_index_a_root_has_the_nudge_only():
    assert f"## Project Knowledge\n\n{INDEX_NUDGE}" in compose(but(index=""))
    assert INDEX_NUDGE not in compose(FULL)


def test_the_system_prompt_takes_the_place_of_an_empty_agent_md():
    text = compose(but(persona="", system_prompt="FROM YAML"))
    in_order(text, "USER", "FROM YAML", "ROSTER", "INSTRUCTIONS")
    assert "FROM YAML" not in compose(but(system_prompt="FROM YAML"))


def test_with_nothing_written_there_is_a_plain_default_and_the_roster_at_its_end():
    text = compose(but(persona="", user="", instructions="", chain="", index="", working_dir="", bootstrap=""))
    in_order(text, "works in the folder /ws", "ROOT SCOPE", "ALL SCOPE", "ROSTER", "SKILLS", "Your available tools")
    assert INDEX_NUDGE not in text


def test_a_working_directory_that_is_the_root_is_not_repeated():
    assert "Working directory" not in compose(but(working_dir="/ws"))


def test_no_tools_are_said_too():
    assert "no tools" in tools_line(())


# -- from files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def agent(home, workspace):
    make(
        home / "global" / "agents",
        "a",
        MODEL + "name: Ada\nteam: [a, helper, ghost, secret]\n",
        persona="I am {{agent_name}}.",
    )
    make(home / "global" / "agents", "helper", MODEL + "description: Helps\npriority: 3\n")
    make(home / "global" / "agents", "secret", MODEL + "internal: true\n")
    make(home / "global" / "agents", "other", MODEL)
    return load_agent(workspace, "a")


def built(agent, workspace, now="", **more):
    options = {"is_root": True, "tools": ("grep", "start_session")} | more
    return prompt_material(agent, workspace, **options).at(now or present_time())


def write(base, name: str, text: str) -> None:
    (base / name).parent.mkdir(parents=True, exist_ok=True)
    (base / name).write_text(text)


def test_the_same_files_give_the_same_bytes(agent, workspace):
    first, second = (built(agent, workspace, now="2026-01-02T03:04:05Z") for _ in range(2))
    assert first == second


def test_the_team_lists_who_exists_self_first_and_nobody_internal(agent, workspace):
    text = built(agent, workspace).text
    assert "- `a` — Ada (you)\n- `helper` — helper: Helps" in text
    assert "ghost" not in text
    assert "`secret`" not in text
    assert "`other`" not in text
    child = built(agent, workspace, is_root=False).text
    roster = text[text.index("## Your Team") :].split("\n\n---\n\n")[0]
    assert roster in child, "identical for root and sub-agents"


def test_a_member_that_is_off_is_not_in_the_team_and_does_not_let_the_homes_through(agent, home, workspace):
    make(workspace / ".halo/agents", "helper", MODEL + "description: Own helper\n")
    assert "Own helper" in built(agent, workspace).text
    off = frozenset({("agent", "helper", "workspace")})
    text = built(agent, workspace, disabled=off).text
    assert "`helper`" not in text
    assert [member.id for member in team_members(agent, workspace, off)] == ["a"]


def test_5_7_a_child_learns_nothing_of_the_person_and_is_not_told_to_ask(agent, home, workspace):
    assert built(agent, workspace).text.startswith("## Getting to know each other")
    strange = built(agent, workspace, is_root=False).text
    write(home / "global", "USER.md", "Likes brevity")
    known = built(agent, workspace, is_root=False).text
    assert "Likes brevity" in built(agent, workspace).text
    for absent in ("Likes brevity", "User Profile", "Getting to know each other", "## Handing work on"):
        assert absent not in strange + known


def test_4_11_every_root_reads_when_to_hand_work_on_even_without_a_team(home, agent, workspace):
    seed_home(home)
    alone = load_agent(workspace, "other")
    assert not alone.can_delegate
    text = built(alone, workspace, tools=("grep",)).text
    assert "## Your Team" not in text
    in_order(text, "The project workspace is at", "## Handing work on", "## What stays", "## Messages of the platform")


@pytest.mark.parametrize(("team", "given"), [("", False), ("team: []\n", False), ("team: [helper]\n", True)])
def test_8_a_team_brings_all_tools_for_sessions_and_the_roster_or_neither(agent, home, workspace, team, given):
    make(home / "global" / "agents", "a", MODEL + "tools: [grep, start_session]\n" + team)
    for is_root in (True, False):
        outfit = material(load_agent(workspace, "a"), workspace, level=Access.FULL, is_root=is_root).outfit()
        assert len(TEAM) == 8
        assert set(TEAM) & set(outfit.tools) == (set(TEAM) if given else set())
        assert ("## Your Team" in outfit.prompt.text) is given


def test_without_the_tools_to_start_a_team_there_is_no_roster(agent, workspace):
    assert "## Your Team" not in built(agent, workspace, tools=("grep",)).text


def test_workspace_instructions_replace_the_global_ones_unless_empty(agent, home, workspace):
    write(home / "global", "INSTRUCTIONS.md", "GLOBAL RULES")
    assert "GLOBAL RULES" in built(agent, workspace).text
    write(workspace, ".halo/INSTRUCTIONS.md", "  \n")
    assert "GLOBAL RULES" in built(agent, workspace).text
    write(workspace, ".halo/INSTRUCTIONS.md", "OWN RULES")
    text = built(agent, workspace).text
    assert text.count("OWN RULES") == 1
    assert "GLOBAL RULES" not in text


def test_instructions_on_the_way_to_the_working_directory_are_added_outer_first(agent, workspace):
    for folder, text in (("a", "OUTER"), ("a/b/c", "INNER")):
        write(workspace, f"{folder}/.halo/INSTRUCTIONS.md", text)
    text = built(agent, workspace, working_dir="a/b/c").text
    assert "### a\n\nOUTER\n\n### a/b/c\n\nINNER" in text
    assert "OUTER" not in built(agent, workspace).text


def test_a_prompt_folder_of_the_workspace_replaces_the_homes(agent, home, workspace):
    write(home / "global", "prompts/all/A.md", "HOME A")
    write(home / "global", "prompts/all/B.md", "HOME B")
    in_order(built(agent, workspace).text, "HOME A", "HOME B")
    write(workspace, ".halo/prompts/all/Z.md", "WORKSPACE Z")
    text = built(agent, workspace).text
    assert "WORKSPACE Z" in text
    assert "HOME" not in text


def test_a_scope_without_files_uses_the_built_in_texts_and_says_so(agent, workspace):
    prompt = built(agent, workspace)
    assert "## Working with tools" in prompt.text
    assert "## Handing work on" in prompt.text
    assert "prompt/all (built-in fallback)" in prompt.sources


def test_platform_files_count_on_their_platform_only():
    names = ["A.md", "A.windows.md", "B.md"]
    assert _for_platform(names, "linux") == ["A.md", "B.md"]
    assert _for_platform(names, "win32") == ["A.windows.md", "B.md"]


def test_a_new_person_is_told_where_the_profile_of_this_home_lies(agent, home, workspace):
    assert f"`{home}/global/USER.md`" in built(agent, workspace).text


def test_names_come_from_the_user_profile_of_the_workspace_first(agent, home, workspace):
    make(
        home / "global" / "agents",
        "a",
        MODEL,
        persona="{{user_name}} and {{ai_name}} at {{workspace_root}} {{working_dir}}",
    )
    write(home / "global", "USER.md", "---\nuser_name: Global\nai_name: Halo\n---\nLikes brevity")
    text = built(load_agent(workspace, "a"), workspace, working_dir="d").text
    assert f"Global and Halo at {workspace} {workspace}/d" in text
    assert "Likes brevity" in text
    assert "Getting to know each other" not in text
    write(workspace, ".halo/USER.md", "---\nuser_name: no\n---\n")
    assert "no and  at" in built(load_agent(workspace, "a"), workspace).text


def test_now_is_frozen_by_the_caller_and_does_not_change_what_the_files_are(agent, home, workspace):
    make(home / "global" / "agents", "a", MODEL, persona="It is {{now}}.")
    agent = load_agent(workspace, "a")
    early, late = (built(agent, workspace, now=now) for now in ("2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"))
    assert "It is 2026-01-01T00:00:00Z." in early.text
    assert early.hash != late.hash
    assert early.files_hash == late.files_hash


def test_an_agent_resolves_its_own_params_and_nothing_else(agent, home, workspace, monkeypatch):
    monkeypatch.setenv("FROM_ENV", "filled")
    for key in ("a.params.city", "other.params.city", "a.secrets.key"):
        settings_write.write("global", None, key, "<<FROM_ENV>>" if key == "a.params.city" else "canary")
    persona = (
        "{{a.params.city}} {{other.params.city}} {{a.secrets.key}} {{general.language}} {{nothing}} {{a.params.none}}"
    )
    make(home / "global" / "agents", "a", MODEL, persona=persona)
    text = built(load_agent(workspace, "a"), workspace).text
    assert "filled " + persona.removeprefix("{{a.params.city}} ") in text
    assert "canary" not in text


def test_18_a_param_that_names_an_unset_variable_shows_its_name(agent, home, workspace):
    settings_write.write("global", None, "a.params.city", "in <<NO_SUCH_CITY>>")
    make(home / "global" / "agents", "a", MODEL, persona="Live {{a.params.city}}.")
    assert "Live in <<NO_SUCH_CITY>>." in built(load_agent(workspace, "a"), workspace).text


def test_a_long_file_is_cut_with_a_visible_note(agent, workspace):
    write(workspace, ".halo/INDEX.md", "x" * 70_000)
    text = built(agent, workspace).text
    assert "INDEX.md is cut here: 70000 bytes" in text
    assert text.count("x" * 65_536) == 1


def test_a_file_of_many_megabytes_is_cut_too(agent, workspace):
    write(workspace, ".halo/INDEX.md", "x" * 3_000_000)
    text = built(agent, workspace).text
    assert "INDEX.md is cut here: 3000000 bytes" in text
    assert text.count("x" * 65_536) == 1


def test_of_each_file_is_told_what_it_adds_and_whether_it_was_cut(agent, home, workspace):
    persona, index = home / "global/agents/a/AGENT.md", workspace / ".halo/INDEX.md"
    persona.write_text("y" * 70_000)
    write(workspace, ".halo/INDEX.md", "map")
    sizes = built(load_agent(workspace, "a"), workspace).sizes
    assert sizes[str(index)] == (3, False)
    assert sizes[str(persona)].cut
    persona.write_text("short")
    assert built(load_agent(workspace, "a"), workspace).sizes[str(persona)] == (5, False)


def test_sources_name_the_files_that_were_read(agent, workspace):
    write(workspace, ".halo/INDEX.md", "map")
    assert str(workspace / ".halo/INDEX.md") in built(agent, workspace).sources


@pytest.mark.parametrize(
    ("text", "keys", "body"),
    [
        ("no frontmatter", {}, "no frontmatter"),
        ("---\na: 1\nb: no\n---\n\nbody", {"a": "1", "b": "no"}, "body"),
        ("---\nname: has: a colon\nx: 'y'\n---\nbody", {"name": "has: a colon", "x": "y"}, "body"),
        ("---\nnever closed", {}, "---\nnever closed"),
        ("---\n---\nbody", {}, "body"),
    ],
)
def test_frontmatter_is_read_leniently(text, keys, body):
    assert split(text) == (keys, body)


def test_placeholders_tolerate_spaces_and_leave_the_rest():
    assert render("{{ now }} {{x}} {now} {{channel.type}}", {"now": "N", "channel.type": ""}) == "N {{x}} {now} "
