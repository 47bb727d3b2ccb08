"""The hub of a web process: which socket looks at what, and how a published frame reaches it.

Everything here happens on the event loop. Delivery is direct calls: no task, no queue and no copy per socket.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from halo_site.lib.access_level import Access
from halo_site.lib.db import DbThreads
from halo_site.lib.events import Event
from halo_site.lib.packet import Packet
from halo_site.lib.publish import session_topic
from workspaces_app.events import FileChanged
from workspaces_app.protected import is_masked
from workspaces_app.terminals import the_terminals
from workspaces_app.watch import Watches

from .connection import SILENCE, STALLED, Connection
from .reader import Reader
from .rights import Person, Rights
from .subscription import Subscription

log = logging.getLogger(__name__)
T = TypeVar("T")

SOCKETS_PER_USER = 50
# Frames of a workspace only for those who have it open, not for everyone who may see it.
ONLY_BOUND = frozenset({"file:changed", "files:resync", "files:watching", "git:progress"})


class Membership(Protocol):
    """The channel layer as the hub sees it: a process gets a topic's frames only while it asks for them."""

    async def join(self, topic: str) -> None: ...

    def leave(self, topic: str) -> None: ...


class Alone:
    """One process: every frame is published right here."""

    async def join(self, topic: str) -> None:
        return

    def leave(self, topic: str) -> None:
        return


class Hub:
    def __init__(self, threads: DbThreads, readers: DbThreads) -> None:
        self.threads = threads  # units of work of frame handlers
        self.reader = Reader(readers)
        self.connections: set[Connection] = set()
        self.blocked: set[Connection] = set()  # their clients do not read
        self.closing = False
        self.watches = Watches(self._changed)
        self.terminals = the_terminals()
        self.membership: Membership = Alone()
        self._people: dict[int, tuple[Person, set[Connection]]] = {}
        self._trees: dict[int, set[Subscription]] = {}  # by key of the root
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task that is kept until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Who is here

    def sockets_of(self, user_id: int) -> int:
        return len(self._people[user_id][1]) if user_id in self._people else 0

    def person(self, user_id: int, rights: Rights) -> Person:
        """The shared record of a user, up to date as of `rights`."""
        found = self._people.get(user_id)
        if found is None:
            return Person(user_id, rights)
        if not found[0].update(rights):
            self.close_user(user_id)
            return Person(user_id, rights)
        return found[0]

    def enter(self, connection: Connection) -> None:
        self.connections.add(connection)
        person, sockets = self._people.setdefault(connection.person.user_id, (connection.person, set()))
        connection.person = person
        sockets.add(connection)

    def leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self.blocked.discard(connection)
        found = self._people.get(connection.person.user_id)
        if found is not None:
            found[1].discard(connection)
            self._forget(connection.person.user_id)

    def _forget(self, user_id: int) -> None:
        """Who has no socket is nobody's business, except while a terminal of theirs waits for them."""
        found = self._people.get(user_id)
        if found is not None and not found[1] and not self.terminals.has(user_id):
            del self._people[user_id]

    def knows(self, user_id: int) -> bool:
        return user_id in self._people

    def users(self) -> list[int]:
        return list(self._people)

    def take_rights(self, rights: dict[int, Rights], asked: list[int]) -> None:
        """What the rows say now of the users that were `asked` for."""
        for user_id in asked:
            found = self._people.get(user_id)
            if found is not None and not found[0].update(rights.get(user_id)):
                self.close_user(user_id)
            self._forget(user_id)

    def close_user(self, user_id: int) -> None:
        self.terminals.end_user(user_id)
        for connection in list(self._people.get(user_id, (None, set()))[1]):
            connection.close(1008, "Your access changed: connect again")
        self._forget(user_id)

    # Who looks at what

    def add(self, subscription: Subscription) -> None:
        self._trees.setdefault(subscription.session.root_key, set()).add(subscription)

    def remove(self, subscription: Subscription) -> None:
        key = subscription.session.root_key
        viewers = self._trees.get(key)
        if viewers is not None:
            viewers.discard(subscription)
            if not viewers:
                del self._trees[key]
                self.membership.leave(session_topic(key))

    async def joined(self, topic: str) -> None:
        """Returns once frames of the topic come to this process."""
        await self.membership.join(topic)

    def topics(self) -> list[str]:
        return [session_topic(key) for key in self._trees]

    def subscriptions(self) -> list[Subscription]:
        return [subscription for viewers in self._trees.values() for subscription in viewers]

    # Delivery

    def deliver(self, topic: str, packet: Packet) -> None:
        """A frame for all who look at `topic`. One dying socket never hurts the rest."""
        kind, _, key = topic.partition(".")
        if kind == "session":
            for subscription in list(self._trees.get(int(key), ())):
                connection = subscription.connection
                if connection.person.may_see(subscription.session.workspace_key):
                    self._guarded(connection, subscription.take, packet)
                else:
                    connection.unwatch(subscription.session.sid)
        elif kind == "workspace":
            workspace = int(key)
            bound_only = packet.type in ONLY_BOUND
            for connection in list(self.connections):
                if not connection.person.may_see(workspace):
                    continue
                if not bound_only or (connection.bound is not None and connection.bound.key == workspace):
                    self._guarded(connection, self._put, connection, packet)
        else:
            for connection in list(self.connections):
                self._guarded(connection, self._put, connection, packet)

    def _changed(self, workspace: int, event: Event) -> None:
        """Every web process watches for its own sockets: what one sees does not go to the others."""
        packet = Packet.of(event)
        full_only = isinstance(event, FileChanged) and is_masked(tuple(event.path.casefold().split("/")))
        for connection in self.watches.holders(workspace):
            bound = connection.bound
            if bound is None or not connection.person.may_see(workspace):
                continue
            if bound.level is Access.FULL or not full_only:
                self._guarded(connection, connection.files_changed, packet)

    def _put(self, connection: Connection, packet: Packet) -> None:
        connection.outbox.put((packet,), of_session=False)

    def _guarded(self, connection: Connection, call: Any, *args: Any) -> None:
        try:
            call(*args)
        except Exception:  # a bug met by one socket; the others still get the frame
            log.exception("Delivery to a socket failed; it is closed")
            connection.close(1011)

    # Liveness, driven by the clock of hub/service.py

    def ping_all(self) -> None:
        """Every 10 s: two pings without an answer end a socket; long silence releases its listeners."""
        now = time.monotonic()
        for connection in list(self.connections):
            if connection.wire.unanswered >= 2:
                connection.tear_down()
                connection.wire.abort()
                continue
            connection.wire.ping()
            if connection.subscriptions and now - connection.last_inbound > SILENCE:
                connection.release_listeners()

    def close_stalled(self) -> None:
        """Readers who took nothing for 60 s go."""
        now = time.monotonic()
        for connection in list(self.connections):
            since = connection.outbox.blocked_since
            if since is not None and now - since > STALLED:
                connection.close(1013, "Too slow")

    def close_all(self, code: int = 1001, reason: str = "Server shutting down") -> None:
        """No new socket from now on, goodbye to the open ones."""
        self.closing = True
        for connection in list(self.connections):
            connection.close(code, reason)
