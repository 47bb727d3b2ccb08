"""One watcher per workspace of this process, shared by all who look at it, ended with the last of them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from halo_site.lib.events import Event

from ..events import FilesResync, FilesWatching
from .watcher import Watcher

log = logging.getLogger("halo.watch")

PATIENCE = 0.9  # seconds somebody waits for a folder to be armed; then they go on, and are told later to read again


@dataclass(slots=True, eq=False)
class _Held:
    path: str
    armed: "asyncio.Future[FilesWatching]"
    watcher: Watcher | None = None
    holders: set[Any] = field(default_factory=set)
    state: FilesWatching | None = None
    late: bool = False  # somebody went on without waiting for the arming


class Watches:
    """On the event loop. tell: brings one event to all who look at a workspace (its key) in this process."""

    def __init__(self, tell: Callable[[int, Event], None], make: Callable[..., Watcher] = Watcher) -> None:
        self._tell = tell
        self._make = make
        self._held: dict[int, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, key: int, path: str, holder: object) -> None:
        """From now on (once armed) changes of the workspace are told."""
        before = self._held.get(key)
        if before is not None and before.path == path:
            before.holders.add(holder)
            return
        if before is not None:  # staff gave the workspace another folder
            self._end(key)
        held = self._begin(key, path)
        held.holders |= {holder} | (before.holders if before else set())

    def holders(self, key: int) -> list[Any]:
        held = self._held.get(key)
        return [] if held is None else list(held.holders)

    def let_go(self, key: int, holder: object) -> None:
        held = self._held.get(key)
        if held is not None:
            held.holders.discard(holder)
            if not held.holders:
                self._end(key)

    async def armed(self, key: int, patience: float = PATIENCE) -> FilesWatching | None:
        """How the workspace is watched, once it is; None = not yet. Nothing that happens after an answer is lost."""
        held = self._held.get(key)
        if held is None:
            return None
        await asyncio.wait({held.armed}, timeout=patience)
        if not held.armed.done():
            held.late = True
            return None
        return held.state

    def close(self) -> None:
        for key in list(self._held):
            self._end(key)

    def _begin(self, key: int, path: str) -> _Held:
        loop = asyncio.get_running_loop()
        held = self._held[key] = _Held(path, loop.create_future())

        def news(events: Sequence[Event]) -> None:
            try:
                loop.call_soon_threadsafe(self._news, key, held, events)
            except RuntimeError:  # the loop is closed: nobody looks any more
                return

        try:
            held.watcher = self._make(path, news)
            held.watcher.start()
        except (OSError, RuntimeError):  # no more threads, say: the connection works without live refresh
            log.exception("%s is not watched", path)
            held.state = FilesWatching(workspace_path=path, mode="off", reason="no watcher could be started")
            held.armed.set_result(held.state)
        return held

    def _end(self, key: int) -> None:
        held = self._held.pop(key)
        if held.watcher is not None:
            held.watcher.stop()
        if not held.armed.done():
            held.armed.cancel()

    def _news(self, key: int, held: _Held, events: Sequence[Event]) -> None:
        if self._held.get(key) is not held:
            return  # a watcher that was ended meanwhile
        for event in events:
            if isinstance(event, FilesWatching):
                held.state = event
                if not held.armed.done():
                    held.armed.set_result(event)
                    if held.late:
                        self._tell(key, event)
                        self._tell(key, FilesResync(workspace_path=held.path))
                    continue
            self._tell(key, event)
