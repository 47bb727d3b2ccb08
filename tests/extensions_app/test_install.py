"""Six steps in, one step out, and hostile zips (spec canvas-extensions 3.1; SECURITY-BAR E1, E2; CASES C53 to C56)."""

import hashlib
import io
import os
import resource
import stat
import struct
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extensions_app import install
from extensions_app.install import install_folder, install_zip, recover, remove
from extensions_app.scanner import scan
from halo_site.lib import zips
from halo_site.lib.errors import BadRequest, Conflict, NotFound

from .zips import good, manifest, ready, with_entry, zipped

ROOT = Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path) -> Path:
    place = tmp_path / "extensions"
    place.mkdir()
    return place


def tree(root: Path) -> str:
    mark = hashlib.sha256()
    for place, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            mark.update(repr((str(path), path.read_bytes())).encode())
        mark.update(place.encode())
    return mark.hexdigest()


def versions(root: Path) -> dict[str, str]:
    return {each.manifest.id: each.manifest.version for each in scan(root).extensions}


# ---- the good way


@pytest.mark.parametrize("below", ["", "glb/", "any name/"])
def test_a_zip_installs_with_and_without_a_wrapper_folder(root, below):
    installed = install_zip(root, zipped(good(), below=below))
    assert installed.manifest.id == "mol-view"
    assert sorted(path.name for path in root.rglob("*")) == [
        "a.js",
        "halo-extension.json",
        "index.html",
        "js",
        "mol-view",
    ]
    assert abs(installed.installed_at - time.time() * 1000) < 60_000


def test_C56_what_finder_adds_is_not_stored_and_does_not_hide_the_wrapper(root):
    junk = {"__MACOSX/glb/._index.html": b"x", ".DS_Store": b"x", "glb/.DS_Store": b"x", "glb/js/._a.js": b"x"}
    install_zip(root, zipped({f"glb/{name}": data for name, data in good().items()} | junk))
    assert sorted(path.name for path in (root / "mol-view").rglob("*")) == [
        "a.js",
        "halo-extension.json",
        "index.html",
        "js",
    ]


def test_a_folder_gets_the_same_verdict_as_its_zip(root, tmp_path):
    source = tmp_path / "source"
    (source / "js").mkdir(parents=True)
    for name, data in good().items():
        (source / name).write_bytes(data)
    (source / ".git").mkdir()
    (source / "node_modules").mkdir()
    install_folder(root, source)
    first = tree(root)
    install_zip(root, zipped(good()))
    assert tree(root) == first
    for changes in ({"id": "X"}, {"capabilities": ["net"]}):
        (source / "halo-extension.json").write_bytes(manifest(**changes))
        reasons = []
        for attempt in (lambda: install_folder(root, source), lambda: install_zip(root, zipped(good(**changes)))):  # noqa: B023
            with pytest.raises(BadRequest) as caught:
                attempt()
            reasons.append(str(caught.value))
        assert reasons[0] == reasons[1]


@pytest.mark.parametrize(("version", "older"), [("2.0.0", False), ("1.2.0", False), ("2.0.0", True), ("1.0.0", True)])
def test_the_same_id_is_replaced_and_nothing_of_the_old_version_stays(root, version, older):
    install_zip(root, zipped(good() | {"old.js": b"1"}))
    install_zip(root, zipped(good(version=version)), older=older)
    assert versions(root) == {"mol-view": version}
    assert not (root / "mol-view" / "old.js").exists()
    assert os.listdir(root) == ["mol-view"]


def test_C58_an_older_version_comes_over_a_newer_one_only_when_that_is_said(root, tmp_path):
    install_zip(root, zipped(good(version="1.10.0")))
    before = tree(root)
    source = tmp_path / "source"
    for name, data in good(version="1.9.0").items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    for attempt in (
        lambda **said: install_zip(root, zipped(good(version="1.9.0")), **said),
        lambda **said: install_folder(root, source, **said),
    ):
        with pytest.raises(Conflict, match=r"mol-view 1\.9\.0 is older than 1\.10\.0, which is installed") as caught:
            attempt()
        assert caught.value.extra == {"id": "mol-view", "version": "1.9.0", "installed": "1.10.0"}
        assert tree(root) == before
        attempt(older=True)
        assert versions(root) == {"mol-view": "1.9.0"}
        install_zip(root, zipped(good(version="1.10.0")))


def test_C58_over_a_broken_version_nobody_is_asked(root):
    install_zip(root, zipped(good(version="2.0.0")))
    (root / "mol-view" / "index.html").unlink()
    install_zip(root, zipped(good(version="1.0.0")))
    assert versions(root) == {"mol-view": "1.0.0"}


def test_another_id_than_the_expected_is_refused(root):
    install_zip(root, zipped(good()))
    before = tree(root)
    with pytest.raises(BadRequest, match="this is mol-view, not glb"):
        install_zip(root, zipped(good(version="2.0.0")), expect="glb")
    assert tree(root) == before


