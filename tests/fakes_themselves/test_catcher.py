"""The catcher catches: otherwise every rule about outbound requests would pass for nothing."""

import socket
import struct
import subprocess
import sys

import httpx
import pytest

from tests.fakes.catcher import Catcher


@pytest.fixture
def catcher():
    with Catcher() as running:
        yield running


def test_a_request_is_recorded_with_headers_and_body(catcher):
    answer = httpx.post(f"{catcher.base}/leak?x=1", content=b"secret", headers={"x-key": "k"})
    assert answer.text == "caught"
    (request,) = catcher.requests
    assert (request.method, request.path, request.body) == ("POST", "/leak?x=1", b"secret")
    assert request.headers["x-key"] == "k"
    assert request.host == f"127.0.0.1:{catcher.port}"


def test_something_that_is_not_http_is_recorded_too(catcher):
    with socket.create_connection(("127.0.0.1", catcher.port)) as sock:
        sock.sendall(b"\x16\x03\x01 hello\n")
        assert sock.recv(10) == b""
    assert catcher.requests[0].body.startswith(b"\x16\x03")


def test_answers_can_be_set_redirects_included(catcher):
    catcher.answer("/hop", 302, {"Location": f"{catcher.base}/end"})
    catcher.answer("/end", 418, body=b"tea")
    answer = httpx.get(f"{catcher.base}/hop", follow_redirects=True)
    assert (answer.status_code, answer.text) == (418, "tea")
    assert [request.path for request in catcher.requests] == ["/hop", "/end"]


def test_names_asked_in_this_process_are_heard_and_answered(catcher):
    catcher.names["page.example"] = [["127.0.0.1"]]
    with catcher.in_this_process() as seen:
        assert httpx.get(f"http://page.example:{catcher.port}/").text == "caught"
    assert catcher.lookups == seen.lookups == ["page.example"]
    assert seen.connections == [("127.0.0.1", catcher.port)]
    assert seen.outside == []
    assert catcher.requests[0].host == f"page.example:{catcher.port}"


async def test_asynchronous_clients_are_heard_too(catcher):
    catcher.names["page.example"] = [["127.0.0.1"]]
    with catcher.in_this_process() as seen:
        async with httpx.AsyncClient(trust_env=False) as client:
            await client.get(f"http://page.example:{catcher.port}/a")
            with pytest.raises(httpx.ConnectError):
                await client.get("http://unknown.example/")
    assert seen.lookups == ["page.example", "unknown.example"]


def test_a_name_can_change_between_two_look_ups(catcher):
    catcher.names["rebind.example"] = [["93.184.216.34"], ["127.0.0.1"]]
    assert [catcher.resolve("rebind.example") for _ in range(3)] == [["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]]


def test_connections_that_would_leave_are_refused_and_recorded(catcher):
    with catcher.in_this_process() as seen, pytest.raises(httpx.ConnectError):
        httpx.get("http://93.184.216.34/", trust_env=False)
    assert seen.outside == [("93.184.216.34", 80)]


def test_the_hooks_are_gone_afterwards(catcher):
    before = (socket.getaddrinfo, socket.socket.connect)
    with catcher.in_this_process():
        assert (socket.getaddrinfo, socket.socket.connect) != before
    assert (socket.getaddrinfo, socket.socket.connect) == before


def ask(port: int, name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(query, ("127.0.0.1", port))
        return sock.recv(512)


def test_the_dns_server_hears_and_answers(catcher):
    catcher.names["leak.example"] = [["127.0.0.1"]]
    reply = ask(catcher.dns_port, "leak.example")
    assert reply[:2] == b"\0\x07"
    assert reply.endswith(socket.inet_aton("127.0.0.1"))
    assert ask(catcher.dns_port, "c2VjcmV0.leak.test")[3] & 15 == 3  # no such name
    assert catcher.lookups == ["leak.example", "c2vjcmv0.leak.test"]


def test_another_process_can_be_pointed_at_it(catcher):
    code = f"import urllib.request as u; print(u.urlopen('{catcher.base}/child').read().decode())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert done.stdout.strip() == "caught"
    assert [request.path for request in catcher.requests] == ["/child"]
