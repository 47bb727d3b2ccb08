"""What a command plants goes while it runs, in whatever folder, and a command that does not stop is ended (S3)."""

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_app.tools.shell_exec import told
from halo_site.lib.access_level import Access
from workspaces_app import sandbox
from workspaces_app.child import run_child
from workspaces_app.sandbox import ledger, lookout
from workspaces_app.sandbox.inotify import Inotify
from workspaces_app.sandbox.lookout import Lookout
from workspaces_app.sandbox.sweep import look

PLAIN = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
EVIL = f"{PLAIN}\tfsmonitor = /tmp/x\n"
SECONDS = 60.0  # until a test gives up


class Kernel(Inotify):
    """The real one; `rounds` is told whenever a round is over."""

    deaf = False  # loses all news

    def __init__(self) -> None:
        super().__init__()
        self.watched: set[Path] = set()

    def add(self, folder: Path, *, changes: bool = False) -> None:
        super().add(folder, changes=changes)
        self.watched.add(folder)

    def read(self):
        news = list(super().read())
        if self.deaf:
            self.overflowed = self.overflowed or bool(news)
            return []
        return news


class Watched:
    """A lookout for a command that began just now; it has looked through everything once."""

    def __init__(self, root: Path, record: ledger.Record, kernel: Callable[[], Inotify]) -> None:
        self.root = root
        self.again: list[str] = []
        self.changed = threading.Condition()
        self.rounds = 0
        self.lookout = Lookout(record, self.again.append, kernel=kernel)
        whole = self.lookout._round

        def counted() -> None:
            try:
                whole()
            finally:
                with self.changed:
                    self.rounds += 1
                    self.changed.notify_all()

        self.lookout._round = counted  # type: ignore[method-assign]
        self.lookout.start()
        self.rest()

    def rest(self, rounds: int = 1) -> None:
        """Until it did that many rounds more."""
        goal = self.rounds + rounds
        self.until(lambda: self.rounds >= goal)

    def until(self, fact: Callable[[], object]) -> None:
        with self.changed:
            assert self.changed.wait_for(fact, SECONDS)

    def gone(self, name: str) -> None:
        self.until(lambda: not os.path.lexists(self.root / name))


@pytest.fixture
def root(machine) -> Path:
    for name in ("src/deep", "lib/.git", "docs", ".halo/docs"):
        (machine.workspace / name).mkdir(parents=True)
    (machine.workspace / "lib" / ".git" / "config").write_text(PLAIN)
    (machine.workspace / "docs" / "AGENTS.md").write_text("ours")
    (machine.workspace / "docs" / "CLAUDE.md").symlink_to("AGENTS.md")
    return machine.workspace


@pytest.fixture
def start(root, monkeypatch) -> Iterator[Callable[..., Watched]]:
    """Looks through everything at the first round, and then never again unless the kernel lost something."""
    monkeypatch.setattr(lookout, "WHOLE_EVERY", 3600.0)
    with ledger.recorded(root, look(root)) as record:
        begun: list[Watched] = []

        def start(kernel: Callable[[], Inotify] = Kernel) -> Watched:
            begun.append(Watched(root, record, kernel))
            return begun[-1]

        yield start
        for watched in begun:
            watched.lookout.stop()


def repository(git: Path, config: str = PLAIN) -> Path:
    (git / "hooks").mkdir(parents=True)
    (git / "config").write_text(config)
    return git


def bare(folder: Path, config: str = PLAIN) -> Path:
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_text(config)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.mark.parametrize("name", ["AGENTS.md", "src/AGENTS.md", "src/deep/CLAUDE.md", "src/deep/.gitattributes"])
def test_S3_a_file_planted_in_a_folder_that_was_there_goes(root, start, name):
    watched = start()
    (root / name).write_text("obey")
    watched.gone(name)
    watched.until(lambda: watched.lookout.held == [name])
    assert (root / f"{name}.held").read_text() == "obey"


@pytest.mark.parametrize("name", [".git", "src/.git", "src/deep/.halo"])
def test_S3_a_folder_planted_goes(root, start, name):
    watched = start()
    repository(root / name, EVIL)
    watched.gone(name)


def test_S3_a_file_planted_in_a_work_folder_of_halo_goes(root, start):
    watched = start()
    (root / ".halo" / "docs" / "AGENTS.md").write_text("obey")
    watched.gone(".halo/docs/AGENTS.md")


