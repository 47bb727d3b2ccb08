"""Extensions in a real browser: what a hostile one cannot do (SECURITY-BAR E4); our samples work in the cage."""

import base64
import http.server
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserType, Page

from .parts import CHROMIUM, CHROMIUM_ARGS, PATIENCE, ROOT, Halo

TRIES = 34  # in hostile/attack.js


class Outside:
    """Another server, which notes who asks."""

    def __init__(self) -> None:
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    server = Outside()
    yield server
    server.stop()


def install(halo: Halo, folder: Path) -> None:
    target = halo.home / "global" / "extensions" / folder.name
    if not target.exists():
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("node_modules"))


HOSTILE = Path(__file__).parent / "hostile"
SAMPLES = ROOT / "extensions_app" / "samples"


@pytest.fixture
def page(browser: Browser, shared_halo: Halo) -> Iterator[Page]:
    """The app's page of somebody who is signed in."""
    context = browser.new_context()
    yield signed_in(context.new_page(), shared_halo)
    context.close()


def signed_in(page: Page, halo: Halo) -> Page:
    page.goto(halo.address)
    status = page.evaluate(
        "async (password) => (await fetch('/api/auth/login', {method: 'POST', body: JSON.stringify({password}),"
        " headers: {'content-type': 'application/json'}})).status",
        halo.password,
    )
    assert status == 200
    return page


FRAME = """
async ({ id, version, mode, sandbox }) => {
  for (let n = 0; n < 200; n++) {
    const listed = await (await fetch("/api/extensions")).json();
    if ((listed.extensions ?? []).some((one) => one.id === id)) break;
    await new Promise((ok) => setTimeout(ok, 50));
  }
  const query = new URLSearchParams({ id, version, ...(mode ? { mode } : {}) });
  const { token } = await (await fetch(`/api/extensions/token?${query}`)).json();
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", sandbox);
  frame.style.cssText = "position: fixed; inset: 0; width: 600px; height: 400px; z-index: 9999; background: white";
  window.heard = [];
  addEventListener("message", ({ source, data }) => source === frame.contentWindow && window.heard.push(data));
  frame.src = `/api/extensions/${id}/${version}/${token}/index.html`;
  frame.name = "extension";
  document.body.append(frame);
  return frame.src;
}
"""


def mount(page: Page, id: str, *, mode: str = "", sandbox: str = "allow-scripts") -> str:
    return str(page.evaluate(FRAME, {"id": id, "version": "1.0.0", "mode": mode, "sandbox": sandbox}))


def heard(page: Page, test: str) -> Any:
    """The first thing the frame said for which `test`, of `it`, is true."""
    return page.wait_for_function(f"() => window.heard.find((it) => {test})", timeout=PATIENCE).json_value()


def tell(page: Page, frame: dict[str, Any]) -> None:
    page.evaluate("(frame) => window.frames['extension'].postMessage(frame, '*')", frame)


def test_E4_a_hostile_extension_gets_out_of_its_cage_by_none_of_its_tries(
    shared_halo: Halo, page: Page, outside: Outside
):
    install(shared_halo, HOSTILE)
    install(shared_halo, SAMPLES / "echo-save")
    events: list[str] = []
    page.context.on("page", lambda _: events.append("popup"))
    page.on("download", lambda _: events.append("download"))
    page.on("dialog", lambda dialog: (events.append("dialogue"), dialog.dismiss()))
    here = page.url
    asked = len(outside.asked)
    mount(page, "hostile")
    heard(page, "it === 'ready'")
    tell(page, {"outside": outside.address})
    found = page.wait_for_function("() => window.heard.find((it) => it.got)", timeout=120_000).json_value()
    got = {name: value for name, value in found["got"].items() if value not in ("", None)}
    assert got == {}
    assert len(found["got"]) == TRIES
    assert found["origin"] == "null"
    assert events == []
    assert page.url == here
    assert outside.asked[asked:] == []


def test_E4_a_file_opened_in_a_tab_of_its_own_is_caged_too(shared_halo: Halo, page: Page, outside: Outside):
    install(shared_halo, HOSTILE)
    address = mount(page, "hostile")
    tab = page.context.new_page()
    tab.goto(address)
    assert tab.evaluate("self.origin") == "null"
    tab.close()


