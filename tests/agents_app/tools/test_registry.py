"""Which tools an agent gets, what a bad call is told, and how results are cut (spec tools 2.1, 3.1, 5)."""

from pathlib import Path

import pytest

from agents_app.tools import ALWAYS, GIVEN, RELAY, TEAM, TOOLS, add_tool, tools_for
from agents_app.tools.contract import ERROR, WARN, Tool, ToolParams
from agents_app.tools.cut import model_copy, ui_copy
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access
from workspaces_app.sandbox import Status

NINE = ("file_read", "view_image", "file_write", "file_edit", "file_list", "shell_exec", "grep", "glob", "web_fetch")


def names(*listed: str, level: Access = Access.FULL) -> list[str]:
    """Without those that every agent has."""
    return [tool.name for tool in tools_for(listed, level) if tool.name not in ALWAYS]


def test_no_tools_listed_means_none():
    assert tools_for((), Access.FULL) == []


def test_with_a_tool_comes_the_one_that_resumes_an_interrupted_task():
    assert [tool.name for tool in tools_for(["grep"], Access.FULL)] == ["grep", "continue_task"]


def test_the_order_never_depends_on_the_agent():
    assert names(*reversed(NINE)) == names(*NINE)


def test_unknown_and_retired_names_are_ignored():
    assert names("draft", "nonsense", "grep") == ["grep"]


def test_2_listing_a_tool_for_sessions_gives_none_of_them():
    assert "start_session" in TEAM
    assert names("start_session", "grep") == ["grep"]


@pytest.mark.parametrize("level", list(Access))
def test_29_30_relay_send_brings_the_set_at_full_access_and_no_other_name_does(level):
    full = [*RELAY] if level is Access.FULL else []
    assert len(RELAY) == 5
    assert [tool.name for tool in tools_for(["relay_send", "grep"], level)] == ["grep", *full, "continue_task"]
    assert [tool.name for tool in tools_for(["relay_read", "grep"], level)] == ["grep", "continue_task"]


def test_without_a_sandbox_readonly_sessions_get_the_reading_tools_only(monkeypatch):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="not installed"))
    four = {"file_read", "file_list", "grep", "glob"}
    assert set(names(*NINE, level=Access.READONLY)) == four
    assert {tool.name for tool in tools_for(NINE, Access.READONLY, vision=True)} == {*four, "view_image", *ALWAYS}
    assert {tool.name for tool in tools_for(NINE, Access.WORKSPACE, vision=True)} == {*NINE, *ALWAYS}


@pytest.mark.parametrize("level", list(Access))
def test_with_a_sandbox_every_level_gets_all_nine(monkeypatch, level):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(program="/usr/bin/bwrap"))
    assert {tool.name for tool in tools_for(NINE, level, vision=True)} == {*NINE, *ALWAYS}
    assert "view_image" not in names(*NINE, level=level)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        *((name, {}, True) for name in ("file_read", "view_image", "file_list", "grep", "glob")),
        *((name, {}, False) for name in ("file_write", "file_edit", "shell_exec")),
        ("web_fetch", {"url": "http://a.example/"}, True),
        ("web_fetch", {"method": "GET"}, True),
        ("web_fetch", {"method": "get"}, False),  # not a method it knows: refused when it is run
        ("web_fetch", {"method": "POST"}, False),
        ("web_fetch", {"method": None}, False),
    ],
)
def test_a_call_that_only_reads_may_run_beside_others(tool, arguments, expected):
    assert TOOLS[tool].read_only_for(arguments) is expected


async def test_readonly_writing_is_refused_with_the_reason(monkeypatch, call, workspace):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(program="/usr/bin/bwrap"))
    result = await call("file_write", level=Access.READONLY, path="x", content="y")
    assert result.text == f"{WARN}Access denied: file_write needs workspace access, this session has readonly."
    assert not list(workspace.iterdir())


async def test_readonly_without_a_sandbox_is_told_why_a_tool_does_nothing(monkeypatch, call):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="not installed"))
    result = await call("web_fetch", level=Access.READONLY, url="http://example.org/")
    assert result.text.startswith(f"{WARN}Access denied: web_fetch requires bubblewrap (bwrap)")
    assert "(not installed)" in result.text


def test_a_taken_name_is_refused():
    with pytest.raises(ValueError, match="grep"):
        add_tool(TOOLS["grep"])


@pytest.mark.parametrize("tool", (TOOLS | GIVEN).values(), ids=list(TOOLS | GIVEN))
def test_every_tool_describes_itself_as_a_schema(tool):
    spec = tool.spec()
    assert spec.description
    assert spec.schema["type"] == "object"
    for part in spec.schema["properties"].values():
        assert part["description"]


@pytest.mark.parametrize("tool", (TOOLS | GIVEN).values(), ids=list(TOOLS | GIVEN))
def test_every_tool_has_a_heading_in_the_docs(tool):
    assert f"\n## {tool.name}\n" in Path("docs/reference/tools.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "path: Field required"),
        ({"path": 5}, "path: "),
        ({"path": None}, "path: "),
        ({"path": "x", "offset": 0}, "offset: "),
        ({"path": "x", "offset": -1}, "offset: "),
        ({"path": "x", "limit": 1e400}, "limit: "),
        ({"path": "x", "limit": float("nan")}, "limit: "),
        ({"path": "x", "limit": [1]}, "limit: "),
        ({"path": ["x"]}, "path: "),
    ],
)
async def test_L6_a_wrong_argument_is_named(call, arguments, named):
    result = await call("file_read", **arguments)
    assert result.text.startswith(WARN)
    assert named in result.text


async def test_L6_a_number_beyond_everything_is_answered(call, workspace):
    (workspace / "f").write_text("x")
    assert "past end" in (await call("file_read", path="f", offset=2**63)).text


async def test_a_tool_that_raises_gives_an_error_result(context):
    class Params(ToolParams):
        """Breaks."""

    async def run(params: Params, ctx: object):
        raise RuntimeError("half \ud800 nul \0")

    result = await run_tool(Tool(name="broken", params=Params, run=run), {}, context())
    assert result.text == f"{ERROR}broken failed: RuntimeError: half \ufffd nul \ufffd"
    assert result.is_error


def test_both_copies_say_what_they_leave_out():
    text = "x" * 20_000
    assert model_copy(text).startswith("x" * 8_000 + "\n\n[Content truncated: 20000 chars total, showing first 8000.")
    assert ui_copy(text) == text
    assert "showing first 65536" in ui_copy("x" * 70_000)
    assert model_copy("short") == "short"
