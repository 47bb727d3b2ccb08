"""The source-control panel on real repositories (spec files-git-terminal 29 to 36, invariants 9 to 11)."""

import pytest

from tests.workspaces_app.git.conftest import Panel, Repo
from workspaces_app.git.read import unfinished
from workspaces_app.git.schemas import LogOut, StatusOut
from workspaces_app.models import AuditEvent, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_status_names_every_kind_of_change_with_git_s_two_letters(repo, panel):
    for name in ("gone", "old name", "both", "staged-only"):
        repo.commit(name, f"{name} with enough text to be known again\n" * 3)
    (repo.path / "gone").unlink()
    repo.git("mv", "old name", "new name")
    repo.write("both", "1")
    repo.git("add", "both")
    repo.write("both", "2")
    repo.write("staged-only", "1")
    repo.git("add", "staged-only")
    repo.write("中文/😀 é.txt")
    answer = panel.get("status").json()
    letters = {one["path"]: one["index"] + one["workingDir"] for one in answer["files"]}
    assert letters == {"gone": " D", "new name": "R ", "both": "MM", "staged-only": "M ", "中文/😀 é.txt": "??"}
    assert next(one for one in answer["files"] if one["path"] == "new name")["from"] == "old name"
    assert (answer["isRepo"], answer["branch"], answer["tracking"], answer["state"]) == (True, "main", None, None)
    assert answer["head"] == repo.git("rev-parse", "HEAD").strip()


def test_a_folder_inside_somebody_else_s_repository_is_none(folder, panel):
    repo_above = folder.path.parent
    folder.git("init", "-q", str(repo_above))
    assert panel.get("status").json() == {"isRepo": False}
    assert panel.get("ignored").json() == {"isRepo": False, "ignored": []}
    assert panel.get("log").json() == {"commits": []}
    assert panel.get("remotes").json() == {"remotes": []}
    assert panel.get("diff", path="a").json()["original"] == ""
    assert panel.get("commit-files", hash="abcd1234").json() == {"files": []}
    for route, body in (
        ("stage", {"paths": ["a"]}),
        ("unstage", {"paths": ["a"]}),
        ("commit", {"message": "m"}),
        ("push", {}),
        ("pull", {}),
        ("remote", {"url": "https://x.org/a"}),
        ("remote/protocol", {"to": "ssh"}),
    ):
        answer = panel.post(route, **body)
        assert (answer.status_code, answer.json()) == (409, {"error": "Not a git repository root"}), route
    assert panel.post("init").json() == {"ok": True}
    assert panel.get("status").json()["isRepo"] is True
    assert (folder.path / ".git").is_dir()


def test_init_writes_an_ignore_file_commits_everything_and_does_nothing_twice(folder, panel):
    folder.write("src/a.py")
    folder.write("node_modules/x/y.js")
    assert panel.post("init").json() == {"ok": True}
    assert folder.git("log", "--format=%s").split("\n")[0] == "Initial commit"
    assert folder.git("ls-files").split() == [".gitignore", "src/a.py"]
    before = folder.git("rev-parse", "HEAD")
    assert panel.post("init").json() == {"ok": True}
    assert folder.git("rev-parse", "HEAD") == before
    assert AuditEvent.objects.filter(action="git.init").count() == 1


def test_init_keeps_an_ignore_file_that_is_there(folder, panel):
    folder.write(".gitignore", "mine\n")
    folder.write("mine")
    panel.post("init")
    assert folder.git("ls-files").split() == [".gitignore"]
    assert (folder.path / ".gitignore").read_text() == "mine\n"


def test_ignored_folders_are_one_entry_without_a_slash(repo, panel):
    repo.commit(".gitignore", "build/\n*.log\n")
    for name in ("build/deep/a", "build/b", "src/中.log", "src/kept"):
        repo.write(name)
    assert sorted(panel.get("ignored").json()["ignored"]) == ["build", "src/中.log"]


def test_stage_unstage_and_commit_touch_what_was_named_only(repo, panel):
    for name in ("a.txt", "*.txt", "-n", "--all", ":!x", "gone"):
        repo.write(name)
    assert panel.post("stage", paths=["*.txt", "-n", "--all", ":!x"]).json() == {"ok": True}
    assert panel.files() == {"*.txt": "A ", "-n": "A ", "--all": "A ", ":!x": "A ", "a.txt": "??", "gone": "??"}
    assert panel.post("unstage", paths=["--all", ":!x"]).json() == {"ok": True}
    answer = panel.post("commit", message="-m two\n\n# kept\nbody").json()
    assert answer["hash"] == repo.git("rev-parse", "HEAD").strip()
    assert repo.git("log", "-1", "--format=%B").strip() == "-m two\n\n# kept\nbody"
    assert sorted(repo.git("show", "--format=", "--name-only").split()) == ["*.txt", "-n"]
    assert panel.files() == {"--all": "??", ":!x": "??", "a.txt": "??", "gone": "??"}
    (repo.path / "-n").unlink()
    panel.post("stage", paths=["-n"])
    assert panel.files()["-n"] == "D "


