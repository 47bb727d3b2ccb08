"""Tree, search, read and stat over the routes (spec files-git-terminal 5 to 7)."""

import os
import time
import unicodedata

import pytest

from workspaces_app.files.search import search
from workspaces_app.files.tree import level
from workspaces_app.jail import Jail

from .conftest import CANARY, Files

TRAVERSAL = {"error": "Path traversal not allowed"}
READS = ["files/tree", "files", "files/stat", "files/download"]


def names(answer) -> list[str]:
    return [node["name"] for node in answer.json()["tree"]]


def test_a_level_shows_folders_first_then_files_by_name(files: Files):
    for folder in ("src", "Docs", "empty"):
        (files.root / folder).mkdir()
    (files.root / "src" / "a.py").touch()
    for name in ("b.txt", "A.txt", "ä.txt", "z.txt", ".env"):
        (files.root / name).touch()
    answer = files.get("files/tree")
    assert answer.json()["root"] == str(files.root)
    assert names(answer) == ["Docs", "empty", "src", ".env", "A.txt", "ä.txt", "b.txt", "z.txt"]
    assert answer.json()["tree"][2] == {"name": "src", "path": "src", "type": "directory", "hasChildren": True}
    assert answer.json()["tree"][1]["hasChildren"] is False
    assert answer.json()["tree"][3] == {"name": ".env", "path": ".env", "type": "file"}
    assert files.get("files/tree", path="src").json()["tree"] == [{"name": "a.py", "path": "src/a.py", "type": "file"}]
    again = files.browser.get(
        "/api/files/tree", {"projectId": str(files.root)}, headers={"if-none-match": answer["ETag"]}
    )
    assert again.status_code == 304


def test_what_is_hidden_does_not_count_as_a_child(files: Files):
    for name in (".git", "node_modules", "__pycache__"):
        (files.root / "repo" / name).mkdir(parents=True)
    (files.root / ".git").mkdir()
    (files.root / ".halo-tmp-1-abc").touch()
    assert files.get("files/tree").json()["tree"] == [
        {"name": "repo", "path": "repo", "type": "directory", "hasChildren": False}
    ]


def test_links_appear_as_what_they_point_to_inside_and_not_at_all_outside(files: Files, outside):
    (files.root / "src").mkdir()
    (files.root / "src" / "a.txt").write_text("x")
    os.symlink("src", files.root / "folder-link")
    os.symlink("src/a.txt", files.root / "file-link")
    os.symlink(outside, files.root / "out")
    os.symlink(outside / "secret.txt", files.root / "secret")
    os.symlink("nowhere", files.root / "broken")
    os.mkfifo(files.root / "pipe")
    tree = files.get("files/tree").json()["tree"]
    assert [(node["name"], node["type"]) for node in tree] == [
        ("folder-link", "directory"),
        ("src", "directory"),
        ("file-link", "file"),
    ]
    assert names(files.get("files/tree", path="folder-link")) == ["a.txt"]
    assert files.get("files/tree", path="out").json() == TRAVERSAL


def test_a_folder_that_may_not_be_read_is_empty(files: Files, monkeypatch):
    (files.root / "locked").mkdir()
    real = os.open

    def refusing(path, flags, *rest, **more):
        if path == "locked" and flags & os.O_DIRECTORY:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr("workspaces_app.files.tree.os.open", refusing)
    assert files.get("files/tree", path="locked").json()["tree"] == []
    assert files.get("files/tree").json()["tree"][0]["hasChildren"] is False


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("nowhere", 404, "Directory not found"),
        ("a.txt", 400, "Path is not a directory"),
        ("../outside", 403, "Path traversal not allowed"),
        ("/etc", 403, "Path traversal not allowed"),
        ("a\0b", 400, "NUL is not allowed here"),
    ],
)
def test_a_tree_that_cannot_be_shown_says_why(files: Files, path, status, error):
    (files.root / "a.txt").touch()
    answer = files.get("files/tree", path=path)
    assert (answer.status_code, answer.json()) == (status, {"error": error})


