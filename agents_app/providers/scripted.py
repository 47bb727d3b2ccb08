"""The scripted provider: answers as a file says, for tests and demos. No network; off unless the settings allow it.

Endpoint: `file:<path of a script>` or `inline:<script>`; see script.py for its shape.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from .contract import Block, Delta, ErrorKind, ModelReply, ModelRequest, Usage
from .conversation import call_ids
from .errors import Vendor
from .fold_parts import new_call_id
from .script import Script, ScriptError, Step, last_words, parse
from .wire import Answer, Dialect
from .wire_json import dump

_FILE_LIMIT = 4 * 1024 * 1024  # bytes of a script or a recording
_SESSIONS = 100  # of which requests are kept
_REQUESTS = 50  # newest ones of a session
_CHUNK = 1_024  # bytes of a recording at a time


class _Asked:
    """What one session asked of one script."""

    def __init__(self) -> None:
        self.calls = 0
        self.requests: deque[ModelRequest] = deque(maxlen=_REQUESTS)


_asked: OrderedDict[tuple[str, str], _Asked] = OrderedDict()  # by endpoint and session, the one used last at the end


def requests_of(session_id: str) -> list[ModelRequest]:
    """The newest requests of a session in this process, for assertions."""
    return [request for (_, owner), asked in _asked.items() if owner == session_id for request in asked.requests]


def forget() -> None:
    """Every script begins anew."""
    _asked.clear()


class ScriptedProvider:
    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self._dialects = dialects

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        began = time.perf_counter()
        vendor = Vendor(request.config.provider)
        earlier = _remember(request)
        try:
            folder, script = await asyncio.to_thread(_load, request.config.endpoint)
        except (OSError, ScriptError, ValueError) as error:
            reason = (error.strerror or "cannot be read") if isinstance(error, OSError) else str(error)
            raise vendor.error(ErrorKind.FATAL, f"script: {reason}") from error
        step = script.step(earlier, last_words(request.messages))
        if step is None:
            raise vendor.error(ErrorKind.FATAL, "script: no step is left for this call")
        if step.error is not None:
            raise vendor.refused({"message": step.error.body or "scripted error"}, status=step.error.status)
        if step.hang:
            await asyncio.Event().wait()
        first: float | None = None
        answer: Answer | None = None
        async for item in self._play(vendor, step, folder, request) if step.raw_sse else _say(vendor, step):
            if isinstance(item, Answer):
                answer = item
                break
            first = first if first is not None else time.perf_counter()
            yield item
        assert answer is not None
        yield ModelReply(
            blocks=answer.blocks,
            stop_reason=answer.stop_reason,
            usage=answer.usage,
            ttft_ms=None if first is None else round((first - began) * 1000),
            duration_ms=round((time.perf_counter() - began) * 1000),
            bad_arguments=answer.bad_arguments,
            notes=answer.notes,
        )

    async def _play(
        self, vendor: Vendor, step: Step, folder: Path | None, request: ModelRequest
    ) -> AsyncGenerator[Delta | Answer, None]:
        """A recorded stream through the reader and the fold of its family."""
        dialect = self._dialects.get(step.family)
        if dialect is None or folder is None:
            raise vendor.error(ErrorKind.FATAL, "script: raw_sse needs a script in a file and a family with streams")
        try:
            data = await asyncio.to_thread(_read, folder / step.raw_sse)
        except (OSError, ValueError) as error:
            raise vendor.error(ErrorKind.FATAL, "script: the file of raw_sse cannot be read") from error
        fold, reader = dialect.fold(vendor, call_ids(request.messages)), dialect.reader()
        for at in range(0, len(data), _CHUNK):
            for event in reader.feed(data[at : at + _CHUNK]):
                for delta in fold.feed(event):
                    yield delta
        for event in reader.close():
            for delta in fold.feed(event):
                yield delta
        yield fold.finish()


async def _say(vendor: Vendor, step: Step) -> AsyncGenerator[Delta | Answer, None]:
    said: dict[str, str] = {"thinking": "", "text": ""}
    for piece in step.deltas:
        if piece.wait_ms is not None:
            await asyncio.sleep(piece.wait_ms / 1000)
        elif piece.text:
            said["text"] += piece.text
            yield Delta(kind="text", text=piece.text)
        elif piece.thinking:
            said["thinking"] += piece.thinking
            yield Delta(kind="thinking", text=piece.thinking)
    blocks: list[Block] = [{"type": kind, kind: text} for kind, text in said.items() if text]
    for call in step.tool_calls:
        block = {"type": "tool_use", "id": call.id or new_call_id(), "name": call.name, "input": call.input}
        blocks.append(block)
        yield Delta(kind="tool_args", text=dump(call.input).decode(), tool_use_id=str(block["id"]))
    counted = step.usage
    usage = Usage(
        input_tokens=counted.input,
        output_tokens=counted.output,
        cache_read_tokens=counted.cache_read,
        cache_write_tokens=counted.cache_write,
    )
    if not (said["text"] or step.tool_calls):
        raise vendor.error(ErrorKind.EMPTY, "an empty answer")
    stop = step.stop_reason or ("tool_use" if step.tool_calls else "end_turn")
    yield Answer(blocks=blocks, stop_reason=stop, usage=usage)


def _remember(request: ModelRequest) -> int:
    """Keep the request; how many calls of its session came before."""
    key = request.config.endpoint, request.session_id
    asked = _asked.setdefault(key, _Asked())
    _asked.move_to_end(key)
    while len(_asked) > _SESSIONS:
        _asked.popitem(last=False)
    asked.requests.append(request)
    asked.calls += 1
    return asked.calls - 1


def _load(endpoint: str) -> tuple[Path | None, Script]:
    """The script, and the folder that names in it start from. Raises OSError, ValueError."""
    kind, _, rest = endpoint.partition(":")
    if kind == "inline":
        return None, parse(rest)
    if kind != "file" or not rest:
        raise ScriptError("the endpoint must be file:<path> or inline:<script>")
    path = Path(rest.removeprefix("//")).expanduser()
    return path.parent, parse(_read(path).decode("utf-8", "replace"))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_FILE_LIMIT + 1)
    if len(data) > _FILE_LIMIT:
        raise ScriptError(f"{path.name} is larger than {_FILE_LIMIT} bytes")
    return data
