"""One server process: what is published goes straight to its hub."""

import asyncio
import threading
from collections.abc import Callable

from halo_site.lib.events import Event
from halo_site.lib.packet import Packet
from halo_site.lib.publish import deliver_signal

Deliver = Callable[[str, Packet], None]


class LoopDelivery:
    """Calls `deliver` on the loop, in the order of publishing of each thread. Never blocks, never raises."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Deliver) -> None:
        self._loop = loop
        self._deliver = deliver
        self._thread = threading.get_ident()

    def __call__(self, topic: str, packet: Packet) -> None:
        if threading.get_ident() == self._thread:
            self._deliver(topic, packet)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, topic, packet)


class Embedded:
    """The transport of a server that is alone. Made on its loop."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = LoopDelivery(asyncio.get_running_loop(), deliver)

    def publish(self, topic: str, event: Event) -> None:
        self._deliver(topic, Packet.of(event))

    def signal(self, name: str, data: dict[str, object]) -> None:
        deliver_signal(name, data)
