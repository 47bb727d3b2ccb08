"""The order of mounts is a contract: the last mount on a path wins (spec tools 3.2, 6.30; SECURITY-BAR S1)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces_app.sandbox.argv import Layout, bwrap_argv, environment, mounts

HOME = Path("/home/ann")
LAYOUT = Layout(
    workspace=HOME,
    writable=True,
    emptied=(Path("/run"),),
    writable_dirs=(Path("/data"),),
    pins=(HOME / ".config", HOME / ".git"),
    read_only=(HOME / ".halo/tmp/x/.git/config", HOME / ".halo", HOME / ".git" / "config"),
    work_dirs=(HOME / ".halo" / "tmp",),
    masked_dirs=(HOME / ".halo" / "sessions",),
    masked_files=(HOME / ".halo" / "halo.db",),
    hidden_dirs=(HOME / ".ssh", HOME / ".config" / "gh"),
    hidden_files=(HOME / ".netrc",),
    proxy_socket=Path("/tmp/halo-net-x/s"),
)


def destinations(args: list[str]) -> list[tuple[str, str]]:
    """(kind, destination) of every mount, in order."""
    found = []
    for place, word in enumerate(args):
        if word in ("--bind", "--ro-bind"):
            found.append((word, args[place + 2]))
        elif word in ("--tmpfs", "--dev", "--proc", "--remount-ro"):
            found.append((word, args[place + 1]))
    return found


def last(path: str) -> str:
    """The kind of the last mount at or above a path."""
    kinds = [kind for kind, where in destinations(mounts(LAYOUT)) if Path(path).is_relative_to(where)]
    return next(kind for kind in reversed(kinds) if kind != "--remount-ro")


def test_the_steps_come_in_the_order_of_the_specification():
    order = [where for _, where in destinations(mounts(LAYOUT))]
    steps = ["/", "/tmp", "/home/ann", "/data", "/home/ann/.halo", "/home/ann/.halo/tmp", "/home/ann/.halo/sessions"]
    steps += ["/home/ann/.ssh", "/home/ann/.halo/halo.db", "/home/ann/.netrc", "/dev", "/proc"]
    assert [where for where in order if where in steps] == sorted(
        (where for where in order if where in steps), key=steps.index
    )
    assert set(steps) <= set(order)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/passwd", "--ro-bind"),
        ("/tmp/x", "--tmpfs"),
        ("/home/ann/notes", "--bind"),
        ("/home/ann/.halo/agents/a", "--ro-bind"),
        ("/home/ann/.halo/tmp/a", "--bind"),
        ("/home/ann/.halo/tmp/x/.git/config", "--ro-bind"),
        ("/home/ann/.halo/sessions/x", "--tmpfs"),
        ("/home/ann/.ssh/id", "--tmpfs"),
        ("/home/ann/.config/gh/hosts.yml", "--tmpfs"),
        ("/home/ann/.netrc", "--ro-bind"),
        ("/home/ann/.git/config", "--ro-bind"),
        ("/home/ann/.git/HEAD", "--bind"),
    ],
)
def test_S1_the_last_mount_wins(path, kind):
    assert last(path) == kind


def test_S1_masks_come_after_the_last_writable_bind():
    kinds = destinations(mounts(LAYOUT))
    last_bind = max(place for place, (kind, _) in enumerate(kinds) if kind == "--bind")
    masks = [
        str(path) for path in (*LAYOUT.masked_dirs, *LAYOUT.hidden_dirs, *LAYOUT.masked_files, *LAYOUT.hidden_files)
    ]
    assert all(place > last_bind for place, (_, where) in enumerate(kinds) if where in masks)


def test_a_readonly_layout_binds_nothing_writable():
    from dataclasses import replace

    assert "--bind" not in mounts(replace(LAYOUT, writable=False))


def test_S2_everything_is_its_own_and_no_right_is_left():
    argv = bwrap_argv("bwrap", LAYOUT, environment(HOME), ["true"])
    for word in ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--new-session"):
        assert word in argv
    assert argv[argv.index("--cap-drop") + 1] == "ALL"
    assert {"--die-with-parent", "--disable-userns", "--clearenv"} <= set(argv)
    assert "--share-net" not in argv


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=20), min_size=1))
def test_S5_the_command_is_data_whatever_it_looks_like(command):
    argv = bwrap_argv("bwrap", LAYOUT, environment(HOME), command)
    assert argv[-len(command) :] == command
    assert argv[-len(command) - 1] == "--"


def test_the_environment_is_built_from_nothing():
    assert environment(HOME) == {
        "PATH": "/home/ann/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/home/ann",
        "TERM": "xterm-256color",
    }
    assert environment(HOME, proxy="http://127.0.0.1:3128")["https_proxy"] == "http://127.0.0.1:3128"
