"""AWS event-stream frames, read as the events they carry. Pure; the framing itself is botocore's.

A `chunk` frame holds `{"bytes": "<base64 of one event>"}`; an exception frame becomes an error event with the
exception's name as its type. Source: spec models 4.2.
"""

import base64
import json
import struct
from typing import Any

from halo_site.lib.sse import LINE_LIMIT, SseEvent

from .wire import BrokenStream


class FrameReader:
    """Bytes in, whole events out. A frame that has not ended when the stream does is nothing."""

    def __init__(self, frame_limit: int = LINE_LIMIT) -> None:
        from botocore.eventstream import EventStreamBuffer

        self._limit = frame_limit
        self._buffer = EventStreamBuffer()
        self._pending = 0  # bytes of the frame that has not ended yet
        self._fault: BrokenStream | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Raises BrokenStream; what came whole before the broken frame is given out first."""
        from botocore.eventstream import ParserError

        self._complain()
        events: list[SseEvent] = []
        self._buffer.add_data(chunk)
        self._pending += len(chunk)
        try:
            for frame in self._buffer:
                self._pending -= frame.prelude.total_length
                if (event := _event(frame.headers, frame.payload)) is not None:
                    events.append(event)
        except (ParserError, ValueError, LookupError, struct.error):
            self._fault = BrokenStream("sent a broken frame in the stream")
        if self._pending > self._limit:
            self._fault = BrokenStream(f"sent a frame of more than {self._limit} bytes")
        if not events:
            self._complain()
        return events

    def close(self) -> list[SseEvent]:
        self._complain()
        return []

    def _complain(self) -> None:
        if self._fault is not None:
            raise self._fault


def _event(headers: dict[str, Any], payload: bytes) -> SseEvent | None:
    """Raises ValueError for a payload that is not what its frame says."""
    match headers.get(":message-type"):
        case "exception":
            return _error(str(headers.get(":exception-type", "")), _message(payload))
        case "error":
            return _error(str(headers.get(":error-code", "")), str(headers.get(":error-message", "")))
        case "event" if headers.get(":event-type") == "chunk":
            document = json.loads(payload)
            if not isinstance(document, dict) or not isinstance(document.get("bytes"), str):
                raise ValueError("a chunk without bytes")
            return SseEvent(b"", base64.b64decode(document["bytes"], validate=True))
    return None


def _message(payload: bytes) -> str:
    try:
        document = json.loads(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")
    if not isinstance(document, dict):
        return str(document)
    return str(document.get("message") or document.get("Message") or document.get("originalMessage") or "")


def _error(name: str, message: str) -> SseEvent:
    error = {"type": name or "exception", "message": message or name}
    return SseEvent(b"error", json.dumps({"type": "error", "error": error}).encode())
