"""What the folder browser says about each folder besides its name."""

import os
from pathlib import Path

import pytest

from workspaces_app.folders import branch_of, browse


def test_a_work_tree_is_listed_with_its_branch(tmp_path: Path):
    git = tmp_path / "project" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/feature/tides\n")
    (tmp_path / "plain").mkdir()
    listed = {entry.name: entry.branch for entry in browse(str(tmp_path)).entries}
    assert listed == {"plain": None, "project": "feature/tides"}


def test_a_detached_head_is_named_by_its_commit(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert branch_of(str(tmp_path)) == "0123456"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00"])
def test_a_head_that_cannot_be_read_is_no_branch(tmp_path: Path, content: bytes):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(content)
    assert branch_of(str(tmp_path)) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_without_permission_is_marked(tmp_path: Path):
    (tmp_path / "vault").mkdir(mode=0)
    assert [entry.readable for entry in browse(str(tmp_path)).entries] == [False]


def test_a_pipe_in_the_place_of_the_head_holds_nobody(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch_of(str(tmp_path)) is None
