"""Upload and download over the routes (SECURITY-BAR D5 to D7; CASES C63)."""

import os
import unicodedata

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import MULTIPART_CONTENT

from workspaces_app.files.types import SHOWN

from .conftest import Files, body_of

BOUNDARY = "b0undary"


def upload(files: Files, *parts: tuple[str, bytes], field: str = "files", **more: str):
    data = {"projectId": str(files.root), field: [SimpleUploadedFile(name, data) for name, data in parts], **more}
    return files.browser.post("/api/files/upload", data, MULTIPART_CONTENT)


def raw(files: Files, body: bytes, kind: str = f"multipart/form-data; boundary={BOUNDARY}"):
    return files.browser.generic("POST", f"/api/files/upload?projectId={files.root}", body, kind)


def part(name: str, data: bytes = b"x", field: str = "files") -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
    return head.encode("utf-8", "surrogatepass") + data + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


def test_uploads_land_in_their_folder_and_never_replace_a_file(files: Files):
    answer = upload(files, ("a.txt", b"one"), ("b.txt", b"two"))
    assert answer.json() == {
        "uploaded": [
            {"name": "a.txt", "path": ".halo/uploads/a.txt", "size": 3},
            {"name": "b.txt", "path": ".halo/uploads/b.txt", "size": 3},
        ],
        "count": 2,
    }
    again = upload(files, ("a.txt", b"three"), ("a.txt", b"four")).json()["uploaded"]
    assert [one["name"] for one in again] == ["a (1).txt", "a (2).txt"]
    assert [one["renamedFrom"] for one in again] == ["a.txt", "a.txt"]
    folder = files.root / ".halo/uploads"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "a.txt": "one",
        "b.txt": "two",
        "a (1).txt": "three",
        "a (2).txt": "four",
    }


def test_a_drop_on_a_folder_goes_there(files: Files):
    answer = upload(files, ("a.txt", b"x"), field="files[]", targetDir="src/new")
    assert answer.json()["uploaded"][0]["path"] == "src/new/a.txt"
    for place in ("../outside", "/etc", "a/../../outside"):
        assert upload(files, ("a.txt", b"x"), targetDir=place).status_code == 403
    assert os.listdir(files.root.parent / "outside") == ["secret.txt"]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("/etc/cron.d/x", "x"),
        ("../../x", "x"),
        ("..\\\\..\\\\x", "x"),
        ("-rf", "-rf"),
        (".hidden", ".hidden"),
        ("a;b.txt", "a;b.txt"),
        (unicodedata.normalize("NFD", "Abschätzung.pdf"), "Abschätzung.pdf"),
        ("文" * 200 + ".pdf", "文" * 83 + ".pdf"),
    ],
)
def test_D7_C63_C61_an_upload_keeps_the_last_segment_only_composed_and_short_enough(files: Files, said, stored):
    answer = raw(files, part(said) + END)
    assert answer.status_code == 200, answer.content
    assert [one["name"] for one in answer.json()["uploaded"]] == [stored]
    assert os.listdir(files.root / ".halo/uploads") == [stored]


def test_C61_an_upload_does_not_replace_the_other_form_of_its_name(files: Files):
    (files.root / "d").mkdir()
    (files.root / "d" / unicodedata.normalize("NFD", "ä.txt")).write_text("kept")
    assert upload(files, ("ä.txt", b"new"), targetDir="d").json()["uploaded"][0]["name"] == "ä (1).txt"
    assert (files.root / "d" / unicodedata.normalize("NFD", "ä.txt")).read_text() == "kept"


def test_an_upload_does_not_write_through_a_link(files: Files, outside):
    (files.root / "d").mkdir()
    os.symlink(outside / "secret.txt", files.root / "d" / "a.txt")
    os.symlink("nowhere", files.root / "d" / "b.txt")
    assert upload(files, ("a.txt", b"new"), ("b.txt", b"new"), targetDir="d").json()["count"] == 2
    assert sorted(os.listdir(files.root / "d")) == ["a (1).txt", "a.txt", "b (1).txt", "b.txt"]
    assert (outside / "secret.txt").read_text().startswith("canary")
    assert os.listdir(outside) == ["secret.txt"]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", f"multipart/form-data; boundary={BOUNDARY}", 400),
        (part("", b"x") + END, f"multipart/form-data; boundary={BOUNDARY}", 400),
        (part(".") + END, f"multipart/form-data; boundary={BOUNDARY}", 400),
        (part("a.txt", field="other") + END, f"multipart/form-data; boundary={BOUNDARY}", 400),
        (part("a.txt") + END, "multipart/form-data", 400),
        (part("a.txt") * 10_000 + END, f"multipart/form-data; boundary={BOUNDARY}", 400),
        (b'{"files": [{"path": "/etc/passwd"}]}', "application/json", 415),
    ],
)
def test_D7_an_upload_that_is_none_is_refused_and_stores_nothing(files: Files, body, kind, status):
    answer = raw(files, body, kind)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert list(files.root.rglob("*")) == []


