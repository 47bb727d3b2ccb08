"""`manage.py skills test`: a skill played in an empty folder, with the real tools and without a model."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agents_app.seed import SEEDS, SKILLS, seed_home
from agents_app.skill_tests.cases import FILE
from agents_app.skills import find_skill, resources
from tests.agents_app.test_agents import MODEL, make
from tests.agents_app.test_skills import skill

pytestmark = pytest.mark.django_db(transaction=True)

CASES = """
cases:
  - name: a command carries its words
    prompt: /notes draft v1
    level: full
    files: {CHANGES.md: "- first"}
    model:
      - calls: [{name: shell_exec, input: {command: 'cat CHANGES.md && sh "{{skill_dir}}/make.sh"'}}]
    expect:
      told: ["Draft from v1 in", "- first"]
      not_told: [shh]
      files: {NOTES.md: made, LOG.md: null}
  - name: words load it first
    prompt: What changed?
    model:
      - calls: [{name: file_write, input: {path: NOTES.md, content: new}}]
    expect: {told: ["# Skill: notes"], files: {NOTES.md: new}}
  - name: who may only read is refused
    prompt: /notes draft v1
    level: readonly
    expect: {refused: access_required}
  - name: nor is it offered then
    prompt: What changed?
    level: readonly
    expect: {refused: not_offered}
"""


@pytest.fixture
def notes(home: Path, workspace: Path) -> Path:
    make(home / "global" / "agents", "default", f"name: Default\n{MODEL}\ntools: [file_read, file_write, shell_exec]\n")
    folder = skill(
        workspace / ".halo",
        "notes",
        "Draft from $2 in {{workspace_root}}",
        "command: /notes\nrequiresAccess: workspace\n",
    )
    (folder / "make.sh").write_text("echo made > NOTES.md\n")
    (folder / FILE).write_text(CASES)
    return folder


def run(workspace: Path, *more: str) -> tuple[int, list[str]]:
    out, code = StringIO(), 0
    try:
        call_command("skills", "test", "notes", "-w", str(workspace), *more, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue().splitlines()


def test_a_skill_that_does_what_it_should_passes_and_leaves_the_folder_alone(notes: Path, workspace: Path):
    before = sorted(workspace.rglob("*"))
    code, lines = run(workspace)
    assert (code, lines[-1]) == (0, "4 tests, 0 failed"), lines
    assert lines[0] == "ok   a command carries its words"
    assert sorted(workspace.rglob("*")) == before


def test_what_differs_is_said_below_its_case_and_ends_with_1(notes: Path, workspace: Path):
    (notes / "make.sh").write_text("echo broken >&2; exit 3\n")
    code, lines = run(workspace)
    assert code == 1
    assert lines[0] == "FAIL a command carries its words"
    assert "a call failed: shell_exec: Command failed: exit code 3" in lines[1]
    assert "     NOTES.md is not there" in lines
    assert lines[-1] == "4 tests, 1 failed"


def test_a_tool_that_the_level_does_not_have_is_named(notes: Path, workspace: Path):
    (notes / FILE).write_text("cases: [{name: x, prompt: /notes, model: [{calls: [{name: relay_send}]}]}]")
    assert "there is no tool relay_send at workspace access" in run(workspace)[1][1]


def test_what_the_model_was_told_can_be_looked_at(notes: Path, workspace: Path):
    (notes / FILE).write_text("cases: [{name: x, prompt: /notes draft v9}]")
    lines = run(workspace, "--show")[1]
    assert any(line.startswith("     | Draft from v9 in ") for line in lines)


def test_without_cases_or_with_broken_ones_it_says_where(notes: Path, workspace: Path):
    (notes / FILE).write_text("cases: 3")
    with pytest.raises(CommandError, match=r"notes/tests\.yaml: cases: "):
        run(workspace)
    (notes / FILE).unlink()
    with pytest.raises(CommandError, match=r"tests\.yaml is not there"):
        run(workspace)
    with pytest.raises(CommandError, match='skill "nothing" not found'):
        call_command("skills", "test", "nothing", "-w", str(workspace))


@pytest.mark.parametrize("skill_id", [name for name in SKILLS if (SEEDS / "skills" / name / FILE).is_file()])
def test_the_cases_of_every_shipped_skill_pass(home: Path, workspace: Path, skill_id: str):
    seed_home(home)
    out = StringIO()
    try:
        call_command("skills", "test", skill_id, "-w", str(workspace), "--show", stdout=out)
    except SystemExit:
        pytest.fail(out.getvalue())


def test_the_agent_is_not_shown_the_tests_of_a_skill(notes: Path, workspace: Path):
    assert resources(find_skill(workspace, "notes")) == ["make.sh"]