def test_unstaging_works_before_the_first_commit(folder, panel):
    folder.git("init", "-q", "-b", "trunk")
    folder.write("a")
    panel.post("stage", paths=["a"])
    assert panel.files() == {"a": "A "}
    assert panel.post("unstage", paths=["a"]).status_code == 200
    answer = panel.get("status").json()
    assert (answer["branch"], answer["head"], panel.files()) == ("trunk", None, {"a": "??"})
    assert panel.get("log").json() == {"commits": []}


@pytest.mark.parametrize(
    ("route", "body", "status", "error"),
    [
        ("stage", {}, 400, "paths is required"),
        ("stage", {"paths": []}, 400, "paths is required"),
        ("stage", {"paths": ["../x"]}, 403, "Path traversal not allowed"),
        ("stage", {"paths": ["/etc/passwd"]}, 403, "Path traversal not allowed"),
        ("stage", {"paths": [".git/config"]}, 403, "Path traversal not allowed"),
        ("stage", {"paths": ["a/.GIT/config"]}, 403, "Path traversal not allowed"),
        ("stage", {"paths": [""]}, 400, "path is required"),
        ("commit", {}, 400, "message is required"),
        ("commit", {"message": " \n"}, 400, "message is required"),
        ("remote", {}, 400, "url is required"),
        ("remote", {"url": "ext::sh -c id"}, 400, "Remotes of kind 'ext' are not supported: use https or ssh"),
        ("remote", {"url": "ext::id"}, 400, "Remotes of kind 'ext' are not supported: use https or ssh"),
        ("remote", {"url": "--upload-pack=id"}, 400, "That is not an address of a remote"),
        ("remote", {"url": "ssh://-oProxyCommand=id/x"}, 400, "The address names no host or no repository"),
        ("remote", {"url": "fd::17/foo"}, 400, "Remotes of kind 'fd' are not supported: use https or ssh"),
        ("remote/protocol", {"to": "ssh"}, 404, "There is no remote named origin"),
    ],
)
def test_S5_what_is_wrong_is_said_and_nothing_done(repo, panel, route, body, status, error):
    before = repo.git("config", "--local", "--list") + repo.git("status", "--porcelain")
    answer = panel.post(route, **body)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert repo.git("config", "--local", "--list") + repo.git("status", "--porcelain") == before


def test_nothing_staged_is_git_s_own_word(repo, panel):
    answer = panel.post("commit", message="m")
    assert answer.status_code == 409
    assert "nothing to commit" in answer.json()["error"]


@pytest.mark.parametrize("route", ["stage", "unstage"])
def test_a_file_that_is_not_there_any_more_is_404_in_git_s_own_words(repo, panel, route):
    answer = panel.post(route, paths=["gone.txt"])
    if route == "unstage":  # git takes what it does not know for done
        assert answer.status_code == 200
    else:
        assert answer.status_code == 404
        assert "did not match any file" in answer.json()["error"]


def test_diff_shows_disk_stage_commit_and_rename(repo, panel):
    first = repo.git("rev-parse", "HEAD").strip()
    second = repo.commit("readme.md", "two\n")
    repo.write("readme.md", "three\n")
    repo.git("add", "readme.md")
    repo.write("readme.md", "four\n")

    def sides(**query):
        answer = panel.get("diff", **{"path": "readme.md", **query}).json()
        return answer["original"], answer["modified"]

    assert sides() == ("two\n", "four\n")
    assert sides(staged="1") == ("two\n", "three\n")
    assert sides(commit=second) == ("one\n", "two\n")
    assert sides(commit=first) == ("", "one\n")
    repo.git("mv", "-f", "readme.md", "liesmich")
    assert sides(path="liesmich", **{"from": "readme.md"}) == ("two\n", "four\n")
    assert sides(path="readme.md") == ("two\n", "")
    assert sides(path="never") == ("", "")
    repo.write("picture", "a\0b")
    assert panel.get("diff", path="picture").json()["binary"] is True


