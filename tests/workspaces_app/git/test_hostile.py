"""S4: nothing of a hostile repository runs outside a sandbox; C6: looking changes nothing; S7: no sandbox, no git."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from workspaces_app import sandbox
from workspaces_app.git import run
from workspaces_app.git.run import Git, Mode, Place
from workspaces_app.sandbox.probe import Status

pytestmark = pytest.mark.django_db(transaction=True)

LOOKS = (
    ("status", {}),
    ("ignored", {}),
    ("log", {}),
    ("remotes", {}),
    ("remote/protocol", {}),
    ("diff", {"path": "readme.md"}),
    ("diff", {"path": "readme.md", "staged": "1"}),
)


def plant(repo, out: Path) -> None:
    """Everything git may run, each leaving a mark in the workspace (`ran-`) and one outside it, where it can."""
    script = repo.write("evil.sh", f'#!/bin/sh\ntouch "{repo.path}/ran-$1" 2>/dev/null; touch "{out}/$1"; cat\n')
    script.chmod(0o755)
    for name in ("pre-commit", "post-commit", "commit-msg", "post-index-change", "reference-transaction", "post-merge"):
        repo.write(f".git/hooks/{name}", f'#!/bin/sh\n"{script}" {name} </dev/null\n').chmod(0o755)
    repo.write(".gitattributes", "* filter=bad diff=bad merge=bad\n")
    settings = {
        "core.fsmonitor": f"'{script}' fsmonitor",
        "core.pager": f"'{script}' pager",
        "core.editor": f"'{script}' editor",
        "core.alternateRefsCommand": f"'{script}' alternates",
        "filter.bad.clean": f"'{script}' clean",
        "filter.bad.smudge": f"'{script}' smudge",
        "diff.bad.textconv": f"'{script}' textconv",
        "diff.bad.command": f"'{script}' command",
        "diff.external": f"'{script}' external",
        "merge.bad.driver": f"'{script}' driver",
        "gpg.program": str(script),
        "log.showSignature": "true",
        "alias.status": f"!'{script}' alias",
    }
    for key, value in settings.items():
        repo.git("config", key, value)


def state_of(root: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        found.update(f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}".encode())
    return found.hexdigest()


@pytest.fixture
def outside(home) -> Path:
    place = home / "outside"
    place.mkdir()
    return place


def test_S4_nothing_planted_runs_outside_a_sandbox(repo, panel, outside):
    repo.commit("more")
    plant(repo, outside)
    os.utime(repo.path / "readme.md")  # git looks at its content again
    hash = repo.git("rev-parse", "HEAD").strip()
    for route, query in (*LOOKS, ("commit-files", {"hash": hash}), ("diff", {"path": "more", "commit": hash})):
        assert panel.get(route, **query).status_code == 200, route
    assert not list(repo.path.glob("ran-*")), "the file system was read-only"
    repo.write("new")
    assert panel.post("stage", paths=["new", "readme.md"]).status_code == 200
    assert panel.post("commit", message="m").status_code == 200, "what it runs works, in the sandbox"
    ran = {path.name for path in repo.path.glob("ran-*")}
    assert {"ran-clean", "ran-pre-commit", "ran-post-commit"} <= ran
    assert not {"ran-fsmonitor", "ran-pager", "ran-editor", "ran-alias", "ran-external"} & ran
    assert list(outside.iterdir()) == []


def test_S4_what_it_runs_sees_no_secrets_and_no_network(repo, panel, home):
    (home / ".ssh").mkdir()
    for name in (".ssh/id", ".git-credentials", ".halo/secrets/settings.yaml"):
        (home / name).write_text("canary")
    look = (
        f'cd "{home}"; cat .ssh/* .git-credentials .halo/secrets/*; env; ls /sys/class/net; cat < /dev/tcp/1.1.1.1/443'
    )
    repo.write(".git/hooks/pre-commit", f'#!/bin/bash\n({look}) > "{repo.path}/seen" 2>&1; exit 0\n').chmod(0o755)
    repo.write("a")
    panel.post("stage", paths=["a"])
    assert panel.post("commit", message="m").status_code == 200
    seen = (repo.path / "seen").read_text()
    assert "canary" not in seen
    assert "HALO" not in seen
    assert "Network is unreachable" in seen


def test_S4_a_repository_whose_folder_is_elsewhere_is_not_written(repo, panel, outside):
    elsewhere = outside / "git"
    (repo.path / ".git").rename(elsewhere)
    repo.write(".git", f"gitdir: {elsewhere}\n")
    before = state_of(outside)
    assert panel.get("status").json()["isRepo"] is True
    repo.write("a")
    assert panel.post("stage", paths=["a"]).status_code == 500
    assert panel.post("remote", url="https://x.org/a").status_code == 500
    assert state_of(outside) == before


def test_a_failing_hook_is_told_in_its_own_words(repo, panel):
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'style: line 3 is too long' >&2\nexit 1\n").chmod(0o755)
    repo.write("a")
    panel.post("stage", paths=["a"])
    answer = panel.post("commit", message="m")
    assert (answer.status_code, answer.json()["error"]) == (500, "style: line 3 is too long")


def test_S3_git_of_a_shared_workspace_cannot_change_what_steers_it(repo, panel, member):
    """Even a hook that people with full access wrote runs at the level of the weakest writer."""
    member("workspace")
    hook = f'#!/bin/sh\ncd "{repo.path}"; git config x.y z; echo x > .git/hooks/post-commit; echo x > AGENTS.md; true\n'
    repo.write(".git/hooks/pre-commit", hook).chmod(0o755)
    repo.write("a")
    panel.post("stage", paths=["a"])
    assert panel.post("commit", message="m").status_code == 200
    assert repo.git("config", "x.y", ok=False) == ""
    assert not (repo.path / ".git/hooks/post-commit").exists()
    assert not (repo.path / "AGENTS.md").exists()


def test_C6_looking_changes_nothing_on_disk(repo, panel, member):
    repo.write("a/b")
    os.utime(repo.path / "readme.md")
    before = state_of(repo.path)
    for who in (panel, member("readonly"), member("workspace")):
        for route, query in LOOKS:
            assert who.get(route, **query).status_code == 200
    assert state_of(repo.path) == before


def test_masked_folders_are_neither_shown_nor_staged_where_others_write(repo, panel, member):
    repo.commit(".halo/sessions/default/1.jsonl", "canary\n")
    repo.write(".halo/sessions/default/2.jsonl", "canary\n")
    assert panel.files() == {".halo/sessions/default/2.jsonl": "??"}
    writer = member("workspace")
    assert (panel.files(), writer.files()) == ({}, {})
    assert writer.post("stage", paths=[".halo/sessions/default/1.jsonl"]).status_code == 403
    answer = writer.get("diff", path=".halo/sessions/default/1.jsonl")
    assert answer.status_code == 403
    assert "canary" not in answer.content.decode()


@pytest.fixture
def no_sandbox(monkeypatch):
    monkeypatch.setattr(sandbox, "status", lambda: Status(reason="bubblewrap (bwrap) is not installed"))


def test_S7_without_a_sandbox_a_plain_repository_of_full_members_works(repo, panel, no_sandbox):
    repo.write("a")
    assert panel.files() == {"a": "??"}
    assert panel.post("stage", paths=["a"]).status_code == 200
    assert panel.post("commit", message="m").status_code == 200
    assert panel.get("log").json()["commits"][0]["message"] == "m"


def test_S7_without_a_sandbox_git_refuses_where_weaker_members_write(repo, panel, member, no_sandbox):
    member("workspace")
    for answer in (panel.get("status"), panel.post("stage", paths=["a"])):
        assert answer.status_code == 409
        assert "bubblewrap (bwrap) is not installed" in answer.json()["error"]


@pytest.mark.parametrize("how", ["config", "hook", "pointer"])
def test_S7_without_a_sandbox_git_refuses_a_repository_that_runs_things(repo, panel, outside, no_sandbox, how):
    if how == "config":
        repo.git("config", "filter.bad.clean", f"touch {outside}/ran")
    elif how == "hook":
        repo.write(".git/hooks/post-index-change", f"#!/bin/sh\ntouch {outside}/ran\n").chmod(0o755)
    else:
        (repo.path / ".git").rename(outside / "git")
        repo.write(".git", f"gitdir: {outside}/git\n")
    repo.write("a")
    for answer in (panel.get("status"), panel.post("stage", paths=["a"])):
        assert answer.status_code == 409
        assert "no sandbox" in answer.json()["error"]
    assert not (outside / "ran").exists()


def test_S5_every_argument_of_people_comes_after_a_fence():
    """Words of ours begin the command; what people typed is behind `--`, on standard input or checked to be hex."""
    words = Git(Path("/w"), Mode.WRITE, None, {}).argv(("add", "--pathspec-from-file=-"), ())
    assert words[:3] == ["git", "--no-pager", "--literal-pathspecs"]
    assert "core.fsmonitor=false" in words
    assert "core.hooksPath=/dev/null" not in words
    for mode in (Mode.READ, Mode.NETWORK, Mode.SETTINGS):
        assert "core.hooksPath=/dev/null" in Git(Path("/w"), mode, None, {}).argv(("x",), ())


def test_the_environment_is_made_from_nothing(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.pager=x'")
    place = Place(Path("/w"), Access.FULL)
    environ = run._environ(place, Mode.READ, Path("/c"), None, held=True)
    assert environ["GIT_DIR"] == "/w/.git"
    assert "GIT_CONFIG_PARAMETERS" not in environ
    assert (environ["GIT_TERMINAL_PROMPT"], environ["GIT_ASKPASS"], environ["LC_ALL"]) == ("0", "", "C")


def test_ssh_goes_through_the_proxy_of_the_sandbox(home, outside):
    """`connect.py`, alone: the proxy's refusal is the error that people read."""
    script = Path(sandbox.__file__).with_name("connect.py")
    with subprocess.Popen(["python3", "-c", ANSWERS], stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        port = proxy.stdout.readline().strip()
        good = subprocess.run(["python3", "-I", "-S", script, port, "x.org", "22"], input=b"hello", capture_output=True)
        bad = subprocess.run(["python3", "-I", "-S", script, port, "no.org", "22"], input=b"", capture_output=True)
    assert (good.returncode, good.stdout) == (0, json.dumps("CONNECT x.org:22 HTTP/1.1").encode() + b"hello")
    assert (bad.returncode, bad.stderr) == (1, b"port 22 is not allowed\n")


ANSWERS = """
import json, socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
for number in range(2):
    peer, _ = server.accept()
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += peer.recv(1)
    line = head.split(b"\\r\\n")[0].decode()
    if "no.org" in line:
        peer.sendall(b"HTTP/1.1 403 Forbidden\\r\\nA: b\\r\\n\\r\\nport 22 is not allowed\\n")
    else:
        peer.sendall(b"HTTP/1.1 200 ok\\r\\n\\r\\n" + json.dumps(line).encode())
        while data := peer.recv(9):
            peer.sendall(data)
    peer.close()
"""
