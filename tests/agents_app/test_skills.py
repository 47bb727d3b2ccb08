"""Skills as folders, what agents are offered of them, and what an activation says (spec agents-and-prompts 3.9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.agents import load_agent
from agents_app.outfit import material
from agents_app.skill_file import parse
from agents_app.skill_use import (
    activation_text,
    command_text,
    offered_skills,
    render_body,
    skills_block,
    split_arguments,
)
from agents_app.skills import Skill, SkillNotFound, find_skill, list_skills, resources
from halo_site.lib import settings_write
from halo_site.lib.access_level import Access
from tests.agents_app.test_agents import MODEL, make

HEADER = "---\nname: {id}\ndescription: About {id}\n{more}---\n{body}"


def skill(base, skill_id: str, body: str = "Do it.", more: str = "", name: str = "SKILL.md"):
    """Write a skill folder below `base`/skills."""
    folder = base / "skills" / skill_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(HEADER.format(id=skill_id, more=more, body=body))
    return folder


@pytest.fixture
def shared(home):
    return home / "global"


@pytest.fixture
def own(workspace):
    return workspace / ".halo"


def test_the_workspaces_folder_hides_the_homes_as_a_whole(shared, own, workspace):
    skill(shared, "notes", "home")
    (shared / "skills/notes/extra.md").write_text("x")
    skill(own, "notes", "own")
    found = find_skill(workspace, "notes")
    assert (found.scope, found.file.body, resources(found)) == ("workspace", "own", [])
    assert [(each.scope, each.overridden) for each in list_skills(workspace)] == [
        ("workspace", False),
        ("global", True),
    ]
    assert find_skill(None, "notes").file.body == "home"


@pytest.mark.parametrize("skill_id", ["../a", "a/b", "", ".", "..", "a b", "x\0"])
def test_an_unsafe_id_is_not_found(shared, own, workspace, skill_id):
    with pytest.raises(SkillNotFound):
        find_skill(workspace, skill_id)


def test_a_skill_that_cannot_load_is_listed_with_its_reason(shared, own, workspace):
    (shared / "skills/empty").mkdir(parents=True)
    skill(shared, "broken", more="verbs: x\n")
    skill(shared, "fine")
    errors = {each.id: each.file.error for each in list_skills(workspace)}
    assert "there is no SKILL.md" in errors["empty"]
    assert "line 4: verbs must be a list" in errors["broken"]
    assert errors["fine"] == ""
    assert [each.id for each in offered_skills(workspace, ["empty", "broken", "fine"], Access.FULL)] == ["fine"]


def test_a_folder_with_an_impossible_name_is_listed_with_its_cure_if_a_skill_is_in_it(shared, own, workspace):
    skill(own, "my skill v1.2")
    (own / "skills/.hidden").mkdir()
    [found] = list_skills(workspace)
    assert (found.id, found.usable) == ("my skill v1.2", False)
    assert "rename the folder" in found.file.error
    with pytest.raises(SkillNotFound):
        find_skill(workspace, "my skill v1.2")


def test_a_broken_skill_of_the_workspace_does_not_let_the_homes_through(shared, own, workspace):
    skill(shared, "notes")
    (own / "skills/notes").mkdir(parents=True)
    assert offered_skills(workspace, ["notes"], Access.FULL) == []


def test_another_spelling_of_the_file_name_is_found_and_told(shared, workspace):
    skill(shared, "notes", name="Skill.md")
    found = find_skill(workspace, "notes")
    assert found.file.error == ""
    assert "the file is called Skill.md" in found.file.warnings[-1]


def test_a_skill_file_that_leads_out_of_the_workspace_is_not_read(shared, own, workspace, tmp_path):
    (tmp_path / "private.md").write_text("secret")
    (own / "skills/leak").mkdir(parents=True)
    (own / "skills/leak/SKILL.md").symlink_to(tmp_path / "private.md")
    assert "there is no SKILL.md" in find_skill(workspace, "leak").file.error


def test_an_edit_counts_at_the_next_look(shared, workspace):
    skill(shared, "notes")
    assert offered_skills(workspace, ["notes"], Access.READONLY)
    skill(shared, "notes", more="requiresAccess: full\n")
    assert offered_skills(workspace, ["notes"], Access.WORKSPACE) == []


def test_an_agent_is_offered_what_it_lists_and_its_session_may_use(shared, own, workspace):
    skill(shared, "open")
    skill(shared, "strong", more="requiresAccess: full\n")
    skill(shared, "people-only", more="disable-model-invocation: true\n")
    skill(shared, "off")
    skill(shared, "unlisted")
    listed = ["strong", "open", "people-only", "off", "ghost", "open"]
    disabled = frozenset({("skill", "off", "global"), ("skill", "open", "workspace")})

    def ids(level: Access) -> list[str]:
        return [each.id for each in offered_skills(workspace, listed, level, disabled)]

    assert ids(Access.FULL) == ["strong", "open"]
    assert ids(Access.WORKSPACE) == ["open"], "what is off in the other scope does not count"


def test_the_block_escapes_what_people_write(shared, workspace):
    text = "---\nname: a\ndescription: </description><skill> & more\n---\n"
    block = skills_block([Skill("a", "global", shared, parse(text, "a"))])
    assert "<description>&lt;/description&gt;&lt;skill&gt; &amp; more</description>" in block
    assert block.startswith("## Your Skills\n\n")
    assert skills_block([]) == ""


def test_an_agent_with_a_skill_gets_the_tool_and_the_section_others_get_neither(shared, workspace):
    skill(shared, "notes", "SECRET BODY")
    make(shared / "agents", "a", MODEL + "tools: [grep, activate_skill]\nskills: [notes]\n")
    make(shared / "agents", "b", MODEL + "tools: [grep, activate_skill]\n")
    with_skill, without = (
        material(load_agent(workspace, name), workspace, level=Access.FULL, is_root=True).outfit()
        for name in ("a", "b")
    )
    assert list(with_skill.tools) == ["grep", "activate_skill", "continue_task"]
    assert "<id>notes</id>" in with_skill.prompt.text
    assert "Your available tools: grep, activate_skill, continue_task." in with_skill.prompt.text
    assert "SECRET BODY" not in with_skill.prompt.text
    assert list(without.tools) == ["grep", "continue_task"]
    assert "Your Skills" not in without.prompt.text


# -- what an activation says ---------------------------------------------------------------------------------------


def made(body: str) -> Skill:
    from pathlib import Path

    return Skill("notes", "global", Path("/skills/notes"), parse(f"---\nname: notes\n---\n{body}", "notes"))


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("$ARGUMENTS|$1|$2|$3", '"a b" c', '"a b" c|a b|c|'),
        ("costs $5.00, \\$1, $12, $PATH, $0", "x", "costs $5.00, $1, $12, $PATH, $0"),
        ("{{args}} $ARGUMENTSX", "x y", "x y $ARGUMENTSX"),
        ("$1", "{{notes.params.key}} $2", "{{notes.params.key}}"),
        ("$1 $2", '--name="a b" "open quote', "--name=a b open quote"),
        ("{{params.key}} {{other.params.key}} {{notes.secrets.k}} {{general.language}} {{nope}}", "", None),
        ("{{ now }} at {{channel.type}}.", "", "NOW at ."),
        ("{{skill_dir}}/run.py", "", "/skills/notes/run.py"),
    ],
)
def test_arguments_and_placeholders(body, arguments, text):
    if text is None:
        text = body.replace("{{params.key}}", "{{notes.params.key}}")
    values = {"now": "NOW", "channel.type": ""}
    assert render_body(made(body), values, arguments) == text


def test_a_placeholder_that_nothing_fills_stays_and_is_logged_once(caplog):
    text = "{{user_nmae}} {{now}} {{other.params.key}} {{x.secrets.y}}"
    for _ in range(2):
        assert render_body(made(text), {"now": "NOW"}) == text.replace("{{now}}", "NOW")
    assert [record.getMessage() for record in caplog.records] == [
        "skill notes: nothing fills {{user_nmae}}; it stays as it is"
    ]


def test_params_never_enter_the_conversation(home, workspace):
    settings_write.write("global", None, "notes.params.key", "canary")
    text = command_text(made("curl -H {{params.key}}"), "notes", "now", {})
    assert text == "[Skill activated: /notes]\n\ncurl -H {{notes.params.key}}"


def test_an_activation_lists_the_other_files(shared, workspace):
    folder = skill(shared, "notes", "See scripts.")
    (folder / "scripts").mkdir()
    (folder / "scripts/a.py").write_text("")
    (folder / "scripts/link").symlink_to("/etc/passwd")
    (folder / "config.yaml").write_text("params: []\n")
    assert activation_text(find_skill(workspace, "notes"), {}) == (
        "# Skill: notes\n\nSee scripts.\n\nResource files in skill directory:\n- config.yaml\n- scripts/a.py\n\n"
        f"The directory is {folder}"
    )


def test_a_long_body_says_where_the_rest_is(shared, workspace):
    skill(shared, "notes", "a line of text\n" * 2_000)
    text = activation_text(find_skill(workspace, "notes"), {}, limit=8_000)
    assert 7_000 < len(text) <= 8_000
    assert text.endswith(f"Read the rest in {shared}/skills/notes/SKILL.md before you begin.]")


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_was_filled_in_is_not_read_again(body, arguments):
    filled = render_body(made("<$ARGUMENTS>"), {}, arguments)
    assert filled == f"<{arguments}>"
    render_body(made(body), {}, arguments)


@given(st.lists(st.text(alphabet="ab c", min_size=1, max_size=6), max_size=8))
def test_quoted_words_come_back_whole(words):
    assert split_arguments(" ".join(f'"{word}"' for word in words)) == words
