"""Starts the child for one question and takes its answer, within 10 s; a cancelled await ends it at once."""

import asyncio
import logging
import sys
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import orjson

from halo_site.lib.errors import BadRequest, Unavailable
from halo_site.lib.streams import Shrunk
from workspaces_app.jail import Version

from .child import LARGEST, SECONDS
from .page import Ask, Mark

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 2  # children; the machine has other work
PATIENCE = 20.0  # seconds a question waits for its turn
FILES_KEPT = 64
PIECE = 256 * 1024
_BOOT = (
    "import sys, os; handle, root = int(sys.argv[1]), sys.argv[2]; os.dup2(handle, 3); sys.path.insert(0, root); "
    "from workspaces_app.data_preview.child import main; main()"
)
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Known:
    """What earlier pages of a view found out: row -> place, and how many rows there are."""

    marks: dict[int, int] = field(default_factory=dict)
    total: int | None = None


View = tuple[str, str, str, tuple[str, ...], str, Version]  # format, part, sort, filters, encoding
_known: OrderedDict[View, Known] = OrderedDict()


class Turns:
    """At most `most` children per event loop; each loop (tests have several) has its own count."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    def here(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._of is None or self._of[0] is not loop:
            self._of = loop, asyncio.Semaphore(self.most)
        return self._of[1]


_turns = Turns(AT_ONCE)
_exports = Turns(1)  # beside the pages: a slow download must not keep people from looking


async def page_of(handle: int, version: Version, ask: Ask) -> tuple[int, bytes]:
    """(status, JSON) for the open file. Raises BadRequest (too slow, too big, broken), Unavailable (too much to do).

    version: of the file, so that places found in it are not used for another content.
    """
    turn = await _turn(_turns)
    known = _known.get(_view(version, ask), Known())
    try:
        output = await _run(handle, replace(ask, mark=_nearest(known, ask), total=known.total))
    finally:
        turn.release()
    head, _, body = output.partition(b"\n")
    facts = orjson.loads(head)
    _keep(_view(version, ask), facts)
    return facts["status"], body


async def _turn(turns: Turns) -> asyncio.Semaphore:
    """Taken; the caller releases it."""
    turn = turns.here()
    try:
        await asyncio.wait_for(turn.acquire(), PATIENCE)
    except TimeoutError as error:
        raise Unavailable("Too many previews at once; try again in a few seconds") from error
    return turn


async def _run(handle: int, ask: Ask) -> bytes:
    process = await _start(handle, asyncio.subprocess.PIPE)
    try:
        output, errors = await asyncio.wait_for(process.communicate(orjson.dumps(asdict(ask))), SECONDS)
    except TimeoutError as error:
        raise BadRequest(f"Reading this file took longer than {SECONDS} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0 or len(output) > LARGEST + 1024 * 1024:
        _log.warning(
            "a %s preview ended with %s: %s", ask.format, process.returncode, errors[-2000:].decode("utf-8", "replace")
        )
        raise BadRequest("This file cannot be shown: it is damaged, or reading it takes too much memory or time")
    return output


async def _start(handle: int, errors: int) -> asyncio.subprocess.Process:
    argv = (sys.executable, "-I", "-c", _BOOT, str(handle), str(ROOT))
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        pass_fds=(handle,),
        env={"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
        start_new_session=True,
    )


class Export:
    """A csv on its way: status and first bytes are known, the rest comes from the child while the client reads.

    Iterating raises Shrunk when the child gave up in the middle: then the connection ends, and the client sees that the
    file is not whole. Closed with the response; a client that hung up ends the child.
    """

    def __init__(self, process: asyncio.subprocess.Process, turn: asyncio.Semaphore) -> None:
        self.status = 400
        self._process, self._turn = process, turn
        self._open = True

    async def begin(self, ask: Ask) -> None:
        """Raises BadRequest when no answer comes."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(orjson.dumps(asdict(ask)))
        stdin.close()
        try:
            head = await asyncio.wait_for(stdout.readline(), SECONDS)
        except TimeoutError as error:
            raise BadRequest(f"Reading this file took longer than {SECONDS} s") from error
        if not head.endswith(b"\n"):
            raise BadRequest("This file cannot be shown: it is damaged, or reading it takes too much memory or time")
        self.status = orjson.loads(head)["status"]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        assert self._process.stdout is not None
        if not self._open:
            raise StopAsyncIteration
        try:
            piece = await self._process.stdout.read(PIECE)
            if not piece and await self._process.wait() != 0:
                raise Shrunk
        except BaseException:  # then nobody closes the response
            self.close()
            raise
        if not piece:
            self.close()
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        if self._open:
            self._open = False
            self._turn.release()
            with suppress(ProcessLookupError):
                self._process.kill()

    def __del__(self) -> None:  # a client that hung up before the first piece
        if self._open:
            self.close()


async def export_of(handle: int, ask: Ask) -> Export:
    """The view as csv; the handle may be closed then. Raises BadRequest, Unavailable."""
    turn = await _turn(_exports)
    try:
        process = await _start(handle, asyncio.subprocess.DEVNULL)
    except BaseException:
        turn.release()
        raise
    export = Export(process, turn)
    try:
        await export.begin(ask)
    except BaseException:
        export.close()
        raise
    return export


def _view(version: Version, ask: Ask) -> View:
    return (ask.format, ask.part, ask.sort, ask.filters, ask.encoding, version)


def _nearest(known: Known, ask: Ask) -> Mark:
    """The last known place at or before the page."""
    row = max((row for row in known.marks if row <= ask.offset), default=0)
    return (row, known.marks[row]) if row else (0, 0)


def _keep(view: View, facts: dict[str, Any]) -> None:
    if not facts["marks"] and facts["total"] is None:
        return
    known = _known.setdefault(view, Known())
    known.marks.update((row, at) for row, at in facts["marks"])
    if facts["total"] is not None:
        known.total = facts["total"]
    _known.move_to_end(view)
    while len(_known) > FILES_KEPT:
        _known.popitem(last=False)
