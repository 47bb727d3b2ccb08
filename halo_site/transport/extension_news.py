"""Keeps an eye on the extensions folder for as long as a web process runs; what changes goes to its own sockets."""

import asyncio
from collections.abc import Callable

from django.db import connection

from extensions_app import registry
from extensions_app.events import ExtensionChanged
from extensions_app.watcher import Watcher
from halo_site.lib.packet import Packet
from halo_site.lib.publish import SITE


class ExtensionNews:
    def __init__(self, deliver: Callable[[str, Packet], None]) -> None:
        self._deliver = deliver

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        unlisten = registry.on_change(lambda event: _on(loop, self._tell, event))
        watcher = Watcher(registry.root(), _refresh)
        watcher.start()
        try:
            await asyncio.Event().wait()
        finally:
            unlisten()
            watcher.stop()

    def _tell(self, event: ExtensionChanged) -> None:
        self._deliver(SITE, Packet.of(event))


def _on(loop: asyncio.AbstractEventLoop, call: Callable[[ExtensionChanged], None], event: ExtensionChanged) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call, event)


def _refresh() -> None:
    try:
        registry.refresh()
    finally:
        connection.close()  # of the watcher's thread, which sleeps for hours
