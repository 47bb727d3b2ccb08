"""Tell other parts of the system, in this process or another, that something happened.

Two kinds of news:

* `publish(topic, event)`: a frame for the sockets that look at a topic (`session.<key>`, `workspace.<key>`, `site`);
* `signal(name, **data)`: a wake-up for code (`engine.wake`, `engine.control`, `auth.changed` ...).

Both are hints: they may be lost or come twice, truth is the database (ARCHITECTURE 2). The transport is chosen by
the process that starts (in-process, channel layer, or a `Notice` row); until then nothing is delivered.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

from .events import Event

Listener = Callable[[dict[str, object]], None]


class Transport(Protocol):
    """How news leaves this process. Neither method may block or raise."""

    def publish(self, topic: str, event: Event) -> None: ...

    def signal(self, name: str, data: dict[str, object]) -> None: ...


class Local:
    """Everything stays in this process: signals reach local listeners, frames reach nobody."""

    def publish(self, topic: str, event: Event) -> None:
        return

    def signal(self, name: str, data: dict[str, object]) -> None:
        deliver_signal(name, data)


_transport: Transport = Local()
_listeners: dict[str, list[Listener]] = defaultdict(list)


def use_transport(transport: Transport) -> None:
    """Chosen once per process, before it takes work."""
    global _transport
    _transport = transport


def publish(topic: str, event: Event) -> None:
    """Send one frame to all who look at `topic`. Call after commit (`transaction.on_commit`)."""
    _transport.publish(topic, event)


def signal(name: str, **data: object) -> None:
    """Wake listeners of `name` in every process. `data` must be JSON: ids only, truth is in the database."""
    _transport.signal(name, data)


def on_signal(name: str, listener: Listener) -> Callable[[], None]:
    """Listen in this process; the result ends it. Listeners are called in the thread that delivers."""
    _listeners[name].append(listener)
    return lambda: _listeners[name].remove(listener)


def deliver_signal(name: str, data: dict[str, object]) -> None:
    """For transports: hand a received signal to the listeners of this process."""
    for listener in list(_listeners[name]):
        listener(data)


def session_topic(root_key: int) -> str:
    return f"session.{root_key}"


def workspace_topic(key: int) -> str:
    return f"workspace.{key}"


SITE = "site"
