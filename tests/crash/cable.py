"""A TCP connection that can be cut without anybody being told, one way or both, and mended (T11)."""

import asyncio
from contextlib import suppress

TO_SERVER, TO_CLIENT = "to the server", "to the client"
BOTH = (TO_SERVER, TO_CLIENT)


class Cable:
    """Listens on a port of its own and forwards to `port`. What is sent while it is cut arrives late, as with TCP."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.port = 0
        self._open = {way: asyncio.Event() for way in BOTH}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Cable":
        self.mend()
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self, *ways: str) -> None:
        for way in ways:
            self._open[way].clear()

    def mend(self) -> None:
        for event in self._open.values():
            event.set()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection("127.0.0.1", self.to)
        for way, source, sink in ((TO_SERVER, reader, to_there), (TO_CLIENT, there, writer)):
            task = asyncio.create_task(self._carry(way, source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, way: str, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(65536):
                await self._open[way].wait()
                sink.write(piece)
                await sink.drain()
            await self._open[way].wait()
        sink.close()