def test_E4_the_tries_are_real_because_without_the_cage_some_of_them_work(
    shared_halo: Halo, page: Page, outside: Outside
):
    """Compatibility mode, as a person may choose it: this is what the setting's warning is about."""
    install(shared_halo, HOSTILE)
    mount(page, "hostile", mode="compat", sandbox="allow-scripts allow-same-origin")
    heard(page, "it === 'ready'")
    page.on("dialog", lambda dialog: dialog.dismiss())
    tell(page, {"outside": outside.address})
    found = page.wait_for_function("() => window.heard.find((it) => it.got)", timeout=120_000).json_value()
    for name in ("local storage", "the parent's document", "another server by fetch"):
        assert found["got"][name], name
    assert found["got"]["the API by fetch"] == "200"  # with the person's login


# ---- our samples


def test_the_save_sample_edits_and_hands_back_the_bytes(shared_halo: Halo, page: Page):
    install(shared_halo, SAMPLES / "echo-save")
    mount(page, "echo-save")
    assert heard(page, "it.type === 'ready'") == {"haloExt": 1, "type": "ready", "protocol": 1}
    file = {"name": "a.echo", "path": "a.echo", "size": 5, "ext": ".echo"}
    tell(page, {"haloExt": 1, "type": "init", "protocol": 1, "file": file, "capabilities": ["save"], "theme": "dark"})
    page.evaluate(
        "() => window.frames['extension'].postMessage("
        "{haloExt: 1, type: 'load', buffer: new TextEncoder().encode('héllo').buffer, mtime: 1}, '*')"
    )
    box = page.frame_locator("iframe[name=extension]").get_by_label("Content")
    box.press("End")
    box.press_sequentially(" you")
    assert heard(page, "it.type === 'dirty'")["dirty"] is True
    tell(page, {"haloExt": 1, "type": "save-request"})
    heard(page, "it.type === 'save'")
    text = page.evaluate("() => new TextDecoder().decode(window.heard.find((it) => it.type === 'save').buffer)")
    assert text == "héllo you"
    tell(page, {"haloExt": 1, "type": "saved", "mtime": 2})
    heard(page, "it.type === 'dirty' && !it.dirty")


def triangle() -> bytes:
    """The smallest glTF binary: one triangle."""
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    said = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}
        ],
        "bufferViews": [{"buffer": 0, "byteLength": len(points)}],
        "buffers": [{"byteLength": len(points)}],
    }
    text = json.dumps(said).encode()
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(points)
    head = struct.pack("<4sII", b"glTF", 2, size)
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(points), b"BIN\0") + points


@pytest.fixture(scope="module")
def drawing(browser_type: BrowserType) -> Iterator[Browser]:
    """Chromium that draws 3D without a graphics card."""
    args = [arg for arg in CHROMIUM_ARGS if arg != "--disable-gpu"]
    browser = browser_type.launch(
        executable_path=CHROMIUM, args=[*args, "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    )
    yield browser
    browser.close()


def test_the_model_sample_shows_a_model_in_the_cage_and_asks_no_other_server(shared_halo: Halo, drawing: Browser):
    subprocess.run(["scripts/setup", "samples"], cwd=ROOT, check=True, env=_env())
    install(shared_halo, SAMPLES / "model-viewer")
    page = drawing.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    signed_in(page, shared_halo)
    mount(page, "model-viewer")
    heard(page, "it.type === 'ready'")
    file = {"name": "a.glb", "path": "a.glb", "size": 1, "ext": ".glb"}
    tell(page, {"haloExt": 1, "type": "init", "protocol": 1, "file": file, "capabilities": [], "theme": "light"})
    page.evaluate(
        "(text) => window.frames['extension'].postMessage({haloExt: 1, type: 'load', mtime: 1,"
        " buffer: Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer}, '*')",
        base64.b64encode(triangle()).decode(),
    )
    frame = page.frame(name="extension")
    assert frame is not None
    frame.wait_for_function("() => document.documentElement.hasAttribute('data-shown')", timeout=60_000)
    assert [one for one in page.evaluate("() => window.heard") if one["type"] == "error"] == []
    assert [url for url in asked if not url.startswith((shared_halo.address, "blob:", "data:"))] == []

    page.evaluate(
        "() => window.frames['extension'].postMessage({haloExt: 1, type: 'load', buffer: new ArrayBuffer(9)}, '*')"
    )
    assert "cannot be shown" in heard(page, "it.type === 'error'")["message"]
    page.close()


def _env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "HALO_HOME"} | {"PYTHON": sys.executable}
