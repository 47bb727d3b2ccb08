"""What goes where: the answer on stdout, the rest on stderr."""

import io
import json

import pytest

from halo_site.cli.screen import Screen, usage_line
from sessions_app.events import (
    AgentDone,
    AgentStarted,
    ChatStream,
    ChatSystem,
    ChatUsage,
    RunError,
    StreamReset,
    ToolCallStarted,
    ToolResultArrived,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def delta(text: str, turn: str = "t1", task: str | None = None) -> ChatStream:
    return ChatStream(session_id="s", task_id=task, text=text, agent_name="A", turn_id=turn)


def test_a_terminal_gets_the_text_as_it_comes_and_messages_apart():
    out, err = Terminal(), io.StringIO()
    screen = Screen("text", False, out, err)
    screen.show(delta("Hel"))
    assert out.getvalue() == "Hel"
    screen.show(delta("lo."))
    screen.show(delta("Sub-agents are silent.", "t9", "s>c"))
    screen.show(delta("And again.", "t2"))
    screen.answer("Hello.\n\nAnd again.", {})
    assert out.getvalue() == "Hello.\n\nAnd again.\n"
    assert err.getvalue() == ""


def test_a_pipe_gets_the_answer_once_at_the_end_and_nothing_of_a_dropped_try():
    out, err = io.StringIO(), io.StringIO()
    screen = Screen("text", False, out, err)
    screen.show(delta("Wro"))
    screen.show(StreamReset(session_id="s", turn_id="t1"))
    assert out.getvalue() == ""
    screen.answer("Right.", {})
    assert out.getvalue() == "Right.\n"


def test_what_a_model_wrote_does_not_steer_the_terminal_and_a_pipe_gets_it_as_it_is():
    out = Terminal()
    Screen("text", False, out, io.StringIO()).show(delta("\x1b]0;title\x07ok"))
    assert "\x1b" not in out.getvalue()
    plain = io.StringIO()
    Screen("text", False, plain, io.StringIO()).answer("\x1b[1mok", {})
    assert plain.getvalue() == "\x1b[1mok\n"


def test_errors_are_told_once_and_always():
    err = io.StringIO()
    screen = Screen("json", False, io.StringIO(), err)
    screen.show(RunError(session_id="s", error="No."))
    screen.show(RunError(session_id="s", task_id="s>c", error="A child's."))
    screen.error("No.")
    assert err.getvalue() == "[error] No.\n"


@pytest.mark.parametrize("verbose", [True, False])
def test_tools_and_sub_agents_are_told_with_verbose_only(verbose: bool):
    err = io.StringIO()
    screen = Screen("text", verbose, io.StringIO(), err)
    call = {"session_id": "s", "agent_name": "Ada", "tool_use_id": "u"}
    screen.show(ToolCallStarted(**call, tool="grep", input={}, turn_id="t"))
    screen.show(ToolResultArrived(**call, result="x", duration_ms=12))
    screen.show(ToolCallStarted(**call, task_id="s>sid_1_abcdef", tool="glob", input={}, turn_id="t"))
    screen.show(AgentStarted(session_id="s", task_id="s>sid_1_abcdef", agent_name="Ada", task="dig\nhere"))
    screen.show(AgentDone(session_id="s", task_id="s>sid_1_abcdef", agent_name="Ada"))
    screen.show(ChatSystem(session_id="s", text="Trying again."))
    lines = [
        "[tool: grep]",
        "[done: grep 12ms]",
        "[Ada abcdef] [tool: glob]",
        "[Ada abcdef] starts: dig here",
        "[Ada abcdef] is done",
        "Trying again.",
    ]
    assert err.getvalue().splitlines() == (lines if verbose else [])


def test_formats_for_programs_are_lines_of_json():
    out = io.StringIO()
    screen = Screen("stream-json", False, out, io.StringIO())
    screen.show(delta("Hi"))
    screen.answer("Hi", {"text": "Hi"})
    first, last = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["type"], first["text"]) == ("chat:stream", "Hi")
    assert last == {"type": "result", "text": "Hi"}


def test_the_line_of_usage_leaves_out_what_is_zero():
    usage = {"inputTokens": 300, "outputTokens": 100, "cacheReadInputTokens": 5700, "ttftMs": 400, "e2eMs": 3300}
    event = ChatUsage(session_id="s", context_tokens=6100, output_tokens=100, model_id="m-1", usage=usage)
    assert (
        usage_line(event, "09:30:00")
        == "[ 09:30:00  in 0.3K  out 0.1K  ctx 6.1K  read 5.7K  cache 95%  ttft 0.4s  e2e 3.3s  m-1 ]"
    )
    nothing = ChatUsage(session_id="s", context_tokens=0, output_tokens=0, model_id="m")
    assert usage_line(nothing, "09:30:00") == "[ 09:30:00  m ]"


def test_a_terminal_gets_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch):
    for name, value, shown in (("TERM", "xterm", "\x1b[1m# Plan\x1b[0m\n"), ("NO_COLOR", "1", "# Plan\n")):
        monkeypatch.setenv(name, value)
        out = Terminal()
        screen = Screen("text", False, out, io.StringIO())
        screen.show(delta("# Pl"))
        screen.show(delta("an"))
        screen.answer("# Plan", {})
        assert out.getvalue() == shown


def test_with_verbose_a_terminal_shows_how_long_it_waits_until_something_comes():
    err = Terminal()
    screen = Screen("text", True, io.StringIO(), err)
    screen.waiting(3.5)
    assert "3s" in err.getvalue()
    screen.note("[tool: grep]")
    assert err.getvalue().endswith("\r\x1b[K[tool: grep]\n")
    silent = Terminal()
    Screen("text", False, io.StringIO(), silent).waiting(3.5)
    assert silent.getvalue() == ""
