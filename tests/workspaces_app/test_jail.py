"""The one door to files (SECURITY-BAR D1 to D4, S3)."""

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Conflict, Forbidden, HaloError, NotFound, TooLarge
from workspaces_app.jail import Jail, Version
from workspaces_app.protected import is_control_file
from workspaces_app.scaffold import scaffold

LIMIT = 1_000_000
CANARY = "canary: must never be read or changed"


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "my server" / "ünïcode ws"
    folder.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(CANARY)
    (folder / "a.txt").write_text("inside")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("below")
    return folder.resolve()


@pytest.fixture
def outside(root) -> Path:
    return root.parent.parent / "outside" / "secret.txt"


def confined(root: Path, level: Access = Access.WORKSPACE) -> Jail:
    return Jail(root, level=level, confined=True)


def text(jail: Jail, path: str) -> str:
    return jail.read(path, limit=LIMIT)[0].decode()


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/./b.txt", "sub//b.txt", "sub/b.txt"])
def test_ordinary_paths_open(root, path):
    assert text(confined(root), path) in ("inside", "below")


def test_X15_an_absolute_path_inside_works_with_spaces_and_umlauts_in_it(root):
    assert text(confined(root), f"{root}/sub/b.txt") == "below"
    confined(root).write("neu ü/dätei x.txt", b"1")
    assert (root / "neu ü" / "dätei x.txt").read_bytes() == b"1"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "..",
        "sub/../a.txt",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "~",
        "/proc/self/root/etc/passwd",
        "/proc/self/environ",
        "/dev/fd/0",
        "/",
        "./../outside/secret.txt",
        "..//outside/secret.txt",
    ],
)
def test_D1_paths_that_lead_out_are_forbidden(root, path, outside):
    for act in (lambda: text(confined(root), path), lambda: confined(root).write(path, b"x")):
        with pytest.raises(Forbidden):
            act()
    assert outside.read_text() == CANARY


@pytest.mark.parametrize(
    "path",
    [
        "%2e%2e/outside/secret.txt",
        "..%2foutside/secret.txt",
        "..\\outside\\secret.txt",
        "\u2024\u2024/outside/secret.txt",
        "．．/outside/secret.txt",
        "a.txt\n../x",
        "\u202e../x",
        "...",
    ],
)
def test_D1_what_only_looks_like_dots_is_an_ordinary_name_that_is_not_there(root, path):
    with pytest.raises((NotFound, Forbidden)):
        text(confined(root), path)


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "d/" * 3000 + "x", "\ud800"])
def test_D1_nul_and_lengths_are_bad_requests(root, path):
    with pytest.raises(BadRequest):
        confined(root).read(path, limit=LIMIT)
    with pytest.raises(BadRequest):
        confined(root).write(path, b"x")


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["..", ".", "", "sub", "a.txt", "out", "/", "~", "etc", "loop"]), st.text(max_size=6)
        ),
        max_size=8,
    )
)
def test_D1_no_path_at_all_reads_or_writes_outside(root, outside, parts):
    if not (root / "out").is_symlink():
        os.symlink(outside.parent, root / "out")
        os.symlink("loop", root / "loop")
    for path in ("/".join(parts), "/".join([*parts, "secret.txt"])):
        try:
            assert text(confined(root), path) != CANARY
        except HaloError:
            pass
        except UnicodeDecodeError:
            pass
        try:
            confined(root).write(path, b"written")
        except HaloError:
            pass
    assert outside.read_text() == CANARY
    assert sorted(os.listdir(root.parent)) == ["ünïcode ws"]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("file", "{outside}"),
        ("file", "../../outside/secret.txt"),
        ("dir/secret.txt", "{outside}/.."),
        ("chain", "chain2"),
        ("proc", "/proc/self/root{outside}"),
        ("up", "sub/../../../outside/secret.txt"),
    ],
)
def test_D2_links_that_leave_are_refused(root, outside, link, target):
    target = target.format(outside=outside)
    if "/" in link:
        os.symlink(outside.parent, root / link.split("/")[0])
    else:
        os.symlink(target, root / link)
    if link == "chain":
        os.symlink(outside, root / "chain2")
    for act in (lambda: text(confined(root), link), lambda: confined(root).write(link, b"x")):
        with pytest.raises(Forbidden):
            act()
    assert outside.read_text() == CANARY


def test_D2_links_that_stay_inside_are_followed_and_written_through(root):
    os.symlink("sub", root / "rel")
    os.symlink(root / "sub" / "b.txt", root / "abs")
    os.symlink("../a.txt", root / "sub" / "up")
    assert text(confined(root), "rel/b.txt") == "below"
    assert text(confined(root), "sub/up") == "inside"
    confined(root).write("abs", b"new")
    assert (root / "abs").is_symlink()
    assert (root / "sub" / "b.txt").read_text() == "new"


def test_D2_a_circle_of_links_ends(root):
    os.symlink("two", root / "one")
    os.symlink("one", root / "two")
    with pytest.raises(BadRequest, match="Too many links"):
        text(confined(root), "one")


