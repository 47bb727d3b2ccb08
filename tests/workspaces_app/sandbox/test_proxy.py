"""The way out of the sandbox (SECURITY-BAR S6): through the proxy, by the rules of web_fetch; else none."""

import asyncio
import logging
import socket

import pytest

from halo_site.lib.access_level import Access
from halo_site.lib.outbound import Rules
from tests.fakes.catcher import Catcher
from workspaces_app.sandbox.cell import rules
from workspaces_app.sandbox.proxy import proxy

INNER = """
127.0.0.1:{port} localhost:{port} [::1]:{port} [::ffff:127.0.0.1]:{port} 169.254.169.254:80 10.0.0.1:443 2130706433:80
inner.example:443 0.0.0.0:{port} pub.example:6379 pub.example:5432 pub.example:25 nonsense u@a:80
"""
HEADS = ("GET / HTTP/1.1", "nonsense", "GET https://a.example/ HTTP/1.1", "CONNECT a HTTP/1.1")


@pytest.fixture
def catcher():
    with Catcher() as running:
        yield running


async def ask(path, text: str) -> bytes:
    """Send raw bytes to the proxy and read until it closes."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(text.encode())
        async with asyncio.timeout(30):
            return await reader.read()
    finally:
        writer.close()


def open_to(*servers: Catcher) -> Rules:
    return Rules.read([f"127.0.0.1:{server.port}" for server in servers])


async def test_a_plain_request_is_passed_on_in_origin_form(catcher):
    async with proxy(open_to(catcher), "s") as path:
        head = f"GET {catcher.base}/a?b HTTP/1.1\r\nHost: evil\r\nProxy-Authorization: x\r\nX: y\r\n\r\n"
        answer = await ask(path, head)
    assert answer.endswith(b"caught")
    [request] = catcher.requests
    assert (request.path, request.host, request.headers["x"]) == ("/a?b", f"127.0.0.1:{catcher.port}", "y")
    assert "proxy-authorization" not in request.headers


async def test_a_tunnel_carries_both_ways(catcher):
    async with proxy(open_to(catcher), "s") as path:
        answer = await ask(path, f"CONNECT 127.0.0.1:{catcher.port} HTTP/1.1\r\n\r\nGET /in HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"caught")
    assert catcher.requests[0].path == "/in"


@pytest.mark.parametrize(
    "target",
    INNER.split(),
)
async def test_S6_inner_addresses_and_other_ports_are_refused(catcher, target):
    catcher.names |= {"inner.example": [["10.0.0.7"]], "pub.example": [["93.184.216.34"]]}
    target = target.format(port=catcher.port)
    async with proxy(Rules(), "s") as path:
        with catcher.in_this_process() as seen:
            tunnel = await ask(path, f"CONNECT {target} HTTP/1.1\r\n\r\n")
            plain = await ask(path, f"GET http://{target}/ HTTP/1.1\r\n\r\n")
    assert tunnel.split()[1] in (b"403", b"502")
    assert plain.split()[1] in (b"403", b"502")
    assert seen.connections == []


@pytest.mark.parametrize("head", HEADS)
async def test_requests_that_name_no_place_are_refused(head):
    async with proxy(Rules(), "s") as path:
        assert (await ask(path, f"{head}\r\n\r\n")).split()[1] in (b"400", b"403", b"502")


async def test_F7_a_head_without_end_is_dropped():
    async with proxy(Rules(), "s") as path:
        assert await ask(path, "GET " + "x" * 100_000) == b""


async def test_host_and_bytes_are_logged_and_nothing_else(catcher, caplog):
    caplog.set_level(logging.INFO, logger="halo.sandbox")
    async with proxy(open_to(catcher), "sid_9") as path:
        await ask(path, f"GET {catcher.base}/private?key=secret HTTP/1.1\r\nX: secret\r\n\r\n")
        await ask(path, "CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n")
    passed, refused = (vars(record) for record in caplog.records if record.name == "halo.sandbox")
    assert (passed["session"], passed["host"], passed["port"]) == ("sid_9", "127.0.0.1", catcher.port)
    assert passed["received"] > 6
    assert refused["target"] == "10.0.0.1:80"
    assert "secret" not in str(passed)


async def test_it_ends_with_the_command():
    over = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()  # it would keep the tunnel open for ever
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server, asyncio.timeout(60):
        port = server.sockets[0].getsockname()[1]
        async with proxy(Rules.read([f"127.0.0.1:{port}"]), "s") as path:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        over.set()
    assert not path.parent.exists()


def test_a_broken_list_of_the_owner_opens_nothing(machine):
    (machine.home / "secrets" / "settings.yaml").write_text("general: {outbound: {allow: 'a b, 10.0.0.1'}}\n")
    assert rules() == Rules()


# ---- from inside

FETCH = "python3 - <<'E'\nimport urllib.request as u\nprint(u.urlopen('{}', timeout=30).read().decode())\nE"


async def test_a_sandboxed_command_reaches_what_is_allowed(machine, inside, catcher):
    settings = machine.home / "secrets" / "settings.yaml"
    settings.write_text(f"general: {{outbound: {{allow: '127.0.0.2:{catcher.port}'}}}}\n")
    outcome = await inside(FETCH.format(f"http://127.0.0.2:{catcher.port}/x").replace("<<'E'", "<<'E'"))
    assert b"refused" in outcome.stderr.lower() or outcome.code  # 127.0.0.2 does not listen: asked, not blocked
    settings.write_text("general: {outbound: {allow: '127.0.0.0/8'}}\n")
    catcher.names["shop.lan"] = [["127.0.0.1"]]
    with catcher.in_this_process():
        outcome = await inside(FETCH.format(f"http://shop.lan:{catcher.port}/x"))
    assert outcome.stdout == b"caught\n"
    assert catcher.requests[0].path == "/x"


async def test_S6_services_of_this_machine_are_unreachable(inside, catcher):
    script = (
        "python3 - <<'E'\nimport socket, urllib.request as u\n"
        f"for place in (('127.0.0.1', {catcher.port}), ('127.0.0.1', 6379), ('169.254.169.254', 80), ('10.0.0.1', 80),"
        f" ('{socket.gethostname()}', {catcher.port})):\n"
        "  try: socket.create_connection(place, 30); print('connected')\n"
        "  except OSError as error: print(type(error).__name__)\n"
        "  try: u.urlopen(f'http://{place[0]}:{place[1]}/', timeout=30); print('connected')\n"
        "  except OSError as error: print(type(error).__name__)\nE"
    )
    outcome = await inside(script, timeout=360)
    assert b"connected" not in outcome.stdout
    assert outcome.stdout.count(b"\n") == 10
    assert catcher.requests == []


async def test_S6_readonly_has_no_network_at_all(machine, inside, catcher):
    (machine.home / "secrets" / "settings.yaml").write_text("general: {outbound: {allow: '127.0.0.0/8'}}\n")
    outcome = await inside("ls /run; env | grep -i proxy; cat /proc/net/dev | tail -n +3", level=Access.READONLY)
    assert b"halo" not in outcome.stdout
    assert b"proxy" not in outcome.stdout.lower()
    assert [line.split(b":")[0].strip() for line in outcome.stdout.splitlines()] == [b"lo"]


async def test_S6_the_owner_can_close_the_network(machine, inside):
    (machine.home / "secrets" / "settings.yaml").write_text("general: {sandbox: {network: none}}\n")
    outcome = await inside("ls /run; env | grep -i proxy")
    assert outcome.stdout == b""
