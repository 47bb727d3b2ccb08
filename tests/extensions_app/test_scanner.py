"""What counts as installed (spec canvas-extensions 2.1, 2.3, 7.2, 7.3, 7.27)."""

import os
from pathlib import Path

import pytest

from extensions_app.install import install_zip, remove
from extensions_app.scanner import Snapshot, scan

from .zips import good, manifest, zipped


@pytest.fixture
def root(tmp_path) -> Path:
    return tmp_path


def put(root: Path, folder: str, **changes) -> Path:
    place = root / folder
    (place / "js").mkdir(parents=True)
    for name, data in good(**changes).items():
        (place / name).write_bytes(data)
    return place


def errors(root: Path) -> dict[str, str]:
    return {each.id: each.error for each in scan(root).errors}


def test_a_valid_folder_is_installed_at_its_own_time(root):
    place = put(root, "mol-view")
    os.utime(place, ns=(0, 1_790_000_000_123_456_789))
    assert scan(root).as_dict() == {
        "extensions": [
            {
                "id": "mol-view",
                "name": "Molecule viewer",
                "version": "1.2.0",
                "extensions": (".mol", ".pdb"),
                "entry": "index.html",
                "priority": "default",
                "capabilities": (),
                "description": None,
                "homepage": None,
                "license": None,
                "installedAt": 1_790_000_000_123,
            }
        ],
        "errors": [],
    }


def claimants(root: Path) -> None:
    """Five that claim `.mol`; who opens it is told by priority and time of install, not by names or luck."""
    for name, priority, at in (
        ("a-old", "default", 1_000),
        ("b-choice", "option", 9_000),
        ("c-new", "default", 5_000),
        ("d-new", "default", 5_000),
        ("e-choice", "option", 2_000),
    ):
        place = put(root, name, id=name, priority=priority, extensions=[".mol", f".{name[0]}"])
        os.utime(place, ns=(0, at * 1_000_000))
    (put(root, "broken", id="broken") / "index.html").unlink()


def test_C58_of_several_viewers_for_a_type_the_newest_default_one_opens_it(root):
    claimants(root)
    order = ["c-new", "d-new", "a-old", "b-choice", "e-choice"]
    found = scan(root)
    assert found.viewers(".mol") == order
    assert [each["id"] for each in found.as_dict()["extensions"]] == order, "clients need only leave out other types"
    assert found.passed_over("a-old") == {".mol": "c-new"}
    assert found.passed_over("c-new") == found.passed_over("broken") == {}
    assert found.viewers(".none") == []
    assert scan(root).as_dict() == found.as_dict()


def test_C58_who_opens_a_type_changes_by_installing_again_and_by_removing(root):
    claimants(root)
    install_zip(root, zipped(good(id="a-old", extensions=[".mol"])))
    assert scan(root).viewers(".mol")[:2] == ["a-old", "c-new"]
    install_zip(root, zipped(good(id="a-old", extensions=[".mol"], priority="option")))
    assert scan(root).viewers(".mol") == ["c-new", "d-new", "a-old", "b-choice", "e-choice"]
    for name in ("c-new", "d-new"):
        remove(root, name)
    assert scan(root).viewers(".mol")[0] == "a-old", "with no default one the newest option is first"


def test_no_root_is_an_empty_snapshot(root):
    assert scan(root / "none") == Snapshot()


def test_a_broken_folder_is_listed_with_its_reason(root):
    put(root, "broken", id="brokn")
    put(root, "Upper")
    put(root, "net", id="net", capabilities=["network"])
    (root / "empty").mkdir()
    (root / "link").symlink_to(put(root.parent, "elsewhere"))
    found = errors(root)
    assert found["broken"] == 'id mismatch: manifest says "brokn"'
    assert found["Upper"].startswith("the folder's name is not an id")
    assert found["net"].startswith('capabilities: "network" is unknown')
    assert found["empty"] == "there is no halo-extension.json"
    assert found["link"] == "this is a link; copy the folder itself"
    assert scan(root).extensions == ()


def test_hidden_folders_and_plain_files_are_none_of_ours(root):
    put(root, ".tmp-unpack-1")
    put(root, ".old-mol-view-1")
    (root / "readme.txt").write_text("x")
    assert scan(root) == Snapshot()


def test_a_manifest_or_entry_that_is_a_link_out_or_a_pipe_is_an_error(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "index.html").write_text("x")
    (outside / "m.json").write_bytes(manifest(id="one"))
    one, two, three = (put(root, name, id=name) for name in ("one", "two", "three"))
    (one / "halo-extension.json").unlink()
    (one / "halo-extension.json").symlink_to(outside / "m.json")
    (two / "index.html").unlink()
    (two / "index.html").symlink_to(outside / "index.html")
    (three / "halo-extension.json").unlink()
    os.mkfifo(three / "halo-extension.json")
    assert set(errors(root)) == {"one", "two", "three"}


def test_installing_the_same_version_again_is_another_snapshot(root):
    install_zip(root, zipped(good()))
    first = scan(root)
    os.utime(root / "mol-view", (1, 1))
    assert scan(root).key() != first.key()
    install_zip(root, zipped(good()))
    assert scan(root).find("mol-view").installed_at >= first.find("mol-view").installed_at


def test_folders_whose_names_are_not_text_are_listed_apart_and_can_be_removed(root):
    names = [b"bad\xff", b"bad\xfe", b"bad\\xff"]  # the last one is text that looks like the first
    for name in names:
        os.mkdir(os.fsencode(root) + b"/" + name)
    shown = [each["id"] for each in scan(root).as_dict()["errors"]]
    assert sorted(shown) == ["bad\\xfe", "bad\\xff", "bad\\xff"]
    assert scan(root).folder_of("bad\ufffd") is None
    for name in shown:
        remove(root, scan(root).folder_of(name) or "")
    assert os.listdir(root) == []
