"""What is deleted over the API can be put back for a week; only then, or when it is said, it is gone."""

import os
from pathlib import Path
from typing import Any

import pytest

from workspaces_app.control_state import changed, control_state
from workspaces_app.files import trash
from workspaces_app.files.remove import move
from workspaces_app.jail import Jail
from workspaces_app.models import AuditEvent
from workspaces_app.sandbox.ledger import recorded
from workspaces_app.sandbox.sweep import look, settle

from .conftest import CANARY, Files

DAY = 24 * 3600


def listed(files: Files) -> list[dict[str, Any]]:
    return files.get("files/trash").json()["items"]


def restored(files: Files, number: int, **more: Any) -> Any:
    return files.post("files/trash/restore", id=number, **more)


def purged(files: Files, number: int) -> Any:
    return files.browser.delete(f"/api/files/trash/{number}", query_params={"projectId": str(files.root)})


def in_trash(files: Files) -> list[str]:
    return sorted(path.name for path in (files.root / ".halo" / "trash").glob("[0-9]*"))


def test_a_deleted_file_is_listed_and_comes_back_as_it_was(files: Files):
    (files.root / "src").mkdir()
    (files.root / "src" / "ü.sh").write_text("one")
    (files.root / "src" / "ü.sh").chmod(0o750)
    answer = files.delete("src/ü.sh").json()
    assert answer == {"ok": True, "path": "src/ü.sh", "trashId": answer["trashId"]}
    assert not (files.root / "src" / "ü.sh").exists()
    (item,) = listed(files)
    assert item == {
        "id": answer["trashId"],
        "path": "src/ü.sh",
        "type": "file",
        "size": 3,
        "deletedAt": answer["trashId"],
        "goneAt": answer["trashId"] + 7 * DAY * 1000,
        "deletedBy": "full",
    }
    (files.root / "src").rmdir()
    assert restored(files, answer["trashId"]).json() == {"ok": True, "path": "src/ü.sh"}
    assert (files.root / "src" / "ü.sh").read_text() == "one"
    assert (files.root / "src" / "ü.sh").stat().st_mode & 0o777 == 0o750
    assert (listed(files), in_trash(files)) == ([], [])
    trail = (
        AuditEvent.objects.filter(action__startswith="file.").order_by("id").values_list("action", "target", "detail")
    )
    assert list(trail) == [("file.delete", "src/ü.sh", {"trash": answer["trashId"]}), ("file.restore", "src/ü.sh", {})]


def test_a_folder_comes_back_with_all_that_is_in_it_and_a_link_as_a_link(files: Files):
    (files.root / "a" / "b").mkdir(parents=True)
    (files.root / "a" / "b" / "c").write_text("deep")
    os.symlink("a/b/c", files.root / "link")
    for path in ("link", "a"):
        assert files.delete(path).status_code == 200
    assert [(item["path"], item["type"], item["size"]) for item in listed(files)] == [
        ("a", "directory", 0),
        ("link", "file", 5),
    ]
    for item in listed(files):
        assert restored(files, item["id"]).status_code == 200
    assert (files.root / "a" / "b" / "c").read_text() == "deep"
    assert os.readlink(files.root / "link") == "a/b/c"


def test_the_same_name_can_be_deleted_again_and_each_one_comes_back(files: Files):
    for text in ("one", "two"):
        (files.root / "a.txt").write_text(text)
        assert files.delete("a.txt").status_code == 200
    newest, oldest = listed(files)
    assert restored(files, oldest["id"]).status_code == 200
    taken = restored(files, newest["id"])
    assert (taken.status_code, taken.json()["error"]) == (409, "a.txt already exists")
    assert restored(files, newest["id"], newPath="old/b.txt").json() == {"ok": True, "path": "old/b.txt"}
    assert [(files.root / name).read_text() for name in ("a.txt", "old/b.txt")] == ["one", "two"]


