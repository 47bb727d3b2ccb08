"""How the browser app feels in a long session: 10,000 entries, 100 deltas a second, in Chromium.

    python -m bench.chat_ui [--entries 10000] [--seconds 10] [--base http://127.0.0.1:9527] [--out r.json]

The page is the real one, from a running `serve` that is logged in; the socket is a mock inside the browser driver, so
that only the page is measured. Prints one JSON document; budget: design, section 12.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import CDPSession, Page, WebSocketRoute, sync_playwright

from tests.server import PASSWORD, RunningServer

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"]
ARGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
PROSE = "The export builds every row in memory before it sends the first byte; `build_rows()` becomes a generator. "

WATCH = """
() => {
  const seen = (window.__seen = { frames: [], keys: [], shift: 0, long: [] });
  let last = performance.now();
  const tick = (now) => { seen.frames.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  // A message posted in the frame comes back once the frame is painted.
  window.__painted = (then) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = then;
    channel.port2.postMessage(0);
  });
  addEventListener("keydown", (event) => {
    window.__painted(() => seen.keys.push(performance.now() - event.timeStamp));
  }, true);
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) if (!shift.hadRecentInput) seen.shift += shift.value;
  }).observe({ type: "layout-shift" });
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) seen.long.push(task.duration);
  }).observe({ type: "longtask" });
}
"""
SWITCH = """
(index) => new Promise((done) => {
  const tab = document.querySelectorAll(".chat-tab [role=tab]")[index];
  const at = performance.now();
  tab.click();
  window.__painted(() => done(performance.now() - at));
})
"""


def rows(count: int) -> list[dict[str, Any]]:
    """A log as the server shows it: a message, an answer with a tool call, over and over."""
    made: list[dict[str, Any]] = []
    for entry in range(1, count + 1):
        row: dict[str, Any] = {"id": f"m_{entry}", "entryId": entry, "timestamp": 1_790_000_000_000 + entry * 60_000}
        if entry % 2:
            row |= {"type": "user", "role": "user", "content": f"Question {entry}: why does the export time out?"}
        else:
            call = {
                "name": "file_read",
                "input": {"path": f"src/m{entry}.py"},
                "toolUseId": f"u{entry}",
                "output": "ok",
            }
            text = PROSE * (1 + entry % 5) + "\n\n- one\n- two\n\n```python\nx = 1\n```\n"
            blocks = [{"type": "tool_call", "toolCall": call}, {"type": "text", "text": text}]
            row |= {
                "type": "assistant",
                "role": "assistant",
                "content": text,
                "contentBlocks": blocks,
                "turnId": f"t{entry}",
            }
        made.append(row)
    return made


class MockSocket:
    """The server's half of the socket for two sessions: `long` with all the entries, `short` with ten."""

    def __init__(self, entries: int) -> None:
        self.logs = {"long": rows(entries), "short": rows(10)}
        self.route: WebSocketRoute | None = None

    def accept(self, route: WebSocketRoute) -> None:
        self.route = route
        route.on_message(self.answer)
        self.send({"type": "state:snapshot", "snapshot": {"recentMessages": [], "maxContextTokens": 200_000}})

    def send(self, frame: dict[str, Any]) -> None:
        assert self.route is not None
        self.route.send(json.dumps(frame))

    def answer(self, data: str | bytes) -> None:
        frame = json.loads(data)
        if frame["type"] == "__ping__":
            self.send({"type": "__pong__"})
        elif frame["type"] == "subscribe" and frame.get("sessionId") in self.logs:
            log = self.logs[frame["sessionId"]]
            snapshot = {"recentMessages": log, "sessionId": frame["sessionId"], "agentId": "default", "seq": 1}
            self.send({"type": "state:snapshot", "snapshot": snapshot | {"running": False, "hasMore": False}})


def percentile(values: list[float], share: float) -> float:
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share))], 1) if values else 0.0


CPU = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
_before: dict[str, float] = {}


def cpu(devtools: CDPSession) -> dict[str, float]:
    """Thread time of the page's main thread in ms: says what the page costs even on a machine that does other work."""
    metrics = {item["name"]: item["value"] for item in devtools.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[name] * 1000 for name in CPU}


def watch(page: Page) -> None:
    _before.update(cpu(page.context.devtools))  # type: ignore[attr-defined]
    page.evaluate("() => Object.assign(window.__seen, { frames: [], keys: [], shift: 0, long: [] })")


