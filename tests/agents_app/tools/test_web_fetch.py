"""web_fetch: what the model gets of a page, and where it cannot go (spec tools 3.11; SECURITY-BAR F5, F7)."""

import asyncio
import gzip
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from agents_app.tools import TOOLS
from agents_app.tools.contract import ERROR, WARN
from agents_app.tools.run import run_tool
from tests.fakes.catcher import Catcher

INNER = """
http://localhost:{port}/ http://[::1]:{port}/ http://169.254.169.254/ http://2130706433:{port}/ file:///etc/passwd
http://127.0.0.2/ http://10.0.0.1/ nonsense http://u:p@127.0.0.1:{port}/
"""


@pytest.fixture
def site(home):
    with Catcher() as running:
        (home / "secrets" / "settings.yaml").write_text(
            f"general: {{outbound: {{allow: '127.0.0.1:{running.port}'}}}}\n"
        )
        yield running


async def test_status_type_and_body_are_told(call, site):
    site.answer("/a.json", 201, {"Content-Type": "application/json"}, b'{"a": 1}')
    result = await call("web_fetch", url=f"{site.base}/a.json", headers={"X-Key": "k"})
    assert result.text == 'Status: 201\nContent-Type: application/json\n\n{"a": 1}'
    assert site.requests[0].headers["x-key"] == "k"


async def test_html_comes_as_markdown_with_whole_links(call, site):
    page = b"<title>T</title><script>x()</script><p>Hello <a href='/b'>there</a></p>"
    site.answer("/p", 200, {"Content-Type": "text/html; charset=utf-8"}, page)
    result = await call("web_fetch", url=f"{site.base}/p")
    assert result.text.endswith(f"\n\n# T\n\nHello [there]({site.base}/b)")


async def test_the_text_of_a_long_page_is_cut_and_says_so(call, context, site):
    site.answer("/long", 200, {"Content-Type": "text/plain"}, b"x" * 100_000)
    site.answer("/page", 200, {"Content-Type": "text/html"}, b"<script>" + b"y" * 90_000 + b"</script><p>" + b"z " * 9)
    result = await call("web_fetch", url=f"{site.base}/long")
    assert result.text.endswith("x\n... [truncated to 50KB]")
    assert result.text.count("x") == 51_200 + 1
    assert "truncated" not in (await call("web_fetch", url=f"{site.base}/page")).text
    small = context(limits={"web_fetch_bytes": 2048})
    assert "[truncated to 2KB]" in (await call("web_fetch", ctx=small, url=f"{site.base}/long")).text


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("text/plain; charset=iso-8859-1", b"\xe4", "ä"),
        ("text/plain; charset=nonsense", "ä".encode(), "ä"),
        ("text/plain", b"\xff\xfe ok", "\ufffd\ufffd ok"),
        ("application/octet-stream", b"\0\1\2", "(binary, 3 bytes)"),
        ("", b"x", "x"),
    ],
)
async def test_L5_any_bytes_become_text(call, site, kind, body, shown):
    site.answer("/b", 200, {"Content-Type": kind} if kind else {}, body)
    assert (await call("web_fetch", url=f"{site.base}/b")).text.endswith(f"\n\n{shown}")


@pytest.mark.parametrize(
    "url",
    INNER.split(),
)
async def test_F5_inner_addresses_are_refused_at_every_level(call, home, url):
    with Catcher() as catcher, catcher.in_this_process() as seen:
        result = await call("web_fetch", url=url.format(port=catcher.port))
    assert result.text.startswith(f"{WARN}Error: ")
    assert seen.connections == []


C72_INNER = """
http://169.254.169.254/latest/meta-data/ http://127.0.0.1:{port}/ http://0x7f.0.0.1:{port}/ http://2130706433:{port}/
http://[::ffff:127.0.0.1]:{port}/ http://[::1]:{port}/ http://100.64.0.1/ http://inner.example/ file:///etc/passwd
"""


@pytest.mark.parametrize("url", C72_INNER.split())
async def test_C72_no_spelling_of_an_inner_address_is_connected_to(call, home, url):
    with Catcher() as catcher, catcher.in_this_process() as seen:
        catcher.names["inner.example"] = [["127.0.0.1"]]
        result = await call("web_fetch", url=url.format(port=catcher.port))
    assert result.text.startswith(f"{WARN}Error: ")
    assert (seen.connections, catcher.requests) == ([], [])


async def test_C72_a_name_that_changes_between_look_ups_is_looked_up_once(call, home):
    with Catcher() as catcher, catcher.in_this_process() as seen:
        catcher.names["evil.example"] = [["93.184.216.34"], ["127.0.0.1"]]
        result = await call("web_fetch", url="http://evil.example/")
    assert result.text.startswith(f"{ERROR}Error: Cannot connect")
    assert (seen.lookups, seen.connections) == (["evil.example"], [("93.184.216.34", 80)])


@pytest.mark.parametrize("target", ["http://169.254.169.254/", "http://127.0.0.2/", "file:///etc/passwd"])
async def test_C72_a_page_cannot_send_the_tool_inside(call, site, target):
    site.answer("/hop", 302, {"Location": target})
    with site.in_this_process() as seen:
        result = await call("web_fetch", url=f"{site.base}/hop")
    assert result.text.startswith(f"{WARN}Error: ")
    assert seen.connections == [("127.0.0.1", site.port)]


async def test_C72_a_packed_bomb_is_cut_after_unpacking(call, site):
    bomb = gzip.compress(bytes([120]) * 100_000_000)
    site.answer("/bomb", 200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, bomb)
    result = await call("web_fetch", url=f"{site.base}/bomb")
    assert result.text.count("x") == 51_200 + 1
    assert result.text.endswith("... [truncated to 50KB]")


async def test_C72_of_a_5_gb_body_only_the_beginning_is_read(call, home):
    sent = 0

    async def huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000000000\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b"x" * 65_536)
                sent += 65_536
                await writer.drain()

    server = await asyncio.start_server(huge, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (home / "secrets" / "settings.yaml").write_text(f"general: {{outbound: {{allow: '127.0.0.1:{port}'}}}}\n")
    result = await call("web_fetch", url=f"http://127.0.0.1:{port}/")
    server.close()
    assert result.text.endswith("... [truncated to 50KB]")
    assert sent < 50_000_000


async def test_C72_the_owner_can_list_an_inner_host(call, site):
    assert (await call("web_fetch", url=f"{site.base}/wanted")).text.endswith("\n\ncaught")


async def test_F7_time_is_limited(settings, call, site):
    settings.HALO = replace(settings.HALO, web_fetch_timeout=timedelta(milliseconds=200))

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (settings.HALO.home / "secrets" / "settings.yaml").write_text("general: {outbound: {allow: '127.0.0.0/8'}}\n")
    result = await call("web_fetch", url=f"http://127.0.0.1:{port}/")
    server.close()
    assert result.text == f"{ERROR}Error: No whole answer within 200ms"


async def test_a_stopped_fetch_ends_at_once(context, site):
    waiting = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.set()
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    from django.conf import settings

    (settings.HALO.home / "secrets" / "settings.yaml").write_text("general: {outbound: {allow: '127.0.0.0/8'}}\n")
    ctx = context()
    run = asyncio.create_task(run_tool(TOOLS["web_fetch"], {"url": f"http://127.0.0.1:{port}/"}, ctx))
    await waiting.wait()
    ctx.abort.set()
    assert (await run).text == f"{WARN}Error: Request aborted"
    server.close()


async def test_a_wrong_method_is_named(call, home):
    assert "method: " in (await call("web_fetch", url="http://example.org/", method="TRACE")).text
