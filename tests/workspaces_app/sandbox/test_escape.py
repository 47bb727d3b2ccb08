"""Real commands in a real sandbox that try to get out (SECURITY-BAR S1, S2, S3, S7, S8; spec tools 6.6 to 6.8)."""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from halo_site.lib.errors import Unavailable
from workspaces_app import sandbox
from workspaces_app.sandbox import limits, probe
from workspaces_app.sandbox.plan import programs, sockets

from .conftest import CANARY

pytestmark = pytest.mark.usefixtures("bubblewrap")
LEVELS = pytest.mark.parametrize("level", [Access.WORKSPACE, Access.READONLY])


def said(outcome) -> str:
    return (outcome.stdout + outcome.stderr).decode("utf-8", "replace")


async def test_an_ordinary_command_works_in_the_workspace(machine, inside):
    outcome = await inside("pwd; echo hello > a.txt; mkdir -p sub && mv a.txt sub; cat sub/a.txt")
    assert outcome.stdout.decode() == f"{machine.workspace}\nhello\n"
    assert outcome.code == 0
    assert (machine.workspace / "sub" / "a.txt").read_text() == "hello\n"


@LEVELS
@pytest.mark.parametrize("place", ["itself", "home", "above", "halo", "link", "root of users"])
async def test_S1_credentials_stay_unread_whatever_the_workspace_is(machine, inside, level, place):
    link = machine.user / "projects" / "link"
    link.symlink_to(machine.user)
    workspace = {
        "itself": machine.workspace,
        "home": machine.user,
        "above": machine.user.parent,
        "halo": machine.home,
        "link": link,
        "root of users": machine.user.parent.parent,
    }[place]
    if place == "link":
        workspace = link.resolve()
    masked = machine.workspace / ".halo"  # of another workspace: only its own is masked
    wanted = [path for path in machine.secrets if place == "itself" or not path.is_relative_to(masked)]
    reads = "; ".join(f"cat '{path}' '/proc/1/root{path}' '/proc/self/root{path}'" for path in wanted)
    text = said(await inside(f"{reads}; grep -rs {CANARY} '{machine.user}/.ssh' '{machine.home}'; true",
                             workspace=workspace, level=level))  # fmt: skip
    assert CANARY not in text
    assert all(CANARY in path.read_text() for path in machine.secrets)


async def test_S1_a_mask_cannot_be_carried_away_by_renaming_the_folder_above_it(machine, inside):
    for command in ("mv .config .c2", "mv .halo .h2", "mv .ssh .s2", "mv .netrc .n2", "rm -rf .config", "ln .netrc n3"):
        await inside(command, workspace=machine.user)
    text = said(await inside(f"grep -rs {CANARY} . --exclude-dir=projects; true", workspace=machine.user))
    assert CANARY not in text
    assert (machine.user / ".config" / "gh" / "hosts.yml").read_text() == CANARY


async def test_S1_secrets_behind_links_are_masked_where_they_really_are(machine, inside):
    dotfiles = machine.user / "dotfiles"
    dotfiles.mkdir()
    (machine.user / ".npmrc").rename(dotfiles / "npmrc")
    (machine.user / ".npmrc").symlink_to("dotfiles/npmrc")
    text = said(await inside("cat dotfiles/npmrc .npmrc", workspace=machine.user))
    assert CANARY not in text


async def test_S1_what_the_owner_hides_is_hidden(machine, inside):
    (machine.user / "diary").mkdir()
    (machine.user / "diary" / "d.txt").write_text(CANARY)
    (machine.home / "secrets" / "settings.yaml").write_text("general: {sandbox: {hidden_dirs: '~/diary, ~/.ssh'}}\n")
    assert CANARY not in said(await inside("cat ~/diary/d.txt ~/.ssh/id_ed25519 ~/.halo/secrets/halo.sqlite3"))


async def test_a_folder_the_owner_opens_is_writable(machine, inside):
    (machine.user / "cache").mkdir()
    (machine.home / "secrets" / "settings.yaml").write_text("general: {sandbox: {writable_dirs: ~/cache}}\n")
    assert (await inside("echo x > ~/cache/f")).code == 0
    assert (await inside("echo y > ~/cache/f", level=Access.READONLY)).code != 0
    assert (machine.user / "cache" / "f").read_text() == "x\n"


