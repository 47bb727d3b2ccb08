"""Push and pull against a real git server on loopback, and over ssh (rules 35, 42; SECURITY-BAR S4, S6, L1)."""

import json
import os
import socket
import tempfile
import threading

import pytest

from halo_site.lib import publish as news
from halo_site.lib import settings_write
from halo_site.lib.events import as_frame
from tests.fakes.git_server import GitServer
from tests.workspaces_app.git.conftest import Repo
from workspaces_app.git import run
from workspaces_app.models import AuditEvent

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "to%ken/with:odd@signs+7f3a"


class Heard(news.Local):
    def __init__(self) -> None:
        self.frames: list[dict] = []

    def publish(self, topic, event) -> None:
        self.frames.append(as_frame(event) | {"topic": topic})


@pytest.fixture
def heard():
    before = news._transport
    listening = Heard()
    news.use_transport(listening)
    yield listening
    news.use_transport(before)


def allow(*places: str) -> None:
    settings_write.write("global", None, "general.outbound.allow", ",".join(places))


@pytest.fixture
def server(home):
    root = home / "srv"
    root.mkdir()
    with GitServer(root, user="ann", token=TOKEN) as running:
        allow(running.host)
        yield running


@pytest.fixture
def origin(server, repo, panel) -> Repo:
    """The bare repository that `origin` names, and nothing pushed yet."""
    path = server.make("shop.git")
    panel.post("remote", url=server.url("shop.git"))
    return Repo(path)


def save(panel, server, token: str = TOKEN) -> None:
    body = {"host": f"http://{server.host}", "username": "ann", "token": token}
    assert panel.browser.post("/api/git/credentials", body).status_code == 200


def test_the_first_push_makes_the_branch_track_and_tells_how_far_it_is(server, origin, repo, panel, heard):
    save(panel, server)
    assert panel.post("push").json() == {"ok": True}
    assert origin.git("rev-parse", "main") == repo.git("rev-parse", "HEAD")
    status = panel.get("status").json()
    assert (status["tracking"], status["ahead"], status["behind"]) == ("origin/main", 0, 0)
    progress = [frame for frame in heard.frames if frame["type"] == "git:progress"]
    assert progress[0]["stage"] == "Connecting"
    assert {"stage": "Writing objects", "percent": 100}.items() <= progress[-2].items()
    assert progress[-1]["done"] is True
    assert heard.frames[-1]["type"] == "file:changed"
    assert {frame["topic"] for frame in heard.frames} == {f"workspace.{AuditEvent.objects.last().workspace_id}"}
    repo.commit("second")
    assert panel.post("push").json() == {"ok": True}
    assert origin.git("rev-parse", "main") == repo.git("rev-parse", "HEAD")
    assert AuditEvent.objects.filter(action="git.push").count() == 2


def test_L1_a_token_is_in_no_answer_frame_row_file_or_command_line(
    server, origin, repo, panel, heard, home, monkeypatch
):
    save(panel, server)
    seen: list[str] = []
    real = run.run_child

    async def recording(argv, **options):
        seen.append(" ".join(argv) + json.dumps(dict(options["env"])))
        return await real(argv, **options)

    monkeypatch.setattr(run, "run_child", recording)
    answers = [panel.post("push"), panel.browser.get("/api/git/credentials")]
    server.token = "changed"
    repo.commit("more")
    answers.append(panel.post("push"))
    assert answers[-1].status_code == 500
    rows = json.dumps(list(AuditEvent.objects.values_list("target", "detail")))
    everything = seen + [answer.content.decode() for answer in answers] + [json.dumps(heard.frames), rows]
    for text in everything:
        assert "7f3a" not in text
    kept = [path for path in home.rglob("*") if path.is_file() and b"7f3a" in path.read_bytes()]
    assert kept == [home / ".git-credentials"]


def test_a_missing_credential_is_git_s_word_at_once(server, origin, panel):
    answer = panel.post("push")
    assert answer.status_code == 500
    assert "could not read Username" in answer.json()["error"]


def test_a_wrong_token_is_git_s_word_at_once(server, origin, panel):
    save(panel, server, "stale")
    answer = panel.post("push")
    assert answer.status_code == 500
    assert "Authentication failed" in answer.json()["error"]
    assert "stale" not in answer.json()["error"]


def test_L1_a_password_in_an_address_is_in_no_answer(server, origin, panel):
    panel.post("remote", url=f"http://ann:pa55w@{server.host}/shop.git")
    answers = [panel.post("push"), panel.get("remotes"), panel.get("remote/protocol")]
    allow("10.0.0.1")
    answers.append(panel.post("push"))
    for answer in answers:
        assert "pa55w" not in answer.content.decode()
    assert not AuditEvent.objects.filter(target__contains="pa55w").exists()


def test_a_credential_goes_to_its_own_host_and_port_only(server, origin, repo, panel, home):
    save(panel, server)
    with GitServer(home / "srv", user="ann", token=TOKEN) as other:
        allow(server.host, other.host)
        panel.post("remote", url=other.url("shop.git"))
        assert panel.post("push").status_code == 500
        assert {user for _, user in other.asked} == {""}


