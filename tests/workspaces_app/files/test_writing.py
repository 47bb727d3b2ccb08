"""Save, make, rename, delete over the routes: all or nothing, and never over what somebody else wrote."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from halo_site.lib.errors import Conflict, HaloError, NotFound, StorageFull
from workspaces_app.files.remove import move, remove
from workspaces_app.files.version import Baseline
from workspaces_app.files.write import save
from workspaces_app.jail import Jail
from workspaces_app.models import AuditEvent

from .conftest import CANARY, Files


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".halo-tmp-*")]


def test_a_save_replaces_the_file_and_answers_the_next_baseline(files: Files):
    (files.root / "a.txt").write_text("one")
    (files.root / "a.txt").chmod(0o755)
    before = files.get("files", path="a.txt").json()
    saved = files.put("a.txt", "two", expectMtime=before["modifiedAt"]).json()
    assert (files.root / "a.txt").read_text() == "two"
    assert (files.root / "a.txt").stat().st_mode & 0o777 == 0o755
    stat = files.get("files/stat", path="a.txt").json()
    assert (saved["modifiedAt"], saved["version"]) == (stat["modifiedAt"], stat["version"])
    assert files.put("a.txt", "three", expectMtime=saved["modifiedAt"]).status_code == 200
    assert files.put("new/deep.txt", "x").status_code == 200
    assert leftovers(files.root) == []
    assert AuditEvent.objects.filter(action="file.write").count() == 3


def test_a_save_keeps_the_encoding_it_is_given(files: Files):
    (files.root / "a.txt").write_bytes("中文".encode("gb18030"))
    read = files.get("files", path="a.txt").json()
    assert files.put("a.txt", read["content"] + "好", encoding=read["encoding"]).status_code == 200
    assert (files.root / "a.txt").read_bytes() == "中文好".encode("gb18030")


def test_C64_a_save_over_what_an_agent_wrote_is_a_conflict_even_when_time_and_size_are_the_same(files: Files):
    path = files.root / "a.txt"
    path.write_text("V1")
    base = files.get("files", path="a.txt")
    found = path.stat()
    path.write_text("V2")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    answer = files.put("a.txt", "mine", headers={"if-match": base["ETag"]})
    now = files.get("files/stat", path="a.txt").json()
    assert answer.status_code == 409
    assert answer.json() == {"error": "conflict", "mtime": now["modifiedAt"], "size": 2, "version": now["version"]}
    assert path.read_text() == "V2"
    assert files.put_raw("a.txt", b"mine", headers={"if-match": base["ETag"]}).status_code == 409
    assert files.put("a.txt", "mine", force=True, headers={"if-match": base["ETag"]}).status_code == 200
    assert AuditEvent.objects.get(action="file.force").target == "a.txt"


def test_a_touch_without_a_change_is_no_conflict_by_version(files: Files):
    (files.root / "a.txt").write_text("V1")
    base = files.get("files", path="a.txt")
    os.utime(files.root / "a.txt", (1, 1))
    assert files.put("a.txt", "V2", headers={"if-match": base["ETag"]}).status_code == 200


def test_the_raw_save_follows_its_table(files: Files, outside):
    (files.root / "a.bin").write_bytes(b"old")
    (files.root / "folder").mkdir()
    os.symlink(outside / "secret.txt", files.root / "out")
    baseline = files.get("files/stat", path="a.bin").json()["modifiedAt"]
    fresh = files.put_raw("a.bin", b"\0new", expectMtime=repr(baseline))
    assert fresh.status_code == 200
    assert (files.root / "a.bin").read_bytes() == b"\0new"
    assert fresh.json() == {
        "ok": True,
        "path": "a.bin",
        "mtime": (files.root / "a.bin").stat().st_mtime_ns / 1e6,
        "size": 4,
    }
    stale = files.put_raw("a.bin", b"stale", expectMtime=repr(baseline - 1000))
    assert stale.status_code == 409
    assert (stale.json()["error"], stale.json()["mtime"], stale.json()["size"]) == (
        "conflict",
        fresh.json()["mtime"],
        4,
    )
    again = files.put_raw("a.bin", b"again", expectMtime=repr(stale.json()["mtime"]))
    assert again.status_code == 200
    assert files.put_raw("", b"x").json() == {"error": "path and projectId are required"}
    assert files.put_raw("gone.bin", b"x").json() == {"error": "File not found"}
    assert files.put_raw("no/such/gone.bin", b"x").status_code == 404
    assert files.put_raw("folder", b"x").json() == {"error": "Path is a directory"}
    assert files.put_raw("../outside/secret.txt", b"x").status_code == 403
    assert files.put_raw("out", b"x").status_code == 403
    for mtime in ("NaN", "1e400", "x", "[]"):
        assert files.put_raw("a.bin", b"x", expectMtime=mtime).status_code == 400
    assert (outside / "secret.txt").read_text() == CANARY
    assert sorted(os.listdir(files.root)) == ["a.bin", "folder", "out"]


def test_D4_of_eight_saves_on_one_baseline_exactly_one_wins(tmp_path):
    (tmp_path / "a.txt").write_text("base")
    gate = threading.Barrier(8)
    answers: list[str] = []

    def write(i: int) -> None:
        def pieces():
            yield b"by "
            gate.wait()
            yield str(i).encode()

        try:
            save(Jail(tmp_path, confined=True), "a.txt", pieces(), base)
            answers.append(f"by {i}")
        except Conflict:
            answers.append("conflict")

    # A file system whose clock stands still within a tick would make all of them equal: begin in another one.
    os.utime(tmp_path / "a.txt", (1, 1))
    base = Baseline(mtime=1000.0)
    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers)[1:] == ["conflict"] * 7
    assert (tmp_path / "a.txt").read_text() == sorted(answers)[0]
    assert leftovers(tmp_path) == []


def test_a_body_that_breaks_off_changes_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def pieces():
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageFull):
        save(Jail(tmp_path, confined=True), "a.txt", pieces(), Baseline())
    assert (tmp_path / "a.txt").read_text() == "old"
    assert leftovers(tmp_path) == []


def test_a_baseline_of_a_file_that_is_gone_is_a_conflict(files: Files):
    answer = files.put("gone.txt", "x", expectMtime=5)
    assert answer.status_code == 409
    assert answer.json() == {"error": "conflict", "mtime": None, "size": None, "version": None}
    assert list(files.root.iterdir()) == []


def test_a_new_file_makes_its_folders_and_never_replaces_one(files: Files):
    assert files.post("files/new", path="a/b/c.txt").json() == {"ok": True, "path": "a/b/c.txt"}
    assert (files.root / "a/b/c.txt").read_bytes() == b""
    (files.root / "a/b/c.txt").write_text("kept")
    for taken in ("a/b/c.txt", "a/b"):
        answer = files.post("files/new", path=taken)
        assert (answer.status_code, answer.json()) == (409, {"error": "File already exists"})
    assert (files.root / "a/b/c.txt").read_text() == "kept"
    assert files.post("files/new", path="a/b/c.txt/d").status_code == 400
    assert files.post("files/new", path="../x").status_code == 403
    assert files.post("files/new").json() == {"error": "path is required"}


def test_a_folder_is_made_with_those_above_it_and_may_be_there(files: Files):
    for _ in range(2):
        assert files.post("files/mkdir", path="a/b").json() == {"ok": True, "path": "a/b"}
    (files.root / "f").touch()
    assert files.post("files/mkdir", path="f").status_code == 400
    for outside in ("../x", "/etc/x", "a/../../x"):
        assert files.post("files/mkdir", path=outside).json() == {"error": "Path traversal not allowed"}


def test_a_rename_moves_files_and_folders_but_never_onto_something(files: Files):
    (files.root / "a").mkdir()
    (files.root / "a" / "x.txt").write_text("x")
    (files.root / "b.txt").write_text("b")
    assert files.post("files/rename", oldPath="a", newPath="n/m").json() == {
        "ok": True,
        "oldPath": "a",
        "newPath": "n/m",
    }
    assert (files.root / "n/m/x.txt").read_text() == "x"
    taken = files.post("files/rename", oldPath="b.txt", newPath="n/m/x.txt")
    assert (taken.status_code, taken.json()) == (409, {"error": "n/m/x.txt already exists"})
    into = files.post("files/rename", oldPath="n", newPath="n/m/n2/n")
    assert into.json() == {"error": "A folder cannot be moved into itself"}
    assert not (files.root / "n/m/n2").exists()
    assert files.post("files/rename", oldPath="gone", newPath="x").json() == {"error": "File not found"}
    assert files.post("files/rename", oldPath=".", newPath="x").status_code == 403
    assert files.post("files/rename", oldPath="b.txt", newPath="../b.txt").status_code == 403
    assert files.post("files/rename", oldPath="b.txt").json() == {"error": "newPath is required"}
    assert (files.root / "b.txt").read_text() == "b"


def test_a_link_is_renamed_and_deleted_itself(files: Files, outside):
    os.symlink(outside / "secret.txt", files.root / "out")
    assert files.post("files/rename", oldPath="out", newPath="still-out").status_code == 200
    assert os.readlink(files.root / "still-out") == str(outside / "secret.txt")
    assert files.delete("still-out", permanent=1).status_code == 200
    assert (outside / "secret.txt").read_text() == CANARY
    assert list(files.root.iterdir()) == []


def test_a_delete_takes_a_folder_with_all_in_it_and_nothing_behind_its_links(files: Files, outside):
    (files.root / "a" / "b").mkdir(parents=True)
    (files.root / "a" / "b" / "c").touch()
    os.symlink(outside, files.root / "a" / "out")
    assert files.delete("a", permanent=1).json() == {"ok": True, "path": "a"}
    assert list(files.root.iterdir()) == []
    assert (outside / "secret.txt").read_text() == CANARY
    assert files.delete("a", permanent=1).json() == {"ok": True, "path": "a"}
    assert AuditEvent.objects.filter(action="file.delete").count() == 1
    for root in (".", "./", str(files.root)):
        answer = files.delete(root)
        assert (answer.status_code, answer.json()) == (403, {"error": "Cannot delete project root"})
    assert files.delete("../outside").status_code == 403


@pytest.mark.parametrize("act", ["delete", "rename"])
def test_what_somebody_changed_since_is_neither_deleted_nor_renamed(files: Files, act):
    def attempt(path: str, headers: dict[str, str] | None = None, **base: Any) -> Any:
        if act == "delete":
            return files.delete(path, headers, **base)
        return files.post("files/rename", headers, oldPath=path, newPath=f"new/{path}", **base)

    for name in ("a.txt", "b.txt"):
        (files.root / name).write_text("theirs")
        os.utime(files.root / name, (5, 5))
    seen = files.get("files/stat", path="a.txt")
    (files.root / "a.txt").write_text("changed by the agent")
    os.utime(files.root / "a.txt", (9, 9))

    for answer in (
        attempt("a.txt", expectMtime=seen.json()["modifiedAt"]),
        attempt("a.txt", {"if-match": seen["ETag"]}),
    ):
        assert answer.status_code == 409
        assert answer.json()["error"] == "conflict"
        assert (answer.json()["mtime"], answer.json()["size"]) == (9000, len("changed by the agent"))
    assert (files.root / "a.txt").read_text() == "changed by the agent"
    assert not (files.root / "new").exists()

    now = files.get("files/stat", path="a.txt")
    assert attempt("a.txt", {"if-match": now["ETag"]}, expectMtime=now.json()["modifiedAt"]).status_code == 200
    assert attempt("b.txt", expectMtime=5000).status_code == 200
    assert not (files.root / "a.txt").exists()
    assert not (files.root / "b.txt").exists()


def test_a_folder_and_a_link_are_deleted_only_as_they_were_seen(files: Files):
    (files.root / "folder").mkdir()
    (files.root / "folder" / "x").touch()
    os.symlink("folder/x", files.root / "link")
    os.utime(files.root / "folder", (5, 5))
    os.utime(files.root / "link", (6, 6), follow_symlinks=False)
    for name, seconds in (("folder", 5), ("link", 6)):
        stale = files.delete(name, expectMtime=1)
        assert (stale.status_code, stale.json()["mtime"], stale.json()["version"]) == (409, seconds * 1000, None)
        assert files.delete(name, {"if-match": '"a-version"'}).status_code == 409
        assert os.path.lexists(files.root / name)
        assert files.delete(name, expectMtime=seconds * 1000, permanent=1).status_code == 200
    assert list(files.root.iterdir()) == []
    assert files.delete("folder", expectMtime=1).json() == {"ok": True, "path": "folder"}, "it is gone, as was wanted"


def test_of_two_moves_on_one_baseline_one_wins_and_none_waits_for_ever(tmp_path):
    """In opposite directions between two folders: each needs the locks of both."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / folder).write_text(folder)
    os.utime(tmp_path / "one" / "one", (5, 5))
    os.utime(tmp_path / "two" / "two", (5, 5))
    jail, base, moved = Jail(tmp_path, confined=True), Baseline(mtime=5000.0), []

    def swap(old: str, new: str) -> None:
        with suppress(NotFound, Conflict):
            move(jail, old, new, base)
            moved.append(old)

    pairs = [("one/one", "two/one"), ("two/two", "one/two")] * 4
    threads = [threading.Thread(target=swap, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(moved) == ["one/one", "two/two"]
    assert (tmp_path / "two/one").read_text() == "one"
    assert (tmp_path / "one/two").read_text() == "two"


def test_D2_a_folder_that_becomes_a_link_meanwhile_is_not_emptied(tmp_path):
    """A thread swaps `d/swap` for a link to the outside while `d` is deleted again and again."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    kept = [outside / f"{i}" for i in range(20)]
    for file in kept:
        file.write_text(CANARY)
    stop = threading.Event()

    def race() -> None:
        while not stop.is_set():
            try:
                os.rename(root / "d" / "swap", root / "aside")
                os.symlink(outside, root / "d" / "swap")
            except OSError:
                pass
            try:
                os.unlink(root / "d" / "swap")
                os.rename(root / "aside", root / "d" / "swap")
            except OSError:
                pass

    thread = threading.Thread(target=race)
    thread.start()
    jail = Jail(root, confined=True)
    try:
        for _ in range(300):
            with suppress(OSError):  # our own steps meet the swap
                (root / "d" / "swap" / "x").mkdir(parents=True, exist_ok=True)
            with suppress(HaloError):  # a conflict, or what vanished meanwhile: an answer
                remove(jail, "d")
    finally:
        stop.set()
        thread.join()
    assert all(file.read_text() == CANARY for file in kept)


@pytest.mark.parametrize(
    ("act", "path"),
    [
        ("put", "AGENTS.md"),
        ("put", ".halo/agents/x/agent.yaml"),
        ("new", ".git/hooks/pre-commit"),
        ("delete", "sub"),
        ("delete", ".halo"),
        ("rename", "sub"),
        ("rename to", "sub/CLAUDE.md"),
        ("rename to", ".git"),
        ("upload", ".halo/agents"),
    ],
)
def test_S3_below_full_access_control_files_are_not_written_moved_or_deleted(files: Files, act, path):
    (files.root / "sub" / ".git").mkdir(parents=True)
    (files.root / "sub" / ".git" / "config").write_text("old")
    (files.root / ".halo").mkdir()
    (files.root / "plain").mkdir()
    (files.root / "plain" / "config").write_text("evil")
    member = files.as_level("workspace")
    before = sorted((str(p), p.is_file() and p.read_bytes()) for p in files.root.rglob("*"))
    answer = {
        "put": lambda: member.put(path, "evil"),
        "new": lambda: member.post("files/new", path=path),
        "delete": lambda: member.delete(path),
        "rename": lambda: member.post("files/rename", oldPath=path, newPath="elsewhere"),
        "rename to": lambda: member.post("files/rename", oldPath="plain", newPath=path),
        "upload": lambda: upload(member, path),
    }[act]()
    assert answer.status_code == 403, answer.content
    assert sorted((str(p), p.is_file() and p.read_bytes()) for p in files.root.rglob("*")) == before


def upload(files: Files, folder: str):
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.test.client import MULTIPART_CONTENT

    data = {"projectId": str(files.root), "targetDir": folder, "files": SimpleUploadedFile("agent.yaml", b"x")}
    return files.browser.post("/api/files/upload", data, MULTIPART_CONTENT)


def test_a_member_with_workspace_access_works_on_ordinary_files(files: Files):
    member = files.as_level("workspace")
    assert member.put("a/b.txt", "x").status_code == 200
    assert member.post("files/rename", oldPath="a", newPath="c").status_code == 200
    assert member.delete("c").status_code == 200
    reader = files.as_level("readonly")
    for answer in (
        reader.put("a", "x"),
        reader.put_raw("a", b"x"),
        reader.post("files/new", path="a"),
        reader.post("files/rename", oldPath="a", newPath="b"),
        reader.delete("a"),
    ):
        assert answer.status_code == 403