@pytest.mark.parametrize(
    ("query", "status", "error"),
    [
        ({}, 400, "path is required"),
        ({"path": "../../etc/passwd"}, 403, "Path traversal not allowed"),
        ({"path": "a", "from": "/etc/passwd"}, 403, "Path traversal not allowed"),
        ({"path": ".git/config"}, 403, "Path traversal not allowed"),
        ({"path": "a", "commit": "--output=x"}, 400, "commit must be the hexadecimal name of a commit"),
        ({"path": "a", "commit": "HEAD"}, 400, "commit must be the hexadecimal name of a commit"),
        ({"path": "a\0b"}, 400, "NUL is not allowed here"),
    ],
)
def test_S5_a_diff_takes_data_only(repo, panel, query, status, error):
    answer = panel.get("diff", **query)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_a_link_that_leads_out_is_not_followed(repo, panel, home):
    (home / "secret").write_text("canary")
    (repo.path / "link").symlink_to(home / "secret")
    answer = panel.get("diff", path="link")
    assert answer.status_code == 403
    assert "canary" not in answer.content.decode()


def test_the_log_says_what_is_pushed(repo, panel):
    repo.git("init", "-q", "--bare", "remote.git")
    repo.write(".git/info/exclude", "remote.git\n")
    repo.git("remote", "add", "origin", "./remote.git")
    repo.git("push", "-q", "-u", "origin", "main")
    second = repo.commit("b", message="zwei 🚀\n\nwith a body")
    commits = panel.get("log").json()["commits"]
    assert [(one["message"], one["body"], one["pushed"]) for one in commits] == [
        ("zwei 🚀", "with a body", False),
        ("first", "", True),
    ]
    assert commits[0]["hash"] == second
    assert second.startswith(commits[0]["shortHash"])
    assert (commits[0]["refs"], commits[1]["refs"]) == ("HEAD -> main", "origin/main")
    assert abs(commits[0]["date"] - int(repo.git("log", "-1", "--format=%at")) * 1000) == 0
    status = panel.get("status").json()
    assert (status["tracking"], status["ahead"], status["behind"]) == ("origin/main", 1, 0)
    repo.git("push", "-q")
    repo.git("switch", "-q", "-c", "feature")
    repo.commit("c", message="mine")
    assert [one["pushed"] for one in panel.get("log").json()["commits"]] == [False, True, True]
    assert len(panel.get("log", limit=1).json()["commits"]) == 1
    assert len(panel.get("log", limit=-5).json()["commits"]) == 1


def test_without_a_remote_nothing_counts_as_unpushed(repo, panel):
    assert [one["pushed"] for one in panel.get("log").json()["commits"]] == [True]


def test_files_of_a_commit_cover_first_commits_renames_and_merges(repo, panel):
    first = repo.git("rev-parse", "HEAD").strip()
    assert panel.get("commit-files", hash=first).json() == {"files": [{"path": "readme.md", "status": "A"}]}
    repo.git("mv", "readme.md", "中.md")
    repo.git("commit", "-q", "-m", "renamed")
    renamed = repo.git("rev-parse", "HEAD").strip()
    answer = panel.get("commit-files", hash=renamed).json()
    assert answer == {"files": [{"path": "中.md", "status": "R", "from": "readme.md"}]}
    repo.git("switch", "-q", "-c", "side", first)
    repo.commit("s")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "joined", "side")
    merged = repo.git("rev-parse", "HEAD").strip()
    assert panel.get("commit-files", hash=merged).json() == {"files": [{"path": "s", "status": "A"}]}
    assert panel.get("commit-files").json() == {"error": "hash is required"}
    assert panel.get("commit-files", hash="--output=x").status_code == 400
    assert panel.get("commit-files", hash="deadbeef").status_code == 404


def test_an_unfinished_merge_and_its_conflicts_are_shown(repo, panel):
    repo.git("switch", "-q", "-c", "side")
    repo.commit("readme.md", "theirs\n")
    repo.git("switch", "-q", "main")
    repo.commit("readme.md", "ours\n")
    repo.git("merge", "-q", "side", ok=False)
    answer = panel.get("status").json()
    assert answer["state"] == "merge"
    assert answer["files"] == [{"path": "readme.md", "index": "U", "workingDir": "U", "conflicted": True}]
    refused = panel.post("commit", message="too early")
    assert refused.status_code == 500
    assert "unmerged" in refused.json()["error"]
    repo.write("readme.md", "both\n")
    panel.post("stage", paths=["readme.md"])
    assert panel.post("commit", message="joined").status_code == 200
    assert panel.get("status").json()["state"] is None
    repo.git("checkout", "-q", "--detach")
    assert panel.get("status").json()["branch"] is None


