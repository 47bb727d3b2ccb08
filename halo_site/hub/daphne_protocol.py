"""daphne's WebSocket protocol with what it lacks: back-pressure, an answer of our choice to an upgrade, own pings.

daphne writes into Twisted's transport without asking whether the peer reads. Here the transport tells us (push
producer), and frames go straight into it, already framed: the same bytes to every reader, without a task or a queue
in between. `install()` makes every daphne server of this process use it, also one started by the `daphne` command.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import tcp
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from halo_site.lib.packet import Packet


@implementer(IPushProducer)
class HubSocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """Also the `Wire` of its socket."""

    paused = False
    unanswered = 0

    def onConnect(self, request: Any) -> Any:
        self.on_resume: Callable[[], None] = _nothing
        return super().onConnect(request)

    def onOpen(self) -> None:
        # The HTTP channel is still registered: it would stop reading when our writes pile up.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        self._plain_tcp = isinstance(self.transport, tcp.Connection)
        self.failByDrop = False  # too large or broken frames get a close code, not a cut line
        super().onOpen()

    # Twisted's word on the write buffer (64 KiB).

    def pauseProducing(self) -> None:
        self.paused = True

    def resumeProducing(self) -> None:
        self.paused = False
        self.on_resume()

    def stopProducing(self) -> None:
        self.paused = True

    # Wire

    def write(self, packet: Packet) -> None:
        if self.state == self.STATE_OPEN:
            self._write_now(packet.framed)

    def _write_now(self, data: bytes) -> None:
        """Into the socket at once while nothing waits before it: saves a round through the event loop per reader."""
        transport = self.transport
        if self._plain_tcp and not transport._tempDataLen and not transport.dataBuffer and not transport.disconnecting:
            sent = transport.writeSomeData(data)
            if sent == len(data):
                return
            if isinstance(sent, int):
                data = data[sent:]
        transport.write(data)  # waits in Twisted's buffer; a lost connection is noticed and told there

    def ping(self) -> None:
        if self.state == self.STATE_OPEN:
            self.unanswered += 1
            self.sendPing()

    def onPong(self, payload: bytes) -> None:
        self.unanswered = 0

    def close(self, code: int, reason: str = "") -> None:
        if self.state == self.STATE_CONNECTING:
            self.deny(403)
        else:
            # `sendClose` lets an application only say 1000 or 3000 and above.
            self.sendCloseFrame(code=code, reasonUtf8=reason.encode() or None)

    def abort(self) -> None:
        self.transport.abortConnection()

    def pause_reading(self) -> None:
        self.transport.pauseProducing()

    def resume_reading(self) -> None:
        self.transport.resumeProducing()

    def deny(self, status: int) -> None:
        """Answer the upgrade with an HTTP status."""
        if hasattr(self, "handshake_deferred"):
            reason = _REASONS.get(status, "Refused")
            self.handshake_deferred.errback(ConnectionDeny(status, reason))  # type: ignore[no-untyped-call]
            del self.handshake_deferred
            self.server.protocol_disconnected(self)

    def check_timeouts(self) -> None:
        """daphne's own pings forget earlier ones; the hub pings. What is left is the limit of the upgrade."""
        if self.state == self.STATE_CONNECTING and self.duration() > self.server.websocket_connect_timeout:
            self.deny(503)


_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    503: "Service Unavailable",
}


def _nothing() -> None:
    return


def install() -> None:
    WebSocketFactory.protocol = HubSocketProtocol


def protocol_of(send: object) -> HubSocketProtocol | None:
    """The protocol behind an ASGI `send`, when daphne made it: daphne passes `partial(handle_reply, protocol)`."""
    if isinstance(send, partial) and send.args and isinstance(send.args[0], HubSocketProtocol):
        return send.args[0]
    return None
