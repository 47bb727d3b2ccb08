"""Runs inside the sandbox, by the bare interpreter: carries bytes between loopback and the socket of the proxy.

Usage: python -I -S inside.py SOCKET PORT -- COMMAND...   The forwarder is a child that dies with the sandbox; the
command takes our place. No import of the product, no third party: inside there is only the standard library.
"""

import _socket  # `socket` and `threading` take 20 ms to load; only the forwarder needs them, the command does not wait
import os
import sys

CHUNK = 65536


def main(argv: list[str]) -> None:
    path, port, dashes, *command = argv
    assert dashes == "--"
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(64)
    if os.fork() == 0:
        quiet = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):  # its end must not keep the command's pipes open
            os.dup2(quiet, handle)
        os.setsid()
        forward(listener.detach(), path)
        os._exit(0)
    listener.close()
    os.execvp(command[0], command)  # noqa: S606 -- the command of the tool, as its own words


def forward(handle: int, path: str) -> None:
    import socket
    import threading

    listener = socket.socket(fileno=handle)
    while True:
        inner, _ = listener.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.connect(path)
        except OSError:
            inner.close()
            outer.close()
            continue
        for source, sink in ((inner, outer), (outer, inner)):
            threading.Thread(target=carry, args=(source, sink), daemon=True).start()


def carry(source: _socket.socket, sink: _socket.socket) -> None:
    """One direction, until its end; the other one may go on."""
    try:
        while data := source.recv(CHUNK):
            sink.sendall(data)
        sink.shutdown(_socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(_socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    main(sys.argv[1:])
