"""Frames a client may send over the socket: each app lists its own, the hub looks them up in one table.

A handler gets the `Socket` it came from and the checked fields. It may raise HaloError: the hub answers an `error`
frame and the socket lives on. Who may do what is asked of `access` in the same unit of work that acts.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from halo_site.lib.access_level import Access

from .access import Caller
from .events import FilesWatching

P = ParamSpec("P")
T = TypeVar("T")


class FrameFields(BaseModel):
    """Fields of one frame, camelCase on the wire. Unknown ones are ignored: clients may be newer than we are."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class InWorkspace(FrameFields):
    """Absent `projectId` = the workspace this socket is bound to."""

    projectId: str | None = Field(None, max_length=4096)


@dataclass(frozen=True, slots=True)
class Bound:
    """The workspace a socket looks at, and its user's level there when it began to."""

    key: int
    path: str
    level: Access


@dataclass(frozen=True, slots=True)
class Watched:
    """A session to look at; frames of its tree come under the root's key."""

    key: int
    sid: str
    root_key: int
    root_sid: str
    workspace_key: int


class Socket(Protocol):
    """What a handler may do with the connection it serves. Everything happens on the event loop."""

    caller: Caller
    address: str
    bound: Bound | None
    active: str | None  # session of the last subscribe or chat: default of frames that name none
    agent_id: str

    def send(self, frame: dict[str, Any]) -> None:
        """Queue one frame for this client only."""

    def send_bytes(self, data: bytes) -> None:
        """The same for a frame that is encoded already."""

    def bind(self, bound: Bound) -> None:
        """Look at this workspace from now on; changes of its files come to this socket."""

    async def watching(self) -> FilesWatching | None:
        """Waits a moment until changes of the bound workspace are seen. None = not yet; then they are told later."""

    def watch(self, session: Watched) -> None:
        """Begin to listen now; snapshot, replay and later frames follow. Replaces this socket's own listener."""

    def listen(self, session: Watched, *, idle: bool, first: Any = None) -> None:
        """As `watch`, but nothing happens when this socket already listens.

        idle: no run was on when it was asked. first: what a session that was created in this instant looks like.
        """

    def watches(self, sid: str) -> bool: ...

    def unwatch(self, sid: str) -> bool:
        """Drop the listener of one session. False = there was none."""

    def wrote(self, client_msg_id: str) -> None:
        """This socket sends the message of that id: it gets no `chat:user` for it."""

    @property
    def busy(self) -> bool:
        """This client takes no more for now: what may wait should."""

    def when_free(self, act: Callable[[], None]) -> None:
        """Call it once this client takes more; at once when it does already. Not at all when it is gone."""

    def at_end(self, act: Callable[[], None]) -> None:
        """Call it when this socket ends; at once when it has already."""

    async def unit(self, unit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit of work in a database thread."""


F = TypeVar("F", bound=FrameFields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(Generic[F]):
    """One kind of frame. needs: least level in the workspace it acts on; checked by the handler's unit of work.

    usage: the answer to wrong or missing fields. at_once: does not wait for the frames before it.
    """

    name: str
    fields: type[F]
    handle: Callable[[Socket, F], Awaitable[None]]
    needs: Access
    usage: str | None = None
    at_once: bool = False


FRAMES: dict[str, Frame[Any]] = {}


def frame_named(name: str) -> Frame[Any] | None:
    """The frame of this `type`, else the one that takes all of its family: `command:*` for `command:help`."""
    return FRAMES.get(name) or FRAMES.get(f"{name.partition(':')[0]}:*")


def add_frames(*frames: Frame[Any]) -> None:
    """For `AppConfig.ready()`. A taken name is a mistake of the programmer."""
    for frame in frames:
        if frame.name in FRAMES:
            raise ValueError(f"frame {frame.name!r} is registered twice")
        FRAMES[frame.name] = frame
