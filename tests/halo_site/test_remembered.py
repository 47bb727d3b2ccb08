"""What is made from files is made again when one of them changes, and only then."""

import os
from pathlib import Path

import pytest

from halo_site.lib.remembered import Remembered, do_not_keep, looking_at


class Kitchen:
    """Makes the joined text of all files of a folder; `made` counts how often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0
        self.kept: Remembered[str] = Remembered(2)

    def make(self) -> str:
        self.made += 1
        looking_at(self.folder)
        texts = []
        for file in sorted(self.folder.iterdir()):
            looking_at(file)
            texts.append(file.read_text())
        return " ".join(texts)

    def get(self, key: str = "all") -> str:
        return self.kept.get(key, self.make)


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    (tmp_path / "a").write_text("first")
    (tmp_path / "b").write_text("second")
    return Kitchen(tmp_path)


def test_the_same_files_are_asked_about_and_not_read_again(kitchen: Kitchen):
    assert kitchen.get() == kitchen.get() == "first second"
    assert kitchen.made == 1


def test_a_changed_a_new_and_a_removed_file_are_seen(kitchen: Kitchen):
    kitchen.get()
    (kitchen.folder / "a").write_text("other")
    assert kitchen.get() == "other second"
    (kitchen.folder / "c").write_text("third")
    assert kitchen.get() == "other second third"
    (kitchen.folder / "b").unlink()
    assert kitchen.get() == "other third"
    assert kitchen.made == 4


def test_a_file_of_the_same_size_with_its_old_time_is_seen(kitchen: Kitchen):
    """What nobody can set back is when the kernel saw the change."""
    kitchen.get()
    before = (kitchen.folder / "a").stat()
    (kitchen.folder / "a").write_text("FIRST")
    os.utime(kitchen.folder / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kitchen.get() == "FIRST second"


def test_something_that_was_not_there_is_noticed_when_it_comes(tmp_path: Path):
    kept: Remembered[bool] = Remembered(2)

    def make() -> bool:
        looking_at(tmp_path / "late")
        return (tmp_path / "late").exists()

    assert kept.get("late", make) is False
    (tmp_path / "late").mkdir()
    assert kept.get("late", make) is True


def test_what_hangs_on_more_than_files_is_not_kept(kitchen: Kitchen):
    def unsettled() -> str:
        do_not_keep()
        return kitchen.make()

    kitchen.get()
    (kitchen.folder / "a").write_text("other")
    assert [kitchen.kept.get("all", unsettled) for _ in range(2)] == ["other second"] * 2
    assert kitchen.made == 3


def test_a_failure_is_raised_each_time(tmp_path: Path):
    kept: Remembered[str] = Remembered(2)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            kept.get("missing", (tmp_path / "missing").read_text)


def test_only_the_newest_are_kept(kitchen: Kitchen):
    for key in ("one", "two", "one", "three", "one"):
        kitchen.get(key)
    assert kitchen.made == 3
    kitchen.get("two")
    assert kitchen.made == 4


def test_a_look_outside_of_a_memory_costs_nothing(tmp_path: Path):
    looking_at(tmp_path)
    do_not_keep()