@pytest.mark.parametrize("route", READS)
@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "{outside}/secret.txt", "link/secret.txt", "../my work ü-x/a"]
)
def test_D1_C59_nothing_outside_is_read_by_any_route(files: Files, outside, route, path):
    os.symlink(outside, files.root / "link")
    sibling = files.root.with_name("my work ü-x")
    sibling.mkdir()
    (sibling / "a").write_text(CANARY)
    answer = files.get(route, path=path.format(outside=outside))
    assert (answer.status_code, answer.json()) == (403, TRAVERSAL)


@pytest.mark.parametrize("path", ["..%2foutside%2fsecret.txt", "%2e%2e/outside/secret.txt", "..\\outside\\secret.txt"])
def test_C59_what_was_encoded_twice_is_an_ordinary_name(files: Files, path):
    assert files.get("files", path=path).status_code == 404


def test_D9_the_temp_folder_is_no_exception(files: Files, tmp_path):
    (tmp_path / "shot.png").write_bytes(b"x")
    assert files.get("files/download", path=str(tmp_path / "shot.png")).status_code == 403


def test_a_text_comes_with_size_times_version_and_encoding(files: Files):
    (files.root / "a.txt").write_text("grün\n")
    found = (files.root / "a.txt").stat()
    answer = files.get("files", path="a.txt")
    body = answer.json()
    assert (body["content"], body["size"], body["encoding"]) == ("grün\n", 6, "utf-8")
    assert body["modifiedAt"] == found.st_mtime_ns / 1e6
    assert body["createdAt"] <= body["modifiedAt"]
    stat = files.get("files/stat", path="a.txt").json()
    assert stat == {key: body[key] for key in ("path", "modifiedAt", "createdAt", "size", "version")}
    assert answer["ETag"] == f'"{body["version"]}"'
    assert files.get("files/stat", path=".").json()["version"] == ""


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("folder", 400, "Path is a directory"),
        ("gone.txt", 404, "File not found"),
        ("big.txt", 413, "File too large (max 10MB)"),
        ("image.bin", 415, "This is a binary file and cannot be shown as text"),
        (None, 400, "path is required"),
    ],
)
def test_a_text_that_cannot_be_read_says_why(files: Files, path, status, error):
    (files.root / "folder").mkdir()
    (files.root / "image.bin").write_bytes(b"\x89PNG\0\0")
    with open(files.root / "big.txt", "wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)
    answer = files.get("files", **({"path": path} if path else {}))
    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_D3_a_pipe_and_a_sparse_tebibyte_are_answered_at_once(files: Files):
    os.mkfifo(files.root / "pipe")
    with open(files.root / "sparse", "wb") as file:
        file.truncate(2**40)
    assert files.get("files", path="pipe").status_code == 400
    assert files.get("files/stat", path="pipe").status_code == 200
    assert files.get("files/download", path="pipe").status_code == 400
    assert files.get("files", path="sparse").status_code == 413
    assert files.get("files/stat", path="sparse").json()["size"] == 2**40


def test_C61_either_form_of_a_name_finds_the_file_and_both_are_listed_when_both_are_there(files: Files):
    composed, apart = "Abschätzung.txt", unicodedata.normalize("NFD", "Abschätzung.txt")
    (files.root / apart).write_text("apart")
    assert files.get("files", path=composed).json()["content"] == "apart"
    (files.root / composed).write_text("composed")
    assert files.get("files", path=composed).json()["content"] == "composed"
    assert files.get("files", path=apart).json()["content"] == "apart"
    assert sorted(names(files.get("files/tree"))) == sorted([composed, apart])
    matches = files.get("files/search", q="abschätz").json()["matches"]
    assert len(matches) == 2


def test_C61_an_agents_door_finds_it_too(files: Files):
    (files.root / unicodedata.normalize("NFD", "한글.txt")).write_text("x")
    for jail in (Jail(files.root), Jail(files.root, confined=True)):
        assert jail.read("한글.txt", limit=9)[0] == b"x"


def test_a_search_ranks_names_that_begin_with_it_and_ignores_case_and_hidden_places(files: Files):
    for path in ("src/Report.py", "a/report/x.md", "old-report.txt", ".git/report", "node_modules/report.js"):
        (files.root / path).parent.mkdir(parents=True, exist_ok=True)
        (files.root / path).touch()
    found = files.get("files/search", q="REPORT").json()
    assert [match["path"] for match in found["matches"]] == [
        "a/report",
        "src/Report.py",
        "old-report.txt",
        "a/report/x.md",
    ]
    assert found["truncated"] is False
    folders = files.get("files/search", q="report", dirsOnly="1").json()["matches"]
    assert folders == [{"name": "report", "path": "a/report"}]
    first = files.get("files/search", q="report", limit=1).json()
    assert (len(first["matches"]), first["truncated"]) == (1, True)
    assert len(files.get("files/search", q="", limit=2).json()["matches"]) == 2
    for limit in ("0", "-1", "9" * 30 + "x", "NaN"):
        assert files.get("files/search", q="a", limit=limit).status_code == 400
    assert files.get("files/search", q="report", limit=2**70).status_code == 200


def test_D3_a_search_ends_after_the_entries_it_may_look_at_and_does_not_follow_links(files: Files, outside):
    os.symlink(outside, files.root / "out")
    os.symlink(".", files.root / "loop")
    for i in range(30):
        (files.root / f"f{i}").touch()
    jail = Jail(files.root, confined=True)
    assert search(jail, "secret", limit=9).matches == []
    assert search(jail, "f", limit=100, scanned=10).truncated
    assert len(search(jail, "f", limit=100).matches) == 30


def test_D3_a_tree_500_deep_is_searched(files: Files):
    handle = os.open(files.root, os.O_RDONLY)
    for _ in range(500):
        os.mkdir("d", dir_fd=handle)
        lower = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = lower
    os.close(handle)
    begun = time.thread_time()
    assert len(search(Jail(files.root, confined=True), "d", limit=1000).matches) > 100
    assert time.thread_time() - begun < 30  # seconds of work, not of the clock
    assert files.delete("d", permanent=1).status_code == 200
    assert list(files.root.iterdir()) == []


def test_below_full_access_masked_places_are_neither_listed_nor_found_nor_read(files: Files):
    (files.root / ".halo" / "sessions").mkdir(parents=True)
    (files.root / ".halo" / "sessions" / "talk.jsonl").write_text(CANARY)
    (files.root / ".halo" / "settings.yaml").write_text(CANARY)
    (files.root / ".halo" / "uploads").mkdir()
    reader = files.as_level("readonly")
    assert names(reader.get("files/tree", path=".halo")) == ["uploads"]
    assert reader.get("files/search", q="talk").json()["matches"] == []
    for route in READS[1:]:
        assert reader.get(route, path=".halo/settings.yaml").status_code == 403
    assert reader.get("files/tree", path=".halo/sessions").status_code == 403
    assert names(files.get("files/tree", path=".halo")) == ["sessions", "uploads", "settings.yaml"]


def test_a_level_of_5000_entries_opens_nothing_but_its_folders(files: Files, monkeypatch):
    """How long that takes is measured in bench/files.py."""
    for i in range(1000):
        (files.root / f"folder {i}").mkdir()
    for i in range(4000):
        (files.root / f"file {i}.txt").touch()
    jail = Jail(files.root, confined=True)
    opened, looked = [], []
    real_open, real_stat = os.open, os.stat
    monkeypatch.setattr(os, "open", lambda path, *args, **more: opened.append(path) or real_open(path, *args, **more))
    monkeypatch.setattr(os, "stat", lambda path, *args, **more: looked.append(path) or real_stat(path, *args, **more))
    assert len(level(jail, "")) == 5000
    monkeypatch.undo()
    assert 1000 <= len(opened) < 1050, "whether a folder has something in it is shown"
    assert not [path for path in opened if str(path).startswith("file ")]
    assert len(looked) < 50
