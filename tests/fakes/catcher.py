"""Catches whatever tries to leave: a web server that takes every request, and a resolver that hears every name.

    with Catcher() as catcher:
        catcher.names["evil.example"] = [["93.184.216.34"], ["127.0.0.1"]]   # rebinding: the second look-up differs
        catcher.answer("/hop", 302, {"Location": "http://127.0.0.1:1/"})
        with catcher.in_this_process() as seen:
            ...                                  # run what must stay inside
        assert catcher.requests == []            # what reached the server
        assert catcher.lookups == []             # names asked, of the DNS server or in this process
        assert seen.connections == []            # (host, port) this process connected to, refused ones too

Two ways in: `in_this_process()` hooks name look-ups and connects of Python code here; another process is pointed at
`catcher.port` (HTTP) and `catcher.dns_port` (DNS over UDP), for example Chromium by `catcher.chromium_rules`.
Nothing here leaves the machine. Imports no product code.
"""

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MAX_BODY = 1 << 20
A, AAAA = 1, 28


@dataclass(frozen=True)
class Caught:
    """One HTTP request, or the first bytes of something else (then `method` is empty and `body` holds them)."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return self.headers.get("host", "")


@dataclass
class Seen:
    """What this process did while it was watched."""

    connections: list[tuple[str, int]] = field(default_factory=list)
    lookups: list[str] = field(default_factory=list)

    @property
    def outside(self) -> list[tuple[str, int]]:
        """Connections that were not to loopback."""
        return [place for place in self.connections if not place[0].startswith("127.") and place[0] != "::1"]


class Catcher:
    def __init__(self) -> None:
        self.requests: list[Caught] = []
        self.lookups: list[str] = []
        self.names: dict[str, list[list[str]]] = {}  # name -> answers, one per look-up; the last one stays
        self.default: list[str] = []  # answer for other names; empty = there is no such name
        self._answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self._lock = threading.Lock()
        self._servers: list[socketserver.BaseServer] = []

    def __enter__(self) -> "Catcher":
        catcher = self

        class Web(socketserver.StreamRequestHandler):
            timeout = 5

            def handle(self) -> None:
                try:
                    catcher._web(self.rfile, self.wfile)
                except OSError:
                    return

        class Dns(socketserver.DatagramRequestHandler):
            def handle(self) -> None:
                reply = catcher._dns(self.rfile.read())
                if reply:
                    self.wfile.write(reply)

        class WebServer(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._servers = [WebServer(("127.0.0.1", 0), Web), socketserver.UDPServer(("127.0.0.1", 0), Dns)]
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def port(self) -> int:
        return int(self._servers[0].server_address[1])

    @property
    def dns_port(self) -> int:
        return int(self._servers[1].server_address[1])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def chromium_rules(self) -> str:
        """For `--host-resolver-rules`: every name and address of the page's world ends here."""
        return f"MAP * 127.0.0.1:{self.port}"

    def answer(self, path: str, status: int = 200, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        """What the web server says under `path`; everything else gets `200 caught`."""
        self._answers[path] = (status, headers or {}, body)

    def resolve(self, name: str) -> list[str]:
        """Note a look-up and give its addresses. An address literal is no look-up."""
        name = name.rstrip(".").lower()
        with self._lock:
            self.lookups.append(name)
            answers = self.names.get(name)
            if answers is None:
                return self.default
            return answers.pop(0) if len(answers) > 1 else answers[0]

    @contextmanager
    def in_this_process(self, *, refuse_outside: bool = True) -> Iterator[Seen]:
        """Hear look-ups and connects of Python code here. Outside addresses are refused before a packet leaves."""
        seen = Seen()
        real_lookup, real_connect, real_connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex

        def lookup(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if name is None or _is_literal(name) or name == "localhost":
                return real_lookup(host, port, *args, **kwargs)
            seen.lookups.append(name)
            found: list[Any] = []
            for address in self.resolve(name):
                found += real_lookup(address, port, *args, **kwargs)
            if not found:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return found

        def note(address: Any) -> None:
            if not isinstance(address, tuple):
                return  # a Unix socket
            host, port = str(address[0]), int(address[1])
            seen.connections.append((host, port))
            if refuse_outside and not _is_loopback(host):
                raise ConnectionRefusedError(f"the catcher refused {host}:{port}")

        def connect(sock: socket.socket, address: Any) -> None:
            note(address)
            real_connect(sock, address)

        def connect_ex(sock: socket.socket, address: Any) -> int:
            note(address)
            return real_connect_ex(sock, address)

        socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex = lookup, connect, connect_ex
        try:
            yield seen
        finally:
            socket.getaddrinfo = real_lookup
            socket.socket.connect = real_connect
            socket.socket.connect_ex = real_connect_ex

    # ---- the two servers

    def _web(self, reader: Any, writer: Any) -> None:
        first = reader.readline(65536)
        if not first:
            return
        parts = first.decode("latin1").split()
        if len(parts) != 3 or not parts[2].startswith("HTTP/"):
            with self._lock:
                self.requests.append(Caught("", "", {}, first))
            return
        headers: dict[str, str] = {}
        while line := reader.readline(65536).decode("latin1").rstrip("\r\n"):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        body = reader.read(min(int(headers.get("content-length", 0) or 0), MAX_BODY))
        with self._lock:
            self.requests.append(Caught(parts[0], parts[1], headers, body))
        status, extra, text = self._answers.get(parts[1].partition("?")[0], (200, {}, b"caught"))
        lines = [f"HTTP/1.1 {status} Caught", f"Content-Length: {len(text)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in extra.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin1") + (b"" if parts[0] == "HEAD" else text))

    def _dns(self, query: bytes) -> bytes:
        """One question, one answer (RFC 1035); anything odd gets no answer but is noted as `?`."""
        try:
            labels, position = [], 12
            while (length := query[position]) != 0:
                labels.append(query[position + 1 : position + 1 + length].decode("ascii"))
                position += 1 + length
            kind = struct.unpack(">H", query[position + 1 : position + 3])[0]
        except (IndexError, struct.error, UnicodeDecodeError):
            with self._lock:
                self.lookups.append("?")
            return b""
        question = query[12 : position + 5]
        family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
        addresses = self.resolve(".".join(labels))
        records = []
        for address in addresses:
            if family == (socket.AF_INET6 if ":" in address else socket.AF_INET):
                data = socket.inet_pton(family, address)
                records.append(struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(data)) + data)
        code = 0 if addresses else 3
        head = query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        return head + question + b"".join(records)


def _is_literal(name: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, name.partition("%")[0])
        except OSError:
            continue
        return True
    return False


def _is_loopback(host: str) -> bool:
    return host.startswith("127.") or host in ("::1", "localhost", "")