def test_a_rename_that_fails_brings_the_old_version_back(root, monkeypatch):
    install_zip(root, zipped(good()))
    before, rename = tree(root), os.rename

    def failing(source, target, **options):
        if install.STAGING in str(source):
            raise OSError(28, "No space left on device")
        rename(source, target, **options)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(Conflict):
        install_zip(root, zipped(good(version="2.0.0")))
    assert tree(root) == before


def test_two_installs_at_once_leave_one_of_them_whole(root):
    errors: list[BaseException] = []

    def one(number: int) -> None:
        try:
            for _ in range(5):
                install_zip(root, zipped(good(version=f"1.0.{number}") | {f"only{number}.js": b"1"}), older=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert os.listdir(root) == ["mol-view"]
    number = versions(root)["mol-view"][-1]
    assert [path.name for path in (root / "mol-view").glob("only*")] == [f"only{number}.js"]


# ---- hostile zips


NAMES = [
    "../../evil.js",
    "/abs.js",
    "C:\\evil.js",
    "C:evil.js",
    "..\\evil.js",
    "a/../../b",
    "ok/./x",
    "ok//x",
    "nul\0.js",
    "dot./x",
    "space ",
    "js/a.js/below",
    "JS/A.js",
    "index.html",
    "INDEX.HTML",
    "bidi\u202egpj.exe",
    "zero\u200bwidth",
    "n" * 256,
    "/".join("d" * 40),
    "line\nbreak",
]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:30] for name in NAMES])
def test_E1_C53_a_bad_name_refuses_the_whole_zip(root, name):
    install_zip(root, zipped(good()))
    before = tree(root.parent)
    with pytest.raises(BadRequest, match="Not installed"):
        install_zip(root, with_entry(name))
    assert tree(root.parent) == before


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_E1_C54_links_and_special_files_are_refused(root, kind):
    before = tree(root.parent)
    with pytest.raises(BadRequest, match="is a link or a special file"):
        install_zip(root, with_entry("assets", b"../../settings", mode=kind | 0o777))
    assert tree(root.parent) == before


def composed(*names: str) -> io.BytesIO:
    return zipped(good() | {name: b"x" for name in names})


def encrypted() -> io.BytesIO:
    raw = bytearray(zipped(good()).getvalue())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = raw.find(magic)
        raw[place + at] |= 1
    return ready(io.BytesIO(bytes(raw)))


def overlapping() -> io.BytesIO:
    """Every entry of the list names the bytes of the first."""
    raw = bytearray(zipped({**good(), "bomb": b"0" * 100_000, "more": b"0" * 100_000}).getvalue())
    places = [place for place in range(len(raw)) if raw[place : place + 4] == b"PK\x01\x02"]
    first = struct.unpack_from("<I", raw, places[-2] + 42)[0]
    struct.pack_into("<I", raw, places[-1] + 42, first)
    return ready(io.BytesIO(bytes(raw)))


def lying_about_sizes() -> io.BytesIO:
    raw = bytearray(zipped({**good(), "big": b"0" * 3_000_000}).getvalue())
    place = raw.rfind(b"PK\x01\x02")
    struct.pack_into("<I", raw, place + 24, 10)  # says it unpacks to ten bytes
    return ready(io.BytesIO(bytes(raw)))


def truncated() -> io.BytesIO:
    return ready(io.BytesIO(zipped(good()).getvalue()[:-30]))


def cut_in_the_middle() -> io.BytesIO:
    raw = zipped({**good(), "big": os.urandom(50_000)}).getvalue()
    return ready(io.BytesIO(raw[:20_000] + raw[30_000:]))