def test_D2_a_tree_that_changes_while_we_open_never_leads_out(root, outside):
    """A thread swaps a folder for a link to the outside as fast as it can; thousands of opens must not fall for it."""
    swap, trap = root / "swap", root / "trap"
    swap.mkdir()
    (swap / "secret.txt").write_text("harmless")
    os.symlink(outside.parent, trap)
    stop = threading.Event()

    def race() -> None:
        aside = root / "aside"
        while not stop.is_set():
            os.rename(swap, aside)
            os.rename(trap, swap)
            os.rename(swap, trap)
            os.rename(aside, swap)

    thread = threading.Thread(target=race)
    thread.start()
    rounds = seen = 0
    begun = time.monotonic()
    try:
        while rounds < 10_000 and (time.monotonic() - begun < 2.5 or rounds <= 500 or not seen):
            assert time.monotonic() - begun < 120
            rounds += 1
            try:
                assert text(confined(root), "swap/secret.txt") != CANARY
                seen += 1
                confined(root).change("swap/secret.txt", lambda data, _: b"harmless", limit=LIMIT)
            except HaloError:
                pass
    finally:
        stop.set()
        thread.join()
    assert outside.read_text() == CANARY
    assert [path.name for path in outside.parent.iterdir()] == ["secret.txt"]


def test_D3_special_files_are_refused_at_once(root, monkeypatch):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(root)  # the name of a unix socket must be short
        server.bind("sock")
        for path in ("pipe", "sock", "sub"):
            with pytest.raises(BadRequest):  # a pipe that is opened to be read blocks for ever
                confined(root).read(path, limit=LIMIT)
            with pytest.raises(BadRequest):
                confined(root).write(path, b"x")
        for path in ("/dev/zero", str(root / "pipe")):
            with pytest.raises(BadRequest):
                Jail(root).read(path, limit=LIMIT)


