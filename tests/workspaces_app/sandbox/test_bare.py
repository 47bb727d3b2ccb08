"""A folder that git takes for a repository without a `.git` steers git like a `.git` does (SECURITY-BAR S3, S4)."""

import os
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from halo_site.lib.errors import Forbidden
from workspaces_app.files.remove import move, remove
from workspaces_app.git.identity import settings_file
from workspaces_app.jail import Jail
from workspaces_app.protected import is_bare
from workspaces_app.sandbox import ledger
from workspaces_app.sandbox.plan import plan
from workspaces_app.sandbox.repositories import steering
from workspaces_app.sandbox.sweep import look, settle

PLAIN = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
EVIL = f"{PLAIN}\tfsmonitor = /tmp/x\n"


def bare(folder: Path, config: str = EVIL) -> Path:
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config)
    return folder


def git_finds_one(folder: Path, *words: str) -> bool:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(["git", *words, "rev-parse", "--git-dir"], cwd=folder, env=env, capture_output=True)
    return done.returncode == 0


@pytest.mark.parametrize(
    "names", [names for count in range(5) for names in combinations(("HEAD", "objects", "refs", "commondir"), count)]
)
def test_S4_no_folder_that_git_takes_for_a_repository_is_missed(tmp_path, names):
    whole = bare(tmp_path / "whole", PLAIN)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        if name == "commondir":
            (folder / name).write_text(f"{whole}\n")
        elif name == "HEAD":
            (folder / name).write_text("ref: refs/heads/main\n")
        else:
            (folder / name).mkdir()
    assert is_bare({name.casefold() for name in names}) == git_finds_one(folder)


def test_S4_our_own_git_finds_none_by_itself(tmp_path):
    whole = bare(tmp_path / "whole", PLAIN)
    assert git_finds_one(whole)
    (tmp_path / "settings").write_text(settings_file({}, None))
    assert not git_finds_one(whole, "-c", f"include.path={tmp_path / 'settings'}")
    assert "explicit" in settings_file({}, None)


# ---- by a command


def test_S3_what_steers_one_that_was_there_is_mounted_read_only(machine):
    folder = bare(machine.workspace / "deep" / "shop.git")
    (folder / "hooks").mkdir()
    layout = plan(machine.workspace, Access.WORKSPACE, look(machine.workspace))
    assert {folder / "config", folder / "hooks"} <= set(layout.read_only)
    assert not {folder / "HEAD", folder / "objects", folder / "refs"} & set(layout.read_only)


@pytest.mark.parametrize("place", [".", "src", "src/deep/er"])
def test_S3_one_that_a_command_makes_is_none_any_more(tmp_path, place):
    (tmp_path / "src").mkdir()
    before = look(tmp_path)
    folder = bare(tmp_path / place)
    (folder / "hooks").mkdir()
    held = {str(Path(place) / name) for name in ("HEAD", "config", "hooks")}
    assert set(settle(tmp_path, before)) == held
    assert not git_finds_one(folder)


@pytest.mark.parametrize("last", ["HEAD", "objects", "refs"])
def test_S3_a_command_that_completes_one_takes_nothing_from_the_project(tmp_path, last):
    """`hooks`, `config` and the like are ordinary names for folders of a program."""
    bare(tmp_path / "src")
    (tmp_path / "src" / "hooks").mkdir()
    (tmp_path / "src" / "hooks" / "use.ts").write_text("ours")
    (tmp_path / "src" / last).rename(tmp_path / "away")
    before = look(tmp_path)
    (tmp_path / "away").rename(tmp_path / "src" / "new")
    if last == "HEAD":
        (tmp_path / "src" / last).write_text("ref: refs/heads/main\n")
    else:
        (tmp_path / "src" / last).mkdir()
    assert settle(tmp_path, before) == [f"src/{last}"]
    assert (tmp_path / "src" / "hooks" / "use.ts").read_text() == "ours"


