"""What changes under our hands: swapped folders, a kill in the middle of a save (SECURITY-BAR D2, D4)."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from halo_site.lib.atomic_file import sweep
from halo_site.lib.errors import HaloError
from workspaces_app.files.download import open_for_download
from workspaces_app.files.remove import move, remove
from workspaces_app.files.search import search
from workspaces_app.files.tree import level
from workspaces_app.files.upload import store
from workspaces_app.files.version import Baseline
from workspaces_app.files.write import save
from workspaces_app.jail import Jail

from .conftest import CANARY

SAVE = """
import os, sys
os.environ["HALO_CRASH_AT"] = "file.temp_written"
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_site.settings"
import django
django.setup()
from pathlib import Path
from halo_site.lib import atomic_file
from workspaces_app.files.version import Baseline
from workspaces_app.files.write import save
from workspaces_app.jail import Jail
atomic_file.use_journal(Path(sys.argv[1]))
save(Jail(Path(sys.argv[2]), confined=True), "a.txt", [b"new " * 1000, b"end"], Baseline())
"""


class Dropped:
    """A file of an upload."""

    name = "planted.txt"

    def chunks(self, chunk_size=None):
        yield b"planted"


def acts(jail: Jail):
    """Every way in, each on a path below the folder that is swapped."""
    yield lambda: [node.name for node in level(jail, "swap")]
    yield lambda: [match.path for match in search(jail, "", limit=100).matches]
    yield lambda: os.close(open_for_download(jail, "swap/inside.txt").handle)
    yield lambda: save(jail, "swap/planted.txt", [b"planted"], Baseline())
    yield lambda: save(jail, "swap/inside.txt", [b"harmless"], Baseline(), must_exist=True)
    yield lambda: store(jail, [Dropped()], "swap")
    yield lambda: jail.create(f"swap/new {time.monotonic_ns()}")
    yield lambda: move(jail, "swap/planted.txt", f"swap/moved {time.monotonic_ns()}")
    yield lambda: remove(jail, "swap/secret.txt")


def put(source: Path, target: Path) -> None:
    """Rename, also where a save has just made a folder of that name."""
    while True:
        with suppress(OSError):
            os.rename(source, target)
            return
        shutil.rmtree(target, ignore_errors=True)


def test_D2_no_route_reads_or_writes_outside_while_folders_are_swapped_for_links(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "swap", outside):
        folder.mkdir(parents=True)
    (root / "swap" / "inside.txt").write_text("harmless")
    (outside / "secret.txt").write_text(CANARY)
    os.symlink(outside, root / "trap")
    stop = threading.Event()
    seen: list[str] = []
    worked = [0] * 9

    def race() -> None:
        while not stop.is_set():
            os.rename(root / "swap", root / "aside")
            put(root / "trap", root / "swap")
            os.rename(root / "swap", root / "trap")
            put(root / "aside", root / "swap")

    def client() -> None:
        jail = Jail(root, confined=True)
        while not stop.is_set():
            for number, act in enumerate(acts(jail)):
                with suppress(HaloError):
                    result = act()
                    seen.extend(result if number < 2 else [])
                    worked[number] += 1

    threads = [threading.Thread(target=race), *(threading.Thread(target=client) for _ in range(4))]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 120
    while time.monotonic() < end and not (sum(worked) > 1000 and all(worked)):
        stop.wait(0.05)
    stop.set()
    for thread in threads:
        thread.join()
    assert all(worked), f"an act never got through: {worked}"
    assert not [name for name in seen if "secret" in name]
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("secret.txt", CANARY)]
    assert not list(root.rglob(".halo-tmp-*"))


def test_D4_a_save_killed_before_its_rename_leaves_the_old_file_and_nothing_after_the_next_start(tmp_path):
    journal, root = tmp_path / "journal", tmp_path / "root"
    journal.mkdir()
    root.mkdir()
    (root / "a.txt").write_text("old")
    killed = subprocess.run([sys.executable, "-c", SAVE, str(journal), str(root)], check=False, cwd=os.getcwd())
    assert killed.returncode == -signal.SIGKILL
    assert (root / "a.txt").read_text() == "old"
    assert [node.name for node in level(Jail(root, confined=True), "")] == ["a.txt"], "half a file does not show"
    assert sweep(journal) == 1
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.parametrize("count", [100_000])
def test_D3_a_folder_of_100000_entries_is_listed_searched_and_deleted_in_bounded_time(tmp_path, count):
    folder = tmp_path / "many"
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    for number in range(count):
        os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    jail = Jail(tmp_path, confined=True)
    begun = time.thread_time()
    assert len(level(jail, "many")) == count
    assert search(jail, "99999", limit=5).truncated
    assert remove(jail, "many")
    assert time.thread_time() - begun < 60  # seconds of work, not of the clock; with the square: hours
    assert list(tmp_path.iterdir()) == []
