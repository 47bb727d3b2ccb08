"""A file is replaced as a whole, whatever happens in between."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from halo_site.lib import atomic_file
from halo_site.lib.atomic_file import folder_lock, locked_folder, sweep, write_atomic

KILLED = """
import os, sys
os.environ["HALO_CRASH_AT"] = "file.temp_written"
from pathlib import Path
from halo_site.lib import atomic_file
atomic_file.use_journal(Path(sys.argv[1]))
atomic_file.write_atomic(Path(sys.argv[2]), b"new " * 1000)
"""


def test_a_new_file_gets_the_given_mode_and_an_old_one_keeps_its_own(tmp_path):
    file = tmp_path / "secret"
    write_atomic(file, b"1", mode=0o600)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    write_atomic(file, b"2")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"2", 0o640)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_atomic(file, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_bytes() == b"old"


def test_D4_a_kill_between_write_and_rename_leaves_the_old_content_and_the_next_start_tidies_up(tmp_path):
    journal, place = tmp_path / "journal", tmp_path / "folder with spaces"
    journal.mkdir()
    place.mkdir()
    file = place / "file.txt"
    file.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(journal), str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert file.read_bytes() == b"old"
    assert len(list(place.iterdir())) == 2, "the temporary file is still there"
    assert sweep(journal) == 1
    assert [path.name for path in place.iterdir()] == ["file.txt"]
    assert list(journal.iterdir()) == []


def test_a_sweep_leaves_the_files_of_living_processes_alone(tmp_path, monkeypatch):
    journal, place = tmp_path / "journal", tmp_path / "place"
    journal.mkdir()
    place.mkdir()
    monkeypatch.setattr(atomic_file, "_journal", journal)
    seen = []

    def at_rename(*args, **kwargs):
        seen.append((sweep(journal), len(list(journal.iterdir())), len(list(place.iterdir()))))
        return real(*args, **kwargs)

    real = os.rename
    monkeypatch.setattr(os, "rename", at_rename)
    write_atomic(place / "file", b"x")
    assert seen == [(0, 1, 1)]
    assert list(journal.iterdir()) == []


def test_a_sweep_removes_nothing_that_a_forged_note_names(tmp_path):
    journal, precious = tmp_path / "journal", tmp_path / "precious"
    journal.mkdir()
    precious.write_text("x")
    import socket

    (journal / f"{socket.gethostname()}@999999999-1").write_text(str(precious))
    sweep(journal)
    assert precious.exists()


def test_a_folder_lock_keeps_others_out_until_it_is_free(tmp_path):
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        inside.wait(60)
        with locked_folder(tmp_path):
            order.append("second")

    thread = threading.Thread(target=other)
    thread.start()
    handle = os.open(tmp_path, os.O_RDONLY)
    with folder_lock(handle):
        inside.set()
        thread.join(0.1)
        order.append("first")
    thread.join(60)
    os.close(handle)
    assert order == ["first", "second"]