def test_a_final_delete_stays_possible_at_once_and_later(files: Files):
    for name in ("a.txt", "b.txt"):
        (files.root / name).write_text(name)
    assert files.delete("a.txt", permanent=1).json() == {"ok": True, "path": "a.txt"}
    assert listed(files) == []
    number = files.delete("b.txt").json()["trashId"]
    assert purged(files, number).json() == {"ok": True, "path": "b.txt"}
    assert (listed(files), in_trash(files)) == ([], [])
    for answer in (purged(files, number), restored(files, number)):
        assert (answer.status_code, answer.json()["error"]) == (404, "This is not in the trash")
    assert list(AuditEvent.objects.order_by("id").values_list("action", flat=True)) == [
        "file.delete",
        "file.delete",
        "file.purge",
    ]


def test_what_was_gone_already_is_no_deletion(files: Files):
    assert files.delete("nothing").json() == {"ok": True, "path": "nothing"}
    assert not (files.root / ".halo").exists()
    assert AuditEvent.objects.count() == 0


def test_after_a_week_it_is_gone_and_not_before(files: Files):
    (files.root / "a").mkdir()
    (files.root / "a" / "x").write_text("x")
    number = files.delete("a").json()["trashId"]
    (files.root / ".halo" / "trash" / "mine").write_text("not ours")
    deleted = number / 1000
    assert trash.age_out(files.root, deleted + 7 * DAY - 1) == 0
    assert [item["id"] for item in listed(files)] == [number]
    assert trash.age_out(files.root, deleted + 7 * DAY + 1) == 1
    assert (listed(files), in_trash(files)) == ([], [])
    assert (files.root / ".halo" / "trash" / "mine").exists()
    assert trash.age_out(files.root / "no such folder") == 0


def test_what_is_in_the_trash_goes_for_good_and_so_does_what_holds_it(files: Files):
    (files.root / "a.txt").write_text("x")
    number = files.delete("a.txt").json()["trashId"]
    assert files.delete(f".halo/trash/{number}").json() == {"ok": True, "path": f".halo/trash/{number}"}
    assert listed(files) == []
    assert files.delete(".halo").json() == {"ok": True, "path": ".halo"}
    assert not (files.root / ".halo").exists()


def test_a_deletion_that_was_cut_off_is_not_shown_and_goes_with_its_time(files: Files):
    """Killed between the note and the move, and between the two steps of a final delete."""
    (files.root / "a.txt").write_text("x")
    number = files.delete("a.txt").json()["trashId"]
    place = files.root / ".halo" / "trash" / str(number)
    os.rename(place / "files" / "a.txt", files.root / "a.txt")
    assert listed(files) == []
    assert restored(files, number).status_code == 404
    (place / "info.json").unlink()
    assert listed(files) == []
    assert trash.age_out(files.root, number / 1000 + 8 * DAY) == 1
    assert in_trash(files) == []


@pytest.mark.parametrize(
    "info",
    [b"", b"[]", b'{"path": 1}', b'{"path": ""}', b'{"path": "a/.."}', b'{"path": "/etc/x"}', b'{"path": "../a.txt"}'],
)
def test_D1_a_note_that_somebody_changed_leads_nowhere_outside(files: Files, info):
    (files.root / "a.txt").write_text("x")
    number = files.delete("a.txt").json()["trashId"]
    (files.root / ".halo" / "trash" / str(number) / "info.json").write_bytes(info)
    assert files.get("files/trash").status_code == 200
    assert restored(files, number).status_code in (403, 404)


def test_D2_a_trash_that_leads_out_of_the_workspace_takes_nothing(files: Files, outside: Path):
    (files.root / ".halo").mkdir()
    os.symlink(outside, files.root / ".halo" / "trash")
    (files.root / "a.txt").write_text("x")
    answer = files.delete("a.txt")
    assert (answer.status_code, answer.json()["error"]) == (403, "Path traversal not allowed")
    assert (files.root / "a.txt").read_text() == "x"
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == CANARY
    assert files.delete("a.txt", permanent=1).status_code == 200