def test_D3_huge_files_and_folders_are_refused_without_reading_them(root):
    with open(root / "sparse", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(TooLarge) as caught:
        confined(root).read("sparse", limit=LIMIT)
    assert caught.value.extra["size"] == 2**40
    for i in range(30):
        (root / "sub" / str(i)).touch()
    with pytest.raises(TooLarge):
        confined(root).entries("sub", limit=10)


def test_D4_a_write_over_a_state_that_is_gone_is_a_conflict(root):
    jail = confined(root)
    _, version = jail.read("a.txt", limit=LIMIT)
    first = jail.write("a.txt", b"first", expect=version)
    with pytest.raises(Conflict):
        jail.write("a.txt", b"second", expect=version)
    assert text(jail, "a.txt") == "first"
    jail.write("a.txt", b"third", expect=first)
    (root / "a.txt").unlink()
    with pytest.raises(Conflict):
        jail.write("a.txt", b"fourth", expect=first)


def test_D4_of_two_saves_on_one_baseline_one_wins(root):
    jail = confined(root)
    _, version = jail.read("a.txt", limit=LIMIT)
    answers: list[str] = []
    gate = threading.Barrier(8)

    def save(i: int) -> None:
        gate.wait()
        try:
            confined(root).write("a.txt", f"by {i}".encode(), expect=version)
            answers.append("ok")
        except Conflict:
            answers.append("conflict")

    threads = [threading.Thread(target=save, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["conflict"] * 7 + ["ok"]


def test_D4_concurrent_changes_of_one_file_lose_nothing(root):
    (root / "n").write_text("0")

    def add() -> None:
        for _ in range(20):
            confined(root).change("n", lambda data, _version: str(int(data) + 1).encode(), limit=LIMIT)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert text(confined(root), "n") == "80"


def test_D4_the_mode_of_a_file_is_kept(root):
    (root / "a.txt").chmod(0o755)
    confined(root).write("a.txt", b"x")
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755


def test_a_readonly_caller_writes_nothing(root):
    for act in (
        lambda jail: jail.write("new", b"x"),
        lambda jail: jail.change("a.txt", lambda data, _: data, limit=9),
        lambda jail: jail.make_folder("f"),
    ):
        with pytest.raises(Forbidden, match="readonly"):
            act(confined(root, Access.READONLY))
    assert sorted(os.listdir(root)) == ["a.txt", "sub"]


@pytest.mark.parametrize(
    "path",
    [
        ".halo/agents/default/agent.yaml",
        ".halo/INSTRUCTIONS.md",
        ".halo/prompts/all/x.md",
        ".HALO/agents/x/agent.yaml",
        ".halo/settings.yaml",
        ".halo/tmp",
        "sub/.halo/INSTRUCTIONS.md",
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/hooks/post-checkout",
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".gitattributes",
    ],
)
def test_S3_what_steers_stronger_sessions_cannot_be_written_even_where_it_does_not_exist(root, path):
    before = sorted(str(entry) for entry in root.rglob("*"))
    with pytest.raises(Forbidden):
        confined(root).write(path, b"evil")
    assert sorted(str(entry) for entry in root.rglob("*")) == before, "nothing appeared on the way"
    confined(root, Access.FULL).write(path, b"fine")


def test_S3_a_link_does_not_get_around_it(root):
    os.symlink(".halo", root / "innocent")
    (root / ".halo").mkdir()
    with pytest.raises(Forbidden):
        confined(root).write("innocent/agents/x/agent.yaml", b"evil")
    assert list((root / ".halo").iterdir()) == []


def test_work_folders_of_halo_can_be_written(root):
    for path in (".halo/tmp/a", ".halo/memory/2026-01-01.md", ".halo/docs/deep/er.md"):
        confined(root).write(path, b"x")


def test_conversations_and_settings_are_masked_below_full_access(root):
    for path in (".halo/sessions/default/x.jsonl", ".halo/logs/a", ".halo/evo/runs/1/a", ".halo/settings.yaml"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(CANARY)
        for level in (Access.READONLY, Access.WORKSPACE):
            with pytest.raises(Forbidden):
                text(confined(root, level), path)
        assert text(confined(root, Access.FULL), path) == CANARY


def test_the_homes_shared_folder_can_be_read_but_not_written_and_not_its_logs(root, tmp_path):
    shared = tmp_path / "global"
    (shared / "logs").mkdir(parents=True)
    (shared / "docs.md").write_text("help")
    (shared / "logs" / "server.log").write_text(CANARY)
    (shared / "evo.db").write_text(CANARY)
    jail = Jail(root, level=Access.WORKSPACE, readable=(shared,))
    assert text(jail, f"{shared}/docs.md") == "help"
    for path in ("logs/server.log", "evo.db"):
        with pytest.raises(Forbidden):
            text(jail, f"{shared}/{path}")
    with pytest.raises(Forbidden):
        jail.write(f"{shared}/docs.md", b"x")


def test_full_access_reaches_the_whole_machine(root, outside):
    jail = Jail(root)
    assert text(jail, str(outside)) == CANARY
    jail.write(str(outside.parent / "new" / "x"), b"1")
    assert (outside.parent / "new" / "x").read_bytes() == b"1"
    assert text(jail, "../../outside/secret.txt") == CANARY


@pytest.mark.parametrize("free", [True, False])
def test_a_vanished_root_is_never_made_again(root, free):
    shutil.rmtree(root)
    jail = Jail(root) if free else confined(root)
    for path in ("x", "a/b/c", f"{root}/d"):
        with pytest.raises(NotFound):
            jail.write(path, b"x")
    with pytest.raises(NotFound):
        scaffold(root)
    assert not root.exists()


def test_a_scaffold_is_complete_and_repeatable(root):
    scaffold(root)
    scaffold(root)
    made = {str(path.relative_to(root / ".halo")) for path in (root / ".halo").rglob("*")}
    assert made == {
        *("sessions", "agents", "skills", "logs", "memory", "canvas", "trash"),
        *("evo", "evo/runs", "evo/applies", "evo/history"),
    }


def test_a_scaffold_does_not_follow_a_link_out(root, outside):
    os.symlink(outside.parent, root / ".halo")
    with pytest.raises(Forbidden):
        scaffold(root)
    assert [path.name for path in outside.parent.iterdir()] == ["secret.txt"]


def test_versions_differ_when_a_file_was_replaced_within_one_tick(root):
    jail = confined(root)
    first = jail.write("v", b"aa")
    second = jail.write("v", b"bb")
    assert first != second
    assert Version.of(jail.stat("v")) == second


def test_control_files_are_told_from_ordinary_ones():
    assert not is_control_file(("src", "config"))
    assert not is_control_file((".git", "index"))
    assert not is_control_file((".halo", "tmp", "x"))
    assert is_control_file((".halo",))


@pytest.mark.parametrize("path", [".halo/INSTRUCTIONS.md", "AGENTS.md", ".git/config"])
def test_S3_a_control_file_is_not_changed_or_removed_below_full_access(tmp_path, path):
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("old")
    jail = Jail(tmp_path, level=Access.WORKSPACE)
    with pytest.raises(Forbidden):
        jail.change(path, lambda data, version: b"new", limit=100)
    with pytest.raises(Forbidden):
        jail.remove_file(path)
    assert file.read_text() == "old"


def test_what_may_only_be_read_is_not_changed_or_removed(tmp_path):
    shared, workspace = tmp_path / "shared", tmp_path / "work"
    for folder in (shared, workspace):
        folder.mkdir()
    (shared / "rules.md").write_text("old")
    jail = Jail(workspace, level=Access.WORKSPACE, readable=(shared,))
    assert jail.read(str(shared / "rules.md"), limit=10)[0] == b"old"
    with pytest.raises(Forbidden):
        jail.change(str(shared / "rules.md"), lambda data, version: b"new", limit=100)
    with pytest.raises(Forbidden):
        jail.remove_file(str(shared / "rules.md"))
    assert (shared / "rules.md").read_text() == "old"