OUTSIDE = """
~/x ~/projects/x ../x /etc/x /usr/x /root-x /var/x ~/.bashrc ~/.config/x ~/.local/bin/git ~/.ssh/x
/proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/vm/drop_caches /sys/fs/cgroup/pids/cgroup.procs
/sys/kernel/uevent_helper /dev/sda /dev/kmsg /boot/x /lib/x
"""


@LEVELS
async def test_S2_nothing_outside_the_workspace_is_written(machine, inside, level):
    before = sorted(set(machine.user.rglob("*")) | {machine.home / "global" / ".empty"})
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    tries = "; ".join(f"(mkdir -p $(dirname {path}); echo x > {path}) && echo WROTE {path}" for path in OUTSIDE.split())
    outcome = await inside(tries, level=level)
    assert outcome.stdout == b""
    assert sorted(machine.user.rglob("*")) == before
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern


async def test_readonly_writes_nothing_but_tmp_and_that_vanishes(machine, inside):
    outcome = await inside("touch x; echo a > /tmp/t && cat /tmp/t; echo b > /dev/shm/s", level=Access.READONLY)
    assert b"Read-only file system" in outcome.stderr
    assert outcome.stdout == b"a\n"
    assert not (machine.workspace / "x").exists()
    assert not Path("/tmp/t").exists()
    left = (await inside("ls -A /tmp", level=Access.READONLY)).stdout.decode().split()
    assert "t" not in left
    assert all(any(place.is_relative_to(f"/tmp/{name}") for place in programs()) for name in left)


@LEVELS
async def test_S2_other_processes_are_neither_seen_nor_signalled(inside, level):
    server = os.getpid()
    outcome = await inside(
        f"cat /proc/*/environ | tr '\\0' '\\n'; kill -9 {server}; kill -9 -1; cat /proc/{server}/environ; ls /proc",
        level=level,
    )
    assert CANARY not in said(outcome)
    assert str(server) not in outcome.stdout.decode().split()


@LEVELS
async def test_S2_the_environment_holds_nothing_of_the_server(machine, inside, level):
    names = {line.partition("=")[0] for line in (await inside("env", level=level)).stdout.decode().splitlines()}
    proxies = {f"{kind}_proxy" for kind in ("http", "https", "all", "no")}
    assert names - {"PWD", "SHLVL", "_", "LC_CTYPE", *proxies, *(name.upper() for name in proxies)} == {
        "PATH",
        "HOME",
        "TERM",
    }


@LEVELS
async def test_S2_no_right_and_no_handle_is_left(inside, level):
    text = (await inside("cat /proc/self/status; ls /proc/$$/fd; tty; ps -o sid= -p $$", level=level)).stdout.decode()
    assert "CapEff:\t0000000000000000" in text
    assert "CapBnd:\t0000000000000000" in text
    assert "NoNewPrivs:\t1" in text
    handles = [word for word in text.partition("Speculation")[2].split() if word.isdigit()]
    assert {"0", "1", "2"} <= set(handles)
    assert set(handles) <= {"0", "1", "2", "3", "255"} | {handles[-1]}


WAYS_OUT = """
unshare -Ur true
unshare -m true
mount -t tmpfs x /mnt
umount ~/.ssh
mount -o remount,rw /
mknod sda b 8 0 && cat sda
head -c 1 /dev/sda
head -c 1 /dev/vda
head -c 1 /dev/mem
head -c 1 /proc/kcore
chroot / true
nsenter -t 1 -m true
chown 12345 /etc/passwd
hostname evil
ip link add dummy0 type dummy
cat /etc/shadow /etc/gshadow | grep .
dmesg
ls /proc/1/root/run/docker.sock
renice -n -20 1
"""


