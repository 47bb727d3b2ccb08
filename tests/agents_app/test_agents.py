"""agent.yaml and the folders agents live in (spec agents-and-prompts 2, 3.1; CASES C67)."""

import os
import shutil
from dataclasses import replace

import pytest

from agents_app.agent_yaml import AgentYaml, parse
from agents_app.agents import AgentBroken, AgentNotFound, default_agent, list_agents, load_agent
from agents_app.prompt_files import team_members
from agents_app.seed import seed_agent
from halo_site.lib.yaml_files import YamlError

MODEL = "model: {provider: demo, id: demo, endpoint: demo://local}\n"


def make(base, agent_id: str, yaml: str | None = MODEL, persona: str | None = None):
    folder = base / agent_id
    folder.mkdir(parents=True, exist_ok=True)
    if yaml is not None:
        (folder / "agent.yaml").write_text(yaml)
    if persona is not None:
        (folder / "AGENT.md").write_text(persona)
    return folder


@pytest.fixture
def shared(home):
    return home / "global" / "agents"


@pytest.fixture
def own(workspace):
    return workspace / ".halo" / "agents"


@pytest.mark.parametrize("name", ["no", "on", "1.10", "2026-10-05", "12:30:00", "0777", "null-ish", "5"])
def test_C67_text_fields_keep_their_text(name):
    agent, warnings = parse(f"name: {name}\ndescription: {name}\ntools: [{name}]\n")
    assert (agent.name, agent.description, agent.tools, warnings) == (name, name, (name,), [])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name: x\ntools: file_read\n", 2, "a list is needed, such as [file_read]"),
        ('name: x\nmodel:\n  maxTokens: "200k"\n', 3, "model.maxTokens"),
        ("name: x\nname: y\n", 2, "twice"),
        ("name: x\nmodel:\n\tid: y\n", 3, "tab"),
        ("name: !!python/name:os.system x\n", 1, "tags"),
        ("priority: high\n", 1, "priority"),
        ("internal: maybe\n", 1, "internal"),
        ("context: {compressAt: 1.5}\n", 1, "compressAt"),
        ("model: {promptCaching: 2h}\n", 1, "promptCaching"),
        ("model: fast\n", 1, "model"),
        ("team: [a, [b]]\n", 1, "team"),
        ("- a\n", 1, "mapping"),
    ],
)
def test_C67_what_is_wrong_is_said_with_its_line(text, line, said):
    with pytest.raises(YamlError) as caught:
        parse(text)
    assert caught.value.line == line
    assert said in str(caught.value)


def test_C67_every_mistake_is_listed_at_once():
    with pytest.raises(YamlError) as caught:
        parse("tools: x\npriority: y\nmodel:\n  maxTokens: z\n")
    assert [part.split(":")[0] for part in str(caught.value).splitlines()] == ["line 1", "line 2", "line 4"]


def test_a_fallback_needs_all_three_of_its_names():
    text = "model:\n  fallback:\n    - {provider: a, id: b, endpoint: c}\n    - {provider: a, endpoint: c}\n"
    with pytest.raises(YamlError, match=r"model\.fallback\.1\.id: Field required") as caught:
        parse(text)
    assert caught.value.line == 4


def test_numbers_and_yes_and_no_are_read_where_they_belong():
    agent, _ = parse(
        "model: {maxTokens: 8192, promptCaching: true, image: no, thinking: {enabled: yes, budget_tokens: 2048}}\n"
        "context: {maxTokens: 128000, compressAt: 0.75}\npriority: -1\ninternal: true\n"
    )
    assert agent.model.max_tokens == 8192
    assert agent.model.prompt_caching == "5m"
    assert agent.model.image is False
    assert (agent.model.thinking.enabled, agent.model.thinking.budget_tokens) == (True, 2048)
    assert (agent.context.max_tokens, agent.context.compress_at) == (128000, 0.75)
    assert (agent.priority, agent.internal) == (-1, True)


def test_keys_without_a_value_count_as_absent():
    assert parse("name:\ntools:\nteam:\nmodel:\npriority:\n")[0] == AgentYaml()


def test_unknown_keys_are_warned_about_with_their_line():
    assert parse("name: x\ncolour: red\nmodel:\n  imag: true\n")[1] == [
        'line 2: unknown key "colour" is ignored',
        'line 4: unknown key "model.imag" is ignored',
    ]


def test_the_workspace_hides_the_home_folder_by_folder(shared, own, workspace):
    make(shared, "a", MODEL + "name: Shared\n", persona="shared persona")
    assert (load_agent(workspace, "a").name, load_agent(workspace, "a").scope) == ("Shared", "global")
    make(own, "a", MODEL + "name: Own\n")
    found = load_agent(workspace, "a")
    assert (found.name, found.scope, found.persona) == ("Own", "workspace", "")
    assert load_agent(None, "a").name == "Shared"


def test_a_workspace_folder_without_a_yaml_cannot_run_although_the_home_has_one(shared, own, workspace):
    make(shared, "a")
    make(own, "a", yaml=None, persona="only words")
    with pytest.raises(AgentBroken, match=r"agent\.yaml is missing"):
        load_agent(workspace, "a")


