"""Files of extensions: who gets which, and in which cage (spec canvas-extensions 3.5, 3.6; SECURITY-BAR E3, E4, A5)."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extensions_app import assets, registry
from extensions_app.asset_token import issue_for
from extensions_app.install import install_zip, remove
from extensions_app.isolation import Isolation
from halo_site import tokens
from halo_site.lib.token_paths import without_token
from halo_site.tokens import DAY, Kind

from .zips import good, zipped

VERSION = "1.2.0"


@pytest.fixture
def root(tmp_path, settings, monkeypatch) -> Path:
    settings.HALO = replace(settings.HALO, home=tmp_path)
    monkeypatch.setattr(assets, "_kept", assets._Kept())
    place = registry.root()
    files = good() | {
        "app.wasm": b"\0asm",
        "x.mjs": b"1",
        "big.bin": os.urandom(700_000),
        "noext": b"",
        "a.svg": b"<svg/>",
    }
    install_zip(place, zipped(files))
    install_zip(place, zipped(good(id="other")))
    registry._scan()
    return place


def get(
    path: str, *, token: str | None = None, method: str = "GET", id: str = "mol-view", version: str = VERSION, **headers
):
    token = issue_for(id, version) if token is None else token
    return fetch(f"/api/extensions/{id}/{version}/{token}/{path}", method, headers)


def fetch(
    address: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    sent: list[dict[str, Any]] = []
    given = {"host": "halo.example:9527"} | {name.replace("_", "-"): value for name, value in (headers or {}).items()}
    scope = {
        "type": "http",
        "method": method,
        "path": address,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asked = assets.asked_by(scope)
    assert asked is not None
    asyncio.run(assets.serve(scope, send, asked))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    assert not sent[-1].get("more_body")
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, body


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("js/a.js", "text/javascript; charset=utf-8"),
        ("x.mjs", "text/javascript; charset=utf-8"),
        ("app.wasm", "application/wasm"),
        ("a.svg", "image/svg+xml"),
        ("big.bin", "application/octet-stream"),
        ("noext", "application/octet-stream"),
    ],
)
def test_a_file_comes_with_its_type_and_the_headers_of_the_specification(root, path, kind):
    for _ in range(2):  # from the disk, then from memory
        status, headers, body = get(path)
        assert (status, headers["content-type"], body) == (200, kind, (root / "mol-view" / path).read_bytes())
        assert headers["access-control-allow-origin"] == "*"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-length"] == str(len(body))
    assert get(path, method="HEAD")[2] == b""


@pytest.mark.parametrize(
    "path",
    [
        "none.js",
        "js",
        "js/",
        "js//a.js",
        "./index.html",
        "js/../index.html",
        "../other/index.html",
        ".hidden",
        "js/.hidden",
        "js\\a.js",
        "a\0b",
        "out.html",
        "passwd",
        "into-hidden.js",
        "pipe",
        "x" * 300,
        "i\u0307ndex.html",
    ],
)
def test_E3_what_is_not_a_plain_file_of_the_extension_is_404(root, path):
    place = root / "mol-view"
    (place / ".hidden").write_text("secret")
    (place / "js" / ".hidden").write_text("secret")
    (place / "out.html").symlink_to(root / "other" / "index.html")
    (place / "passwd").symlink_to("/etc/passwd")
    (place / "into-hidden.js").symlink_to(place / ".hidden")
    os.mkfifo(place / "pipe")
    status, headers, body = get(path)
    assert (status, body) == (404, b'{"error":"Not found"}')
    assert headers["cache-control"] == "no-store"


def test_E3_another_version_is_404_so_that_a_stale_tab_knows(root):
    stale = issue_for("mol-view", "1.1.0")
    assert get("index.html", version="1.1.0", token=stale)[0] == 404
    assert get("index.html", id="none", token=issue_for())[0] == 404


def test_E3_a_removed_extension_is_404_at_once(root):
    assert get("index.html")[0] == 200
    remove(root, "mol-view")
    registry._scan()
    assert get("index.html")[0] == 404


def test_an_upgrade_serves_the_new_files(root):
    assert get("js/a.js")[2] == b"1;"
    install_zip(root, zipped(good() | {"js/a.js": b"2;"}))
    registry._scan()
    assert get("js/a.js")[2] == b"2;"


def test_E3_a_token_is_good_for_its_own_extension_and_version(root):
    assert get("index.html", token=issue_for("other", VERSION))[0] == 401
    assert get("index.html", token=issue_for("mol-view", "9.9.9"))[0] == 401
    assert get("index.html", token=issue_for())[0] == 200  # without a name: any of them


def test_E3_a_token_of_another_kind_or_time_is_401(root):
    now = int(time.time())
    others = [kind for kind in Kind if kind is not Kind.ASSET]
    bad = [tokens.issue(kind, {"id": "mol-view", "version": VERSION}, life=60) for kind in others]
    bad += [
        issue_for("mol-view", VERSION, now=now - DAY - 1),
        issue_for("mol-view", VERSION, now=now + 3600),
        issue_for("mol-view", VERSION)[:-2] + "AA",
        "x",
        "a.b.c",
        "é",
    ]
    for token in bad:
        assert get("index.html", token=token)[0] == 401, token


def test_E3_a_token_that_was_read_once_still_ends(root, monkeypatch):
    token = issue_for("mol-view", VERSION)
    assert get("index.html", token=token)[0] == 200
    later = time.time() + DAY
    monkeypatch.setattr("extensions_app.asset_token.time", lambda: later)
    assert get("index.html", token=token)[0] == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_a_file_is_only_read(root, method):
    assert get("index.html", method=method)[0] == 405


def test_E4_a_service_worker_is_not_served(root):
    assert get("js/a.js", service_worker="script")[0] == 404


@pytest.mark.parametrize(
    ("setting", "asked_compat", "caged"),
    [
        ("auto", False, True),
        ("auto", True, False),
        ("strict", False, True),
        ("strict", True, True),
        ("compat", False, False),
        ("compat", True, False),
    ],
)
def test_E4_files_are_caged_unless_staff_and_the_person_say_otherwise(root, monkeypatch, setting, asked_compat, caged):
    monkeypatch.setattr(assets, "isolation", lambda: Isolation(setting))
    token = issue_for("mol-view", VERSION, compat=asked_compat)
    policy = get("index.html", token=token)[1].get("content-security-policy")
    if not caged:
        assert policy is None
        return
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["sandbox"] == "allow-scripts"
    own = f"http://halo.example:9527/api/extensions/mol-view/{VERSION}/{token}/"
    assert rules["default-src"] == f"{own} data: blob:"  # nothing can be sent anywhere else
    assert rules["frame-ancestors"] == "'self'"
    assert "allow-same-origin" not in policy


def test_E3_no_log_shows_the_token():
    assert without_token("/api/extensions/glb/1.0.0/a.b.c/js/x.js") == "/api/extensions/glb/1.0.0/***/js/x.js"
    assert without_token("/api/extensions/token?id=glb/1/2/3") == "/api/extensions/token?id=glb/1/2/3"


def test_a_path_with_fewer_parts_is_a_route_of_the_api():
    for path in ("/api/extensions", "/api/extensions/token", "/api/extensions/a/b/c", "/api/extensions/a/b/c/", "/x"):
        assert assets.asked_by({"path": path}) is None
