"""Bodies and headers that are too large or too slow: raw sockets against a real daphne with our request class."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from halo_site import tokens
from halo_site.body_rules import MIB, rule_for
from halo_site.request_class import body_cap
from halo_site.tokens import Kind

pytestmark = pytest.mark.server

SERVER = """
import asyncio, os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_site.settings"
django.setup()
from daphne.server import twisted_loop
from halo_site import request_class
request_class.HEADER_SECONDS = float(sys.argv[1])
request_class.BODY_SECONDS = float(sys.argv[1])
request_class.SLOWEST = 1024**3
request_class.DRAIN_SECONDS = 1.0

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    body = b"got %d" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})

def ready():
    def tell():
        if server.listening_addresses:
            print(server.listening_addresses[0][1], flush=True)
        else:
            twisted_loop.call_later(0.01, tell)
    twisted_loop.call_soon(tell)

server = request_class.CappedServer(app, endpoints=["tcp:0:interface=127.0.0.1"], signal_handlers=False,
                                    verbosity=0, ready_callable=ready)
server.run()
"""


class Server:
    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


def start(tmp_path: Path, seconds: float):
    (tmp_path / "home" / "secrets").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ,
        "HALO_HOME": str(tmp_path / "home"),
        "HALO_JWT_SECRET": settings.HALO.jwt_secret,
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-c", SERVER, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=Path(__file__).parents[2])
    return process, Server(int(process.stdout.readline()), process.pid)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    process, running = start(tmp_path_factory.mktemp("caps"), 10)
    yield running
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """The same server with deadlines of half a second."""
    process, running = start(tmp_path_factory.mktemp("hasty"), 0.5)
    yield running
    process.kill()
    process.wait()
    process.stdout.close()


def head(path: str = "/api/auth/login", method: str = "POST", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def pump(sock: socket.socket, data: bytes, times: int) -> int:
    """Send until the server hangs up; the number of bytes that went out. Raises TimeoutError when it does neither."""
    sent = 0
    try:
        for _ in range(times):
            sock.sendall(data)
            sent += len(data)
    except ConnectionError:
        pass
    return sent


def answer(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """All that comes until the server hangs up. Raises TimeoutError when it does not."""
    data = b""
    try:
        while chunk := sock.recv(65536):
            data += chunk
    except ConnectionError:
        pass
    top, _, body = data.partition(b"\r\n\r\n")
    status, *lines = top.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


def open_bytes(pid: int) -> int:
    """Bytes in files this process holds open, deleted ones included."""
    total = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if "/tmp" in os.readlink(link):
                total += link.stat().st_size
        except OSError:
            continue
    return total


def login_cookie() -> str:
    return "halo_token=" + tokens.issue(Kind.LOGIN, {"sub": "1"}, life=3600)


def test_D8_300_MiB_by_content_length_are_refused_before_a_byte_is_stored(server):
    with server.connect() as sock:
        sock.sendall(head(content_length=str(300 * MIB)))
        pump(sock, b"x" * MIB, 300)
        status, headers, body = answer(sock)
    assert status == 413
    assert headers["connection"] == "close"
    assert json.loads(body) == {"error": "Request body too large", "maxBytes": MIB}
    assert open_bytes(server.pid) < 2 * MIB


def test_D8_a_client_that_waits_for_continue_is_told_at_once(server):
    with server.connect() as sock:
        sock.sendall(head(content_length=str(300 * MIB), expect="100-continue"))
        assert answer(sock)[0] == 413


def test_D8_chunks_without_end_are_cut_at_the_cap(server):
    most = 0
    with server.connect() as sock:
        sock.sendall(head(transfer_encoding="chunked"))
        chunk = b"%x\r\n" % 65536 + b"x" * 65536 + b"\r\n"
        for _ in range(100):
            pump(sock, chunk, 3)
            most = max(most, open_bytes(server.pid))
        status, headers, _ = answer(sock)
    assert status == 413
    assert headers["connection"] == "close"
    assert most < 2 * MIB


def test_D8_the_connection_really_ends_for_a_client_that_never_stops(server):
    with server.connect() as sock:
        sock.sendall(head(content_length=str(10**12)))
        sent = pump(sock, b"x" * MIB, 10_000)
    assert sent < 1000 * MIB


def test_a_body_below_the_cap_arrives_whole(server):
    for size in (0, 1, 100_000, MIB):
        with server.connect() as sock:
            sock.sendall(head(content_length=str(size), connection="close") + b"x" * size)
            assert answer(sock)[2] == b"got %d" % size
    with server.connect() as sock:
        sock.sendall(head(content_length=str(MIB + 1), connection="close") + b"x" * (MIB + 1))
        assert answer(sock)[0] == 413


def test_a_chunked_body_below_the_cap_arrives_whole(server):
    with server.connect() as sock:
        sock.sendall(head(transfer_encoding="chunked", connection="close"))
        sock.sendall((b"%x\r\n" % 1000 + b"x" * 1000 + b"\r\n") * 1000 + b"0\r\n\r\n")
        assert answer(sock)[2] == b"got 1000000"


def test_several_requests_share_a_connection(server):
    with server.connect() as sock:
        for _ in range(3):
            sock.sendall(head(content_length="5") + b"hello")
            assert b"got 5" in sock.recv(65536)
        sock.sendall(head(content_length=str(2 * MIB)))
        assert answer(sock)[0] == 413


def test_D8_with_a_login_the_cap_is_that_of_the_route(server):
    size = 5 * MIB
    with server.connect() as sock:
        sock.sendall(head("/api/files/raw", "PUT", content_length=str(size), cookie=login_cookie(), connection="close"))
        sock.sendall(b"x" * size)
        assert answer(sock)[2] == b"got %d" % size
    with server.connect() as sock:
        sock.sendall(head("/api/files/raw", "PUT", content_length=str(size), cookie="halo_token=forged.forged.forged"))
        assert answer(sock)[0] == 413
    with server.connect() as sock:
        sock.sendall(head("/api/auth/prefs", "PATCH", content_length=str(size), cookie=login_cookie()))
        assert answer(sock)[0] == 413


def test_D8_slow_headers_end_after_their_deadline(hasty):
    with hasty.connect() as sock:
        sock.settimeout(0.1)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        start, data = time.monotonic(), b""
        while time.monotonic() - start < 60:
            try:
                sock.sendall(b"X-A: b\r\n")
                if not (chunk := sock.recv(1000)):
                    break
                data += chunk
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the server goes on listening")
    assert b" 408 " in data


def test_D8_a_silent_connection_and_a_slow_next_request_end_too(hasty):
    with hasty.connect() as sock:
        assert answer(sock)[0] == 408
    with hasty.connect() as sock:
        sock.sendall(head(content_length="2") + b"ab")
        assert b"got 2" in sock.recv(65536)
        sock.sendall(b"G")
        assert answer(sock)[0] == 408


def test_D8_a_dawdling_body_ends_too(hasty):
    with hasty.connect() as sock:
        sock.sendall(head(content_length="1000") + b"x")
        assert answer(sock)[0] == 408


def test_the_table_gives_every_path_a_cap():
    cookie = [login_cookie().encode()]
    assert body_cap(b"POST", b"/api/files/upload?x=1", cookie) == rule_for("POST", "/api/files/upload").cap
    assert body_cap(b"POST", b"/api/files/upload", []) == MIB
    assert body_cap(b"POST", b"/api/cron/jobs", cookie) == 2 * MIB
    assert body_cap(b"POST", b"/admin/login/", cookie) == MIB
    assert body_cap(b"PUT", b"/api/files/rawx", cookie) == 2 * MIB
