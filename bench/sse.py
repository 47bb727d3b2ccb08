"""How fast streams of the model vendors are read and folded, in MB per second of CPU time."""

import json
import time
from collections.abc import Callable
from typing import Any

from agents_app.providers.chat_dialect import ChatDialect
from agents_app.providers.errors import Vendor
from agents_app.providers.messages_dialect import MessagesDialect
from agents_app.providers.responses_dialect import ResponsesDialect
from agents_app.providers.wire import Dialect, Fold
from halo_site.lib.sse import SseReader

SIZE = 300  # bytes of an event
# Dialect, what comes first, and one event as the vendor sends it; %s pads it, as some vendors do themselves.
FAMILIES: dict[str, tuple[Dialect, bytes, bytes]] = {
    "chat": (
        ChatDialect(),
        b"",
        b'data: {"id":"chatcmpl-Bx7Kq2","object":"chat.completion.chunk","created":1790000000,"model":"m-1-2026-08-06",'
        b'"service_tier":"default","system_fingerprint":"fp_a1b2","choices":[{"index":0,"delta":{"content":" word"},'
        b'"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%s"}\n\n',
    ),
    "messages": (
        MessagesDialect(),
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"text","text":""}}\n\n',
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":" word"},"p":"%s"}\n\n',
    ),
    "responses": (
        ResponsesDialect(),
        b"",
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":7,'
        b'"item_id":"msg_68a1b2c3","output_index":0,"content_index":0,"delta":" word","logprobs":[],'
        b'"obfuscation":"%s"}\n\n',
    ),
}


def read(stream: bytes, chunk: int) -> int:
    """Events of the reader alone."""
    reader = SseReader()
    seen = 0
    for at in range(0, len(stream), chunk):
        seen += len(reader.feed(stream[at : at + chunk]))
    return seen


def read_and_fold(fold: Fold, stream: bytes, chunk: int) -> int:
    """Deltas, as the sender makes them."""
    reader = SseReader()
    seen = 0
    for at in range(0, len(stream), chunk):
        for event in reader.feed(stream[at : at + chunk]):
            seen += len(fold.feed(event))
    return seen


def speed(run: Callable[[], int], size: int, count: int) -> float:
    """Megabytes per second of CPU time, the best of five."""
    best = 0.0
    for _ in range(5):
        began = time.process_time()
        seen = run()
        best = max(best, size / (time.process_time() - began) / 1e6)
        assert seen == count, (seen, count)
    return best


def main(count: int = 10_000) -> dict[str, Any]:
    """By family, line ends and size of the pieces; `slowest` is the least of all that is folded."""
    found: dict[str, Any] = {}
    for name, (dialect, head, template) in FAMILIES.items():
        event = template % (b"x" * (SIZE - len(template)))
        for shape, end in ((name, b"\n"), (f"{name}, CRLF", b"\r\n")):
            stream = (event * count).replace(b"\n", end)
            first = head.replace(b"\n", end)
            for chunk in (len(event), 1_400, 16_384):

                def alone(stream: bytes = stream, chunk: int = chunk) -> int:
                    return read(stream, chunk)

                def folded(whole: bytes = first + stream, chunk: int = chunk, family: Dialect = dialect) -> int:
                    return read_and_fold(family.fold(Vendor("bench")), whole, chunk)

                speeds = (round(speed(run, len(stream), count), 1) for run in (alone, folded))
                found[f"{shape}, {chunk} bytes"] = dict(zip(("read", "folded"), speeds, strict=True))
    return found | {"slowest": min(one["folded"] for one in found.values())}


if __name__ == "__main__":
    print(json.dumps(main()))
