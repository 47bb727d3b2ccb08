"""`@scope`: the instructions of a folder go along with one message (spec agents-and-prompts 3.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.scope_marks import expand, marks


@pytest.mark.parametrize(
    ("message", "folders", "plain"),
    [
        ("@scope a/b fix it", ["a/b"], "fix it"),
        ('@scope "my dir"  fix', ["my dir"], " fix"),
        ("x @scope a\n@scope b @scope a y", ["a", "b"], "x y"),
        ("mail me@scope a", [], "mail me@scope a"),
        ("@scope", [], "@scope"),
        ("@scoped a", [], "@scoped a"),
        ('@scope "open', [], '@scope "open'),
    ],
)
def test_marks_are_found_and_taken_out(message, folders, plain):
    assert marks(message) == (folders, plain)


@given(st.text(max_size=200))
def test_a_message_without_marks_stays_as_it_is(text):
    folders, plain = marks(text)
    assert folders or plain == text


def instructions(base, folder: str, text: str) -> None:
    (base / folder / ".halo").mkdir(parents=True, exist_ok=True)
    (base / folder / ".halo/INSTRUCTIONS.md").write_text(text)


def test_the_chain_of_the_folder_stands_in_front_of_the_message(home, workspace):
    instructions(workspace, "a", "Outer rule")
    (workspace / "a/b").mkdir()
    scoped = expand(workspace, "@scope a/b go on")
    assert scoped.warnings == ()
    assert scoped.text.startswith('<workspace-instructions dir="a/b" note="')
    assert scoped.text.endswith(">\n### a\n\nOuter rule\n</workspace-instructions>\n\ngo on")
    assert expand(workspace, "go on").text == "go on", "the next message has none"


def test_an_absolute_path_is_shown_relative(home, workspace):
    instructions(workspace, "a", "Rule")
    assert '<workspace-instructions dir="a" ' in expand(workspace, f'@scope "{workspace}/a" x').text


@pytest.mark.parametrize("folder", ["../x", "/etc", "missing", "file.txt", "out", "a/../../x"])
def test_a_folder_that_is_not_there_is_dropped_with_a_warning(home, workspace, tmp_path, folder):
    instructions(tmp_path, "x", "FOREIGN")
    (workspace / "file.txt").write_text("")
    (workspace / "out").symlink_to(tmp_path / "x")
    scoped = expand(workspace, f"@scope {folder} do it")
    assert scoped.text == "do it"
    assert scoped.warnings == (f'@scope "{folder}": there is no such folder in this workspace',)


def test_a_path_without_instructions_is_dropped_with_a_warning(home, workspace):
    (workspace / "a").mkdir()
    scoped = expand(workspace, "@scope a do it")
    assert (scoped.text, scoped.warnings) == ("do it", ('@scope "a": no INSTRUCTIONS.md found along that path',))
