"""A real server from its first start to its end (spec deploy 4, 5, 11; SECURITY-BAR L3, T9; CASES X15)."""

import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.server import (
    PASSWORD,
    ROOT,
    Deaths,
    Process,
    RunningServer,
    environment,
    family,
    get_json,
    is_up,
    prepared_home,
)

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="one server on SQLite; tests/crash does the other"),
]


def post(base: str, path: str, body: str) -> int:
    request = Request(base + path, body.encode(), {"Content-Type": "application/json", "Origin": base})
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def test_a_first_start_makes_everything_and_prints_the_password_once(tmp_path):
    home = tmp_path / "home"
    with RunningServer(home, HALO_PASSWORD="", HALO_JWT_SECRET="") as server:
        password = server.out.wait_for(r"Password +(\S+) +\(shown only this once\)").group(1)
        assert server.out.wait_for(r"Address +(\S+)").group(1) == server.base
        assert get_json(server.base + "/api/health")["status"] == "ok"
        assert post(server.base, "/api/auth/login", f'{{"password": "{password}"}}') == 200
        assert post(server.base, "/api/auth/login", '{"password": "wrong"}') == 401
        assert server.terminate() == 0
    assert stat.S_IMODE((home / "secrets").stat().st_mode) == 0o700
    for path in (home / "secrets").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert (home / "global" / "agents" / "default" / "agent.yaml").exists()
    with RunningServer(home, HALO_PASSWORD="", HALO_JWT_SECRET="") as again:
        assert post(again.base, "/api/auth/login", f'{{"password": "{password}"}}') == 200
        assert password not in again.out.text
        assert "Password" not in again.out.text
    for log in (home / "global" / "logs").glob("*.log*"):
        assert password not in log.read_text()


def test_with_a_password_in_the_environment_none_is_printed(tmp_path):
    with RunningServer(tmp_path / "home") as server:
        assert post(server.base, "/api/auth/login", f'{{"username": "admin", "password": "{PASSWORD}"}}') == 200
        assert "shown only this once" not in server.out.text
        assert PASSWORD not in server.out.text


def test_T9_a_second_server_on_the_same_home_names_the_first_and_exits_1(tmp_path):
    home = prepared_home(tmp_path / "home")
    with RunningServer(home) as first:
        second = RunningServer(home, wait=False)
        assert second.wait() == 1
        expected = f"another halo server is already running (pid {first.pid}). kill it first."
        assert expected in second.out.text
        assert is_up(first.base)
        first.kill()
    with RunningServer(home) as third:
        assert is_up(third.base)


