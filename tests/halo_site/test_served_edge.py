"""The edge of a whole `manage.py serve`: what a real client meets, and what outlives a restart."""

import os
import re

import httpx
import pytest

from tests.server import PASSWORD, RunningServer

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="one server on SQLite; tests/crash does the other"),
]


def client(server: RunningServer, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=server.base, headers={"origin": server.base, **headers}, trust_env=False, timeout=30)


def log_in(web: httpx.Client, password: str = PASSWORD, name: str = "admin") -> httpx.Response:
    return web.post("/api/auth/login", json={"username": name, "password": password})


def test_A1_the_lock_outlives_a_restart_and_headers_do_not_lift_it(tmp_path):
    home = tmp_path / "home"
    with RunningServer(home) as server, client(server) as web:
        assert [log_in(web, "wrong", "anna").status_code for _ in range(5)] == [401] * 5
        assert log_in(web, "wrong", "anna").status_code == 429
    with RunningServer(home) as server, client(server, **{"x-forwarded-for": "203.0.113.77"}) as web:
        locked = log_in(web)  # another account, the right password: the address is locked all the same
        assert locked.status_code == 429
        assert 0 < int(locked.headers["retry-after"]) <= 901


def test_the_edge_of_a_running_server(tmp_path):
    with RunningServer(tmp_path / "home") as server, client(server) as web:
        # B3: every path, also those served without Django
        for path in ("/", "/api/auth/check", "/admin/login/", "/some/page"):
            assert web.get(path, headers={"host": "evil.example"}).status_code == 400, path
        # B5: the headers on every page
        for path in ("/", "/admin/login/", "/api/none", "/some/page"):
            answer = web.get(path)
            policy = answer.headers["content-security-policy"]
            assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0], path
            assert answer.headers["x-content-type-options"] == "nosniff", path
            assert answer.headers["referrer-policy"] in ("no-referrer", "same-origin"), path
        # the gate, a login, and the page that describes the API with all its files
        assert web.get("/api/docs").status_code == 401
        assert log_in(web).status_code == 200
        page = web.get("/api/docs")
        assert page.status_code == 200
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
        assert files
        for file in files:
            assert web.get(file).status_code == 200, file
        # D8: the caps hold in the served process
        big = web.post("/api/auth/login", content=b"x" * (3 << 20), headers={"content-type": "application/json"})
        assert big.status_code == 413
        # X6: a login that ended while sending is told so, nothing is stored, and the request is taken after a new one
        assert web.post("/api/auth/logout").status_code == 200
        body = {"path": str(tmp_path)}
        assert web.post("/api/fs/workspace/resolve", json=body).status_code == 401
        assert log_in(web).status_code == 200
        assert web.post("/api/fs/workspace/resolve", json=body).status_code == 200
        assert len(web.get("/api/workspaces").json()["workspaces"]) == 1