def read(page: Page) -> dict[str, Any]:
    seen = page.evaluate("() => window.__seen")
    spent = cpu(page.context.devtools)  # type: ignore[attr-defined]
    frames = seen["frames"]
    return {
        "frames": len(frames),
        "frame_ms_p50": percentile(frames, 0.5),
        "frame_ms_p95": percentile(frames, 0.95),
        # A frame took more than one and a half refresh times of a 60 Hz screen.
        "dropped_percent": round(100 * sum(1 for ms in frames if ms > 25) / max(1, len(frames)), 2),
        "typing_ms_p50": percentile(seen["keys"], 0.5),
        "typing_ms_p95": percentile(seen["keys"], 0.95),
        "cpu_ms_per_frame": {name: round((spent[name] - _before[name]) / max(1, len(frames)), 2) for name in CPU},
        "layout_shift": round(seen["shift"], 4),
        "long_tasks": len(seen["long"]),
        "longest_task_ms": round(max(seen["long"], default=0), 1),
    }


def stream(page: Page, mock: MockSocket, seconds: float, rate: int, during: Any) -> dict[str, Any]:
    """`rate` deltas a second into the open session while `during` acts on the page; what the page measured."""
    watch(page)
    end = time.monotonic() + seconds
    sent = 0
    started = time.monotonic()
    while time.monotonic() < end:
        due = int((time.monotonic() - started) * rate)
        while sent < due:
            word = f"w{sent} " + ("\n\n" if sent % 60 == 59 else "")
            mock.send(
                {
                    "type": "chat:stream",
                    "sessionId": "long",
                    "text": word,
                    "agentName": "D",
                    "turnId": "live",
                    "seq": sent + 2,
                }
            )
            sent += 1
        during(page)
    return read(page) | {"deltas": sent}


def measure(base: str, password: str, workspace: Path, entries: int, seconds: float) -> dict[str, Any]:
    mock = MockSocket(entries)
    result: dict[str, Any] = {"entries": entries}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        tabs = {"tabs": [{"id": "long", "draft": False}, {"id": "short", "draft": False}], "active": "short"}
        page.add_init_script(
            f"localStorage.setItem('halo_chat_tabs_{workspace}', {json.dumps(json.dumps(tabs))});"
            "localStorage.setItem('halo_lang', 'en-US');"
        )
        page.route_web_socket("**/ws", mock.accept)
        page.goto(f"{base}/?folder={workspace}")
        page.wait_for_selector("input[type=password], #composer")
        if page.query_selector("input[type=password]"):
            page.fill("input[type=password]", password)
            page.keyboard.press("Enter")
        page.wait_for_selector(".chat-row-user")
        page.evaluate(WATCH)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.context.devtools = devtools  # type: ignore[attr-defined]

        switches = []
        for name in ("long", "short") * 5:
            index = 0 if name == "long" else 1
            took = page.evaluate(SWITCH, index)
            switches.append(took)
            page.wait_for_timeout(120)
        result["tab_switch_ms"] = {"median": round(statistics.median(switches), 1), "max": round(max(switches), 1)}
        page.locator(".chat-tab [role=tab]").nth(0).click()
        page.wait_for_timeout(500)
        result["rows_in_document"] = page.locator(".chat-row").count()

        result["idle"] = (watch(page), page.wait_for_timeout(2000), read(page))[2]

        page.focus("#composer")
        letters = iter("the quick brown fox jumps over the lazy dog " * 200)

        def type_one(target: Page) -> None:
            target.keyboard.press(next(letters).replace(" ", "Space"))
            target.wait_for_timeout(60)

        result["typing_while_streaming"] = stream(page, mock, seconds, 100, type_one)

        page.mouse.move(720, 400)

        def wheel(target: Page) -> None:
            target.mouse.wheel(0, -600)
            target.wait_for_timeout(16)

        result["scrolling_while_streaming"] = stream(page, mock, seconds, 100, wheel)
        place = "() => { const e = document.querySelector('.chat-log'); return [e.scrollTop, e.scrollHeight]; }"
        before = page.evaluate(place)
        top = page.evaluate(
            "() => document.elementFromPoint(720, 300)?.closest('.chat-row')?.getBoundingClientRect().top"
        )
        stream(page, mock, 2, 100, lambda target: target.wait_for_timeout(20))
        after = page.evaluate(place)
        still = page.evaluate(
            "() => document.elementFromPoint(720, 300)?.closest('.chat-row')?.getBoundingClientRect().top"
        )
        result["reader_moved_px"] = None if top is None or still is None else round(abs(still - top), 1)
        result["scroll"] = {"before": before, "after": after}
        browser.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--base", default="", help="a running server; without it one is started")
    parser.add_argument("--password", default=PASSWORD)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as directory:
        workspace = Path(directory) / "ws"
        workspace.mkdir()
        if options.base:
            result = measure(options.base, options.password, workspace, options.entries, options.seconds)
        else:
            with RunningServer(Path(directory) / "home") as server:
                result = measure(server.base, options.password, workspace, options.entries, options.seconds)
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