@LEVELS
async def test_S2_the_kernel_gives_no_way_out(inside, level):
    tries = "; ".join(f"({way}) >/dev/null && echo DONE {way.replace('|', '').replace('&', '')}"
                      for way in WAYS_OUT.strip().splitlines())  # fmt: skip
    assert (await inside(tries, level=level)).stdout == b""


async def test_S2_sockets_of_other_services_are_out_of_reach(machine, inside, monkeypatch):
    place = machine.user / "service.sock"
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect({}); print('connected')"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as abstract:
        monkeypatch.chdir(machine.user)  # the name of a unix socket must be short
        server.bind(place.name)
        monkeypatch.setattr("workspaces_app.sandbox.plan.sockets", lambda: [place])  # bound by a relative name
        server.listen()
        abstract.bind(f"\0halo-{os.getpid()}")
        abstract.listen()
        hidden = connect.format(f"chr(0) + 'halo-{os.getpid()}'")
        named = connect.format("sys.argv[1]")
        text = said(await inside(f'python3 -c "{named}" {place}; python3 -c "{hidden}"; ls -A /run | grep -v ^halo$'))
        assert "connected" not in text
        assert text.count("PermissionError") + text.count("ConnectionRefusedError") == 2


def test_S2_sockets_are_found_by_their_path():
    path = Path(tempfile.mkdtemp(dir="/var/tmp")) / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert path in sockets()
    shutil.rmtree(path.parent)
    assert path not in sockets()


# ---- control files (S3)

PLANTED = """
.halo/agents/default/agent.yaml .halo/INSTRUCTIONS.md .halo/USER.md .halo/skills/x/SKILL.md .halo/prompts/all/x.md
.halo/x .HALO/INSTRUCTIONS.md sub/.halo/INSTRUCTIONS.md AGENTS.md Claude.md GEMINI.md .cursorrules .gitattributes
.gitmodules sub/AGENTS.md .git/hooks/pre-commit .git/config .git/info/attributes deep/er/.halo/agents/a/agent.yaml
.halo/tmp/x/.git/config .halo/docs/AGENTS.md .halo/memory/a/.halo/INSTRUCTIONS.md
"""
HOWS = {
    "write": "printf evil > {0} || (rm -f {0}; printf evil > {0})",
    "link": "printf evil > e; ln -sfn $PWD/e {0}",
    "rename": "printf evil > e; mv -f e {0}",
    "hard link": "printf evil > e; ln -f e {0}",
}


@LEVELS
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("exists", [True, False], ids=["there", "not there"])
async def test_S3_control_files_stay_as_they_were(machine, inside, level, how, exists):
    targets = [machine.workspace / path for path in PLANTED.split()]
    for target in targets if exists else ():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("mine")
    tries = [f"mkdir -p $(dirname {path}); {HOWS[how].format(path)}" for path in PLANTED.split()]
    await inside("; ".join(tries), level=level)
    for target in targets:
        assert (target.read_text() if target.exists() else None) == ("mine" if exists else None), target
        assert not target.is_symlink()


@pytest.mark.parametrize(
    "command",
    [
        "mv .halo h2; mkdir .halo; echo evil > .halo/INSTRUCTIONS.md",
        "mv .git g2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        "rm -rf .halo .git; mkdir -p .halo; echo evil > .halo/INSTRUCTIONS.md",
        "mv sub s2; mkdir -p sub/.halo; echo evil > sub/.halo/INSTRUCTIONS.md",
        "ln -sfn /tmp/x CLAUDE.md; rm CLAUDE.md; echo evil > CLAUDE.md",
        "chmod 777 .halo AGENTS.md; truncate -s 0 AGENTS.md; echo evil >> AGENTS.md",
        "cp -a .halo copy && mkdir -p deep/er && mv copy deep/er/.halo",
    ],
)
async def test_S3_neither_by_way_of_the_folders_above(machine, inside, command):
    root = machine.workspace
    for name in (".git/hooks", "sub/.halo"):
        (root / name).mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "AGENTS.md").write_text("mine")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / ".halo" / "INSTRUCTIONS.md").write_text("mine")
    (root / "sub" / ".halo" / "INSTRUCTIONS.md").write_text("mine")
    await inside(command)
    assert (root / ".halo" / "INSTRUCTIONS.md").read_text() == "mine"
    assert (root / "AGENTS.md").read_text() == (root / "CLAUDE.md").read_text() == "mine"
    assert (root / "CLAUDE.md").is_symlink()
    assert not (root / ".git" / "hooks" / "pre-commit").exists()
    assert not (root / "deep" / "er" / ".halo").exists()
    nested = root / "sub" / ".halo" / "INSTRUCTIONS.md"
    assert not nested.exists() or nested.read_text() == "mine"