def test_S3_below_full_access_only_what_one_may_write_is_seen_and_taken_out(files: Files):
    (files.root / ".halo").mkdir()
    (files.root / ".halo" / "settings.yaml").write_text("secret: 1")
    (files.root / "sub").mkdir()
    (files.root / "sub" / "AGENTS.md").write_text("steer")
    (files.root / "plain.txt").write_text("x")
    numbers = {path: files.delete(path).json()["trashId"] for path in (".halo/settings.yaml", "sub", "plain.txt")}
    member = files.as_level("workspace")
    assert {item["path"] for item in listed(member)} == {"sub", "plain.txt"}
    for path in (".halo/settings.yaml", "sub"):
        assert restored(member, numbers[path]).status_code == 403
        assert purged(member, numbers[path]).status_code == 403
    for path in ("AGENTS.md", ".halo/agents/x", ".git/config", "../x"):
        assert restored(member, numbers["plain.txt"], newPath=path).status_code == 403
    assert member.get("files/tree", path=".halo/trash").status_code == 403
    where = f".halo/trash/{numbers['.halo/settings.yaml']}/files/settings.yaml"
    assert member.get("files", path=where).status_code == 403
    assert restored(member, numbers["plain.txt"]).status_code == 200
    reader = files.as_level("readonly")
    assert reader.get("files/trash").status_code == 403
    assert restored(reader, numbers["sub"]).status_code == 403


def test_S3_a_repository_that_comes_back_while_a_command_runs_is_not_taken_for_a_planted_one(files: Files, settings):
    (files.root / "sub" / ".git").mkdir(parents=True)
    (files.root / "sub" / "AGENTS.md").write_text("steer")
    number = files.delete("sub").json()["trashId"]
    before = look(files.root)
    with recorded(files.root, before) as record:
        assert restored(files, number).status_code == 200
        assert record.settled(settle) == []
    assert (files.root / "sub" / "AGENTS.md").read_text() == "steer"


def test_S3_a_bare_repository_that_comes_back_while_a_command_runs_is_not_taken_for_a_planted_one(files: Files):
    for name in ("objects", "refs", "hooks"):
        (files.root / "sub" / name).mkdir(parents=True)
    (files.root / "sub" / "HEAD").write_text("ref: refs/heads/main\n")
    (files.root / "sub" / "hooks" / "pre-receive").write_text("mine")
    number = files.delete("sub").json()["trashId"]
    with recorded(files.root, look(files.root)) as record:
        assert restored(files, number).status_code == 200
        assert record.settled(settle) == []


def test_a_file_on_another_disk_is_kept_until_it_is_said_that_it_may_go(files: Files, monkeypatch):
    import errno

    (files.root / "a.txt").write_text("x")

    def refuse(*args: Any, **more: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    with monkeypatch.context() as patched:
        patched.setattr(trash.os, "rename", refuse, raising=True)
        answer = files.delete("a.txt")
    assert answer.status_code == 409
    assert "permanent=1" in answer.json()["error"]
    assert (files.root / "a.txt").exists()
    assert in_trash(files) == []


def test_nobody_finds_what_was_deleted_and_no_commit_takes_it(files: Files):
    (files.root / "needle.txt").write_text("x")
    files.delete("needle.txt")
    assert files.get("files/search", q="needle").json()["matches"] == []
    assert (files.root / ".halo" / "trash" / ".gitignore").read_text() == "*\n"


def test_F4_what_was_deleted_does_not_count_among_the_files_that_steer_agents(files: Files, tmp_path):
    (files.root / "lib").mkdir()
    (files.root / "lib" / "x.py").write_text("x")
    before = control_state(files.root, tmp_path / "shared")
    assert files.delete("lib").status_code == 200
    assert changed(before, control_state(files.root, tmp_path / "shared")) == []


def test_of_two_who_delete_the_same_thing_or_put_it_back_one_does(tmp_path):
    (tmp_path / "a").write_text("x")
    jail = Jail(tmp_path, confined=True)
    number = trash.discard(jail, "a")
    assert number
    assert trash.discard(jail, "a") is None
    trash.restore(jail, number)
    move(jail, "a", "b")
    with pytest.raises(trash.NotFound):
        trash.restore(jail, number)
    assert (tmp_path / "b").read_text() == "x"
