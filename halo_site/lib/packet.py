"""A published event on its way to sockets: encoded once, with the few facts the hub needs to sort it.

The JSON is made where the event happened; nobody on the way parses it. Between processes a packet travels as a plain
list, which every channel-layer serializer can carry.
"""

from typing import Self

from .events import Event, encode


class Packet:
    """One frame for many readers.

    session: public id of the root the frame belongs to (None = not about a session); task: sub-session, None = the
    root itself; seq, prev: order within (session, task), only on frames of a run; entry_id, client_msg_id: the message
    a `chat:user` frame is about (its sender is left out).
    """

    __slots__ = ("_framed", "client_msg_id", "data", "entry_id", "prev", "seq", "session", "task", "type")

    def __init__(
        self,
        type: str,
        data: bytes,
        session: str | None = None,
        task: str | None = None,
        seq: int | None = None,
        prev: int | None = None,
        entry_id: int | None = None,
        client_msg_id: str | None = None,
    ) -> None:
        self.type = type
        self.data = data
        self.session = session
        self.task = task
        self.seq = seq
        self.prev = prev
        self.entry_id = entry_id
        self.client_msg_id = client_msg_id
        self._framed: bytes | None = None

    @classmethod
    def of(cls, event: Event) -> Self:
        return cls(
            event.type,
            encode(event),
            getattr(event, "session_id", None),
            getattr(event, "task_id", None),
            getattr(event, "seq", None),
            getattr(event, "prev", None),
            getattr(event, "entry_id", None),
            getattr(event, "client_msg_id", None),
        )

    def as_list(self) -> list[object]:
        return [self.type, self.data, self.session, self.task, self.seq, self.prev, self.entry_id, self.client_msg_id]

    @classmethod
    def from_list(cls, parts: list[object]) -> Self:
        """Raises TypeError or ValueError when the list is none of ours."""
        return cls(*parts)  # type: ignore[arg-type]

    @property
    def stream(self) -> str | None:
        """The session whose order this frame keeps."""
        return self.task or self.session

    @property
    def framed(self) -> bytes:
        """The same frame as a WebSocket server sends it: made once, written as it is to every reader."""
        if self._framed is None:
            self._framed = websocket_frame(self.data)
        return self._framed


def websocket_frame(data: bytes) -> bytes:
    """One final, unmasked text frame (RFC 6455, 5.2)."""
    size = len(data)
    if size < 126:
        return b"\x81" + bytes((size,)) + data
    if size < 65_536:
        return b"\x81\x7e" + size.to_bytes(2) + data
    return b"\x81\x7f" + size.to_bytes(8) + data
