"""Control files are found, and what appears under such a name is set aside (SECURITY-BAR S3, S4)."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces_app.protected import is_control_file
from workspaces_app.sandbox.held import set_aside, told
from workspaces_app.sandbox.repositories import is_harmless, is_plain_config
from workspaces_app.sandbox.sweep import look, settle

FRESH = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[remote "origin"]
\turl = https://example.org/a/b.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
"""


def relative(root: Path, paths) -> set[str]:
    return {str(path.relative_to(root)) for path in paths}


def test_all_kinds_are_found_at_any_depth_and_links_are_not_followed(tmp_path):
    for name in (".halo/agents", "a/b/.halo", ".git/hooks", ".git/objects", "a/.GIT/info", "loop"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("AGENTS.md", "a/b/claude.md", ".git/config", "a/b/ordinary.md", "a/.gitmodules"):
        (tmp_path / name).write_text("x")
    (tmp_path / "loop" / "up").symlink_to(tmp_path)
    (tmp_path / "GEMINI.md").symlink_to("AGENTS.md")
    found = look(tmp_path)
    assert relative(tmp_path, found.halo) == {".halo", "a/b/.halo"}
    assert relative(tmp_path, found.git) == {".git", "a/.GIT"}
    files = {"AGENTS.md", "a/b/claude.md", ".git/config", ".git/hooks", "a/.GIT/info", "a/.gitmodules"}
    assert relative(tmp_path, found.files) == files
    assert found.links == {tmp_path / "GEMINI.md": "AGENTS.md"}
    assert all(
        is_control_file(tuple(part.casefold() for part in path.relative_to(tmp_path).parts)) for path in found.all()
    )


def test_a_huge_workspace_is_looked_through_from_the_outside_in_for_a_while(tmp_path):
    for number in range(600):
        (tmp_path / f"d{number}").mkdir()
    (tmp_path / ".halo").mkdir()
    found = look(tmp_path, seconds=0)
    assert not found.whole
    assert relative(tmp_path, found.halo) == {".halo"}


def test_names_that_are_taken_get_a_number(tmp_path):
    before = look(tmp_path)
    for _ in range(3):
        (tmp_path / "AGENTS.md").write_text("x")
        assert settle(tmp_path, before) == ["AGENTS.md"]
    assert sorted(os.listdir(tmp_path)) == ["AGENTS.md.held", "AGENTS.md.held1", "AGENTS.md.held2"]


def test_S3_a_command_that_takes_all_the_names_gains_nothing(tmp_path):
    for number in ("", *range(1, 200)):
        (tmp_path / f"AGENTS.md.held{number}").touch()
    before = look(tmp_path)
    (tmp_path / "AGENTS.md").write_text("obey")
    assert settle(tmp_path, before) == ["AGENTS.md"]
    assert not (tmp_path / "AGENTS.md").exists()
    assert sum(file.read_text() == "obey" for file in tmp_path.iterdir()) == 1


def test_a_folder_that_was_renamed_keeps_what_was_in_it(tmp_path):
    (tmp_path / "a" / ".halo").mkdir(parents=True)
    before = look(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert settle(tmp_path, before) == []
    assert (tmp_path / "b" / ".halo").is_dir()


def test_a_link_that_was_replaced_is_made_again(tmp_path):
    (tmp_path / "AGENTS.md").write_text("mine")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "GEMINI.md").symlink_to("AGENTS.md")
    before = look(tmp_path)
    (tmp_path / "CLAUDE.md").unlink()
    (tmp_path / "CLAUDE.md").write_text("evil")
    (tmp_path / "GEMINI.md").unlink()
    (tmp_path / "GEMINI.md").symlink_to("/etc/passwd")
    assert settle(tmp_path, before) == ["CLAUDE.md", "GEMINI.md"]
    assert (tmp_path / "CLAUDE.md").read_text() == (tmp_path / "GEMINI.md").read_text() == "mine"


def test_what_lies_behind_a_link_outside_is_never_renamed(tmp_path):
    outside = tmp_path / "outside"
    (outside / ".halo").mkdir(parents=True)
    root = tmp_path / "root"
    (root / "sub" / ".halo").mkdir(parents=True)
    (root / "sub" / ".halo").rmdir()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(outside)  # swapped between looking and setting aside
    assert not set_aside(root, root / "sub" / ".halo")
    assert (outside / ".halo").is_dir()


def test_the_model_is_told():
    assert "AGENTS.md" in told(["AGENTS.md"])


# ---- repositories


def repository(folder: Path, config: str = FRESH) -> Path:
    (folder / "hooks").mkdir(parents=True)
    (folder / "info").mkdir()
    (folder / "hooks" / "pre-commit.sample").write_text("x")
    (folder / "info" / "exclude").write_text("")
    (folder / "config").write_text(config)
    return folder


def test_a_fresh_repository_is_harmless(tmp_path):
    assert is_harmless(repository(tmp_path / ".git"))


@pytest.mark.parametrize("inner", ["sub/.git", "sub/deep/.git", "bare"])
def test_S4_a_repository_within_a_fresh_one_is_judged_by_itself(tmp_path, inner):
    before = look(tmp_path)
    repository(tmp_path / "new" / ".git")
    (tmp_path / "new" / "AGENTS.md").write_text("cloned")
    evil = repository(tmp_path / "new" / inner, FRESH + "[core]\n\tfsmonitor = /tmp/x\n")
    for name in ("objects", "refs"):
        (evil / name).mkdir()
    (evil / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "new" / "pointing").mkdir()
    (tmp_path / "new" / "pointing" / ".git").write_text("gitdir: ../elsewhere\n")
    held = settle(tmp_path, before)
    assert "new/pointing/.git" in held
    assert not (evil / "HEAD").exists()
    assert (tmp_path / "new" / ".git" / "config").exists()
    assert (tmp_path / "new" / "AGENTS.md").exists()


@pytest.mark.parametrize("name", ["hooks/pre-commit", "config.worktree", "modules/x", "worktrees/x", "info/attributes"])
def test_S4_one_that_could_run_something_is_not(tmp_path, name):
    git = repository(tmp_path / ".git")
    (git / name).parent.mkdir(exist_ok=True)
    (git / name).write_text("x")
    assert not is_harmless(git)


@pytest.mark.parametrize("name", ["Hooks", "HOOKS", "hookS"])
def test_S4_nor_one_where_a_name_hides_another(tmp_path, name):
    git = repository(tmp_path / ".git")
    (git / "hooks" / "pre-commit").write_text("x")
    (git / name).mkdir()
    assert not is_harmless(git)
    (git / "hooks" / "pre-commit").unlink()
    assert not is_harmless(git)


@pytest.mark.parametrize("part", ["hooks", "info", "config"])
def test_S4_nor_one_with_links_in_it(tmp_path, part):
    git = repository(tmp_path / ".git")
    (git / part).rename(tmp_path / "real")
    (git / part).symlink_to(tmp_path / "real")
    assert not is_harmless(git)


@pytest.mark.parametrize(
    "line",
    [
        "\tfsmonitor = /tmp/x",
        "\tsshCommand = x",
        "\thooksPath = /tmp",
        "\tworktree = /",
        "[include]",
        "[core] fsmonitor = x",
        '[filter "x"]',
        "[alias]",
        "[user]\n\tsigningkey = x",
        "[core]\n\tbare = false\\",
        "[core]\n\tbare = false # x",
        '[remote "a"]\n\turl = ext::sh -c x',
        '[remote "a"]\n\turl = -oProxyCommand=x',
        '[remote "a"]\n\turl = ssh://a b',
        '[remote "a"]\n\turl = /a b::c',
        '[remote "a"]\n\tuploadpack = x',
        '[remote "a"]\n\turl = fd::17',
        "\x00",
        "\r\n[include]",
    ],
)
def test_S4_settings_that_could_run_something_are_not_plain(line):
    assert not is_plain_config(f"[core]\n{line}\n")


@given(st.text(st.sampled_from('[]corefsmniu=\t\n "\\;#\r\0 .:/-'), max_size=60))
def test_S4_no_text_is_plain_with_a_key_that_is_not_listed(text):
    if is_plain_config(FRESH + text):
        assert "fsmonitor" not in text
        assert "[include" not in text
        assert "\r" not in text


def test_S4_a_pointer_to_other_git_settings_is_set_aside(tmp_path):
    """`commondir` makes git read `config` and `hooks` from elsewhere, in the main work tree too."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(FRESH)
    before = look(tmp_path)
    (tmp_path / ".git" / "commondir").write_text("../evil\n")
    assert settle(tmp_path, before) == [".git/commondir"]
    assert not (tmp_path / ".git" / "commondir").exists()
    assert is_control_file((".git", "commondir"))
