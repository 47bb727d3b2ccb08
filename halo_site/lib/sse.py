"""Server-sent events, read from bytes. Pure: the caller does the I/O.

Accepts LF, CR and CRLF (also cut between two chunks), comments, a byte order mark, `data:` with and without a space,
several data lines per event, and a last event without its blank line. Values stay bytes: a UTF-8 character that is cut
by the network is whole again before anybody decodes it. Source: spec models 3.2.6; the HTML standard, "event streams".

Model vendors send some 300 bytes per event, so the usual shapes are cut out with `bytes.split`; only what is unusual
goes line by line (bench/bench_sse.py).
"""

from typing import NamedTuple

LINE_LIMIT = 1024 * 1024  # bytes in one line
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """`event` is empty when the stream gave no name. `data` lines are joined by a newline; never empty."""

    event: bytes
    data: bytes


class LineTooLong(ValueError):
    """A line passed the limit: the stream cannot be read on."""


class SseReader:
    """Bytes in, whole events out: `feed` every chunk, then `close` once."""

    __slots__ = ("_after_cr", "_data", "_limit", "_name", "_parts", "_size", "_start")

    def __init__(self, line_limit: int = LINE_LIMIT) -> None:
        self._limit = line_limit
        self._start: bytes | None = b""  # first bytes, while they may still be a byte order mark
        self._parts: list[bytes] = []  # pieces of the line that has not ended yet
        self._size = 0
        self._after_cr = False  # the last byte was a CR: an LF that follows belongs to it
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. Raises LineTooLong."""
        if self._start is not None:
            chunk = self._without_mark(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 10:
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep(chunk)
            return []
        lines = chunk[:end]
        if self._parts:
            self._parts.append(lines)
            lines = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        self._keep(chunk[end:])
        return self._read(lines)

    def close(self) -> list[SseEvent]:
        """The last event, when the stream ended without a blank line after it."""
        self._start = None
        lines = b"".join(self._parts) + b"\n\n"
        self._parts.clear()
        self._size = 0
        return self._read(lines)

    def _without_mark(self, chunk: bytes) -> bytes:
        """Wait for three bytes, or for one that no byte order mark has; drop the mark."""
        head = (self._start or b"") + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._start = head
            return b""
        self._start = None
        return head.removeprefix(_BOM)

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise LineTooLong(f"a line is longer than {self._limit} bytes")

    def _read(self, lines: bytes) -> list[SseEvent]:
        """Whole lines (each ended by LF) -> events. A blank line ends an event, so LF LF separates them."""
        events: list[SseEvent] = []
        blocks = lines.split(b"\n\n")
        rest = blocks.pop()
        for block in blocks:
            if len(block) > self._limit:
                self._check(block)
            if not self._data and not self._name:
                name, _, data = block.partition(b"\n")
                if not data:
                    name, data = b"", block
                if data.startswith(b"data:") and b"\n" not in data and (not name or name.startswith(b"event: ")):
                    data = data[6:] if data.startswith(b"data: ") else data[5:]
                    if data:
                        events.append(SseEvent(name[7:], data))
                    continue
            for line in block.split(b"\n"):
                self._line(line, events)
            self._line(b"", events)
        for line in rest.split(b"\n")[:-1]:
            self._line(line, events)
        return events

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if not line:
            data = b"\n".join(self._data)
            if data:
                events.append(SseEvent(self._name, data))
            self._data.clear()
            self._name = b""
            return
        if len(line) > self._limit:
            self._check(line)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value

    def _check(self, block: bytes) -> None:
        if max(map(len, block.split(b"\n"))) > self._limit:
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