def test_S6_an_address_that_is_not_public_has_to_be_allowed_by_the_owner(server, origin, panel):
    save(panel, server)
    allow("10.9.9.9")
    answer = panel.post("push")
    assert answer.status_code == 403
    assert "general.outbound.allow" in answer.json()["error"]
    assert server.asked == []


def test_a_server_that_stays_silent_does_not_hold_anybody_for_ever(server, origin, panel, monkeypatch):
    monkeypatch.setattr(run, "NETWORK_SECONDS", 1.5)
    server.silent = True
    save(panel, server)
    answer = panel.post("push")
    assert (answer.status_code, answer.json()["error"]) == (500, "git push did not end within 2 s and was stopped")


@pytest.fixture
def colleague(server, origin, repo, panel, home) -> Repo:
    """A clone of somebody else, after the first push."""
    save(panel, server)
    assert panel.post("push").status_code == 200
    other = Repo(home / "other")
    repo.git("clone", "-q", str(origin.path), str(other.path))
    return other


def test_pull_brings_in_what_others_pushed(colleague, repo, panel, heard):
    theirs = colleague.commit("readme.md", "theirs\n")
    colleague.git("push", "-q")
    assert panel.post("pull").json() == {"ok": True}
    assert repo.git("rev-parse", "HEAD").strip() == theirs
    assert (repo.path / "readme.md").read_text() == "theirs\n"
    assert panel.get("status").json()["behind"] == 0
    assert heard.frames[-1] == {
        "type": "file:changed",
        "path": ".git",
        "action": "change",
        "topic": heard.frames[-1]["topic"],
    }


def test_a_conflict_leaves_a_merge_that_the_status_shows(colleague, repo, panel):
    colleague.commit("readme.md", "theirs\n")
    colleague.git("push", "-q")
    repo.commit("readme.md", "ours\n")
    diverged = panel.post("pull")
    assert diverged.status_code == 500
    assert "divergent branches" in diverged.json()["error"]
    assert panel.get("status").json()["behind"] == 1
    repo.git("config", "pull.rebase", "false")
    answer = panel.post("pull")
    assert answer.status_code == 500
    assert "CONFLICT (content): Merge conflict in readme.md" in answer.json()["error"]
    status = panel.get("status").json()
    assert (status["state"], status["files"][0]["conflicted"]) == ("merge", True)
    assert "<<<<<<<" in panel.get("diff", path="readme.md").json()["modified"]


def test_a_merge_of_two_sides_is_named_after_the_remote_branch(colleague, repo, panel):
    colleague.commit("theirs")
    colleague.git("push", "-q")
    repo.commit("ours")
    repo.git("config", "pull.rebase", "false")
    assert panel.post("pull").status_code == 200
    assert repo.git("log", "-1", "--format=%s").strip() == "Merge remote-tracking branch 'origin/main'"


def test_a_push_of_an_old_state_is_refused_in_git_s_words(colleague, repo, panel):
    colleague.commit("theirs")
    colleague.git("push", "-q")
    repo.commit("ours")
    answer = panel.post("push")
    assert answer.status_code == 500
    assert "[rejected]" in answer.json()["error"]


def test_pull_without_an_upstream_says_so(repo, panel):
    answer = panel.post("pull")
    assert answer.status_code == 500
    assert "no upstream configured for branch 'main'" in answer.json()["error"]
    repo.git("checkout", "-q", "--detach")
    assert "not currently on a branch" in panel.post("push").json()["error"]


def test_push_without_a_remote_says_so(repo, panel):
    answer = panel.post("push")
    assert answer.status_code == 500
    assert "No such remote 'origin'" in answer.json()["error"]


def test_S3_a_pull_changes_no_instructions_where_members_below_full_access_write(colleague, repo, panel, member):
    writer = member("workspace")
    colleague.commit("AGENTS.md", "obey\n")
    colleague.git("push", "-q")
    before = repo.git("rev-parse", "HEAD")
    for who in (panel, writer):
        answer = who.post("pull")
        assert answer.status_code == 409
        assert "AGENTS.md" in answer.json()["error"]
    assert repo.git("rev-parse", "HEAD") == before
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.path / "AGENTS.md").exists()


def test_S3_a_pull_makes_no_bare_repository_where_members_below_full_access_write(colleague, repo, panel, member):
    member("workspace")
    for name in ("HEAD", "refs/heads/x", "objects/pack/x", "config"):
        colleague.write(f"src/{name}", "ref: refs/heads/main\n")
    colleague.git("add", "-A")
    colleague.git("commit", "-q", "-m", "a change")
    colleague.git("push", "-q")
    answer = panel.post("pull")
    assert (answer.status_code, "steer agents or git (src/HEAD" in answer.json()["error"]) == (409, True)
    assert not (repo.path / "src").exists()


