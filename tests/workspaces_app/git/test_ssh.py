"""Keys and agent of the server's account, and saved tokens (rules 37 to 40, invariants 12, 13)."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from workspaces_app.git import ssh_agent
from workspaces_app.models import AuditEvent

pytestmark = pytest.mark.django_db(transaction=True)
PHRASE = "correct horse 7f3a"


@pytest.fixture
def keys(home):
    folder = home / ".ssh"
    folder.mkdir(mode=0o700)
    for name, phrase in (("id_open", ""), ("id_locked", PHRASE)):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-C", f"{name}@test", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    for name in ("known_hosts", "config", "authorized_keys", "notes.txt"):
        (folder / name).write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n" if name != "notes.txt" else "x\n")
    (folder / "link").symlink_to("id_open")
    return folder


@pytest.fixture
def agent():
    ssh_agent._stop()
    yield
    ssh_agent._stop()


def unlock(panel, path, passphrase=""):
    return panel.browser.post("/api/git/ssh/unlock", {"keyPath": str(path), "passphrase": passphrase}).json()


def test_keys_are_private_keys_in_files_and_say_whether_they_are_locked(panel, keys):
    listed = panel.browser.get("/api/git/ssh/keys").json()["keys"]
    assert listed == [
        {"name": "id_locked", "path": str(keys / "id_locked"), "encrypted": True},
        {"name": "id_open", "path": str(keys / "id_open"), "encrypted": False},
    ]


def test_a_key_is_unlocked_into_an_agent_of_our_own(panel, keys, agent):
    assert panel.browser.get("/api/git/ssh/agent").json() == {"agentRunning": False, "loadedKeys": []}
    assert unlock(panel, keys / "id_locked", PHRASE) == {"ok": True}
    answer = panel.browser.get("/api/git/ssh/agent").json()
    assert answer["agentRunning"] is True
    assert "id_locked@test" in answer["loadedKeys"][0]
    assert AuditEvent.objects.get(action="git.ssh_unlock").target == "id_locked"


def test_a_wrong_passphrase_fails_at_once_and_is_nowhere_afterwards(panel, keys, agent, home, caplog):
    ssh_agent.ensure()
    assert unlock(panel, keys / "id_locked", "wrong 5e1d") == {
        "ok": False,
        "error": "The passphrase is incorrect, or the key could not be unlocked",
    }
    lines = [
        Path(f"/proc/{pid}/cmdline").read_bytes() for pid in os.listdir("/proc") if pid.isdigit() and _is_there(pid)
    ]
    assert not any(b"5e1d" in line for line in lines)
    assert "5e1d" not in caplog.text
    assert not [path for path in home.rglob("*") if path.is_file() and b"5e1d" in path.read_bytes()]


def _is_there(pid: str) -> bool:
    try:
        Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "~/.ssh/id_open", "{ssh}/../.ssh/id_open", "{ssh}/known_hosts", "{ssh}/link"]
)
def test_only_a_key_that_lies_in_the_folder_can_be_unlocked(panel, keys, path):
    answer = panel.browser.post("/api/git/ssh/unlock", {"keyPath": path.format(ssh=keys), "passphrase": "x"})
    assert answer.status_code == 400
    assert ssh_agent.running() is None


def test_without_ssh_s_tools_the_answer_says_so(panel, keys, monkeypatch):
    monkeypatch.setattr(ssh_agent.shutil, "which", lambda name: None)
    assert unlock(panel, keys / "id_locked", PHRASE) == {"ok": False, "error": "The ssh agent is not running"}


def test_an_inherited_agent_that_answers_is_used_and_left_alone(panel, keys, home, monkeypatch):
    socket = home / "a.sock"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as theirs:
        end = time.monotonic() + 60
        while ssh_agent.loaded(str(socket)) is None:
            assert time.monotonic() < end
            time.sleep(0.02)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        assert unlock(panel, keys / "id_open") == {"ok": True}
        assert len(ssh_agent.loaded(str(socket)) or []) == 1
        ssh_agent._stop()
        assert theirs.poll() is None
        theirs.terminate()


def test_keys_without_a_passphrase_are_at_hand_for_a_push(keys, agent):
    socket = ssh_agent.for_connection()
    assert ["id_open@test" in key for key in ssh_agent.loaded(str(socket)) or []] == [True]


def test_our_own_agent_ends_with_us(keys):
    socket = ssh_agent.ensure()
    assert socket is not None
    ssh_agent._stop()
    assert ssh_agent.loaded(socket) is None
    assert not Path(socket).parent.exists()


# ---- tokens


def credentials(panel):
    return panel.browser.get("/api/git/credentials").json()["credentials"]


def save(panel, **body):
    return panel.browser.post("/api/git/credentials", body)


def test_tokens_are_kept_in_git_s_own_file_one_per_host_and_never_shown(panel, home):
    file = home / ".git-credentials"
    file.write_text("# mine\nhttps://bob:old@x.org\nnonsense\n")
    file.chmod(0o644)
    assert save(panel, host="x.org", username="ann", token="a%b/c:d").status_code == 200
    assert save(panel, host="x.org:8443", username="zoë", token="t2").status_code == 200
    assert save(panel, host="https://X.org/", username="ann", token="a%b/c:e").status_code == 200
    assert file.read_text().splitlines() == [
        "# mine",
        "nonsense",
        "https://zo%C3%AB:t2@x.org:8443",
        "https://ann:a%25b%2Fc%3Ae@x.org",
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert credentials(panel) == [{"host": "x.org:8443", "username": "zoë"}, {"host": "x.org", "username": "ann"}]
    for _ in range(2):
        assert panel.browser.delete("/api/git/credentials/x.org").json() == {"ok": True}
    assert credentials(panel) == [{"host": "x.org:8443", "username": "zoë"}]
    assert next(row.target for row in AuditEvent.objects.filter(action="git.credential_save")) == "x.org"


def test_git_of_terminals_reads_the_file_unless_the_owner_chose_otherwise(panel, home):
    save(panel, host="x.org", username="ann", token="t")
    assert "helper = store" in (home / ".gitconfig").read_text()
    (home / ".gitconfig").write_text("[credential]\n\thelper = mine\n")
    save(panel, host="y.org", username="ann", token="t")
    assert (home / ".gitconfig").read_text() == "[credential]\n\thelper = mine\n"


def test_a_file_that_is_a_link_stays_one(panel, home):
    (home / "dotfiles").mkdir()
    (home / ".git-credentials").symlink_to("dotfiles/creds")
    save(panel, host="x.org", username="ann", token="t")
    assert (home / ".git-credentials").is_symlink()
    assert "x.org" in (home / "dotfiles" / "creds").read_text()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "host is required"),
        ({"host": "x.org"}, "username is required"),
        ({"host": "x.org", "username": "a"}, "token is required"),
        ({"host": "x.org", "username": "a", "token": "a\nhttps://e:e@y.org"}, "token must be one line"),
        ({"host": "x.org/a", "username": "a", "token": "t"}, "host must be a host name"),
    ],
)
def test_what_is_missing_is_said_and_nothing_saved(panel, home, body, error):
    answer = save(panel, **body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(error)
    assert not (home / ".git-credentials").exists()
