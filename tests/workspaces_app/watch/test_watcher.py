"""Real folders, the real kernel, real git."""

import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from workspaces_app.files.trash import discard
from workspaces_app.jail import Jail
from workspaces_app.watch.native import Exhausted, Notify
from workspaces_app.watch.tree import Tree

from .conftest import Watched


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True)


def test_a_file_that_comes_is_written_and_goes_is_told(watched: Watched):
    watched.start()
    assert watched.modes == [("native", None)]
    (watched.root / "a.txt").write_text("1")
    watched.told("a.txt", "add")
    (watched.root / "a.txt").write_text("2")
    watched.told("a.txt", "change")
    (watched.root / "a.txt").unlink()
    watched.told("a.txt", "unlink")
    (watched.root / "文件夹").mkdir()
    watched.told("文件夹", "addDir")


def test_what_goes_into_the_trash_is_gone_and_nothing_of_the_trash_is_told(watched: Watched):
    (watched.root / "a.txt").write_text("1")
    watched.start()
    assert discard(Jail(watched.root, confined=True), "a.txt")
    watched.told("a.txt", "unlink")
    (watched.root / "b.txt").write_text("1")
    assert discard(Jail(watched.root, confined=True), "b.txt")
    assert not [path for path, _ in watched.settled() if path.startswith(".halo/trash")]


def test_create_and_write_at_once_are_one_add_and_a_hundred_writes_few_changes(watched: Watched):
    (watched.root / "old").write_text("")
    watched.start()
    (watched.root / "new").write_text("x")
    for _ in range(100):
        (watched.root / "old").write_text("x")
    found = watched.settled()
    assert found.count(("new", "add")) == 1
    assert 1 <= found.count(("old", "change")) <= 2


def test_what_was_gone_before_it_was_told_never_was(watched: Watched):
    watched.start()
    for number in range(20):
        (watched.root / f"t{number}").write_text("")
        (watched.root / f"t{number}").unlink()
    actions = [action for _, action in watched.settled()]
    assert actions.count("add") == actions.count("unlink")


def test_an_atomic_replace_is_a_change_and_our_temporary_file_is_not_told(watched: Watched):
    (watched.root / "a").write_text("1")
    watched.start()
    (watched.root / ".halo-tmp-1-aa").write_text("2")
    os.replace(watched.root / ".halo-tmp-1-aa", watched.root / "a")
    assert set(watched.settled()) == {("a", "change")}


def test_ignored_folders_are_silent_at_any_depth(watched: Watched):
    deep = watched.root / "a" / "b" / "node_modules" / "x"
    deep.mkdir(parents=True)
    watched.start()
    (deep / "file").write_text("")
    (watched.root / "node_modules").mkdir()
    assert watched.settled() == []


def test_sessions_come_and_go_and_their_growth_is_not_told(watched: Watched):
    folder = watched.root / ".halo" / "sessions" / "default"
    folder.mkdir(parents=True)
    (folder / "1.jsonl").write_text("")
    watched.start()
    with (folder / "1.jsonl").open("a") as file:
        file.write("more")
    (folder / "2.jsonl").write_text("")
    assert watched.settled() == [(".halo/sessions/default/2.jsonl", "add")]


def test_files_made_at_once_in_new_nested_folders_are_all_told(watched: Watched):
    watched.start()
    made = []
    for number in range(30):
        folder = watched.root / f"n{number}" / "a" / "b"
        folder.mkdir(parents=True)
        (folder / "file").write_text("")
        made.append((f"n{number}/a/b/file", "add"))
    watched.until(lambda: set(made) <= set(watched.changes))
    (watched.root / "n7" / "a" / "b" / "later").write_text("")
    watched.told("n7/a/b/later", "add")


def test_a_folder_that_was_moved_is_watched_under_its_new_name(watched: Watched):
    (watched.root / "d").mkdir()
    (watched.root / "d" / "x").write_text("")
    watched.start()
    os.rename(watched.root / "d", watched.root / "e")
    watched.told("d/x", "unlink")
    watched.told("e/x", "add")
    (watched.root / "e" / "y").write_text("")
    watched.told("e/y", "add")


def test_a_folder_replaced_by_another_of_the_same_name_is_watched(watched: Watched):
    (watched.root / "d").mkdir()
    watched.start()
    for number in range(5):
        shutil.rmtree(watched.root / "d")
        (watched.root / "d").mkdir()
        watched.settled()
        (watched.root / "d" / f"x{number}").write_text("")
        watched.told(f"d/x{number}", "add")


