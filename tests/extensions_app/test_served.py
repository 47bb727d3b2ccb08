"""Extensions on a running server: a dropped folder, an upload, sockets, tokens (spec canvas-extensions 7; E1, E3)."""

import asyncio
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server import PASSWORD, RunningServer, prepared_home
from tests.socket_client import Refused, WebSocket

from .zips import good, zipped

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="one server on SQLite"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[RunningServer]:
    with RunningServer(prepared_home(tmp_path_factory.mktemp("extensions") / "home")) as running:
        yield running


@pytest.fixture
def root(server) -> Iterator[Path]:
    place = server.home / "global" / "extensions"
    deadline = time.monotonic() + 60
    while not place.is_dir():  # made by the watcher as it starts
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield place
    for each in place.iterdir():
        shutil.rmtree(each)


@pytest.fixture
def web(server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.base, headers={"origin": server.base}, trust_env=False, timeout=30) as client:
        assert client.post("/api/auth/login", json={"username": "admin", "password": PASSWORD}).status_code == 200
        yield client


def upload(web: httpx.Client, **changes):
    return web.post("/api/extensions/install", files={"file": ("x.zip", zipped(good(**changes)), "application/zip")})


class Tab:
    """A socket that keeps the frames about extensions."""

    def __init__(self, server: RunningServer, web: httpx.Client) -> None:
        self.server, self.cookie = server, f"halo_token={web.cookies['halo_token']}"

    async def __aenter__(self) -> "Tab":
        address = self.server.base.replace("http", "ws") + "/ws"
        self.socket = await WebSocket.connect(address, {"Cookie": self.cookie, "Origin": self.server.base})
        return self

    async def __aexit__(self, *_) -> None:
        await self.socket.close()

    async def changed(self, timeout: float = 60.0) -> dict:
        end = time.monotonic() + timeout
        while True:
            frame = await self.socket.receive_json(max(0.01, end - time.monotonic()))
            if frame["type"] == "extension:changed":
                return frame

    async def settles(self, root: Path) -> None:
        """Past all news of what was in the root before: the watcher tells of one burst after the other."""
        (root / "settles").mkdir()
        await until(self, lambda frame: [each["id"] for each in frame["errors"]] == ["settles"])
        (root / "settles").rmdir()
        await until(self, lambda frame: not frame["extensions"] and not frame["errors"])

    async def quiet(self, seconds: float) -> bool:
        try:
            await self.changed(seconds)
        except TimeoutError:
            return True
        return False


async def until(tab: Tab, fits) -> dict:
    while not fits(frame := await tab.changed()):
        pass
    return frame


async def test_a_folder_that_is_copied_in_reaches_open_pages(server, root, web, tmp_path):
    source = tmp_path / "mol-view"
    (source / "js").mkdir(parents=True)
    for name, data in good().items():
        (source / name).write_bytes(data)
    async with Tab(server, web) as tab:
        await tab.settles(root)
        for _ in range(3):
            shutil.copytree(source, root / "mol-view")
            frame = await until(tab, lambda frame: frame["extensions"])
            assert frame["errors"] == []
            assert frame == {"type": "extension:changed", **web.get("/api/extensions").json()}
            shutil.rmtree(root / "mol-view")
            await until(tab, lambda frame: not frame["extensions"] and not frame["errors"])


async def test_an_upload_answers_with_a_fresh_list_and_one_frame(server, root, web):
    async with Tab(server, web) as tab:
        await tab.settles(root)
        answer = upload(web)
        assert (answer.status_code, answer.json()) == (200, {"ok": True, "id": "mol-view", "version": "1.2.0"})
        listed = web.get("/api/extensions").json()
        assert [each["id"] for each in listed["extensions"]] == ["mol-view"]
        assert await tab.changed() == {"type": "extension:changed", **listed}
        assert await tab.quiet(1.0)
        upload(web)  # the same version again is news, because it is newer
        again = await tab.changed()
        assert again["extensions"][0]["installedAt"] >= listed["extensions"][0]["installedAt"]
        assert web.delete("/api/extensions/mol-view").json() == {"ok": True}
        assert (await tab.changed())["extensions"] == []
        assert web.delete("/api/extensions/mol-view").status_code == 404


async def test_a_copy_that_takes_its_time_is_complete_in_the_end(server, root, web):
    async with Tab(server, web) as tab:
        await tab.settles(root)
        (root / "mol-view" / "js").mkdir(parents=True)
        assert (await tab.changed())["errors"] == [{"id": "mol-view", "error": "there is no halo-extension.json"}]
        for name, data in good().items():  # files in a folder make no news in the root
            (root / "mol-view" / name).write_bytes(data)
        assert (await until(tab, lambda frame: frame["extensions"]))["errors"] == []


async def test_what_comes_and_goes_under_our_own_names_is_no_news(server, root, web):
    async with Tab(server, web) as tab:
        await tab.settles(root)
        for number in range(5):
            (root / f".tmp-unpack-{number}").mkdir()
            (root / f".old-x-{number}").mkdir()
        for number in range(5):
            (root / f".tmp-unpack-{number}").rmdir()
        assert await tab.quiet(1.5)


def test_E1_a_hostile_upload_is_refused_and_the_working_version_stays(server, root, web):
    upload(web)
    broken = web.post("/api/extensions/install", files={"file": ("x.zip", b"no zip", "application/zip")})
    assert (broken.status_code, broken.json()) == (400, {"error": "Not installed: this is not a zip file"})
    assert upload(web, capabilities=["network"]).status_code == 400
    assert web.post("/api/extensions/install", files={"other": ("x.zip", b"x")}).status_code == 400
    assert web.post("/api/extensions/install", json={}).status_code in (400, 415)
    assert os.listdir(root) == ["mol-view"]
    token = web.get("/api/extensions/token", params={"id": "mol-view", "version": "1.2.0"}).json()["token"]
    assert web.get(f"/api/extensions/mol-view/1.2.0/{token}/index.html").status_code == 200


