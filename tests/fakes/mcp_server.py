"""An MCP server that behaves, or does not: as a child process, or over HTTP in a thread. Imports no product code.

    python mcp_server.py [MODE] [FILE]      stdio; FILE gets one line `PID` per start
    with HttpMcp() as fake:                 fake.url; fake.requests = [(method, headers, message)]

Modes of the start: ok, hang, crash, garbage, old (an unknown version), silent (answers `initialize` only), empty,
flood (log lines without end), half (ids and cursors that are half a character), circle (a page names itself as next).
The tools below do one thing each; `TOOLS` lists them, over two pages.
"""

import base64
import json
import os
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERSION = "2025-06-18"


def _tool(name: str, description: str, read_only: bool = False, /, **properties: Any) -> dict[str, Any]:
    found = {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}
    return found | ({"annotations": {"readOnlyHint": True}} if read_only else {})


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
TOOLS = [
    _tool("echo", "Says it again", True, text=TEXT),
    _tool("env", "A variable or header of mine", name=TEXT),
    _tool("wait", "Takes its time", seconds=NUMBER),
    _tool("stuck", "Stops everything"),
    _tool("crash", "Ends the process"),
    _tool("malformed", "Answers nonsense", how=TEXT),
    _tool("pings", "Asks many times first", count=NUMBER),
    _tool("noise", "Prints a line that is no message first"),
    _tool("huge", "Many characters", size=NUMBER),
    _tool("image", "A picture", count=NUMBER),
    _tool("broken_image", "Bytes that are no picture"),
    _tool("fail", "Says that it failed"),
    _tool("structured", "Only structured content"),
    _tool("other", "A part of another kind"),
    _tool("surrogate", "Half a surrogate pair and NUL"),
    _tool("run", "Runs Python in the server", code=TEXT),
    _tool("grow", "Adds a tool to the list"),
    _tool("cancelled", "Which requests were given up", True),
    _tool("dotted.name", "A name with a dot"),
    _tool("n" * 70, "A name that is too long"),
    {"name": "bad_schema", "inputSchema": {"type": "string"}},
    _tool("chatty", "x" * 3000),
]


def png(width: int = 8, height: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\x00\x00\x00"
    rows = (b"\0" + b"\x20\x60\xa0" * width) * height
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


class Brain:
    """What both transports have in common: a message in, messages out. Returning None = no answer, ever."""

    def __init__(self, mode: str = "ok") -> None:
        self.mode = mode
        self.cancelled: list[Any] = []
        self.more: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}

    def answer(self, message: dict[str, Any]) -> list[dict[str, Any] | str]:
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if number is None:
            if method == "notifications/cancelled":
                self.cancelled.append(params.get("requestId"))
            return []
        if method is None:  # an answer to a question of ours
            return []
        result = self.result(method, params)
        if result is None:
            return []
        if isinstance(result, list):
            return [
                item | {"id": number} if isinstance(item, dict) and item.get("id") == "?" else item for item in result
            ]
        return [{"jsonrpc": "2.0", "id": number, **result}]

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            version = "1999-01-01" if self.mode == "old" else VERSION
            info = {"name": "fake", "version": "1"}
            opened = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
            if self.mode == "half":
                return ['{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', {"jsonrpc": "2.0", "id": "?"} | opened]
            return opened
        if self.mode == "silent":
            return None
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            if self.mode == "empty":
                return {"result": {"tools": []}}
            if self.mode == "circle":
                return {"result": {"tools": TOOLS[:1], "nextCursor": "again"}}
            if not params.get("cursor"):
                return {
                    "result": {"tools": TOOLS[:5] + self.more, "nextCursor": "\ud800" if self.mode == "half" else "two"}
                }
            return {"result": {"tools": TOOLS[5:]}}
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments") or {})
        return {"error": {"code": -32601, "message": f"no method {method}"}}

    def call(self, name: str, given: dict[str, Any]) -> Any:
        match name:
            case "echo":
                return {"result": _text(given.get("text", ""))}
            case "env":
                found = self.headers.get(given["name"].lower()) or os.environ.get(given["name"], "(unset)")
                return {"result": _text(found)}
            case "wait":
                time.sleep(given["seconds"])
                return {"result": _text("waited")}
            case "stuck":
                return None
            case "crash":
                print("the reason of the crash", file=sys.stderr, flush=True)
                os._exit(3)
            case "malformed":
                return {
                    "no_result": {},
                    "result": {"result": "words"},
                    "content": {"result": {"content": "words"}},
                    "part": {"result": {"content": ["words"]}},
                    "base64": {"result": {"content": [{"type": "image", "data": "%%%"}]}},
                }[given["how"]]
            case "noise":
                return ["a log line", {"jsonrpc": "2.0", "id": "?", "result": _text("after noise")}]
            case "pings":
                asked = [{"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"} for number in range(given["count"])]
                return [*asked, {"jsonrpc": "2.0", "id": "?", "result": _text("after pings")}]
            case "huge":
                return {"result": _text("x" * int(given["size"]))}
            case "image":
                data = base64.b64encode(png()).decode()
                image = {"type": "image", "data": data, "mimeType": "image/jpeg"}
                return {
                    "result": {"content": [{"type": "text", "text": "look"}] + [image] * int(given.get("count", 1))}
                }
            case "broken_image":
                data = base64.b64encode(png()[:40]).decode()
                return {"result": {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}}
            case "fail":
                return {"result": _text("it did not work") | {"isError": True}}
            case "structured":
                return {"result": {"content": [], "structuredContent": {"answer": 42}}}
            case "other":
                return {"result": {"content": [{"type": "resource", "resource": {"uri": "file:///etc/passwd"}}]}}
            case "surrogate":
                return ['{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a\\ud800b\\u0000c"}]}}']
            case "run":
                scope: dict[str, Any] = {}
                try:
                    exec(given["code"], scope)
                except Exception as error:
                    return {"result": _text(f"{type(error).__name__}: {error}")}
                return {"result": _text(str(scope.get("out")))}
            case "grow":
                self.more.append(_tool("fresh", "It was not there before"))
                changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
                return [changed, {"jsonrpc": "2.0", "id": "?", "result": _text("grown")}]
            case "cancelled":
                return {"result": _text(json.dumps(self.cancelled))}
        return {"error": {"code": -32602, "message": f"no tool {name}"}}


