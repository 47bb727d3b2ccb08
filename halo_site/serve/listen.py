"""Where the server listens, and whether it can, asked before anything is made in the home."""

import errno
import socket

from halo_site.lib.errors import HaloError


class CannotListen(HaloError):
    def __init__(self, host: str, port: int, error: OSError) -> None:
        if error.errno == errno.EADDRINUSE:
            text = f"Port {port} on {host} is already in use. Stop what uses it, or give another one: -p PORT"
        else:
            text = f"Cannot listen on {host}, port {port}: {error.strerror or error}. Give another one: -p PORT"
        super().__init__(text)


def check_free(host: str, port: int) -> int:
    """The port to listen on: `port`, or a free one for 0. Raises CannotListen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise CannotListen(host, port, error) from error


def endpoint(host: str, port: int) -> str:
    """Twisted's description of where to listen."""
    kind = "tcp6" if ":" in host else "tcp"
    escaped = host.replace(":", r"\:")
    return f"{kind}:port={port}:interface={escaped}:backlog=2048"


def address(host: str, port: int) -> str:
    """What a person on this machine can open."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