@pytest.mark.parametrize("agent_id", ["gone", "../a", "a/b", "", ".", "a b", "x" * 200, "a\0"])
def test_unknown_and_unsafe_ids_are_not_found(shared, workspace, agent_id):
    make(shared, "a")
    with pytest.raises(AgentNotFound):
        load_agent(workspace, agent_id)


def test_a_long_agent_yaml_counts_as_a_whole_or_not_at_all(shared, workspace):
    long = "system_prompt: |\n" + "  Be careful with every file.\n" * 4_000
    make(shared, "a", long + MODEL + "tools: [grep]\n")
    assert load_agent(workspace, "a").config.tools == ("grep",)
    make(shared, "b", long + MODEL + "# and so on\n" * 20_000)
    with pytest.raises(AgentBroken, match="larger than 256 KiB"):
        load_agent(workspace, "b")


def test_a_model_that_is_not_complete_names_what_is_missing(shared, workspace):
    make(shared, "a", "model: {provider: openai}\n")
    with pytest.raises(AgentBroken, match=r"model\.id, model\.endpoint missing"):
        load_agent(workspace, "a")


def test_C67_a_broken_edit_leaves_the_last_good_version_active(shared, workspace):
    folder = make(shared, "a", MODEL + "name: Good\n")
    assert load_agent(workspace, "a").name == "Good"
    (folder / "agent.yaml").write_text(MODEL + "name: Bad\ntools: oops\n")
    agent = load_agent(workspace, "a")
    assert agent.name == "Good"
    assert "line 3" in not_line_2(agent.error)
    assert list_agents(workspace)[0].error == agent.error
    (folder / "agent.yaml").write_text(MODEL + "name: Better\n")
    assert (load_agent(workspace, "a").name, load_agent(workspace, "a").error) == ("Better", "")


def not_line_2(text: str) -> str:
    assert "line 2" not in text
    return text


def test_a_file_broken_from_the_start_is_listed_with_its_error(shared, workspace):
    make(shared, "bad", "tools: oops\n")
    with pytest.raises(AgentBroken, match="line 1"):
        load_agent(workspace, "bad")
    assert "line 1" in list_agents(workspace)[0].error


def test_an_edit_counts_at_the_next_load(shared, workspace):
    folder = make(shared, "a", MODEL + "name: One\n")
    assert load_agent(workspace, "a").name == "One"
    (folder / "agent.yaml").write_text(MODEL + "name: Two\n")
    assert load_agent(workspace, "a").name == "Two"
    shutil.rmtree(folder)
    with pytest.raises(AgentNotFound):
        load_agent(workspace, "a")


def test_lists_are_by_priority_and_say_what_is_overridden(shared, own, workspace):
    make(shared, "low", MODEL + "priority: 1\n")
    make(shared, "both", MODEL + "priority: 50\n")
    make(own, "both", MODEL + "priority: 2\n")
    make(own, "mine", MODEL + "priority: 9\n")
    listed = list_agents(workspace)
    assert [(entry.id, entry.scope, entry.overridden) for entry in listed] == [
        ("both", "global", True),
        ("mine", "workspace", False),
        ("both", "workspace", False),
        ("low", "global", False),
    ]
    assert default_agent(workspace).id == "mine"


def test_a_new_chat_never_starts_with_an_internal_or_broken_agent(shared, workspace):
    make(shared, "hidden", MODEL + "priority: 90\ninternal: true\n")
    make(shared, "__tool__", MODEL + "priority: 80\n")
    make(shared, "nomodel", "priority: 70\n")
    make(shared, "broken", "priority: 60\ntools: x\n")
    make(shared, "plain", MODEL)
    assert default_agent(workspace).id == "plain"
    shutil.rmtree(shared / "plain")
    with pytest.raises(AgentNotFound):
        default_agent(workspace)


def test_28_what_goal_mode_left_behind_is_nowhere_while_it_is_off(home, shared, workspace, settings):
    seed_agent(home, "goal")
    make(shared, "lead", MODEL + "team: [goal, lead]\n")
    lead = load_agent(workspace, "lead")
    assert [entry.id for entry in list_agents(workspace)] == ["lead"]
    assert [member.id for member in team_members(lead, workspace)] == ["lead"]
    with pytest.raises(AgentNotFound):
        load_agent(workspace, "goal")
    make(shared, "goal", MODEL + "tools: [grep]\n")
    assert load_agent(workspace, "goal").scope == "global", "an agent that only has the name is a person's own"
    shutil.rmtree(shared / "goal")
    settings.HALO = replace(settings.HALO, goal_mode=True)
    seed_agent(home, "goal")
    assert {entry.id for entry in list_agents(workspace)} == {"goal", "lead"}
    assert load_agent(workspace, "goal").name == "Goal"


def test_a_link_in_a_foreign_repository_reads_nothing_outside(own, workspace, tmp_path):
    (tmp_path / "private.md").write_text("canary")
    folder = make(own, "a")
    os.symlink(tmp_path / "private.md", folder / "AGENT.md")
    assert load_agent(workspace, "a").persona == ""


def test_unknown_tools_are_warned_about_and_retired_ones_not(shared, workspace):
    make(shared, "a", MODEL + "tools: [grep, nonsense, draft, relay_send, view_image]\n")
    assert load_agent(workspace, "a").warnings == ('tools: there is no tool "nonsense"; it is ignored',)
