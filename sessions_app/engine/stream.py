"""The frames of one run: numbered, in order, deltas joined (ARCHITECTURE 6).

The first delta of a block goes out at once; after that deltas are joined for 25 ms or 2,048 characters. Any other
frame flushes them first, so nothing overtakes. While the database does not take what was shown, deltas wait: nobody
reads for long what a crash would take back.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from halo_site.lib.publish import publish, session_topic

from ..events import ChatStream, ChatThinking, RunEvent, ToolOutput
from .values import Facts

JOIN_SECONDS = 0.025
JOIN_CHARACTERS = 2048
OUTPUT_JOIN_SECONDS = 0.1
OUTPUT_LINES = 200
EPOCH_BITS = 32


class Stream:
    """Owned by one run; everything happens on its event loop."""

    def __init__(
        self, facts: Facts, epoch: int, is_fresh: Callable[[], bool], is_behind: Callable[[], bool] = lambda: False
    ) -> None:
        self._facts = facts
        self._topic = session_topic(facts.root_key)
        self._task_id = None if facts.is_root else facts.sid
        self._is_fresh = is_fresh
        self._is_behind = is_behind
        self._loop = asyncio.get_running_loop()
        self._prev: int | None = facts.seq
        self.seq = epoch << EPOCH_BITS
        self._kind = ""
        self._call_id = ""
        self._pending: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def emit(self, kind: type[RunEvent], **values: Any) -> None:
        """Send one numbered frame, after what is still joined."""
        self.flush()
        self._kind = ""
        self._send(kind, values)

    def delta(self, kind: str, text: str, call_id: str) -> None:
        """Show new text or thinking of one model call."""
        if kind != self._kind or call_id != self._call_id:
            self.flush()
            self._kind, self._call_id = kind, call_id
            if not self._is_behind():
                self._send_text(text)
                text = ""
        if text:
            self._pending.append(text)
            self._size += len(text)
        if self._size >= JOIN_CHARACTERS and not self._is_behind():
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(JOIN_SECONDS, self._timed)

    def flush(self) -> None:
        """Send joined deltas now. After it `seq` covers everything that was fed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send_pending()

    def _timed(self) -> None:
        self._timer = None
        if self._is_behind():
            self._timer = self._loop.call_later(JOIN_SECONDS, self._timed)
        else:
            self._send_pending()

    def _send_pending(self) -> None:
        if self._pending:
            text = "".join(self._pending)
            self._pending.clear()
            self._size = 0
            self._send_text(text)

    def _send_text(self, text: str) -> None:
        kind: type[RunEvent] = ChatThinking if self._kind == "thinking" else ChatStream
        self._send(kind, {"text": text, "agent_name": self._facts.agent_name, "turn_id": self._call_id})

    def _send(self, kind: type[RunEvent], values: dict[str, Any]) -> None:
        self.seq += 1
        prev, self._prev = self._prev, None
        if not self._is_fresh():  # the number is used up: viewers notice the gap and ask for a snapshot
            return
        event = kind(session_id=self._facts.root_sid, task_id=self._task_id, seq=self.seq, prev=prev, **values)
        publish(self._topic, event)

    def output(self, tool_use_id: str, text: str, dropped: int) -> None:
        """Live output of a running tool. Not numbered: the result that follows holds it."""
        if self._is_fresh():
            event = ToolOutput(
                session_id=self._facts.root_sid,
                task_id=self._task_id,
                tool_use_id=tool_use_id,
                text=text,
                dropped=dropped,
            )
            publish(self._topic, event)


class OutputTail:
    """Output of one running command: joined for 100 ms on the wire, its last 200 lines kept for late viewers."""

    LIMIT = 64 * 1024  # characters sent per join; more is counted as dropped

    def __init__(self, stream: Stream, tool_use_id: str, saved: Callable[[], None]) -> None:
        self._stream = stream
        self._id = tool_use_id
        self._changed = saved
        self._lines: deque[str] = deque([""], maxlen=OUTPUT_LINES)
        self._pending: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, text: str) -> None:
        first, *rest = text.split("\n")
        self._lines[-1] += first
        self._lines.extend(rest)
        self._pending.append(text)
        self._changed()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(OUTPUT_JOIN_SECONDS, self.flush)

    @property
    def text(self) -> str:
        return "\n".join(line[-2000:] for line in self._lines)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pending:
            text = "".join(self._pending)
            self._pending.clear()
            self._stream.output(self._id, text[-self.LIMIT :], max(0, len(text) - self.LIMIT))
