"""F7: all clients that go out are built in one place."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Provider calls have a pool of their own, to addresses of the owner (docs/decisions/0009).
# Scripts of skills are no part of the server: an agent runs them in a command, with the network of that command.
DOORS = ("halo_site/lib/outbound/", "agents_app/providers/", "agents_app/seeds/")
CLIENTS = {
    "AsyncClient", "Client", "ClientSession", "AsyncConnectionPool", "ConnectionPool", "urlopen", "HTTPConnection",
    "HTTPSConnection", "create_connection", "open_connection",
}  # fmt: skip
# Loopback only: file -> what it talks to.
LOCAL = {
    "workspaces_app/sandbox/proxy.py": "sockets that the door connected",
    "workspaces_app/sandbox/connect.py": "the proxy of its sandbox, on loopback",
}


def test_F7_one_module_builds_all_outbound_clients():
    for package in ("halo_site", *(path.name for path in ROOT.glob("*_app"))):
        for path in (ROOT / package).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name.startswith(DOORS) or name in LOCAL:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    assert called not in CLIENTS, f"{name}:{node.lineno}"
