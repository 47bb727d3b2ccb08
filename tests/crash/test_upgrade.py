"""A schema change that is killed half way, and several processes that start at once (CASES X9)."""

import os
import select
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import PASSWORD, RunningServer, is_up, prepared_home

from .world import log_in

REPEAT = range(int(os.environ.get("HALO_CRASH_REPEAT", "3")))
pytestmark = [
    pytest.mark.crash,
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="about the SQLite file"),
]


def migrations(home: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(home / "secrets" / "halo.sqlite3")) as db:
        return db.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()


@pytest.mark.parametrize("_repeat", REPEAT)
def test_X9_a_first_start_killed_half_way_is_finished_by_the_next(_repeat: int, tmp_path: Path):
    visit = 1 + (_repeat * 7) % 25
    home = tmp_path / "home"
    first = RunningServer(home, wait=False, HALO_CRASH_AT=f"migrate.mid:{visit}")
    assert first.wait(60) == -9
    assert migrations(home)
    with RunningServer(home) as second:
        assert log_in(second.base)
        assert second.terminate() == 0
    done = migrations(home)
    assert len(done) == len(set(done))
    assert done == migrations(prepared_home(tmp_path / "other"))


def test_X9_an_older_program_refuses_the_database_of_a_newer_one(tmp_path: Path):
    home = prepared_home(tmp_path / "home")
    with closing(sqlite3.connect(home / "secrets" / "halo.sqlite3")) as db:
        db.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('sessions_app', '0900_x', '2030-01-01')")
        db.commit()
    before = (home / "secrets" / "halo.sqlite3").read_bytes()
    server = RunningServer(home, wait=False)
    assert server.wait(60) == 1
    assert "written by a newer version of Halo (it knows sessions_app.0900_x" in server.out.text
    assert "Traceback" not in server.out.text
    assert (home / "secrets" / "halo.sqlite3").read_bytes() == before


def test_three_first_starts_at_once_end_in_one_server_with_one_admin(tmp_path: Path):
    home = tmp_path / "home"
    servers = [RunningServer(home, wait=False) for _ in range(3)]
    try:
        losers = first_two_to_end(servers)
        assert [server.wait() for server in losers] == [1, 1]
        (winner,) = [server for server in servers if server not in losers]
        winner.wait_until_it_listens()
        assert is_up(winner.base)
        with closing(sqlite3.connect(home / "secrets" / "halo.sqlite3")) as db:
            assert db.execute("SELECT username FROM auth_user").fetchall() == [("admin",)]
        assert PASSWORD not in winner.out.text
    finally:
        for server in servers:
            server.kill()


def first_two_to_end(servers: list[RunningServer]) -> list[RunningServer]:
    handles = {os.pidfd_open(server.pid): server for server in servers}
    ended: list[RunningServer] = []
    while len(ended) < 2:
        ready, _, _ = select.select(list(handles), [], [], 90)
        assert ready, "more than one server went on"
        for handle in ready:
            ended.append(handles.pop(handle))
            os.close(handle)
    for handle in handles:
        os.close(handle)
    return ended