HOSTILE = {
    "no zip": lambda: ready(io.BytesIO(b"hello" * 100)),
    "empty": lambda: ready(io.BytesIO(b"")),
    "no manifest": lambda: zipped({"index.html": b"x"}),
    "two wrappers": lambda: zipped({"a/" + n: d for n, d in good().items()} | {"b/x": b"1"}),
    "nested": lambda: zipped({"inner.zip": zipped(good()).getvalue()}),
    "encrypted": encrypted,
    "overlapping": overlapping,
    "sizes that lie": lying_about_sizes,
    "truncated": truncated,
    "cut in the middle": cut_in_the_middle,
    "composed and decomposed": lambda: composed("\u00e4.js", "a\u0308.js"),
    "folders that differ by case": lambda: composed("Lib/a.js", "lib/b.js"),
    "bzip2": lambda: zipped(good(), compress=zipfile.ZIP_BZIP2),
    "lzma": lambda: zipped(good(), compress=zipfile.ZIP_LZMA),
    "bomb": lambda: zipped({**good(), "zeros": b"0" * 50_000_000}),
    "too many": lambda: zipped({**good(), **{f"{n}": b"" for n in range(10_001)}}, compress=zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_E1_a_hostile_zip_changes_nothing(root, name):
    install_zip(root, zipped(good()))
    before, file = tree(root.parent), HOSTILE[name]()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadRequest, match="Not installed"):
        install_zip(root, file)
    assert tree(root.parent) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 * 1024


def test_E1_bytes_are_counted_while_they_come(root, monkeypatch):
    monkeypatch.setattr(zips, "MOST_BYTES", 100_000)
    with pytest.raises(BadRequest, match="unpacks to more than"):
        install_zip(root, zipped({**good(), "a": os.urandom(60_000), "b": os.urandom(60_000)}))
    assert os.listdir(root) == []


def test_E1_a_file_that_unpacks_to_more_than_is_left_is_given_up(tmp_path):
    with zipfile.ZipFile(zipped({"a": b"x" * 200_000}, compress=zipfile.ZIP_STORED)) as archive:
        (planned,) = zips.plan(archive.infolist())
        with pytest.raises(zips.BadArchive, match="unpacks to more than"):
            zips._write(archive, planned, tmp_path, 100_000)
    assert (tmp_path / "a").stat().st_size <= 100_000


def test_E1_an_archive_with_a_huge_list_is_refused_before_it_is_read(root):
    entry = b"PK\x01\x02" + b"\0" * 42
    listed = entry * 100_000
    end = b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, 9, 9, len(listed), 0, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadRequest, match="larger than 2 MiB"):
        install_zip(root, ready(io.BytesIO(listed + end)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 64 * 1024


parts = st.sampled_from(["a", "B", "..", ".", "", "c.js", "\\", "/", " ", "\u202e", "d\0"])


@given(st.lists(parts, min_size=1, max_size=4), st.booleans())
def test_E1_whatever_a_path_is_called_it_stays_inside_or_is_refused(tmp_path_factory, names, is_folder):
    target = tmp_path_factory.mktemp("unpack") / "inner"
    target.mkdir()
    name = "/".join(names) + ("/" if is_folder else "")
    try:
        zips.unpack(with_entry(name), target)
    except zips.BadArchive:
        pass
    assert [path.name for path in target.parent.iterdir()] == ["inner"]


@example(b"\xff", zipped(good()).getvalue().rfind(b"js/a.js"))
@given(st.binary(max_size=300), st.integers(0, 400))
def test_E1_a_zip_with_any_bytes_changed_unpacks_or_is_refused(tmp_path_factory, noise, at):
    target = tmp_path_factory.mktemp("unpack")
    raw = zipped(good()).getvalue()
    try:
        zips.unpack(io.BytesIO(raw[:at] + noise + raw[at + len(noise) :]), target)
    except zips.BadArchive as error:
        assert str(error)  # noqa: PT017 - both ways are right


# ---- removal


def test_a_folder_is_removed_and_a_link_is_unlinked_not_followed(root, tmp_path):
    install_zip(root, zipped(good()))
    outside = tmp_path / "precious"
    outside.mkdir()
    (outside / "file").write_text("x")
    (root / "link").symlink_to(outside)
    remove(root, "mol-view")
    remove(root, "link")
    assert os.listdir(root) == []
    assert (outside / "file").exists()


@pytest.mark.parametrize("name", ["none", "..", ".", "", "a/b", "../precious", "a\0b"])
def test_a_name_that_is_no_child_is_not_found(root, name):
    (root.parent / "precious").mkdir()
    with pytest.raises(NotFound):
        remove(root, name)
    assert (root.parent / "precious").is_dir()


# ---- after a crash


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [{repo!r}]
from extensions_app.install import install_zip
from tests.extensions_app.zips import good, zipped
install_zip(Path({root!r}), zipped(good(version="2.0.0") | {{"new.js": b"1"}}))
"""


@pytest.mark.parametrize(
    ("point", "version"),
    [("extension.staged", "1.2.0"), ("extension.aside", "1.2.0"), ("extension.moved_in", "2.0.0")],
)
@pytest.mark.parametrize("had", [True, False])
def test_E2_a_kill_at_any_step_leaves_the_old_or_the_new_version_whole(root, point, version, had):
    if had:
        install_zip(root, zipped(good()))
    elif point == "extension.aside":
        pytest.skip("there is nothing to put aside")
    code = CHILD.format(repo=str(ROOT), root=str(root))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "HALO_CRASH_AT": point}, cwd=ROOT)
    assert done.returncode == -9
    recover(root, now=time.time() + install.STALE + 1)
    wanted = {"mol-view": version} if had or version == "2.0.0" else {}
    assert versions(root) == wanted
    assert os.listdir(root) == list(wanted)
    if wanted:
        assert (root / "mol-view" / "new.js").exists() is (version == "2.0.0")
        assert (root / "mol-view" / "js" / "a.js").read_bytes() == b"1;"


def test_a_fresh_staging_folder_of_another_process_is_left_alone(root):
    (root / f"{install.STAGING}abc").mkdir()
    recover(root)
    assert os.listdir(root) == [f"{install.STAGING}abc"]
