"""A git server on loopback: `git http-backend` behind basic auth. Imports no product code."""

import base64
import os
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class GitServer:
    """Bare repositories below `root`. `user` empty = anybody may come in. `asked`: (path, user) of every request."""

    root: Path
    user: str = ""
    token: str = ""
    silent: bool = False  # takes requests and never answers
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __enter__(self) -> "GitServer":
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                fake.serve(self)

            do_POST = do_GET

            def log_message(self, *args: Any) -> None:
                return

        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, name: str) -> str:
        return f"http://{self.host}/{name}"

    def make(self, name: str) -> Path:
        path = self.root / name
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        subprocess.run(["git", "-C", str(path), "config", "http.receivepack", "true"], check=True)
        return path

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        user = self._user(handler.headers.get("Authorization", ""))
        self.asked.append((handler.path, user))
        if self.silent:
            self._stop.wait(300)
            return
        if self.user and user != self.user:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="git"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        path, _, query = handler.path.partition("?")
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length) if length else self._chunks(handler)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": user or "anybody",
            "REQUEST_METHOD": handler.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=env)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n") if line)
        handler.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _user(self, header: str) -> str:
        if not header.startswith("Basic "):
            return ""
        user, _, token = base64.b64decode(header[6:]).decode().partition(":")
        return user if token == self.token else f"{user} with a wrong token"

    @staticmethod
    def _chunks(handler: BaseHTTPRequestHandler) -> bytes:
        if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return b""
        body = b""
        while size := int(handler.rfile.readline().split(b";")[0], 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
        return body
