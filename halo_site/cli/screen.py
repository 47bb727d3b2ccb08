"""What a person sees while it runs: the answer on stdout, everything else on stderr.

A terminal gets the answer as it comes; a pipe or file gets it whole at the end, from the rows. What models and tools
wrote must not steer a terminal, so control characters are replaced there.
"""

import json
import os
import sys
import time
from typing import Any, TextIO

from halo_site.lib.events import Event, as_frame
from sessions_app.events import (
    AgentDone,
    AgentStarted,
    ChatStream,
    ChatSystem,
    ChatUsage,
    RunError,
    SessionEvent,
    StreamReset,
    ToolCallStarted,
    ToolResultArrived,
)
from sessions_app.terminal import one_line, safe

from .options import Format
from .style import Styler

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Screen:
    """Everything happens on the event loop."""

    def __init__(self, format_: Format, verbose: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._format, self._verbose = format_, verbose
        self._live = format_ == "text" and self._out.isatty()
        self._styler = Styler() if self._live and _colours() else None
        self._waits = False  # a line that says how long stands on the terminal
        self._call = ""  # the model call whose text stands last
        self._open = False  # a line is not ended
        self._tools: dict[str, str] = {}
        self._errors: set[str] = set()

    def show(self, event: Event) -> None:
        """One frame of the tree."""
        if not isinstance(event, SessionEvent):
            return
        if self._format == "stream-json":
            self._line(self._out, json.dumps(as_frame(event), default=str))
        match event:
            case ChatStream(task_id=None, text=text, turn_id=call) if self._live:
                self._stream(text, call)
            case StreamReset(task_id=None) if self._live:
                self.note("(the reply begins anew)")
            case RunError(task_id=None, error=text):
                self.error(text)
            case ChatSystem(task_id=None, text=text) if self._verbose:
                self.note(text)
            case ToolCallStarted() if self._verbose:
                self._tools[event.tool_use_id] = event.tool
                self.note(f"{_who(event)}[tool: {event.tool}]")
            case ToolResultArrived() if self._verbose:
                took = "" if event.duration_ms is None else f" {event.duration_ms}ms"
                self.note(f"{_who(event)}[done: {self._tools.pop(event.tool_use_id, 'tool')}{took}]")
            case AgentStarted() if self._verbose:
                self.note(f"{_who(event)}starts: {one_line(event.task, 100)}")
            case AgentDone() if self._verbose:
                self.note(f"{_who(event)}is done")
            case ChatUsage(task_id=None) if self._verbose:
                self.note(usage_line(event, time.strftime("%H:%M:%S")))

    def _stream(self, text: str, call: str) -> None:
        if call != self._call and self._call:
            self._end_text()
            self._out.write("\n\n" if self._open else "\n")
        self._clear()
        self._call = call
        self._out.write(self._styler.feed(safe(text)) if self._styler else safe(text))
        self._out.flush()
        self._open = not text.endswith("\n")

    def waiting(self, seconds: float) -> None:
        """Nothing came since the last call: with --verbose a terminal shows that it still works, and for how long."""
        if self._verbose and self._err.isatty() and not self._open:
            sign = SPINNER[int(seconds * 2) % len(SPINNER)]
            self._err.write(f"\r{sign} {int(seconds)}s")
            self._err.flush()
            self._waits = True

    def _clear(self) -> None:
        if self._waits:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._waits = False

    def _end_text(self) -> None:
        if self._styler:
            self._out.write(self._styler.end())

    def error(self, text: str) -> None:
        """Once per text: the frame and the row say the same."""
        if text not in self._errors:
            self._errors.add(text)
            self.note(f"[error] {text}")

    def note(self, text: str) -> None:
        if self._open and self._live:
            self._end_text()
            self._out.write("\n")
            self._out.flush()
            self._open = False
        self._line(self._err, safe(text))

    def answer(self, text: str, whole: dict[str, Any]) -> None:
        """The end. text: the whole answer; whole: the object of `--format json`."""
        if self._format == "json":
            self._line(self._out, json.dumps(whole, ensure_ascii=False))
        elif self._format == "stream-json":
            self._line(self._out, json.dumps({"type": "result", **whole}, ensure_ascii=False))
        elif not self._live:
            if text:
                self._line(self._out, text)
        elif self._call:
            self._end_text()
            if self._open:
                self._line(self._out, "")
        elif text:  # run by another process: nothing was streamed here
            self._line(self._out, safe(text))

    def _line(self, stream: TextIO, text: str) -> None:
        self._clear()
        stream.write(text + "\n")
        stream.flush()


def _who(event: SessionEvent) -> str:
    if event.task_id is None:
        return ""
    return f"[{getattr(event, 'agent_name', None) or 'agent'} {event.task_id[-6:]}] "


def _colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def usage_line(event: ChatUsage, now: str) -> str:
    """`[ HH:MM:SS  in 0.0K  out 0.1K  ctx 5.8K … <model> ]`; what is zero is left out (spec cli-tui-acp 5.5)."""
    usage = event.usage or {}
    read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    asked = usage.get("inputTokens", 0) + read + written
    amounts = (
        ("in", usage.get("inputTokens", 0)),
        ("out", usage.get("outputTokens", 0)),
        ("ctx", event.context_tokens),
        ("read", read),
        ("write", written),
    )
    parts = [f"{name} {amount / 1000:.1f}K" for name, amount in amounts if amount]
    parts += [f"cache {100 * read // asked}%"] if read else []
    times = (("ttft", usage.get("ttftMs")), ("e2e", usage.get("e2eMs")))
    parts += [f"{name} {took / 1000:.1f}s" for name, took in times if took]
    parts += [f"think {usage['thinkingEffort']}"] if usage.get("thinkingEffort") else []
    return f"[ {'  '.join([now, *parts, event.model_id or ''])} ]"