def test_S3_one_put_together_from_the_parts_of_another_is_none(tmp_path):
    whole = bare(tmp_path / "shop.git", PLAIN)
    (tmp_path / "src").mkdir()
    before = look(tmp_path)
    for name in ("HEAD", "objects", "refs"):
        (whole / name).rename(tmp_path / "src" / name)
    (tmp_path / "src" / "config").write_text(EVIL)
    assert settle(tmp_path, before) == ["src/HEAD", "src/config"]


def test_a_folder_named_head_makes_none(tmp_path):
    before = look(tmp_path)
    for name in ("HEAD", "objects", "refs", "hooks"):
        (tmp_path / "src" / name).mkdir(parents=True)
    assert settle(tmp_path, before) == []
    assert not git_finds_one(tmp_path / "src")


@pytest.mark.parametrize("folder_too", [False, True])
def test_S3_names_that_differ_in_case_only_hide_nothing(tmp_path, folder_too):
    before = look(tmp_path)
    folder = bare(tmp_path / "src")
    for name in ("Head", "HEAd", "head", "Config", "CONFIG", "Objects", "Refs"):
        if folder_too:
            (folder / name).mkdir()
        else:
            (folder / name).write_text("x")
    held = settle(tmp_path, before)
    assert {"src/HEAD", "src/config", "src/CONFIG"} <= set(held)
    assert not git_finds_one(folder)


def test_S3_one_by_a_pointer_to_another_is_none(tmp_path):
    before = look(tmp_path)
    bare(tmp_path / "src")
    (tmp_path / "src" / "commondir").write_text("../elsewhere\n")
    shutil.rmtree(tmp_path / "src" / "refs")
    assert settle(tmp_path, before) == ["src/HEAD", "src/commondir", "src/config"]


def test_S3_hooks_that_come_into_one_that_was_there_are_set_aside(tmp_path):
    whole = bare(tmp_path / "shop.git", PLAIN)
    before = look(tmp_path)
    (whole / "hooks").mkdir()
    (whole / "hooks" / "pre-receive").write_text("x")
    (whole / "HEAD").write_text("ref: refs/heads/other\n")
    assert settle(tmp_path, before) == ["shop.git/hooks"]
    assert git_finds_one(whole)


def test_S3_links_in_one_that_was_there_are_made_again(tmp_path):
    whole = bare(tmp_path / "shop.git", PLAIN)
    (whole / "hooks").symlink_to("/usr/share/hooks")
    before = look(tmp_path)
    assert whole / "hooks" not in set(before.steering())
    (whole / "hooks").unlink()
    (whole / "hooks").mkdir()
    assert settle(tmp_path, before) == ["shop.git/hooks"]
    assert os.readlink(whole / "hooks") == "/usr/share/hooks"


def test_one_that_was_renamed_stays_one(tmp_path):
    bare(tmp_path / "shop.git")
    before = look(tmp_path)
    (tmp_path / "shop.git").rename(tmp_path / "old.git")
    assert settle(tmp_path, before) == []


def test_S3_in_a_workspace_too_large_to_look_through_its_age_counts(tmp_path):
    bare(tmp_path / "old.git")
    before = look(tmp_path, most=1)
    before.began += 10
    assert settle(tmp_path, before) == []
    before.began -= 20
    assert settle(tmp_path, before) == ["old.git/HEAD", "old.git/config"]


def test_S3_after_a_crash_it_is_known_what_was_there(machine):
    folder = bare(machine.workspace / "shop.git")
    source = machine.workspace / "src"
    (source / "hooks").mkdir(parents=True)
    (source / "HEAD").write_text("heading")
    with ledger.recorded(machine.workspace, look(machine.workspace)) as record:
        dead = record.file.with_name("dead.json")
        dead.write_bytes(record.file.read_bytes())
        dead.with_suffix(".vouched").touch()
        (folder / "hooks").mkdir()
        for name in ("objects", "refs"):
            (source / name).mkdir()
        ledger.settle_left()
    assert (folder / "config").exists()
    assert not (folder / "hooks").exists()
    assert sorted(os.listdir(source)) == ["HEAD", "hooks", "objects", "refs.held"]


