"""Runs inside the sandbox as ssh's ProxyCommand: a tunnel through the proxy, on standard input and output.

Usage: python -I -S connect.py PORT HOST HOST_PORT   Like `inside.py`: standard library only.
"""

import os
import socket
import sys
import threading

CHUNK = 65536


def main(argv: list[str]) -> int:
    port, host, host_port = argv
    there = socket.create_connection(("127.0.0.1", int(port)))
    name = f"[{host}]" if ":" in host else host
    there.sendall(f"CONNECT {name}:{host_port} HTTP/1.1\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head and len(head) < CHUNK:
        data = there.recv(CHUNK)
        if not data:
            break
        head += data
    first, _, rest = head.partition(b"\r\n\r\n")
    if first.split(b" ")[1:2] != [b"200"]:
        sys.stderr.write(f"{rest.decode('utf-8', 'replace').strip() or 'The proxy of the sandbox closed'}\n")
        return 1
    if rest:
        _write(rest)
    threading.Thread(target=_send, args=(there,), daemon=True).start()
    while data := there.recv(CHUNK):
        _write(data)
    return 0


def _send(there: socket.socket) -> None:
    while data := os.read(0, CHUNK):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