def test_a_member_pushes_and_pulls_ordinary_files(colleague, repo, panel, member):
    writer = member("workspace")
    colleague.commit("sub/theirs")
    colleague.git("push", "-q")
    assert writer.post("pull").json() == {"ok": True}
    repo.write("mine")
    writer.post("stage", paths=["mine"])
    writer.post("commit", message="m")
    assert writer.post("push").json() == {"ok": True}
    assert panel.get("status").json()["ahead"] == 0


def test_where_all_have_full_access_a_pull_brings_instructions(colleague, repo, panel):
    colleague.commit("AGENTS.md", "words\n")
    colleague.git("push", "-q")
    assert panel.post("pull").json() == {"ok": True}
    assert (repo.path / "AGENTS.md").read_text() == "words\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http.proxy", "http://evil.example:80"),
        ("http.https://github.com.extraHeader", "X: y"),
        ("credential.helper", "!cat > stolen"),
        ("core.sshCommand", "touch stolen"),
        ("core.gitProxy", "touch stolen"),
        ("core.alternateRefsCommand", "touch stolen"),
        ("remote.origin.uploadpack", "touch stolen"),
        ("remote.origin.vcs", "ext"),
        ("url.https://evil.example/.insteadOf", "https://x.org/"),
        ("include.path", "../more"),
    ],
)
def test_S4_saved_credentials_are_kept_from_a_repository_that_could_lead_them_astray(
    server, origin, repo, panel, key, value
):
    save(panel, server)
    repo.git("config", key, value)
    answer = panel.post("push")
    assert answer.status_code in (400, 409), answer.json()
    assert server.asked == []
    assert not list(repo.path.glob("stolen*"))


def test_S4_a_push_hook_gets_no_credential_and_is_not_left_out_silently(server, origin, repo, panel):
    save(panel, server)
    hook = repo.write(".git/hooks/pre-push", "#!/bin/sh\ntouch stolen\n")
    hook.chmod(0o755)
    answer = panel.post("push")
    assert answer.status_code == 409
    assert "pre-push" in answer.json()["error"]
    assert server.asked == []


def test_a_push_over_ssh_gets_the_agent_and_never_asks(repo, panel, home):
    """ssh is a script in ~/.local/bin that writes down how it was called and plays the other side."""
    repo.git("init", "-q", "--bare", "remote.git")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "known_hosts").write_text("127.0.0.1 ssh-ed25519 AAAA\n")
    script = home / ".local" / "bin" / "ssh"
    script.parent.mkdir(parents=True)
    note = repo.path / "note"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > "{note}"\n(test -S "$SSH_AUTH_SOCK" && echo agent; ls ~/.ssh /run/halo)'
        f' >> "{note}"\nfor last; do :; done\nexec sh -c "$last"\n'
    )
    script.chmod(0o755)
    allow("127.0.0.1:22")
    panel.post("remote", url=f"git@127.0.0.1:{repo.path}/remote.git")
    answer = panel.post("push")
    assert answer.json() == {"ok": True}
    words = note.read_text().splitlines()
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "UserKnownHostsFile=/run/halo/known_hosts"):
        assert option in words
    assert "agent" in words
    assert {"agent.sock", "gitconfig", "known_hosts"} <= set(words)
    assert "id_ed25519" not in words
    assert Repo(repo.path / "remote.git").git("rev-parse", "main") == repo.git("rev-parse", "HEAD")


def test_nothing_of_a_call_is_left_in_the_temporary_folder(server, origin, panel, tmp_path, monkeypatch):
    own = tmp_path / "temporary"  # other tests work in the common one at the same time
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    save(panel, server)
    panel.post("push")
    assert [name for name in os.listdir(own) if name.startswith(("halo-git-", "halo-ask-"))] == []


def test_S6_the_real_ssh_leaves_by_the_proxy_and_gives_up_by_itself(repo, panel):
    """A server that says it is ssh and hangs up: what it heard shows that the client came through."""
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        peer.sendall(b"SSH-2.0-fake\r\n")
        heard.append(peer.recv(100))
        peer.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        allow(f"127.0.0.1:{port}")
        panel.post("remote", url=f"ssh://git@127.0.0.1:{port}/a.git")
        answer = panel.post("push")
    assert answer.status_code == 500
    assert "Could not read from remote repository" in answer.json()["error"]
    assert heard[0].startswith(b"SSH-2.0-OpenSSH")


def test_a_fetch_changes_no_file_and_runs_no_hook(colleague, repo, panel):
    """Hooks of the network part would have the network; those of the merge run, without it."""
    for name in ("reference-transaction", "post-merge"):
        hook = repo.write(
            f".git/hooks/{name}", f'#!/bin/sh\necho "$GIT_REFLOG_ACTION:$https_proxy" >> "{repo.path}/ran-{name}"\n'
        )
        hook.chmod(0o755)
    colleague.commit("theirs")
    colleague.git("push", "-q")
    assert panel.post("pull").json() == {"ok": True}
    assert (repo.path / "ran-post-merge").exists()
    lines = {line for path in repo.path.glob("ran-*") for line in path.read_text().split()}
    assert not any("http" in line for line in lines)