def test_remotes_are_added_changed_and_switched_between_https_and_ssh(repo, panel):
    assert panel.get("remote/protocol").json() == {"url": "", "protocol": "other"}
    panel.post("remote", url="https://user:pa55@example.org/a/b.git")
    assert panel.get("remotes").json() == {
        "remotes": [{"name": "origin", "url": "https://user:***@example.org/a/b.git"}]
    }
    assert panel.post("remote/protocol", to="ssh").json() == {"ok": True, "url": "git@example.org:a/b.git"}
    assert panel.get("remote/protocol").json() == {"url": "git@example.org:a/b.git", "protocol": "ssh"}
    assert panel.post("remote/protocol", to="https").json() == {"ok": True, "url": "https://example.org/a/b.git"}
    panel.post("remote", name="up", url="/srv/x.git")
    panel.post("remote", url="/srv/y.git")
    assert panel.post("remote/protocol", to="ssh").status_code == 400
    assert dict(line.split("\t")[:2] for line in repo.git("remote", "-v").splitlines()) == {
        "origin": "/srv/y.git (push)",
        "up": "/srv/x.git (push)",
    }


def test_who_may_do_what(repo, panel, member, home):
    (home / ".gitconfig").write_text("[user]\n\tname = Owner\n\temail = o@x.org\n")
    reader, writer = member("readonly"), member("workspace")
    repo.write("a")
    assert reader.get("status").status_code == 200
    assert reader.post("stage", paths=["a"]).status_code == 403
    assert writer.post("stage", paths=["a"]).status_code == 200
    assert writer.post("remote", url="https://x.org/a").status_code == 403
    assert writer.browser.get("/api/git/credentials").status_code == 403
    writer.post("commit", message="by a member")
    assert repo.git("log", "-1", "--format=%an <%ae>").strip() == "workspace-1 <workspace-1@localhost>"


def test_the_owner_commits_under_the_name_of_their_own_git(repo, panel, home):
    (home / ".gitconfig").write_text('[user]\n\tname = Zoë "Z"\n\temail = z@x.org\n[core]\n\tpager = boom\n')
    repo.write("a")
    panel.post("stage", paths=["a"])
    panel.post("commit", message="m")
    assert repo.git("log", "-1", "--format=%an <%ae>").strip() == "Zoë Z <z@x.org>"
    repo.git("config", "user.name", "Here")
    repo.write("b")
    panel.post("stage", paths=["b"])
    panel.post("commit", message="m")
    assert repo.git("log", "-1", "--format=%an").strip() == "Here"


def test_writes_wait_for_somebody_else_s_git(repo, panel):
    import threading

    repo.write("a")
    lock = repo.write(".git/index.lock", "")
    timer = threading.Timer(0.7, lock.unlink)
    timer.start()
    assert panel.post("stage", paths=["a"]).json() == {"ok": True}
    timer.join()


def test_long_answers_are_what_their_schemas_say(repo, panel):
    """They are not checked when they are made (it would hold up everybody else)."""
    repo.commit("old name", "text that is long enough to be known again\n" * 3)
    repo.git("mv", "old name", "new name")
    for route, schema in (("status", StatusOut), ("log", LogOut)):
        answer = panel.get(route).json()
        checked = schema.model_validate(answer)
        assert checked.model_dump(by_alias=True, exclude_unset=True) == answer


def test_a_status_of_very_many_files_is_cut_and_says_so(repo, panel):
    for number in range(10_050):
        (repo.path / f"{number}.txt").touch()
    answer = panel.get("status").json()
    assert (len(answer["files"]), answer["truncated"]) == (10_000, True)


@pytest.mark.parametrize(
    ("left", "state"),
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge/x", "rebase"),
        ("rebase-apply/x", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
        ("ORIG_HEAD", None),
    ],
)
def test_what_is_unfinished_is_named(repo, left, state):
    repo.write(f".git/{left}")
    assert unfinished(repo.path) == state


def test_a_linked_work_tree_is_a_repository_of_its_own(repo, panel):
    repo.git("worktree", "add", "-q", "-b", "side", "tree")
    tree = Repo(repo.path / "tree")
    Workspace.objects.create(path=str(tree.path), name="tree")
    inner = Panel(panel.browser, str(tree.path))
    tree.git("merge", "-q", "--no-commit", "--no-ff", "main", ok=False)
    assert (inner.get("status").json()["branch"], inner.get("status").json()["state"]) == ("side", None)
    repo.write(".git/worktrees/tree/MERGE_HEAD")
    assert inner.get("status").json()["state"] == "merge"


def test_a_member_below_full_access_may_make_a_repository(folder, member):
    writer = member("workspace")
    folder.write("a")
    assert writer.post("init").json() == {"ok": True}
    assert folder.git("log", "--format=%an %s").strip() == "workspace-0 Initial commit"
    assert writer.get("status").json()["files"] == []
    assert writer.post("stage", paths=["a"]).status_code == 200


def test_very_many_paths_are_staged_at_once(repo, panel):
    names = [f"folder/{number}-{'x' * 200}.txt" for number in range(3000)]  # more than a command line holds
    for name in names:
        repo.write(name, "")
    assert panel.post("stage", paths=names).json() == {"ok": True}
    assert set(panel.files().values()) == {"A "}
