"""The hub of this process and its clocks: pings, stalled readers, rights, comparison with the rows."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from django.db import DatabaseError

from halo_site.lib.db import DbThreads, engine_threads
from halo_site.lib.errors import HaloError
from halo_site.lib.publish import on_signal
from sessions_app.views import read_stored
from workspaces_app.access import Caller

from .fanout import Hub
from .rights import CHECK_EVERY, read_rights
from .subscription import Subscription

log = logging.getLogger(__name__)

PING_EVERY = 10.0
STALL_EVERY = 1.0
COMPARE_EVERY = 5.0
SETTLE = 1.0  # seconds a frame may still be on its way when the rows already hold it
LOGIN_EVERY = 60.0

Authenticate = Callable[[dict[str, Any], DbThreads], Awaitable[Caller | None]]


@cache
def the_hub() -> Hub:
    """Made on first use: importing this costs no thread. It writes where the engine writes, see `engine_threads`."""
    return Hub(engine_threads(), DbThreads("hub-read"))


class HubService:
    """Runs until cancelled. authenticate: asked again from time to time, for logins that ended."""

    def __init__(self, hub: Hub, authenticate: Authenticate) -> None:
        self.hub = hub
        self.authenticate = authenticate

    async def run(self) -> None:
        loop = asyncio.get_running_loop()

        def changed(data: dict[str, object]) -> None:
            user = data.get("user")
            if isinstance(user, int) and not loop.is_closed():
                loop.call_soon_threadsafe(self._look_at, user)

        forget = on_signal("auth.changed", changed)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_every(PING_EVERY, self._ping), name="hub pings")
                group.create_task(_every(STALL_EVERY, self._stalled), name="hub stalls")
                group.create_task(_every(CHECK_EVERY, self.check_rights), name="hub rights")
                group.create_task(_every(LOGIN_EVERY, self.check_logins), name="hub logins")
                group.create_task(_every(COMPARE_EVERY, self.compare), name="hub comparison")
        finally:
            forget()

    async def _ping(self) -> None:
        self.hub.ping_all()

    async def _stalled(self) -> None:
        self.hub.close_stalled()

    def _look_at(self, user_id: int) -> None:
        if self.hub.knows(user_id):
            self.hub.spawn(self._recheck(user_id))

    async def _recheck(self, user_id: int) -> None:
        await self.check_rights([user_id])
        await self.check_logins(user_id)

    async def check_rights(self, user_ids: list[int] | None = None) -> None:
        asked = self.hub.users() if user_ids is None else user_ids
        if asked:
            self.hub.take_rights(await self.hub.threads.run(read_rights, asked), asked)

    async def check_logins(self, user_id: int | None = None) -> None:
        """Close the sockets of logins that were revoked or ran out. One question per cookie, not per socket."""
        by_cookie: dict[bytes, list[Any]] = {}
        for connection in self.hub.connections:
            if user_id is None or connection.caller.user_id == user_id:
                by_cookie.setdefault(connection.cookie, []).append(connection)
        for cookie, connections in by_cookie.items():
            scope = {"type": "websocket", "headers": [(b"cookie", cookie)]}
            if await self.authenticate(scope, self.hub.threads) is None:
                for connection in connections:
                    connection.close(1008, "Your login ended: log in again")

    async def compare(self) -> None:
        """Viewers against rows: finds a lost last frame, a dead run, a deletion nobody heard of (ARCHITECTURE 6)."""
        subscriptions = self.hub.subscriptions()
        if not subscriptions:
            return
        have = {subscription: subscription.feed.have for subscription in subscriptions}
        stored = await self.hub.threads.run(read_stored, {item.session.key for item in subscriptions})
        suspects: list[Subscription] = []
        for subscription in subscriptions:
            found = stored.get(subscription.session.key)
            if subscription.connection.subscriptions.get(subscription.session.sid) is not subscription:
                continue
            if found is None:
                subscription.end()
            elif subscription.suspicion(found, have[subscription]):
                suspects.append(subscription)
            else:
                subscription.compare_queue(found)
        if not suspects:
            return
        await asyncio.sleep(SETTLE)
        for subscription in suspects:
            if subscription.connection.subscriptions.get(subscription.session.sid) is not subscription:
                continue
            reason = subscription.suspicion(stored[subscription.session.key], have[subscription])
            if reason is not None:
                subscription.refresh(reason)

    def resync_all(self, reason: str) -> None:
        """The way frames come to this process was broken for a while."""
        for subscription in self.hub.subscriptions():
            subscription.refresh(reason)


async def _every(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    """A database that is away for a while must not end the hub: the next round tries again."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await act()
        except (DatabaseError, HaloError):
            log.warning("A regular check of the hub failed; it is repeated", exc_info=True)