def test_a_port_in_use_ends_the_start_with_a_sentence_and_makes_no_admin(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        server = RunningServer(tmp_path / "home", port=port, wait=False)
        assert server.wait() == 1
    assert f"Port {port} on 127.0.0.1 is already in use" in server.out.text
    assert not (tmp_path / "home" / "global" / "agents" / "default").exists()


@pytest.mark.parametrize("port", ["x", "70000", "-1"])
def test_an_invalid_port_is_named(tmp_path, port):
    process = Process("serve", f"--port={port}", env=environment(tmp_path / "home"))
    assert process.wait() == 1
    assert f"Invalid port: {port}" in process.out.text


@pytest.mark.parametrize("secret", ["short", "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="])
def test_L3_a_weak_secret_ends_the_start(tmp_path, secret):
    server = RunningServer(prepared_home(tmp_path / "home"), wait=False, HALO_JWT_SECRET=secret)
    assert server.wait() == 1
    assert "HALO_JWT_SECRET" in server.out.text
    assert "Traceback" not in server.out.text


def test_without_a_superuser_who_can_log_in_the_start_ends(tmp_path):
    home = prepared_home(tmp_path / "home")
    with sqlite3.connect(home / "secrets" / "halo.sqlite3") as db:
        db.execute("UPDATE auth_user SET is_active = 0")
    db.close()
    server = RunningServer(home, wait=False, HALO_PASSWORD="")
    assert server.wait() == 1
    assert "No superuser can log in" in server.out.text


def test_a_broken_config_file_is_left_alone_and_named(tmp_path):
    home = prepared_home(tmp_path / "home")
    config = home / "secrets" / "config.yaml"
    config.write_text("server: [\n")
    server = RunningServer(home, wait=False)
    assert server.wait() == 1
    assert "config.yaml is not valid YAML" in server.out.text
    assert "Traceback" not in server.out.text
    assert config.read_text() == "server: [\n"


def test_sigterm_ends_with_0_and_frees_the_home(tmp_path):
    home = prepared_home(tmp_path / "home")
    with RunningServer(home) as server:
        assert server.terminate(30) == 0, server.out.text
    assert (home / "global" / "server.lock").read_text() == ""
    with sqlite3.connect(home / "secrets" / "halo.sqlite3") as db:
        assert db.execute("SELECT count(*) FROM sessions_app_session WHERE lease_owner IS NOT NULL").fetchone() == (0,)
    db.close()


def test_a_failed_engine_ends_the_process_with_1(tmp_path):
    home = prepared_home(tmp_path / "home")
    with RunningServer(home) as server:
        # The one fault an engine cannot survive: its tables are gone.
        with sqlite3.connect(home / "secrets" / "halo.sqlite3", timeout=20) as db:
            db.execute("ALTER TABLE sessions_app_session RENAME TO sessions_app_gone")
        db.close()
        assert server.wait() == 1
        assert any(event["level"] == "critical" for event in server.events())


def test_the_log_has_one_json_object_per_event(tmp_path):
    home = prepared_home(tmp_path / "home")
    with RunningServer(home) as server:
        server.terminate()
        messages = [event["message"] for event in server.events()]
        assert "listening" in messages
        assert "shutting down" in messages
        extra = [line for line in server.out.lines if not line.startswith("{")]
        assert [re.sub(r":\d+$", "", line) for line in extra if line] == ["Halo is running at http://127.0.0.1"]


def qcluster_of(server: RunningServer, nth: int = 1) -> int:
    """Its pid, once all five processes are there."""
    started = r'"message": "\[respawn\] qcluster started", "pid": (\d+)'
    pid = int(server.out.wait_for(started, nth=nth).group(1))
    server.out.wait_for(r"Q Cluster .* running\.", nth=nth)
    return pid


def test_the_background_child_ends_with_a_killed_server_and_leaves_no_orphan(tmp_path):
    with RunningServer(prepared_home(tmp_path / "home"), qcluster=True) as server:
        members = family(qcluster_of(server))
        assert len(members) >= 5
        deaths = Deaths(members)
        server.popen.kill()
        deaths.wait()


def test_a_killed_background_child_is_started_again_and_its_family_is_gone(tmp_path):
    with RunningServer(prepared_home(tmp_path / "home"), qcluster=True) as server:
        first = qcluster_of(server)
        deaths = Deaths(family(first))
        os.kill(first, signal.SIGKILL)
        deaths.wait()
        server.out.wait_for(r"qcluster ended, next start in 2 s")
        last = Deaths(family(qcluster_of(server, 2)))
        assert server.terminate() == 0
        last.wait()


def test_the_server_secrets_are_not_in_the_environment_of_the_child(tmp_path):
    with RunningServer(prepared_home(tmp_path / "home"), qcluster=True) as server:
        seen = Path(f"/proc/{qcluster_of(server)}/environ").read_bytes()
        assert b"HALO_PASSWORD" not in seen


def test_X15_it_works_in_a_folder_with_spaces_and_umlauts(tmp_path):
    home = tmp_path / "my server" / "ünïcode"
    prepared_home(home)
    with RunningServer(home) as server:
        assert is_up(server.base)


def test_a_health_answer_needs_no_database(tmp_path):
    home = prepared_home(tmp_path / "home")
    with RunningServer(home) as server:
        with sqlite3.connect(home / "secrets" / "halo.sqlite3", timeout=20, isolation_level=None) as db:
            db.execute("BEGIN EXCLUSIVE")
            assert is_up(server.base)
            db.execute("ROLLBACK")
        db.close()


def test_runworker_without_a_shared_layer_exits_2_and_says_what_to_do(tmp_path):
    process = Process("runworker", "engine", env=environment(prepared_home(tmp_path / "home")))
    assert process.wait() == 2
    assert "set REDIS_URL" in process.out.text
    assert "manage.py serve" in process.out.text


def test_doctor_finds_nothing_wrong_in_a_prepared_home(tmp_path):
    home = prepared_home(tmp_path / "home")
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "doctor"],
        env=environment(home, HALO_PORT="0"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert [line for line in bad if "browser app" not in line] == [], done.stdout + done.stderr


def test_doctor_names_a_home_that_never_started(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "doctor", "--quiet"],
        env=environment(tmp_path / "home", HALO_JWT_SECRET="", HALO_PORT="0"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "The schema is behind" in done.stdout
    assert "signing secret" in done.stdout


def test_a_home_inside_a_file_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    server = RunningServer(tmp_path / "file" / "home", wait=False)
    assert server.wait() == 1
    assert "cannot be used" in server.out.text
    assert "Traceback" not in server.out.text
