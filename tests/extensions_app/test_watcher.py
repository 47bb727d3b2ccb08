"""The thread that watches the root: it tidies up, goes on after trouble, and ends (spec canvas-extensions 3.3, 8)."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from extensions_app import watcher as module
from extensions_app.install import OLD
from extensions_app.watcher import Watcher


def soon(fact: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)


class Seen:
    def __init__(self, root: Path) -> None:
        self.root, self.looks, self.fail = root, [], False
        self.watcher = Watcher(root, self.look)

    def look(self) -> None:
        if self.fail:
            self.fail = False
            raise OSError("the disk had a bad moment")
        self.looks.append(sorted(path.name for path in self.root.iterdir()) if self.root.exists() else [])


@pytest.fixture
def seen(tmp_path, monkeypatch) -> Iterator[Seen]:
    monkeypatch.setattr(module, "RETRY", 0.05)
    made = Seen(tmp_path / "extensions")
    yield made
    made.watcher.stop()


def test_it_makes_the_root_and_puts_an_old_version_back_before_the_first_look(seen):
    seen.root.mkdir()
    (seen.root / f"{OLD}mol-view-12ab").mkdir()
    seen.watcher.start()
    soon(lambda: bool(seen.looks))
    assert seen.looks[0] == ["mol-view"]


def test_what_appears_is_seen(seen):
    seen.watcher.start()
    soon(lambda: bool(seen.looks))
    (seen.root / "new").mkdir()
    soon(lambda: seen.looks[-1] == ["new"])


def test_it_goes_on_after_an_error(seen):
    seen.watcher.start()
    soon(lambda: bool(seen.looks))
    seen.fail = True
    (seen.root / "one").mkdir()
    soon(lambda: not seen.fail)
    soon(lambda: seen.looks[-1] == ["one"])
    (seen.root / "two").mkdir()
    soon(lambda: seen.looks[-1] == ["one", "two"])


def test_it_goes_on_when_the_root_was_taken_away_and_made_again(seen):
    seen.watcher.start()
    soon(lambda: bool(seen.looks))
    shutil.rmtree(seen.root)
    soon(lambda: seen.root.exists())  # made again
    (seen.root / "back").mkdir()
    soon(lambda: seen.looks[-1] == ["back"])


def test_it_ends_when_it_is_told_to(seen):
    others = set(threading.enumerate())  # a server in this process has one, too
    seen.watcher.start()
    [own] = [thread for thread in threading.enumerate() if thread.name == "extensions watcher" and thread not in others]
    soon(lambda: bool(seen.looks))
    seen.watcher.stop()
    soon(lambda: not own.is_alive())
