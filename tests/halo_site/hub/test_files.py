"""Files and the app's page, served before Django (SECURITY-BAR B3, B5)."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from halo_site import spa

from .conftest import HubServer


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small build of the browser app."""
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / ".vite").mkdir()
    script = b"console.log('hello');" * 100
    (dist / "assets" / "app-Ab12-_xy.js").write_bytes(script)
    (dist / "assets" / "app-Ab12-_xy.js.gz").write_bytes(gzip.compress(script))
    (dist / "favicon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    chunk = {"file": "assets/app-Ab12-_xy.js", "css": []}
    (dist / ".vite" / "manifest.json").write_text(json.dumps({"src/main.tsx": chunk, "src/head.ts": chunk}))
    monkeypatch.setattr(spa, "DIST", dist)
    monkeypatch.setattr(spa, "MANIFEST", dist / ".vite" / "manifest.json")
    return dist


@pytest.fixture
def get(hub_server: HubServer) -> Iterator[Any]:
    with httpx.Client(base_url=hub_server.base) as client:
        yield client.get


def test_hashed_files_are_kept_for_good_and_sent_compressed(build: Path, get: Any) -> None:
    path = "/static/app/assets/app-Ab12-_xy.js"
    answer = get(path, headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
    assert answer.text.startswith("console.log")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    plain = get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == (build / "assets" / "app-Ab12-_xy.js").read_bytes()
    part = get(path, headers={"Accept-Encoding": "identity", "Range": "bytes=0-6"})
    assert (part.status_code, part.text) == (206, "console")
    again = get(path, headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_files_without_a_hash_are_asked_for_again(build: Path, get: Any) -> None:
    assert "immutable" not in get("/static/app/favicon.svg").headers["cache-control"]


@pytest.mark.parametrize("path", ["/static/app/.vite/manifest.json", "/static/nothing.js", "/static/app/%2e%2e/x"])
def test_what_is_no_file_of_ours_is_404(build: Path, get: Any, path: str) -> None:
    assert get(path).status_code == 404


def test_a_new_build_is_served_without_a_restart(build: Path, get: Any) -> None:
    assert get("/static/app/new-12345678.js").status_code == 404
    (build / "new-12345678.js").write_text("new")
    os.utime(spa.MANIFEST, ns=(1, 1))
    assert get("/static/app/new-12345678.js").text == "new"


def test_the_files_of_the_staff_site_are_there(get: Any) -> None:
    assert get("/static/admin/css/base.css").status_code == 200


@pytest.mark.parametrize("path", ["/", "/w/some/workspace", "/settings", "/apiary", "/wsx"])
def test_every_other_address_is_the_apps_page(build: Path, get: Any, path: str) -> None:
    answer = get(path)
    assert answer.status_code == 200
    assert "/static/app/assets/app-Ab12-_xy.js" in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-cache"


def test_without_a_build_the_page_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, get: Any
) -> None:
    monkeypatch.setattr(spa, "MANIFEST", tmp_path / "none.json")
    answer = get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/plain; charset=utf-8")
    assert "make" in answer.text


@pytest.mark.parametrize("path", ["/", "/static/app/favicon.svg"])
def test_B3_a_foreign_host_is_400(build: Path, get: Any, path: str) -> None:
    assert get(path, headers={"Host": "evil.example"}).status_code == 400


def test_unknown_api_addresses_are_json_and_health_needs_no_login(get: Any) -> None:
    assert get("/api/health").json()["status"] == "ok"
    assert "error" in get("/api/nothing").json()
    assert settings.STATIC_URL == "/static/"
