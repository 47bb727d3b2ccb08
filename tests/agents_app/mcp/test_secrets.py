"""Placeholders of a server's entry, and their values: never in what models, people, logs or command lines see (L1)."""

import base64
import logging
from pathlib import Path
from urllib.parse import quote

import pytest

from agents_app.agent_yaml import AgentYamlError, parse
from agents_app.mcp import wire
from agents_app.mcp.values import ValueMissing, launch_of
from agents_app.models import McpState
from agents_app.tools.contract import ERROR
from agents_app.tools.shell_params import Masker
from tests.fakes.mcp_server import HttpMcp
from workspaces_app.models import Workspace

CANARY = "canary+7f3a/stays inside"


@pytest.fixture
def stored(home, workspace):
    """stored(global yaml, workspace yaml)"""

    def write(ours: str = "", theirs: str = "") -> None:
        (home / "secrets" / "settings.yaml").write_text(ours)
        (workspace / ".halo").mkdir(exist_ok=True)
        (workspace / ".halo" / "settings.yaml").write_text(theirs)

    return write


def launch(agents, entry, *, ours=True):
    [server] = agents.agent(entry).config.mcp
    return launch_of(server, "helper", agents.workspace, ours=ours)


async def test_params_are_filled_anywhere_and_secrets_in_env_and_headers(agents, stdio, stored):
    stored(f"helper: {{params: {{place: north, on: true}}, secrets: {{key: '{CANARY}'}}}}\n")
    entry = stdio(
        args=["{{helper.params.place}}", "{{ helper.params.on }}"],
        env={"KEY": "Bearer {{helper.secrets.key}}", "PLACE": "{{helper.params.place}}"},
    )
    made = launch(agents, entry)
    assert made.command[1:] == ("north", "true")
    assert dict(made.env) == {"KEY": f"Bearer {CANARY}", "PLACE": "north"}
    assert made.secrets == (CANARY,)
    assert CANARY not in repr(made)
    http = {"name": "fake", "transport": "http", "url": "https://x.example/{{helper.params.place}}"}
    made = launch(agents, http | {"headers": {"X-Key": "{{helper.secrets.key}}"}})
    assert (made.url, dict(made.headers)) == ("https://x.example/north", {"X-Key": CANARY})


@pytest.mark.parametrize("field", ["command", "args"])
def test_a_secret_anywhere_else_is_refused_with_its_line(field):
    value = "'{{helper.secrets.key}}'" if field == "command" else "['{{helper.secrets.key}}']"
    more = "" if field == "command" else "    command: x\n"
    with pytest.raises(AgentYamlError, match="secrets may stand in `env` and `headers` only") as caught:
        parse(f"name: A\nmcp:\n  - name: fake\n    transport: stdio\n{more}    {field}: {value}\n")
    assert caught.value.line >= 5


@pytest.mark.parametrize("value", ["{{helper.secrets.none}}", "{{other.secrets.key}}", "{{other.params.place}}"])
async def test_a_value_that_is_not_there_or_not_its_own_keeps_the_server_from_starting(
    agents, stdio, stored, tmp_path, value
):
    stored(f"other: {{params: {{place: north}}, secrets: {{key: '{CANARY}'}}}}\n")
    note = tmp_path / "started"
    offer = await agents.offered(stdio(note=note, env={"KEY": value}))
    assert offer.tools == ()
    assert value in offer.missing["mcp__fake__"]
    assert not note.exists()


async def test_what_a_value_holds_is_not_filled_again(agents, stdio, stored):
    stored(f"helper: {{params: {{a: '{{{{helper.secrets.key}}}}'}}, secrets: {{key: '{CANARY}'}}}}\n")
    assert dict(launch(agents, stdio(env={"A": "{{helper.params.a}}"})).env) == {"A": "{{helper.secrets.key}}"}