async def test_S3_a_real_command_cannot_change_what_steers_one(machine, inside):
    folder = bare(machine.workspace / "shop.git", PLAIN)
    (folder / "hooks").mkdir()
    outcome = await inside(
        "echo x >> shop.git/config; echo x > shop.git/hooks/pre-receive; mv shop.git/config away; "
        "git init -q w && cd w && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x "
        "&& git push -q ../shop.git HEAD:refs/heads/new"
    )
    assert outcome.code == 0, outcome.stderr
    assert (folder / "config").read_text() == PLAIN
    assert os.listdir(folder / "hooks") == []
    assert (folder / "refs" / "heads" / "new").exists()


async def test_fresh_ones_that_run_nothing_stay(machine, inside):
    outcome = await inside(
        "git init -q w && git -C w -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && "
        "git init -q --bare one.git && git clone -q --bare w two.git && sleep 0.7 && git -C two.git log --format=%s"
    )
    assert (outcome.code, outcome.stdout) == (0, b"x\n"), outcome.stderr
    assert git_finds_one(machine.workspace / "one.git")
    assert git_finds_one(machine.workspace / "two.git")


@pytest.mark.parametrize(
    "command",
    [
        "git init -q --bare src; git -C src config core.fsmonitor /tmp/x",
        "git init -q --bare src; echo x > src/hooks/pre-receive",
        "git init -q --bare real; git -C real config core.fsmonitor /tmp/x; mkdir src; cp -r real/. src",
        "git init -q --bare real; mkdir src; echo ../real > src/commondir; cp real/HEAD src",
        "git init -q --bare src; ln -s /tmp/hooks src/info/x; rm -r src/hooks; ln -s /tmp/hooks src/hooks",
    ],
)
async def test_S4_one_that_would_run_something_is_set_aside(machine, inside, command):
    await inside(command)
    assert not git_finds_one(machine.workspace / "src")


# ---- by file tools


@pytest.fixture
def jail(tmp_path) -> Jail:
    (tmp_path / "src").mkdir()
    return Jail(tmp_path, level=Access.WORKSPACE)


def attempts(jail: Jail, root: Path):
    yield lambda: jail.write("src/HEAD", b"ref: refs/heads/main\n")
    yield lambda: jail.create("src/HEAD")
    yield lambda: move(jail, "other", "src/HEAD")
    yield lambda: jail.append_lines("src/HEAD", b"x\n")
    yield lambda: jail.check_writable("src/HEAD")
    yield lambda: jail.write("link", b"x")  # a link to what is not there


def test_S3_file_tools_do_not_complete_one(tmp_path, jail):
    bare(tmp_path / "src")
    (tmp_path / "src" / "HEAD").rename(tmp_path / "other")
    (tmp_path / "link").symlink_to("src/HEAD")
    for attempt in attempts(jail, tmp_path):
        with pytest.raises(Forbidden, match="steers agents or git"):
            attempt()
    assert not (tmp_path / "src" / "HEAD").exists()


@pytest.mark.parametrize("path", ["src/refs", "src/refs/heads/main", "src/Refs/x"])
def test_S3_file_tools_make_no_folder_that_completes_one(tmp_path, jail, path):
    bare(tmp_path / "src")
    (tmp_path / "src" / "refs").rmdir()
    with pytest.raises(Forbidden, match="steers agents or git"):
        jail.make_folder(path)
    with pytest.raises(Forbidden, match="steers agents or git"):
        jail.write(f"{path}/x", b"x")
    assert not (tmp_path / "src" / "refs").exists()


