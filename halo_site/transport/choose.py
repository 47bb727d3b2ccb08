"""Which transport a process uses, and the tasks that come with it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from django.conf import settings

from halo_site.heartbeat import beat_for_ever
from halo_site.hub.service import Authenticate, HubService, the_hub
from halo_site.lib.db import DbThreads
from halo_site.lib.publish import Transport, use_transport

from .extension_news import ExtensionNews
from .layer import LayerLink, ThreadedLayer
from .local import Embedded
from .notices import NoticeDrain, NoticeTransport

log = logging.getLogger(__name__)

_loop: asyncio.AbstractEventLoop | None = None
_link: LayerLink | None = None
_tasks: set[asyncio.Task[Any]] = set()
_outside: NoticeTransport | ThreadedLayer | None = None


def start_web(authenticate: Authenticate) -> None:
    """The hub of this process, its clocks, and its way to other processes. Once per loop; later calls do nothing."""
    global _loop, _link
    loop = asyncio.get_running_loop()
    if _loop is loop:
        return
    _loop = loop
    hub = the_hub()
    service = HubService(hub, authenticate)
    _keep("hub", service.run)
    _keep("extensions", ExtensionNews(hub.deliver).run)
    if settings.HALO.redis_url:
        link = LayerLink(hub.deliver, on_back=lambda: service.resync_all("gap"))
        hub.membership = _link = link
        use_transport(link)
        _keep("channel layer", link.run)
        _keep("heartbeat", beat_for_ever)
    else:
        use_transport(Embedded(hub.deliver))
        _keep("notices", NoticeDrain(DbThreads("notices", 1), hub.deliver).run)


async def drain_notices() -> None:
    """Lives as long as the server: the work itself is a task of `start_web`."""
    from halo_site.auth import authenticate_scope

    start_web(authenticate_scope)
    await asyncio.Event().wait()


def start_worker() -> None:
    """A process of engines beside web processes. Raises RuntimeError without a shared layer."""
    global _loop, _link
    if not settings.HALO.redis_url:
        raise RuntimeError("a worker process needs REDIS_URL")
    _loop = asyncio.get_running_loop()
    link = _link = LayerLink(None)
    use_transport(link)
    _keep("channel layer", link.run)
    _keep("heartbeat", beat_for_ever)


def start_tool() -> Transport:
    """A process without a loop of ours (qcluster, a management command): news go by Redis, or else as rows."""
    global _outside
    if _outside is None:
        _outside = ThreadedLayer() if settings.HALO.redis_url else NoticeTransport()
    use_transport(_outside)
    return _outside


def end_tool() -> None:
    """Before such a process ends: what was said last goes out."""
    if _outside is not None:
        _outside.close()


async def close() -> None:
    """End the tasks of this process' loop."""
    global _loop, _link
    if _link is not None:
        await _link.sent(1.0)  # the last frames of runs that were ended just now
        _link = None
    tasks = list(_tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    _loop = None


def _keep(name: str, work: Callable[[], Coroutine[Any, Any, None]] | Callable[[], Awaitable[None]]) -> None:
    task = asyncio.get_running_loop().create_task(_revive(name, work), name=name)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _revive(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """A fault in one of these must not leave a server that only looks alive: it is logged, the task starts again."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("%s failed; it starts again", name)
        await asyncio.sleep(1.0)
