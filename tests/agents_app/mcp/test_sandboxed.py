"""Servers of sessions below full access: in a sandbox, with the workspace read-only (spec tools 3.16; S1 to S3)."""

import shutil
from pathlib import Path

import pytest

from halo_site.lib.access_level import Access
from tests.workspaces_app.sandbox.conftest import CANARY, bubblewrap, machine  # noqa: F401 -- fixtures

from .conftest import FAKE


@pytest.fixture
def workspace(machine, bubblewrap):  # noqa: F811
    return machine.workspace


@pytest.fixture
def stdio(machine, stdio):  # noqa: F811
    """The fake where a sandbox shows it, wherever this checkout lies."""
    fake = shutil.copy(FAKE, machine.user)

    def make(mode: str = "ok", note: Path | None = None, **more):
        entry = stdio(mode, note, **more)
        return entry | {"args": [fake, *entry["args"][1:]]}

    return make


@pytest.fixture
def home(machine):  # noqa: F811
    return machine.home


@pytest.mark.parametrize("level", [Access.WORKSPACE, Access.READONLY])
async def test_S1_it_sees_the_workspace_but_no_secret_and_writes_nothing(agents, stdio, machine, level):  # noqa: F811
    (machine.workspace / "page.txt").write_text("words")
    offer = await agents.offered(stdio(requiresAccess="readonly", env={"FRUIT": "pear"}), level=level)
    assert offer.missing == {}

    async def run(code: str) -> str:
        return (await agents.call("run", level=level, code=code)).text

    assert await run("out = open('page.txt').read()") == "words"
    assert await run("import os; out = os.environ['FRUIT'], 'HALO_JWT_SECRET' in os.environ") == "('pear', False)"
    for secret in machine.secrets:
        assert CANARY not in await run(f"out = open({str(secret)!r}).read()")
    for name in ("page.txt", "fresh", ".halo/agents/x", "AGENTS.md"):
        said = await run(f"out = open({str(machine.workspace / name)!r}, 'w').write('x')")
        assert "Error" in said, name
    assert (machine.workspace / "page.txt").read_text() == "words"
    assert await run("out = open('/tmp/mine', 'w').write('x')") == "1"
    assert not Path("/tmp/mine").exists()


async def test_L1_variables_of_a_sandboxed_server_are_on_no_command_line(agents, stdio, machine):  # noqa: F811
    settings = machine.home / "secrets" / "settings.yaml"
    settings.write_text("helper: {secrets: {key: canary-in-no-argv}}\n")
    await agents.offered(stdio(env={"KEY": "{{helper.secrets.key}}"}), level=Access.WORKSPACE)
    assert (await agents.call("env", level=Access.WORKSPACE, name="KEY")).text == "***"
    for place in Path("/proc").iterdir():
        try:
            assert b"canary-in-no-argv" not in (place / "cmdline").read_bytes()
        except OSError:
            continue


async def test_levels_do_not_share_a_server(agents, stdio, pool):
    await agents.offered(stdio())
    await agents.offered(stdio(), level=Access.WORKSPACE)
    assert sorted(key.level for key in pool.servers) == [Access.FULL, Access.WORKSPACE]
    assert all(server.state == "ready" for server in pool.servers.values())


async def test_a_program_that_is_not_there_is_told(agents, stdio):
    offer = await agents.offered(stdio(command="/no/such/program"), level=Access.WORKSPACE)
    assert "/no/such/program: No such file or directory" in offer.missing["mcp__fake__"]


async def test_none_is_left_when_it_ends(agents, stdio, pool):
    await agents.offered(stdio(), level=Access.WORKSPACE)
    pid = (await agents.call("run", level=Access.WORKSPACE, code="import os; out = os.getpid()")).text
    assert int(pid) < 100, "a namespace of its own"
    await pool.close()
    needle = b"mcp_server.py\0ok"
    for place in Path("/proc").iterdir():
        try:
            assert needle not in (place / "cmdline").read_bytes()
        except OSError:
            continue