async def test_work_folders_of_halo_stay_writable(machine, inside):
    assert (await inside("echo x > .halo/tmp/note && cat .halo/tmp/note")).code == 0


async def test_S3_what_was_set_aside_is_told_and_kept(machine):
    async with sandbox.cell(machine.workspace, Access.WORKSPACE, session_id="s") as made:
        (machine.workspace / "AGENTS.md").write_text("new")  # as a command inside would
    assert made.held == ["AGENTS.md"]
    assert (machine.workspace / "AGENTS.md.held").read_text() == "new"


async def test_a_fresh_repository_in_the_sandbox_stays(machine, inside):
    origin = machine.user / "origin"
    subprocess.run(["git", "init", "-q", origin], check=True)
    (origin / "AGENTS.md").write_text("theirs")
    run = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "x"], check=True)
    outcome = await inside(f"git clone -q {origin} repo && git -C repo status --short")
    assert (outcome.code, said(outcome)) == (0, "")
    assert (machine.workspace / "repo" / "AGENTS.md").read_text() == "theirs"
    assert (machine.workspace / "repo" / ".git" / "config").exists()


@pytest.mark.parametrize(
    "command",
    [
        "git init -q repo; git -C repo config core.fsmonitor /tmp/x",
        "git init -q repo; echo x > repo/.git/hooks/pre-commit",
        "git init -q repo; printf '[include]\\n\\tpath = /tmp/x\\n' >> repo/.git/config",
        "git init -q repo; git -C repo remote add x 'ext::sh -c x'",
        "git init -q real; mkdir repo; echo 'gitdir: ../real/.git' > repo/.git",
        "mkdir repo; git init -q real; ln -s ../real/.git repo/.git",
    ],
)
async def test_S4_a_repository_that_would_run_something_is_set_aside(machine, inside, command):
    await inside(command)
    assert not (machine.workspace / "repo" / ".git").exists()


# ---- limits (S8)


async def test_S8_nothing_is_left_when_the_call_ends(inside):
    nap = unique_nap()
    outcome = await inside(f"setsid -f {nap}; (setsid {nap} &) ; nohup {nap} & sleep 0.1; echo done")
    assert (outcome.ended, outcome.stdout) == ("exit", b"done\n"), "it did not wait for them"
    await all_gone(nap)


async def test_S8_a_command_that_ignores_TERM_ends_with_its_time(inside):
    nap = unique_nap()
    async with asyncio.timeout(60):
        outcome = await inside(f"trap '' TERM INT HUP; echo here; {nap}; {nap}", timeout=2)
    assert (outcome.ended, outcome.stdout) == ("timeout", b"here\n")
    await all_gone(nap)


async def test_S8_a_fork_bomb_stays_small(inside):
    nap = unique_nap()
    most = 0

    async def count() -> None:
        nonlocal most
        while True:
            most = max(most, await asyncio.to_thread(_running, nap))

    counting = asyncio.create_task(count())
    async with asyncio.timeout(60):
        outcome = await inside(f"bomb() {{ bomb | bomb & }}; bomb; {nap}", timeout=2)
    counting.cancel()
    assert outcome.ended in ("timeout", "full", "exit", "limit")
    assert 0 < most < 2 * limits.MAX_PROCESSES
    await all_gone(nap)


async def test_S8_many_processes_are_refused_not_started(inside):
    script = "n=0; for i in $(seq 400); do sleep 20 & done 2>/dev/null; jobs -p | wc -l"
    outcome = await inside(script, timeout=2)
    assert outcome.ended in ("limit", "exit", "timeout")
    assert not outcome.stdout.strip() or int(outcome.stdout.split()[-1]) <= limits.MAX_PROCESSES