def main(mode: str, note: str = "") -> None:
    if note:
        with open(note, "a") as file:
            file.write(f"{os.getpid()}\n")
    if mode == "crash":
        sys.exit("nothing works today")
    if mode == "garbage":
        print('{"this": "is no message"}', flush=True)
    while mode == "flood":
        sys.stdout.write("a log line\n" * 1000)
    brain, lock = Brain(mode), threading.Lock()

    def work(message: dict[str, Any]) -> None:
        for found in brain.answer(message):
            line = found % message["id"] if isinstance(found, str) and "%s" in found else found
            with lock:
                print(line if isinstance(line, str) else json.dumps(line), flush=True)

    for text in sys.stdin:
        if mode in ("hang", "garbage"):
            continue
        message = json.loads(text)
        if (message.get("params") or {}).get("name") == "stuck":
            with lock:
                time.sleep(3600)
        elif message.get("method") == "tools/call":
            threading.Thread(target=work, args=(message,), daemon=True).start()
        else:
            work(message)


class HttpMcp:
    """how: json or sse. session: the id it gives; another one makes it forget its clients. status: answers that."""

    def __init__(self, how: str = "sse", mode: str = "ok") -> None:
        self.how, self.brain = how, Brain(mode)
        self.session = "session-1"
        self.status = 0
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.gone = threading.Event()

    def __enter__(self) -> "HttpMcp":
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_DELETE(self) -> None:
                fake._note(self, {})
                self._plain(200, b"")

            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake._note(self, message)
                fake.brain.headers = {name.lower(): value for name, value in self.headers.items()}
                if fake.status:
                    self._plain(fake.status, b"words of an error page")
                    return
                if message.get("method") != "initialize" and self.headers.get("Mcp-Session-Id") != fake.session:
                    self._plain(404, b"no such session")
                    return
                name = (message.get("params") or {}).get("name")
                if name == "stuck":
                    fake.gone.wait(3600)
                    return
                if name == "crash":
                    self.close_connection = True
                    self.connection.close()
                    return
                found = fake.brain.answer(message)
                if not found:
                    self._plain(202, b"")
                elif fake.how == "json":
                    self._plain(200, json.dumps(found[-1]).encode(), "application/json")
                else:
                    self._stream(found, message)

            def _plain(self, status: int, body: bytes, kind: str = "text/plain") -> None:
                self.send_response(status)
                self._session()
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self, found: list[Any], message: dict[str, Any]) -> None:
                self.send_response(200)
                self._session()
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.send_header("Connection", "close")
                self.end_headers()
                asked = {"jsonrpc": "2.0", "id": "q1", "method": "ping"}
                for item in [asked, *found]:
                    text = item % message["id"] if isinstance(item, str) and "%s" in item else item
                    data = text if isinstance(text, str) else json.dumps(text)
                    self.wfile.write(f"event: message\r\ndata: {data}\r\n\r\n".encode())
                    self.wfile.flush()
                self.close_connection = True

            def _session(self) -> None:
                self.send_header("Mcp-Session-Id", fake.session)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        return self

    def __exit__(self, *error: object) -> None:
        self.gone.set()
        self._server.shutdown()
        self._server.server_close()

    def _note(self, handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        self.requests.append((handler.command, {k.lower(): v for k, v in handler.headers.items()}, message))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["ok"]))