class Between:
    """Arms as ever, after something happened that the look before did not see and the watch does not report."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self.act, self.times = act, 0

    def __call__(self, places: list[str]) -> Notify:
        self.act(self.times)
        self.times += 1
        return Notify(places)


def in_new_folders(root: Path) -> None:
    (root / "n" / "m").mkdir(parents=True)
    (root / "n" / "m" / "file").write_text("")


@pytest.mark.parametrize(
    "happens",
    [
        lambda root: (root / "d" / "new").write_text(""),
        lambda root: (root / "d" / "old").write_text("22"),
        lambda root: (root / "d" / "old").unlink(),
        lambda root: (root / "top").unlink(),
        lambda root: shutil.rmtree(root / "d"),
        lambda root: os.rename(root / "d", root / "e"),
        in_new_folders,
    ],
    ids=["new file", "written", "gone", "gone from the root", "folder gone", "folder moved", "new folders"],
)
@pytest.mark.parametrize("after", [False, True], ids=["before it is armed", "after"])
def test_what_happens_while_a_folder_is_armed_is_told_as_read_again(
    watched: Watched, happens: Callable[[Path], None], after: bool
):
    (watched.root / "d").mkdir()
    for name in ("top", "d/old"):
        (watched.root / name).write_text("1")

    def arm(places: list[str]) -> Notify:
        made = Notify(places) if after else None
        if not times:
            happens(watched.root)
        times.append(1)
        return made or Notify(places)

    times: list[int] = []
    watched.start(arm=arm)
    watched.until(lambda: watched.resyncs)
    assert watched.resyncs == 1
    for folder in [path for path in watched.root.rglob("*") if path.is_dir()] + [watched.root]:
        (folder / "later").write_text("")
        watched.told(str((folder / "later").relative_to(watched.root)), "add")
    assert ("top", "add") not in watched.settled()  # it was there before


def test_what_goes_between_two_listings_is_told_as_read_again(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """The folder above was listed already, and the hint comes for a name that was never seen."""
    (watched.root / "d").mkdir()
    (watched.root / "d" / "old").write_text("1")
    listing = Tree._list

    def later(tree: Tree, folder: str) -> dict[str, int] | None:
        if folder == "d":
            (watched.root / "d" / "old").unlink(missing_ok=True)
        return listing(tree, folder)

    monkeypatch.setattr(Tree, "_list", later)
    watched.start()
    watched.until(lambda: watched.resyncs)


def test_a_folder_in_which_nothing_happens_is_not_read_again(watched: Watched):
    (watched.root / ".halo" / "sessions").mkdir(parents=True)
    (watched.root / "a" / "b").mkdir(parents=True)
    (watched.root / "a" / "b" / "c").write_text("1")
    watched.start()
    assert watched.settled() == []
    assert watched.resyncs == 0


def test_what_comes_into_a_new_folder_before_it_is_watched_is_told(watched: Watched):
    def act(times: int) -> None:
        if times in (1, 2):
            (watched.root / "new" / f"d{times}").mkdir()
            (watched.root / "new" / f"d{times}" / "x").write_text("")

    watched.start(arm=Between(act))
    (watched.root / "new").mkdir()
    watched.told("new/d1/x", "add")
    watched.told("new/d2/x", "add")
    (watched.root / "new" / "d2" / "y").write_text("")
    watched.told("new/d2/y", "add")


def test_the_watcher_survives_deletion_and_re_creation_of_the_root(watched: Watched):
    (watched.root / "a").write_text("")
    watched.start()
    shutil.rmtree(watched.root)
    watched.told("a", "unlink")
    watched.until(lambda: watched.modes[-1] == ("off", "the folder is gone"))
    watched.root.mkdir()
    (watched.root / "b").write_text("")
    watched.told("b", "add")
    watched.until(lambda: watched.modes[-1] == ("native", None) and watched.resyncs)
    (watched.root / "c").write_text("")
    watched.told("c", "add")


@pytest.mark.parametrize("reused", [False, True])
def test_a_root_that_is_replaced_at_once_is_noticed(watched: Watched, monkeypatch: pytest.MonkeyPatch, reused: bool):
    """Also where the file system gives the new folder the number of the old one."""
    if reused:
        same = "workspaces_app.watch.watcher._identity"
        monkeypatch.setattr(same, lambda root: (1, 1) if os.path.isdir(root) else None)
    watched.start()
    for number in range(3):
        os.rename(watched.root, watched.root.with_name("old"))
        watched.root.mkdir()
        shutil.rmtree(watched.root.with_name("old"))
        watched.until(lambda number=number: watched.resyncs > number)
        (watched.root / f"x{number}").write_text("")
        watched.told(f"x{number}", "add")


def test_a_flood_is_told_as_read_again(watched: Watched):
    watched.start()
    source = watched.root.with_name("source")
    for number in range(30):
        (source / f"d{number}").mkdir(parents=True)
        for file in range(20):
            (source / f"d{number}" / f"{file}").write_text("")
    os.rename(source, watched.root / "d")
    watched.until(lambda: watched.resyncs)
    assert len(watched.changes) <= 500
    (watched.root / "d" / "d7" / "later").write_text("")
    watched.told("d/d7/later", "add")


# ---- the repository


def test_git_init_in_a_plain_folder_is_exactly_one_event_and_then_commits_are(watched: Watched):
    watched.start()
    (watched.root / "a").write_text("")
    git(watched.root, "init", "-q")
    watched.told(".git", "change")
    watched.forget()
    git(watched.root, "add", "a")
    watched.told(".git", "change")
    watched.forget()
    git(watched.root, "commit", "-qm", "x")
    watched.told(".git", "change")
    watched.forget()
    git(watched.root, "checkout", "-qb", "other")
    watched.told(".git", "change")
    watched.forget()
    git(watched.root, "--no-optional-locks", "status")
    assert watched.settled() == []
    assert {path for path, _ in watched.changes if path.startswith(".git")} <= {".git"}


def test_the_init_of_a_repository_is_one_event(watched: Watched):
    watched.start()
    git(watched.root, "init", "-q")
    watched.told(".git", "change")
    assert watched.settled() == [(".git", "change")]


def test_a_worktree_is_followed_to_where_its_state_lies(watched: Watched):
    main = watched.root.with_name("main")
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    watched.root.rmdir()
    git(main, "worktree", "add", "-q", str(watched.root), "-b", "side")
    watched.start()
    (watched.root / "f").write_text("")
    git(watched.root, "add", "f")
    watched.told(".git", "change")


# ---- what the kernel refuses


def test_a_folder_of_the_system_is_not_watched_and_says_why():
    told = Watched(Path("/etc")).start()
    assert told.modes[0][0] == "off"
    assert told.watcher is not None
    assert told.watcher.join()


def test_polling_tells_the_same_with_a_reason(watched: Watched):
    def arm(places: list[str]) -> Notify:
        raise Exhausted("no more watches")

    watched.start(arm=arm, poll_every=0.05)
    assert watched.modes == [("polling", "no more watches")]
    (watched.root / "d").mkdir()
    (watched.root / "d" / "a").write_text("1")
    watched.told("d/a", "add")
    (watched.root / "d" / "a").write_text("22")
    watched.told("d/a", "change")
    git(watched.root, "init", "-q")
    watched.told(".git", "change")
    shutil.rmtree(watched.root / "d")
    watched.told("d", "unlink")


LIMITED = """
    import os, sys, threading
    sys.path.insert(0, {repo!r})
    open("/proc/sys/user/{limit}", "w").write("{value}")
    from workspaces_app.watch.watcher import Watcher
    ready = threading.Semaphore(0)
    news = []
    def tell(events):
        news.extend(events)
        ready.release()
    Watcher({root!r}, tell, poll_every=0.05).start()
    assert ready.acquire(timeout=20)
    print(news[0].mode, news[0].reason)
    open({root!r} + "/new", "w").close()
    assert ready.acquire(timeout=20)
    print(news[1].path, news[1].action)
