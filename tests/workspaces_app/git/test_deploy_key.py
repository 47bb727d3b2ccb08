"""A workspace may have an ssh key of its own; then its pushes use this one and none of the account's."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from workspaces_app.git import deploy_key, ssh_agent
from workspaces_app.models import AuditEvent, Workspace

from .test_sync import allow

pytestmark = pytest.mark.django_db(transaction=True)


def shown(panel: Any) -> str | None:
    return panel.get("deploy-key").json()["publicKey"]


def forget(panel: Any) -> Any:
    return panel.browser.delete("/api/git/deploy-key", query_params={"projectId": panel.project})


def secret_files() -> list[str]:
    folder = settings.HALO.secrets_dir / "deploy-keys"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture(autouse=True)
def secrets(home: Path) -> None:
    settings.HALO.secrets_dir.mkdir(parents=True, exist_ok=True)


def test_a_key_is_made_once_shown_by_its_public_half_and_forgotten(repo, panel):
    key = Workspace.objects.get(path=panel.project).pk
    assert shown(panel) is None
    made = panel.post("deploy-key").json()["publicKey"]
    assert made.startswith("ssh-ed25519 ")
    assert made.endswith(f"halo-workspace-{key}")
    assert panel.post("deploy-key").json()["publicKey"] == made == shown(panel)
    assert secret_files() == [f"{key}", f"{key}.pub"]
    assert (settings.HALO.secrets_dir / "deploy-keys" / str(key)).stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        assert forget(panel).json() == {"ok": True}
    assert shown(panel) is None
    assert secret_files() == []
    assert AuditEvent.objects.filter(action="git.deploy_key").count() == 4


def test_another_workspace_and_an_agent_of_it_do_not_get_the_key(repo, panel):
    key = Workspace.objects.get(path=panel.project).pk
    made = panel.post("deploy-key").json()["publicKey"]
    with deploy_key.agent(key + 1) as socket:
        assert socket is None
    with deploy_key.agent(key) as socket:
        assert socket is not None
        known = ssh_agent.loaded(str(socket)) or []
        line = subprocess.run(["ssh-keygen", "-l", "-f", "-"], input=made, capture_output=True, text=True).stdout
        assert [one.split()[1] for one in known] == [line.split()[1]]
    assert ssh_agent.loaded(str(socket)) is None, "it ends with the call"
    assert not socket.parent.exists()


def test_a_push_over_ssh_offers_the_key_of_the_workspace_and_no_other(repo, panel, home):
    """ssh is a script that writes down which keys it is offered, and plays the other side."""
    repo.git("init", "-q", "--bare", "remote.git")
    (home / ".ssh").mkdir()
    account = home / ".ssh" / "id_open"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "of-the-account", "-f", str(account)], check=True
    )
    script = home / ".local" / "bin" / "ssh"
    script.parent.mkdir(parents=True)
    note = repo.path / "note"
    script.write_text(f'#!/bin/sh\nssh-add -l >> "{note}"\nfor last; do :; done\nexec sh -c "$last"\n')
    script.chmod(0o755)
    allow("127.0.0.1:22")
    panel.post("remote", url=f"git@127.0.0.1:{repo.path}/remote.git")
    panel.post("deploy-key")
    assert panel.post("push").json() == {"ok": True}
    assert "halo-workspace-" in note.read_text()
    assert "of-the-account" not in note.read_text()
    note.unlink()
    forget(panel)
    repo.commit("more.txt")
    assert panel.post("push").json() == {"ok": True}
    assert "of-the-account" in note.read_text()
    ssh_agent._stop()


def test_without_ssh_s_tools_no_key_is_made_and_the_answer_says_so(repo, panel, monkeypatch):
    monkeypatch.setattr(deploy_key, "environment", lambda home: {"PATH": "/nowhere"})
    real = subprocess.run

    def run(words: Any, **more: Any) -> Any:
        return real(["/nowhere/ssh-keygen"] if words[0] == "ssh-keygen" else words, **more)

    monkeypatch.setattr(deploy_key.subprocess, "run", run)
    answer = panel.post("deploy-key")
    assert (answer.status_code, answer.json()["error"]) == (409, "ssh-keygen is not installed on the server")
    assert secret_files() == []


def test_saved_tokens_are_listed_with_a_warning_that_they_are_plain_text(repo, panel):
    assert panel.browser.get("/api/git/credentials").json() == {"credentials": [], "warning": None}
    panel.browser.post("/api/git/credentials", {"host": "x.org", "username": "ann", "token": "t"})
    assert "plain text" in panel.browser.get("/api/git/credentials").json()["warning"]
