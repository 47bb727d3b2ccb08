"""Fetching what a stranger named (SECURITY-BAR F5 to F7), against servers on loopback; nothing leaves the machine."""

import asyncio
import gzip
import ssl
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from halo_site.lib.errors import BadRequest, HaloError
from halo_site.lib.outbound import BadAddress, FetchFailed, Refused, Rules, fetch
from tests.fakes.catcher import Catcher

fetch_module = sys.modules["halo_site.lib.outbound.fetch"]  # the package names its function the same
LIMIT = 50_000
HOSTS = """
127.0.0.1 127.0.0.2 0.0.0.0 localhost localhost. LOCALHOST [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
[64:ff9b::7f00:1] [::127.0.0.1] 2130706433 0177.0.0.1 0x7f.0.0.1 127.1 user@127.0.0.1 127.0.0.1\\@a.example
１２７.0.0.1 169.254.169.254 10.0.0.1 100.64.0.1 inner.example
"""
TARGETS = """
http://127.0.0.1:1/ http://localhost:1/ //127.0.0.2:{port}/ http://169.254.169.254/ http://0/ file:///etc/passwd
gopher://x/ http://u:p@x.example/ http://[::1]:{port}/ ftp:x
"""


@pytest.fixture
def catcher():
    with Catcher() as running:
        yield running


def allowed(catcher: Catcher, *more: str) -> Rules:
    return Rules.read([f"127.0.0.1:{catcher.port}", *more])


async def test_a_page_comes_with_status_and_headers(catcher):
    catcher.answer("/a", 404, {"Content-Type": "text/plain"}, b"nothing")
    got = await fetch(
        f"{catcher.base}/a?b=c", allowed(catcher), limit=LIMIT, headers={"X-Key": "k", "User-Agent": "me"}
    )
    assert (got.status, got.body, got.cut) == (404, b"nothing", False)
    assert got.headers["content-type"] == "text/plain"
    [request] = catcher.requests
    assert (request.method, request.path, request.headers["x-key"]) == ("GET", "/a?b=c", "k")
    assert request.headers["user-agent"] == "me"


async def test_another_method_sends_an_empty_body(catcher):
    await fetch(catcher.base, allowed(catcher), method="POST", limit=LIMIT)
    assert (catcher.requests[0].method, catcher.requests[0].headers["content-length"]) == ("POST", "0")


@pytest.mark.parametrize(
    "host",
    HOSTS.split(),
)
async def test_F5_nothing_inside_is_connected_to(catcher, host):
    catcher.names["inner.example"] = [["93.184.216.34", "192.168.0.1"]]  # one bad answer spoils all
    with catcher.in_this_process() as seen, pytest.raises((Refused, BadAddress)):
        await fetch(f"http://{host}:{catcher.port}/", Rules(ports=None), limit=LIMIT)
    assert seen.connections == []
    assert catcher.requests == []


async def test_F5_the_ports_of_other_services_stay_closed(catcher):
    catcher.names["pub.example"] = [["93.184.216.34"]]
    with catcher.in_this_process() as seen, pytest.raises(Refused, match="port 6379"):
        await fetch("http://pub.example:6379/", Rules(), limit=LIMIT)
    assert seen.connections == []


async def test_F5_a_public_address_of_this_very_machine_is_refused(monkeypatch, catcher):
    monkeypatch.setattr("halo_site.lib.outbound.address.is_public", lambda address: True)
    with catcher.in_this_process() as seen, pytest.raises(Refused, match="this machine"):
        await fetch(catcher.base, Rules(ports=None), limit=LIMIT)
    assert seen.connections == []


async def test_F6_a_name_is_looked_up_once_and_the_tested_address_is_the_one_connected_to(catcher):
    catcher.names["evil.example"] = [["93.184.216.34"], ["127.0.0.1"]]
    with catcher.in_this_process() as seen, pytest.raises(HaloError, match="Cannot connect"):
        await fetch("http://evil.example/", Rules(), limit=LIMIT)
    assert seen.lookups == ["evil.example"]
    assert seen.connections == [("93.184.216.34", 80)]


@pytest.mark.parametrize(
    "target",
    TARGETS.split(),
)
async def test_F6_a_redirect_is_judged_like_the_first_address(catcher, target):
    catcher.answer("/hop", 302, {"Location": target.format(port=catcher.port)})
    with catcher.in_this_process() as seen, pytest.raises((Refused, BadAddress)):
        await fetch(f"{catcher.base}/hop", allowed(catcher), limit=LIMIT)
    assert seen.connections == [("127.0.0.1", catcher.port)]
    assert len(catcher.requests) == 1


async def test_F6_at_most_five_redirects_are_followed(catcher):
    for number in range(20):
        catcher.answer(f"/{number}", 301, {"Location": f"/{number + 1}"})
    with pytest.raises(FetchFailed, match="More than 5"):
        await fetch(f"{catcher.base}/0", allowed(catcher), limit=LIMIT)
    assert [request.path for request in catcher.requests] == ["/0", "/1", "/2", "/3", "/4", "/5"]
    assert (await fetch(f"{catcher.base}/15", allowed(catcher), limit=LIMIT)).url == f"{catcher.base}/20"


