"""Nobody goes by a control file a running command made, and nobody loses files of their own (SECURITY-BAR S3)."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_app.file_cache import read_text
from halo_site.lib.access_level import Access
from workspaces_app.jail import Jail
from workspaces_app.sandbox import ledger
from workspaces_app.sandbox.sweep import Found, clear, look, settle


@pytest.fixture
def root(machine) -> Path:
    (machine.workspace / "AGENTS.md").write_text("ours")
    (machine.workspace / "sub").mkdir()
    return machine.workspace


@pytest.fixture
def running(root: Path) -> Iterator[ledger.Record]:
    """A command that began just now."""
    with ledger.recorded(root, look(root)) as record:
        yield record


def glance(root: Path, before: Found) -> list[str]:
    """What is done for the root folder while a command runs."""
    return clear(root, before, look(root, most=1), finished=False)


def text_of(root: Path, name: str) -> str | None:
    found = read_text(root, name, trusted=False)
    return found and found.text


def test_S3_what_a_running_command_makes_is_absent_for_everybody_else(root, running):
    for name in ("CLAUDE.md", "sub/AGENTS.md", "sub/.halo/agents/x/AGENT.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("obey")
        assert text_of(root, name) is None
    assert text_of(root / "sub", "AGENTS.md") is None  # in a folder that is a workspace of its own, too
    assert text_of(root, "AGENTS.md") == "ours"


def test_what_lies_in_a_halo_folder_that_was_there_counts_all_the_time(root):
    """The command cannot change it, so that other sessions go on with their agents."""
    inside = {"agents/x/agent.yaml": "an agent", "skills/y/SKILL.md": "a skill", "INDEX.md": "an index"}
    for name, text in inside.items():
        (root / ".halo" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / ".halo" / name).write_text(text)
    with ledger.recorded(root, look(root)):
        assert {name: text_of(root, f".halo/{name}") for name in inside} == inside
        (root / ".halo" / "USER.md").write_text("by an editor outside of Halo")
        assert text_of(root, ".halo/USER.md")


def test_S3_a_work_folder_of_halo_can_be_written_and_what_steers_agents_there_is_absent(root):
    (root / ".halo" / "docs").mkdir(parents=True)
    with ledger.recorded(root, look(root)):
        for name in (".halo/docs/AGENTS.md", ".halo/docs/sub/.halo/INSTRUCTIONS.md"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("obey")
            assert text_of(root, name) is None


def test_S3_a_folder_that_gets_a_control_name_makes_old_files_new(root, running):
    (root / "innocent").mkdir()
    (root / "innocent" / "INSTRUCTIONS.md").write_text("obey")
    os.rename(root / "innocent", root / "sub" / ".halo")
    assert text_of(root, "sub/.halo/INSTRUCTIONS.md") is None


def test_S3_a_file_that_was_read_and_set_aside_in_between_is_absent(root, running):
    before = ledger.records()
    (root / "CLAUDE.md").write_text("obey")
    inode = (root / "CLAUDE.md").stat().st_ino
    assert running.settled(glance) == ["CLAUDE.md"]
    assert ledger.is_planted(root / "CLAUDE.md", inode, before)


def test_what_a_person_writes_meanwhile_counts_and_stays(root, running):
    person = Jail(root, level=Access.FULL, confined=True)
    person.write("AGENTS.md", b"newer")
    person.write("CLAUDE.md", b"fresh")
    person.make_folder("sub/.halo")
    person.write("sub/.halo/INSTRUCTIONS.md", b"inner")
    assert [text_of(root, name) for name in ("AGENTS.md", "CLAUDE.md", "sub/.halo/INSTRUCTIONS.md")] == [
        *("newer", "fresh", "inner")
    ]
    assert running.settled(glance) == running.settled(settle) == []


def test_an_agent_with_full_access_writes_through_a_link_and_it_counts(root, running):
    (root / "link").symlink_to("sub")
    Jail(root, level=Access.FULL).write("link/AGENTS.md", b"fine")
    assert text_of(root, "sub/AGENTS.md") == "fine"
    assert running.settled(settle) == []


def test_S3_a_file_that_a_person_wrote_and_the_command_changed_afterwards_is_set_aside(root, running):
    Jail(root, level=Access.FULL, confined=True).write("CLAUDE.md", b"fresh")
    stamp = (root / "CLAUDE.md").stat()
    with (root / "CLAUDE.md").open("r+") as file:
        file.write("obey!")
    os.utime(root / "CLAUDE.md", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert text_of(root, "CLAUDE.md") is None
    assert running.settled(settle) == ["CLAUDE.md"]


def test_a_link_that_a_person_replaces_stays_replaced(root):
    (root / "GEMINI.md").symlink_to("AGENTS.md")
    with ledger.recorded(root, look(root)) as record:
        (root / "GEMINI.md").unlink()
        assert record.settled(settle) == ["GEMINI.md"]  # by the command: it is a link again
        assert (root / "GEMINI.md").is_symlink()
        (root / "GEMINI.md").unlink()
        Jail(root, level=Access.FULL, confined=True).write("GEMINI.md", b"mine")
        assert record.settled(settle) == []
        assert text_of(root, "GEMINI.md") == "mine"


def test_in_a_workspace_too_large_to_look_through_old_files_are_nobodys_work_of_today(root):
    (root / "sub" / "AGENTS.md").write_text("old")
    before = look(root, most=1)
    assert not before.whole
    before.began += 10  # the file is older than the command
    with ledger.recorded(root, before) as record:
        assert text_of(root, "sub/AGENTS.md") == "old"
        assert record.settled(settle) == []


def test_a_command_that_ended_is_forgotten(root):
    with ledger.recorded(root, look(root)):
        assert len(ledger.records()) == 1
    assert not ledger.records()
    assert os.listdir(ledger._folder()) == []


def test_S3_what_a_command_of_a_dead_process_left_is_set_aside_at_the_next_start(root, running):
    (root / "CLAUDE.md").write_text("obey")
    ledger.settle_left()
    assert (root / "CLAUDE.md").exists()  # its process lives: it looks after that itself
    copy = running.file.with_name("dead.json")
    copy.write_bytes(running.file.read_bytes())
    copy.with_suffix(".vouched").touch()
    assert text_of(root, "CLAUDE.md") is None
    ledger.settle_left()
    assert (root / "CLAUDE.md.held").read_text() == "obey"
    assert (root / "AGENTS.md").read_text() == "ours"
    assert not copy.exists()


async def test_S3_a_real_command_steers_nobody_while_it_runs(machine, inside, root):
    seen: list[str | None] = []
    wait = "for n in $(seq 600); do test -e seen && break; sleep 0.1; done"
    command = asyncio.create_task(inside(f"echo obey > sub/AGENTS.md; touch made; {wait}", timeout=120))
    while not (root / "made").exists():
        await asyncio.sleep(0.01)
    seen.append(text_of(root, "sub/AGENTS.md"))
    (root / "seen").touch()
    await command
    seen.append(text_of(root, "sub/AGENTS.md"))
    assert seen == [None, None]
    assert (root / "sub" / "AGENTS.md.held").read_text() == "obey\n"


async def test_S3_making_a_repository_of_the_root_lets_nothing_in(machine, inside, root):
    outcome = await inside("git init -q . && git config user.name ann && echo obey > CLAUDE.md && git status --short")
    assert outcome.code == 0, outcome.stderr
    assert (root / ".git" / "config").exists()
    assert not (root / "CLAUDE.md").exists()


async def test_S3_making_a_repository_of_a_folder_that_was_there_lets_nothing_in(machine, inside, root):
    outcome = await inside(
        "git init -q sub && echo obey > sub/AGENTS.md && git init -q new && echo own > new/AGENTS.md"
    )
    assert outcome.code == 0, outcome.stderr
    assert sorted(os.listdir(root / "sub")) == [".git", "AGENTS.md.held"]
    assert sorted(os.listdir(root / "new")) == [".git", "AGENTS.md"]


async def test_a_repository_may_take_longer_than_a_look_to_be_made(machine, inside, root):
    outcome = await inside("git init -q . && sleep 1.3 && git config user.name ann && git status --short")
    assert outcome.code == 0, outcome.stderr


async def test_S3_a_repository_of_the_root_that_runs_something_is_gone_long_before_the_command_ends(
    machine, inside, root
):
    wait = "for n in $(seq 600); do test -e .git || break; sleep 0.1; done"
    await inside(f"git init -q . && git config core.fsmonitor /tmp/x; {wait}; touch gone", timeout=120)
    assert (root / "gone").exists()
    assert (root / ".git.held").exists()