async def test_an_agent_of_a_workspace_gets_the_secrets_of_that_workspace_only(agents, stdio, stored, monkeypatch):
    monkeypatch.setenv("SOME_KEY", CANARY)
    stored(
        f"helper: {{params: {{open: fine, guarded: <<SOME_KEY>>}}, secrets: {{key: '{CANARY}'}}}}\n",
        "helper: {secrets: {own: mine, env: <<SOME_KEY>>}}\n",
    )
    entry = stdio(env={"A": "{{helper.secrets.own}}", "B": "{{helper.params.open}}", "C": "{{helper.secrets.env}}"})
    assert dict(launch(agents, entry, ours=False).env) == {"A": "mine", "B": "fine", "C": "<<SOME_KEY>>"}
    for value in ("{{helper.secrets.key}}", "{{helper.params.guarded}}"):
        assert CANARY in launch(agents, stdio(env={"A": value})).env[0][1], "an agent of the home may"
        with pytest.raises(ValueMissing):
            launch(agents, stdio(env={"A": value}), ours=False)


async def test_L1_a_server_that_tells_its_key_is_masked_everywhere(agents, stdio, stored, pool, caplog, workspace):
    caplog.set_level(logging.DEBUG)
    await Workspace.objects.acreate(path=str(workspace), name="w")
    stored(f"helper: {{secrets: {{key: '{CANARY}'}}}}\n")
    await agents.offered(stdio(env={"KEY": "{{helper.secrets.key}}"}))
    seen = [str([tool.spec() for tool in agents.last.tools])]
    for text in (CANARY, quote(CANARY, safe=""), CANARY.encode().hex(), base64.b64encode(CANARY.encode()).decode()):
        seen.append((await agents.call("echo", text=f"it is {text}, is it not")).text)
    seen.append((await agents.call("env", name="KEY")).text)
    assert all("***" in text for text in seen[1:])
    code = "import os, sys; print(os.environ['KEY'], file=sys.stderr, flush=True); os._exit(4)"
    seen.append((await agents.call("run", code=code)).text)
    assert seen[-1].startswith(f"{ERROR}MCP server fake: it ended with exit code 4: ***")
    await pool.close()
    [row] = [row async for row in McpState.objects.all()]
    seen += [row.error, str(row.tools), caplog.text, str([record.__dict__ for record in caplog.records])]
    for form in (CANARY, CANARY.encode().hex(), quote(CANARY, safe="")):
        assert not any(form in text for text in seen)


def test_L1_a_key_in_a_description_or_schema_is_masked_before_anything_is_cut():
    said = "x" * 1_015 + CANARY
    schema = {"type": "object", "properties": {"a": {"default": [CANARY], CANARY: 1}}}
    raw = [{"name": "t", "description": said, "inputSchema": schema}]
    [tool], _ = wire.offered("fake", raw, None, Masker([CANARY]).whole)
    assert tool.description == "x" * 1_015 + "***"
    assert tool.schema["properties"] == {"a": {"default": ["***"], "***": 1}}


async def test_L1_a_refused_http_server_does_not_tell_its_headers(agents, stored, home):
    with HttpMcp() as fake:
        stored(f"general: {{outbound: {{allow: '127.0.0.1:{fake.port}'}}}}\nhelper: {{secrets: {{key: '{CANARY}'}}}}\n")
        entry = {"name": "fake", "transport": "http", "url": fake.url, "headers": {"X-Key": "{{helper.secrets.key}}"}}
        await agents.offered(entry)
        assert (await agents.call("env", name="X-Key")).text == "***"
        fake.status = 401
        assert CANARY not in (await agents.call("echo", text="x")).text
        bad = {"name": "bad", "transport": "http", "url": fake.url, "headers": {"X Key": "{{helper.secrets.key}}"}}
        offer = await agents.offered(bad)
        assert "'X Key' is not a header" in offer.missing["mcp__bad__"]
        assert CANARY not in str(offer)


async def test_L1_the_key_is_on_no_command_line(agents, stdio, stored, tmp_path):
    stored(f"helper: {{secrets: {{key: '{CANARY}'}}}}\n")
    await agents.offered(stdio(env={"KEY": "{{helper.secrets.key}}"}))
    for place in Path("/proc").iterdir():
        try:
            assert CANARY.encode() not in (place / "cmdline").read_bytes()
        except OSError:
            continue