async def test_F6_secrets_stay_with_the_host_they_were_meant_for(catcher):
    with Catcher() as other:
        catcher.answer("/same", 302, {"Location": "/away"})
        catcher.answer("/away", 302, {"Location": f"{other.base}/"})
        headers = {"Authorization": "Bearer s", "Cookie": "c", "X-Api-Key": "k", "Accept": "text/html"}
        await fetch(f"{catcher.base}/same", allowed(catcher, f"127.0.0.1:{other.port}"), limit=LIMIT, headers=headers)
        first, second = catcher.requests
        assert first.headers["x-api-key"] == second.headers["x-api-key"] == "k"
        [away] = other.requests
        assert not {"authorization", "cookie", "x-api-key"} & set(away.headers)
        assert away.headers["accept"] == "text/html"


async def test_F6_a_post_is_not_repeated_by_a_redirect(catcher):
    catcher.answer("/form", 302, {"Location": "/done"})
    await fetch(f"{catcher.base}/form", allowed(catcher), method="POST", limit=LIMIT)
    assert [request.method for request in catcher.requests] == ["POST", "GET"]


@pytest.mark.parametrize("name", ["Host", "Content-Length", "Transfer-Encoding", "Connection", "a b", "", "a:b", "ä"])
async def test_headers_of_the_wire_cannot_be_set(catcher, name):
    with pytest.raises(BadRequest, match="headers"):
        await fetch(catcher.base, allowed(catcher), limit=LIMIT, headers={name: "x"})
    with pytest.raises(BadRequest, match="headers"):
        await fetch(catcher.base, allowed(catcher), limit=LIMIT, headers={"X": "a\r\nHost: b"})
    assert catcher.requests == []


def certificate_for(name: str, folder: Path) -> Path:
    """A file with a key and a certificate that nobody signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(private + builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    return file


async def test_F6_tls_is_checked_against_the_name_not_the_address(catcher, tmp_path, monkeypatch):
    file = certificate_for("good.example", tmp_path)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(file)
    monkeypatch.setattr(fetch_module, "_tls", lambda: ssl.create_default_context(cafile=str(file)))

    async def big(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + bytes(3_000_000))

    async with serving(big, served) as (url, _):
        port = int(url.rpartition(":")[2].strip("/"))
        rules = Rules.read([f"good.example:{port}", f"bad.example:{port}"])
        catcher.names |= {"good.example": [["127.0.0.1"]], "bad.example": [["127.0.0.1"]]}
        with catcher.in_this_process():
            got = await fetch(f"https://good.example:{port}/", rules, limit=4_000_000)
            assert (len(got.body), got.cut) == (3_000_000, False)
            with pytest.raises(FetchFailed, match=r"certificate verify failed"):
                await fetch(f"https://bad.example:{port}/", rules, limit=LIMIT)


# ---- answers that do not end, explode or drip

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, Rules]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/", Rules.read([f"127.0.0.1:{port}"])
    finally:
        server.close()


async def test_F7_an_endless_body_is_cut_at_the_limit():
    async def endless(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 4096)
            await writer.drain()

    async with serving(endless) as (url, rules):
        got = await fetch(url, rules, limit=LIMIT)
    assert (len(got.body), got.cut) == (LIMIT, True)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),  # raw, as some servers send it
    ],
)
async def test_F7_the_cap_counts_unpacked_bytes(catcher, name, pack):
    catcher.answer("/bomb", 200, {"Content-Encoding": name}, pack(bytes(200_000_000 if name == "gzip" else 10_000_000)))
    catcher.answer("/fine", 200, {"Content-Encoding": name}, pack(b"hello" * 100))
    tracemalloc.start()
    try:
        got = await fetch(f"{catcher.base}/bomb", allowed(catcher), limit=LIMIT)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(got.body), got.cut) == (LIMIT, True)
    assert most < 5_000_000, "it was not unpacked and then cut"
    assert (await fetch(f"{catcher.base}/fine", allowed(catcher), limit=LIMIT)).body == b"hello" * 100


@pytest.mark.parametrize(("encoding", "body"), [("gzip", b"not gzip"), ("br", b"x"), ("deflate", b"\xff\xff")])
async def test_F7_what_cannot_be_unpacked_is_told(catcher, encoding, body):
    catcher.answer("/odd", 200, {"Content-Encoding": encoding}, body)
    with pytest.raises(FetchFailed, match="packed"):
        await fetch(f"{catcher.base}/odd", allowed(catcher), limit=LIMIT)


@pytest.mark.parametrize("part", ["status", "headers", "body", "redirects"])
async def test_F7_a_slow_drip_ends_with_the_total_time(part):
    async def drip(reader, writer):
        if part == "redirects":
            await asyncio.sleep(0.1)
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
            return
        start = {"status": b"", "headers": b"HTTP/1.1 200 OK\r\nX: ", "body": b"HTTP/1.1 200 OK\r\n\r\n"}[part]
        writer.write(start)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving(drip) as (url, rules):
        async with asyncio.timeout(60):  # it would drip for ever
            with pytest.raises(TimeoutError):
                await fetch(url, rules, limit=LIMIT, total=0.3)


@pytest.mark.parametrize("answer", [b"", b"not http\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"])
async def test_T7_a_broken_answer_is_an_error(answer):
    async def broken(reader, writer):
        writer.write(answer)

    async with serving(broken) as (url, rules):
        with pytest.raises(FetchFailed, match="did not answer properly"):
            await fetch(url, rules, limit=LIMIT)


async def test_F7_proxies_of_the_environment_play_no_part(catcher, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await fetch(catcher.base, allowed(catcher), limit=LIMIT)).body == b"caught"