async def test_S8_a_memory_hog_is_ended(inside):
    hog = "python3 -c \"b = [bytearray(b'x') * (1 << 28) for i in range(20)]; print('got it')\""
    outcome = await inside(hog, timeout=300)
    assert outcome.ended in ("limit", "exit"), "by its memory, not by its time"
    assert outcome.code != 0
    assert b"got it" not in outcome.stdout


async def test_S8_memory_is_counted_over_all_processes(machine, monkeypatch, inside):
    """Without control groups: seven processes of 400 MiB each."""
    monkeypatch.setattr(limits, "_parents", lambda: ())
    one = "import time; b = bytearray(b'x') * (400 << 20); time.sleep(600)"
    outcome = await inside(f'for i in 1 2 3 4 5 6 7; do python3 -c "{one}" & done; wait; echo all', timeout=300)
    assert outcome.ended == "limit"


async def test_S8_the_temporary_folder_has_a_size(inside):
    assert b"1.0G" in (await inside("df -h /tmp | tail -1")).stdout


# ---- without a sandbox (S7)


@pytest.mark.parametrize("kind", ["absent", "forbidden", "crashing", "hanging", "not a program"])
async def test_S7_without_a_working_sandbox_there_is_a_reason_and_no_command(machine, monkeypatch, kind, tmp_path):
    fake = tmp_path / "bwrap"
    scripts = {
        "forbidden": "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
        "crashing": "kill -9 $$",
    }
    fake.write_text(f"#!/bin/sh\n{scripts.get(kind, 'exec sleep 30')}\n")
    fake.chmod(0o755 if kind != "not a program" else 0o644)
    monkeypatch.setattr(probe, "candidates", lambda: [] if kind == "absent" else [str(fake)])
    monkeypatch.setattr(probe, "SECONDS", 0.3)
    monkeypatch.setattr(probe, "_status", None)
    state = await asyncio.to_thread(sandbox.status)
    assert not state.available
    assert state.reason
    with pytest.raises(Unavailable):
        async with sandbox.cell(machine.workspace, Access.WORKSPACE, session_id="s"):
            pass


async def test_S7_the_next_program_is_tried_when_the_first_does_not_work(machine, monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    real = probe.candidates()
    assert probe.probe([str(broken), *real]).program == real[0]


def unique_nap() -> str:
    """A command that outlasts every test and that no other test, or suite beside this one, runs."""
    return f"sleep 600.{uuid.uuid4().int % 10**12:012}"


async def all_gone(nap: str) -> None:
    async with asyncio.timeout(60):
        while await asyncio.to_thread(_running, nap):
            await asyncio.sleep(0.01)


def _running(nap: str) -> int:
    """How many processes have this number in their command line."""
    marker, count = nap.split()[1].encode(), 0
    for place in Path("/proc").iterdir():
        try:
            count += place.name.isdigit() and marker in (place / "cmdline").read_bytes()
        except OSError:
            continue
    return count


def test_the_trial_leaves_nothing_behind_and_no_vanished_socket_spoils_it(machine, monkeypatch):
    """What others listen on in /tmp may be gone between our look and the mount; the answer is kept for long."""
    monkeypatch.setattr("workspaces_app.sandbox.plan.sockets", lambda: [Path("/tmp/halo-net-gone/s")])
    before = sorted(machine.home.rglob("*"))
    real = probe.candidates()
    assert probe.probe(real).program == real[0]
    assert sorted(machine.home.rglob("*")) == before


async def test_S3_what_a_long_command_plants_in_the_root_folder_is_gone_long_before_it_ends(machine, inside):
    wait = "for n in $(seq 600); do test -e AGENTS.md || break; sleep 0.1; done"
    outcome = await inside(f"echo obey > AGENTS.md; echo fine > notes; {wait}; ls", timeout=120)
    assert outcome.stdout.decode().split() == ["AGENTS.md.held", "notes"]
    assert (machine.workspace / "AGENTS.md.held").exists()