def test_S3_file_tools_change_nothing_that_steers_one(tmp_path, jail):
    bare(tmp_path / "src")
    (tmp_path / "src" / "hooks").mkdir()
    (tmp_path / "src" / "config.new").write_text("x")
    for attempt in (
        lambda: jail.write("src/config", b"x"),
        lambda: jail.change("src/config", lambda data, version: b"x", limit=1000),
        lambda: jail.remove_file("src/config"),
        lambda: move(jail, "src/config", "away"),
        lambda: move(jail, "src", "away"),
        lambda: remove(jail, "src"),
        lambda: jail.write("src/hooks/pre-receive", b"x"),
        lambda: jail.write("src/commondir", b"x"),
        lambda: jail.make_folder("src/info"),
    ):
        with pytest.raises(Forbidden, match="steers agents or git"):
            attempt()
    assert sorted(os.listdir(tmp_path / "src")) == ["HEAD", "config", "config.new", "hooks", "objects", "refs"]


def test_other_files_may_bear_these_names(tmp_path, jail):
    for path in ("src/config", "src/hooks/use.ts", "src/HEAD", "src/refs/a.md", "docs/objects/a.md", "docs/refs/a.md"):
        jail.write(path, b"x")
        jail.write(path, b"y")
    bare(tmp_path / "shop.git")
    jail.write("shop.git/refs/heads/x", b"0" * 40)
    jail.write("shop.git/HEAD", b"ref: refs/heads/x\n")
    Jail(tmp_path, level=Access.FULL, confined=True).write("shop.git/config", PLAIN.encode())
    assert (tmp_path / "shop.git" / "config").read_text() == PLAIN


def test_S3_two_writes_at_once_complete_none_either(tmp_path, jail):
    (tmp_path / "src" / "objects").mkdir()

    def slowly() -> None:
        with jail.spot("src/refs", create=True) as slow:
            jail.write("src/HEAD", b"ref: refs/heads/main\n")
            os.mkdir(slow.name, dir_fd=slow.folder)

    with pytest.raises(Forbidden, match="steers agents or git"):
        slowly()
    assert sorted(os.listdir(tmp_path / "src")) == ["HEAD", "objects", "refs.held"]


def test_S3_changes_are_judged_together(tmp_path):
    bare(tmp_path / "shop.git")
    new = [("src", "HEAD"), ("src", "objects", "pack", "a"), ("src", "refs", "x"), ("src", "config"), ("src", "main.c")]
    assert steering(tmp_path, new) == new[:4]
    assert steering(tmp_path, new[1:]) == []
    assert steering(tmp_path, [("shop.git", "refs", "x"), ("shop.git", "hooks", "x")]) == [("shop.git", "hooks", "x")]


# ---- by somebody with full access, meanwhile


def test_what_a_person_changes_in_one_meanwhile_stays(machine):
    folder = bare(machine.workspace / "shop.git")
    with ledger.recorded(machine.workspace, look(machine.workspace)) as record:
        person = Jail(machine.workspace, level=Access.FULL, confined=True)
        person.write("shop.git/config", PLAIN.encode())
        person.write("shop.git/hooks/pre-receive", b"mine")
        assert record.settled(settle) == []
    assert (folder / "hooks" / "pre-receive").read_text() == "mine"


def test_one_that_a_person_makes_meanwhile_stays_and_only_what_a_command_adds_goes(machine):
    with ledger.recorded(machine.workspace, look(machine.workspace)) as record:
        person = Jail(machine.workspace, level=Access.FULL, confined=True)
        person.make_folder("new.git/objects")
        person.write("new.git/refs/heads/x", b"0")
        person.write("new.git/config", EVIL.encode())
        person.write("new.git/HEAD", b"ref: refs/heads/main\n")
        assert record.settled(settle) == []
        (machine.workspace / "new.git" / "hooks").mkdir()
        assert record.settled(settle) == ["new.git/hooks"]
    assert (machine.workspace / "new.git" / "config").read_text() == EVIL