def test_refused_names_are_listed_and_nothing_of_the_rest_is_stored(files: Files):
    member = files.as_level("workspace")
    answer = upload(member, ("fine.txt", b"x"), ("AGENTS.md", b"x"), targetDir="d")
    assert answer.status_code == 403
    assert answer.json()["refused"] == ["AGENTS.md"]
    assert list(files.root.iterdir()) == []


# -- download


@pytest.fixture
def hundred(files: Files) -> bytes:
    data = bytes(range(100))
    (files.root / "a.bin").write_bytes(data)
    return data


def test_a_download_is_an_attachment_without_a_type(files: Files, hundred):
    (files.root / 'grün "x"; y.html').write_text("<script>1</script>")
    answer = files.get("files/download", path='grün "x"; y.html')
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == (
        "attachment; filename=\"gr_n _x_; y.html\"; filename*=UTF-8''gr%C3%BCn%20%22x%22%3B%20y.html"
    )
    assert answer["X-Content-Type-Options"] == "nosniff"
    whole = files.get("files/download", path="a.bin")
    assert (body_of(whole), whole["Content-Length"], whole["Accept-Ranges"]) == (hundred, "100", "bytes")


@pytest.mark.parametrize(
    ("header", "status", "first", "length"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=5-", 206, 5, 95),
        ("bytes=-7", 206, 93, 7),
        ("bytes=90-500", 206, 90, 10),
        ("bytes=9-5", 416, 0, 0),
        ("bytes=100-", 416, 0, 0),
        ("bytes=0-1,3-4", 200, 0, 100),
    ],
)
def test_ranges(files: Files, hundred, header, status, first, length):
    answer = files.browser.get(
        "/api/files/download", {"projectId": str(files.root), "path": "a.bin"}, headers={"range": header}
    )
    assert answer.status_code == status
    if status == 416:
        assert answer["Content-Range"] == "bytes */100"
        assert "100 bytes" in answer.json()["error"]
        return
    assert body_of(answer) == hundred[first : first + length]
    assert answer["Content-Length"] == str(length)
    if status == 206:
        assert answer["Content-Range"] == f"bytes {first}-{first + length - 1}/100"


def test_a_part_of_another_state_is_sent_whole_and_an_unchanged_file_not_at_all(files: Files, hundred):
    asked = {"projectId": str(files.root), "path": "a.bin"}
    etag = files.browser.get("/api/files/download", asked)["ETag"]
    get = files.browser.get
    assert get("/api/files/download", asked, headers={"range": "bytes=0-4", "if-range": etag}).status_code == 206
    assert get("/api/files/download", asked, headers={"range": "bytes=0-4", "if-range": '"old"'}).status_code == 200
    assert get("/api/files/download", asked, headers={"if-none-match": etag}).status_code == 304
    (files.root / "a.bin").write_bytes(b"new")
    assert get("/api/files/download", asked, headers={"if-none-match": etag}).status_code == 200


def test_a_part_is_sent_only_of_the_state_that_the_date_of_if_range_names(files: Files, hundred):
    asked = {"projectId": str(files.root), "path": "a.bin"}
    os.utime(files.root / "a.bin", (1_700_000_000, 1_700_000_000.75))
    get = files.browser.get
    date = get("/api/files/download", asked)["Last-Modified"]
    assert date == "Tue, 14 Nov 2023 22:13:20 GMT"

    def part_of(state: str) -> tuple[int, bytes]:
        answer = get("/api/files/download", asked, headers={"range": "bytes=0-4", "if-range": state})
        return answer.status_code, body_of(answer)

    assert part_of(date) == (206, hundred[:5])
    for other in ("Tue, 14 Nov 2023 22:13:19 GMT", "Tue, 14 Nov 2023 22:13:21 GMT", "yesterday"):
        assert part_of(other) == (200, hundred), other
    os.utime(files.root / "a.bin", (1_700_000_001, 1_700_000_001))
    assert part_of(date) == (200, hundred)


def test_an_empty_file_is_an_empty_answer_and_a_folder_is_none(files: Files):
    (files.root / "empty").touch()
    (files.root / "folder").mkdir()
    answer = files.get("files/download", path="empty")
    assert (answer.status_code, answer["Content-Length"], body_of(answer)) == (200, "0", b"")
    assert files.get("files/download", path="folder").json() == {"error": "Cannot download a directory"}
    assert files.get("files/download", path="gone").json() == {"error": "File not found"}


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.pdf", "a.png", "a.HTM"])
def test_D5_what_is_shown_in_place_is_caged(files: Files, name):
    (files.root / name).write_text("<script>fetch('/api/settings')</script>")
    answer = files.get("files/download", path=name, inline="1")
    assert answer["Content-Type"] == SHOWN[name.rpartition(".")[2].lower()]
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "allow-" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"].startswith("inline")


@pytest.mark.parametrize("name", ["a.xml", "a.xhtml", "a.js", "a.mht", "a", "html", "a.html.", "a.swf", "a.hta"])
def test_D5_what_no_table_names_is_an_attachment_even_inline(files: Files, name):
    (files.root / name).write_text("<html xmlns='http://www.w3.org/1999/xhtml'><script>1</script></html>")
    answer = files.get("files/download", path=name, inline="1")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")
