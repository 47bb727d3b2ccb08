"""The picture of a folder against the folder, whatever happens in it and whichever hints come or fail to come."""

import os
import shutil
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workspaces_app.watch.tree import Tree


def picture(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if "node_modules" not in path.parts}


def known(tree: Tree) -> set[str]:
    return {f"{folder}/{name}" if folder else name for folder, names in tree.folders.items() for name in names}


def test_the_differences_are_told_once(tmp_path: Path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "d").mkdir()
    tree = Tree(str(tmp_path))
    assert sorted(tree.refresh()) == [("a", "add"), ("d", "addDir")]
    assert tree.refresh() == []
    (tmp_path / "a").write_text("22")
    (tmp_path / "d" / "x").write_text("")
    assert sorted(tree.refresh()) == [("a", "change"), ("d/x", "add")]
    shutil.rmtree(tmp_path / "d")
    assert tree.refresh() == [("d/x", "unlink"), ("d", "unlink")]


def test_a_folder_that_became_a_file_is_told_as_both(tmp_path: Path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y").write_text("")
    tree = Tree(str(tmp_path))
    tree.refresh()
    shutil.rmtree(tmp_path / "x")
    (tmp_path / "x").write_text("")
    assert tree.look("x", modified=False, deleted=True) == [("x/y", "unlink"), ("x", "unlink"), ("x", "add")]
    assert tree.refresh() == []


def test_two_writes_within_one_tick_are_both_told(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("1")
    tree = Tree(str(tmp_path))
    tree.refresh()
    assert tree.look("a", modified=True, deleted=False) == [("a", "change")]
    assert tree.look("a", modified=False, deleted=False) == []


def test_a_survey_knows_the_folders_and_a_look_after_it_finds_none_new(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "node_modules" / "x").mkdir(parents=True)
    (tmp_path / "a" / "file").write_text("")
    os.symlink(tmp_path / "a", tmp_path / "link")
    tree = Tree(str(tmp_path))
    tree.survey()
    assert sorted(tree.folders) == ["", "a", "a/b"]
    tree.fresh.clear()
    shutil.rmtree(tmp_path / "a" / "b")
    (tmp_path / "a" / "c").mkdir()
    tree.refresh()
    assert tree.fresh == {"a/c"}
    assert known(tree) == {"a", "a/c", "a/file", "link"}
    small = Tree(str(tmp_path), max_folders=1)
    small.survey()
    assert list(small.folders) == [""]


def test_links_are_listed_and_never_followed(tmp_path: Path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret").write_text("")
    root.mkdir()
    os.symlink(outside, root / "link")
    os.symlink(root, root / "loop")
    os.symlink("nowhere", root / "broken")
    tree = Tree(str(root))
    assert sorted(tree.refresh()) == [("broken", "add"), ("link", "addDir"), ("loop", "addDir")]
    assert list(tree.folders) == [""]


def test_a_tree_that_is_too_large_keeps_its_upper_levels(tmp_path: Path):
    for number in range(5):
        (tmp_path / f"d{number}" / "deep").mkdir(parents=True)
    tree = Tree(str(tmp_path), max_folders=6)
    tree.refresh()
    assert tree.full
    assert set(tree.folders) == {"", *(f"d{number}" for number in range(5))}
    assert tree.refresh() == []
    files = Tree(str(tmp_path), max_entries=3)
    files.refresh()
    assert files.full
    assert files.folders == {}


NAMES = st.sampled_from(["a", "b", "node_modules"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
ACTS = st.lists(
    st.tuples(st.sampled_from(["file", "folder", "remove", "move"]), PATHS, PATHS, st.booleans()), max_size=25
)


def act(root: Path, kind: str, path: str, other: str) -> list[str]:
    """Do it if it can be done; the paths the kernel would name."""
    place = root / path
    try:
        if kind == "file":
            place.write_text(str(len(path)))
        elif kind == "folder":
            place.mkdir()
        elif kind == "remove":
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        else:
            os.rename(place, root / other)
            return [path, other]
    except OSError:
        return []
    return [path]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(ACTS)
def test_hints_late_lost_or_doubled_lead_to_what_is_on_disk(tmp_path_factory, acts):
    root = tmp_path_factory.mktemp("tree")
    tree = Tree(str(root))
    tree.refresh()
    view = known(tree)
    late: list[str] = []
    for kind, path, other, now in acts:
        late += act(root, kind, path, other)
        if now:
            for hint in late + late:
                if "node_modules" not in hint:
                    for changed, action in tree.look(hint, modified=True, deleted=True):
                        (view.discard if action == "unlink" else view.add)(changed)
            late = []
    for changed, action in tree.refresh():
        (view.discard if action == "unlink" else view.add)(changed)
    assert known(tree) == view == picture(root)
    assert tree._entries == sum(map(len, tree.folders.values()))