"""


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("max_inotify_watches", 3, "max_user_watches"), ("max_inotify_instances", 0, "max_user_instances")],
)
def test_a_kernel_without_watches_left_is_named_and_polled(tmp_path: Path, limit: str, value: int, said: str):
    """In a user namespace of its own, where the kernel's limit can be set for one process."""
    for number in range(6):
        (tmp_path / f"d{number}").mkdir()
    repo = str(Path(__file__).parents[3])
    script = textwrap.dedent(LIMITED).format(repo=repo, limit=limit, value=value, root=str(tmp_path))
    done = subprocess.run(["unshare", "-Ur", sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr or "Permission" in done.stderr:
        pytest.skip("no user namespaces here")
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("polling ")
    assert said in first
    assert second == "new add"


def test_a_process_that_stood_still_looks_again(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """The kernel's queue runs over while nobody reads it: what it dropped is found by looking."""
    monkeypatch.setattr("workspaces_app.watch.watcher.STALL", -1.0)
    watched.start()

    def deaf(seconds: float, stop: threading.Event) -> dict[str, set[int]]:
        stop.wait(0.05)
        return {}

    assert watched.watcher is not None
    monkeypatch.setattr(watched.watcher, "_native", SimpleNamespace(wait=deaf, close=lambda: None))
    (watched.root / "a").write_text("")
    watched.told("a", "add")