def test_S3_what_lies_in_folders_made_since_goes(root, start):
    watched = start()
    (root / "new" / "a" / "b").mkdir(parents=True)
    (root / "new" / "a" / "b" / "AGENTS.md").write_text("obey")
    watched.gone("new/a/b/AGENTS.md")
    (root / "new" / "a" / "GEMINI.md").write_text("obey")
    watched.gone("new/a/GEMINI.md")


def test_S3_what_comes_with_a_folder_that_is_moved_in_goes(root, start):
    elsewhere = root.parent / "elsewhere"
    repository(elsewhere / "x" / "y" / ".git", EVIL)
    watched = start()
    elsewhere.rename(root / "src" / "in")
    watched.gone("src/in/x/y/.git")


def test_S3_a_folder_with_another_name_is_watched_under_it(root, start):
    watched = start()
    (root / "src").rename(root / "renamed")
    (root / "src").mkdir()
    watched.rest()
    (root / "renamed" / "deep" / "AGENTS.md").write_text("obey")
    watched.gone("renamed/deep/AGENTS.md")
    (root / "src" / "AGENTS.md").write_text("obey")
    watched.gone("src/AGENTS.md")


def test_S3_a_repository_that_was_harmless_is_judged_again(root, start):
    watched = start()
    git = repository(root / "src" / ".git")
    watched.rest(2)
    assert git.exists()
    with (git / "config").open("a") as file:  # open all the time: nobody is told of its end
        file.write("\tfsmonitor = /tmp/x\n")
        file.flush()
        watched.gone("src/.git")


@pytest.mark.parametrize("name", ["hooks/pre-commit", "info/attributes", "modules/x", "commondir"])
def test_S3_a_repository_that_gets_something_to_run_goes(root, start, name):
    watched = start()
    git = repository(root / "src" / ".git")
    (git / "info").mkdir()
    (git / "modules").mkdir()
    watched.rest(2)
    (git / name).write_text("x")
    watched.gone("src/.git")


@pytest.mark.parametrize("name", ["hooks", "config.worktree", "commondir"])
def test_S3_what_is_new_in_a_repository_that_was_there_goes(root, start, name):
    watched = start()
    (root / "lib" / ".git" / name).mkdir()
    watched.gone(f"lib/.git/{name}")
    assert (root / "lib" / ".git" / "config").exists()


def test_S3_bare_repositories_go_and_are_judged_again(root, start):
    watched = start()
    bare(root / "src" / "deep", EVIL)
    watched.gone("src/deep/HEAD")
    fine = bare(root / "fine.git")
    watched.rest(2)
    assert (fine / "HEAD").exists()
    with (fine / "config").open("a") as file:
        file.write("\tfsmonitor = /tmp/x\n")
        file.flush()
        watched.gone("fine.git/HEAD")
    other = bare(root / "other.git")
    (other / "hooks").mkdir()
    watched.rest(2)
    assert (other / "HEAD").exists()
    (other / "hooks" / "pre-receive").write_text("x")
    watched.gone("other.git/HEAD")


def test_a_repository_in_the_making_stays_with_its_files(root, start):
    watched = start()
    git = root / "new" / ".git"
    (git / "objects").mkdir(parents=True)
    (git.parent / "AGENTS.md").write_text("theirs")
    (git.parent / "sub").mkdir()
    watched.rest(2)
    (git.parent / "sub" / "AGENTS.md").write_text("theirs")
    watched.rest(2)
    assert (watched.lookout.held, git.is_dir()) == ([], True)


def test_S3_a_link_that_becomes_something_else_is_made_again(root, start):
    watched = start()
    link = root / "docs" / "CLAUDE.md"
    link.unlink()
    watched.rest(2)  # it may be made anew
    assert not os.path.lexists(link)
    link.write_text("obey")
    watched.until(link.is_symlink)
    assert link.read_text() == "ours"


