import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces_app.watch.rules import IGNORED, is_ignored, is_ignored_path, is_quiet, refusal, remote_type
from workspaces_app.watch.window import Window, merged


def test_all_names_of_the_specification_are_ignored():
    assert len(IGNORED) == 51
    assert is_ignored("node_modules")
    assert is_ignored("System Volume Information")
    assert is_ignored(".halo-tmp-1-ab")


@pytest.mark.parametrize("name", [".halo", ".env", ".github", "src", "Build", "node_modules2", "中文"])
def test_other_names_are_watched(name):
    assert not is_ignored(name)


def test_the_trash_of_the_workspace_is_ignored_and_no_other_folder_of_that_name():
    assert is_ignored("trash", ".halo")
    assert is_ignored_path(".halo/trash")
    assert is_ignored_path(".halo/trash/1/files/a")
    assert is_ignored_path("a/node_modules/b")
    assert not is_ignored("trash", "src")
    assert not is_ignored_path("trash/.halo/x")
    assert not is_ignored_path(".halo/trash2")


def test_sessions_and_logs_are_quiet_and_nothing_beside_them():
    assert is_quiet(".halo/sessions/default/1.jsonl")
    assert is_quiet(".halo/logs/x.log")
    assert not is_quiet(".halo/sessions")
    assert not is_quiet(".halo/sessions2/x")
    assert not is_quiet("sub/.halo/sessions/x")


@pytest.mark.parametrize("root", ["/", "/etc", "/usr/", "/System"])
def test_folders_of_the_system_are_refused_with_a_reason(root):
    assert refusal(root)


@pytest.mark.parametrize("root", ["/srv/work", "/etc-2", "/usr/local/src/app", "/home/me"])
def test_ordinary_folders_are_watched(root):
    assert refusal(root) is None


MOUNTS = [
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
    "30 22 0:40 / /mnt/share rw,relatime shared:1 - nfs4 server:/x rw",
    "31 22 0:41 / /mnt/my\\040disk rw - cifs //s/d rw",
    "32 30 8:2 / /mnt/share/local rw - ext4 /dev/sdb rw",
    "broken line",
]


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ("/srv/x", None),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/a/b", "nfs4"),
        ("/mnt/shared", None),
        ("/mnt/my disk/a", "cifs"),
        ("/mnt/share/local/a", None),
    ],
)
def test_the_innermost_mount_says_whether_a_folder_is_remote(root, kind):
    assert remote_type(root, MOUNTS) == kind


@pytest.mark.parametrize(
    ("pending", "new", "result"),
    [
        (None, "add", "add"),
        ("add", "change", "add"),
        ("addDir", "change", "addDir"),
        ("add", "unlink", None),
        ("addDir", "unlink", None),
        ("change", "unlink", "unlink"),
        ("unlink", "add", "add"),
        ("add", "addDir", "addDir"),
        ("change", "change", "change"),
    ],
)
def test_two_changes_of_one_path_become_one(pending, new, result):
    assert merged(pending, new) == result


def test_the_first_change_waits_for_nobody_and_the_rest_is_joined():
    window = Window(0.3)
    assert window.wait(100.0) is None
    window.add("a", "change")
    assert window.wait(100.0) == 0.0
    assert window.take(100.0) == [("a", "change")]
    window.add("a", "change")
    window.add("b", "add")
    window.add("a", "change")
    assert window.take(100.2) == []
    assert window.wait(100.2) == pytest.approx(0.1)
    assert window.take(100.3) == [("b", "add"), ("a", "change")]
    assert window.wait(100.3) is None


ACTIONS = st.sampled_from(["add", "change", "unlink", "addDir"])
STEPS = st.lists(st.tuples(st.sampled_from("abc"), ACTIONS, st.integers(0, 8)), max_size=40)


@given(STEPS)
def test_whatever_comes_each_path_is_told_once_per_window_and_nothing_waits_for_ever(steps):
    window, now, last = Window(4), 100, 0
    for path, action, pause in steps:
        now += pause
        window.add(path, action)
        told = window.take(now)
        if told:
            assert now - last >= 4
            last = now
        assert len({path for path, _ in told}) == len(told)
        wait = window.wait(now)
        assert wait is None or wait <= 4
    window.take(now + 4)
    assert window.wait(now + 4) is None