def test_C58_an_older_version_is_409_until_the_request_says_so_and_the_newer_one_is_served(server, root, web):
    upload(web, version="2.0.0")
    answer = upload(web, version="1.0.0")
    assert (answer.status_code, answer.json()) == (
        409,
        {
            "error": "Not installed: mol-view 1.0.0 is older than 2.0.0, which is installed",
            "id": "mol-view",
            "version": "1.0.0",
            "installed": "2.0.0",
        },
    )
    token = web.get("/api/extensions/token").json()["token"]
    assert web.get(f"/api/extensions/mol-view/2.0.0/{token}/index.html").status_code == 200
    assert os.listdir(root) == ["mol-view"]
    zip = {"file": ("x.zip", zipped(good(version="1.0.0")), "application/zip")}
    again = web.post("/api/extensions/install?older=1", files=zip)
    assert again.json() == {"ok": True, "id": "mol-view", "version": "1.0.0"}
    assert web.get(f"/api/extensions/mol-view/2.0.0/{token}/index.html").status_code == 404
    assert web.get(f"/api/extensions/mol-view/1.0.0/{token}/index.html").status_code == 200


def test_C58_two_viewers_of_one_type_are_listed_best_first_and_both_are_served(server, root, web):
    for ident, priority in (("always", "default"), ("a-choice", "option"), ("z-choice", "option")):
        assert upload(web, id=ident, priority=priority).status_code == 200
    listed = [each["id"] for each in web.get("/api/extensions").json()["extensions"]]
    assert listed == ["always", "z-choice", "a-choice"]
    token = web.get("/api/extensions/token").json()["token"]
    for ident in listed:
        assert web.get(f"/api/extensions/{ident}/1.2.0/{token}/index.html").status_code == 200


def test_a_broken_folder_is_listed_and_can_be_removed(server, root, web):
    (root / "Broken One").mkdir()
    deadline = time.monotonic() + 60
    while not (errors := web.get("/api/extensions").json()["errors"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert errors[0]["id"] == "Broken One"
    assert web.delete("/api/extensions/Broken%20One").status_code == 200
    assert not (root / "Broken One").exists()
    assert web.delete("/api/extensions/none").status_code == 404
    for name in ("..%2Fskills", "%2e%2e", "%2e%2e%2f%2e%2e%2fsecrets"):
        answer = web.delete(f"/api/extensions/{name}")
        assert (answer.status_code, answer.json()) == (400, {"error": "Invalid id"}), name
    assert (root.parent / "agents").is_dir()


def test_a_body_above_the_limit_is_refused_by_its_length_before_it_is_read(server, web):
    host, port = server.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        head = [
            "POST /api/extensions/install HTTP/1.1",
            f"Host: {host}:{port}",
            f"Origin: {server.base}",
            f"Cookie: halo_token={web.cookies['halo_token']}",
            "Content-Type: multipart/form-data; boundary=x",
            f"Content-Length: {106 * 1024 * 1024}",
        ]
        line.sendall(("\r\n".join(head) + "\r\n\r\n--x").encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 413")


def test_A5_E3_tokens_are_good_for_files_only_and_logins_are_no_tokens(server, root, web):
    upload(web)
    answer = web.get("/api/extensions/token", params={"id": "mol-view", "version": "1.2.0"}).json()
    assert 86_000_000 < answer["expiresAt"] - time.time() * 1000 <= 86_400_000
    base = f"{server.base}/api/extensions/mol-view/1.2.0"
    anonymous = httpx.Client(trust_env=False, timeout=30)
    assert anonymous.get(f"{base}/{answer['token']}/js/a.js").text == "1;"
    assert anonymous.get(f"{base}/{web.cookies['halo_token']}/js/a.js").status_code == 401
    cookie = {"cookie": f"halo_token={answer['token']}"}
    assert anonymous.get(f"{server.base}/api/extensions", headers=cookie).status_code == 401
    with pytest.raises(Refused) as refused:
        asyncio.run(
            WebSocket.connect(
                server.base.replace("http", "ws") + "/ws", {"Cookie": cookie["cookie"], "Origin": server.base}
            )
        )
    assert refused.value.status == 401
    assert anonymous.get(f"{base}/{answer['token']}/js/a.js", headers={"host": "evil.example"}).status_code == 400
    for path in ("%2e%2e/%2e%2e/x", "js%2F..%2F..%2Fother", "..%5Cx", "%00"):
        assert anonymous.get(f"{base}/{answer['token']}/{path}").status_code in (400, 404), path
    assert answer["token"] not in server.out.text


def test_tokens_are_issued_for_what_is_there_and_compat_only_where_staff_allow_it(server, root, web):
    upload(web)
    named = {"id": "mol-view", "version": "1.2.0"}
    assert web.get("/api/extensions/token", params={"id": "mol-view"}).status_code == 400
    assert web.get("/api/extensions/token", params={**named, "version": "2.0.0"}).status_code == 404
    assert web.get("/api/extensions/token", params={**named, "mode": "compat"}).status_code == 200
    setting = {"scope": "global", "key": "general.extensions.isolation"}
    assert web.patch("/api/settings", json={**setting, "value": "strict"}).status_code == 200
    try:
        assert web.get("/api/extensions").json()["isolation"] == "strict"
        assert web.get("/api/extensions/token", params={**named, "mode": "compat"}).status_code == 403
    finally:
        web.request(
            "DELETE", "/api/settings", content=json.dumps(setting), headers={"content-type": "application/json"}
        )