def test_S3_no_link_is_followed_out_of_the_workspace(root, start):
    outside = root.parent / "outside"
    (outside / "inner").mkdir(parents=True)
    kernels: list[Kernel] = []

    def kernel() -> Kernel:
        kernels.append(Kernel())
        return kernels[-1]

    (root / "link").symlink_to(outside)
    watched = start(kernel)
    (root / "later").symlink_to(outside)
    (root / "src" / "AGENTS.md").symlink_to(outside)
    watched.gone("src/AGENTS.md")
    assert not watched.lookout._is_inside(root / "link" / "inner")
    (outside / "AGENTS.md").write_text("theirs")
    watched.rest(2)
    assert (outside / "AGENTS.md").exists()
    assert {"later", "link"}.isdisjoint(place.name for place in kernels[0].watched)
    assert all(os.path.realpath(place) == str(place) for place in kernels[0].watched)


def test_S3_what_the_kernel_did_not_tell_is_found_all_the_same(root, start):
    class Deaf(Kernel):
        deaf = True

    watched = start(Deaf)
    (root / "src" / "deep" / "AGENTS.md").write_text("obey")
    watched.gone("src/deep/AGENTS.md")


class NoWatcher(Inotify):
    def __init__(self) -> None:
        raise OSError(errno.EMFILE, "no more watchers")


class NoWatches(Inotify):
    def add(self, folder: Path, *, changes: bool = False) -> None:
        raise OSError(errno.ENOSPC, "no more watches")


class Broken(Inotify):
    def read(self):
        raise RuntimeError("broken")


@pytest.mark.parametrize("kernel", [NoWatcher, NoWatches, Broken])
def test_S3_without_the_kernel_there_is_a_look_now_and_then_and_one_line_in_the_log(root, start, caplog, kernel):
    caplog.set_level(logging.WARNING, "halo.sandbox")
    watched = start(kernel)
    for name in ("AGENTS.md", "src/deep/AGENTS.md"):
        (root / name).write_text("obey")
        watched.gone(name)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_fault_that_stays_is_logged_once(start, caplog, monkeypatch):
    watched = start()

    def broken(*args: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(lookout, "suspects", broken)
    watched.rest(3)
    assert [record.levelname for record in caplog.records if record.name == "halo.sandbox"] == ["WARNING"]


def test_a_lookout_leaves_no_thread_and_no_handle(root):
    with ledger.recorded(root, look(root)) as record:
        before = len(os.listdir("/proc/self/fd"))
        for started in (True, False):
            one = Lookout(record, print)
            if started:
                one.start()
            one.stop()
            assert not one._thread.is_alive()
        assert len(os.listdir("/proc/self/fd")) == before


def test_S3_what_comes_again_and_again_is_told_once(root, start):
    watched = start()
    for count in range(1, 5):
        (root / "src" / "AGENTS.md").write_text("obey")
        watched.until(lambda count=count: len(watched.lookout.held) == count)
        assert watched.again == (["src/AGENTS.md"] if count >= 3 else [])


async def test_S3_a_command_that_plants_again_and_again_is_ended(machine):
    (machine.workspace / "src").mkdir()
    async with sandbox.cell(machine.workspace, Access.WORKSPACE, session_id="s") as made:
        outcome = await run_child(
            made.wrap(["/bin/sh", "-c", "while :; do test -e src/AGENTS.md || echo obey > src/AGENTS.md; done"]),
            cwd=Path("/"),
            env={},
            timeout=SECONDS,
            abort=asyncio.Event(),
            limit=1000,
            guard=made.guard,
        )
    assert (outcome.ended, made.again, made.held) == ("limit", "src/AGENTS.md", ["src/AGENTS.md"])
    assert not (machine.workspace / "src" / "AGENTS.md").exists()
    text = told(outcome, SECONDS, made.again).text
    assert "Command was ended: it made src/AGENTS.md again" in text
    assert "full access" in text


async def test_S3_what_a_real_command_plants_in_an_inner_folder_is_gone_long_before_it_ends(machine, inside):
    (machine.workspace / "src").mkdir()
    wait = "for n in $(seq 600); do test -e src/deep/.git || test -e src/AGENTS.md || break; sleep 0.1; done"
    plant = "mkdir src/deep; git init -q src/deep; git -C src/deep config core.fsmonitor /tmp/x; echo x > src/AGENTS.md"
    outcome = await inside(f"sleep 0.7; {plant}; {wait}; ls src src/deep", timeout=120)
    assert outcome.code == 0, outcome.stderr
    assert not (machine.workspace / "src" / "deep" / ".git").exists()
    assert b"AGENTS.md.held" in outcome.stdout, "while it ran"
