"""The demo provider: streams what demo_script.py decides, at the pace of a quick model. No key, no network."""

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncGenerator, Iterator
from urllib.parse import parse_qs, urlsplit

from .contract import Block, Delta, ModelReply, ModelRequest, Usage
from .demo_script import next_step
from .wire_json import dump

_PACE = 10.0  # milliseconds between two pieces; endpoint `demo://local?pace=0` for none
_PIECE = re.compile(r"(?:\S+\s*){1,3}|\s+")
_LONGEST_PIECE = 24  # characters; Chinese has no spaces to cut at


class DemoProvider:
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        began = time.perf_counter()
        ttft: int | None = None
        pace = pace_of(request.config.endpoint)
        step = next_step(request.messages, {tool.name for tool in request.tools})
        seed = hashlib.sha256(dump([message["content"] for message in request.messages])).hexdigest()[:16]
        blocks: list[Block] = []
        deltas: list[Delta] = []
        if step.thinking:
            blocks.append({"type": "thinking", "thinking": step.thinking, "provider": request.config.provider})
            deltas += [Delta(kind="thinking", text=piece) for piece in pieces(step.thinking)]
        if step.text:
            blocks.append({"type": "text", "text": step.text})
            deltas += [Delta(kind="text", text=piece) for piece in pieces(step.text)]
        for at, (name, args) in enumerate(step.calls):
            call_id = f"demo_{seed}_{at}"
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": args})
            deltas.append(Delta(kind="tool_args", text=dump(args).decode(), tool_use_id=call_id))
        for delta in deltas:
            await asyncio.sleep(pace)
            if ttft is None:
                ttft = round((time.perf_counter() - began) * 1000)
            yield delta
        yield ModelReply(
            blocks=blocks,
            stop_reason="tool_use" if step.calls else "end_turn",
            usage=Usage(),
            ttft_ms=ttft,
            duration_ms=round((time.perf_counter() - began) * 1000),
        )


def pace_of(endpoint: str) -> float:
    """Seconds between two pieces, from the endpoint's `pace` (milliseconds, at most 1000)."""
    value = parse_qs(urlsplit(endpoint).query).get("pace", [""])[0]
    return (min(float(value), 1000.0) if re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII) else _PACE) / 1000


def pieces(text: str) -> Iterator[str]:
    """`text` in pieces of a few words; joined, they are the text."""
    for found in _PIECE.findall(text):
        for at in range(0, len(found), _LONGEST_PIECE):
            yield found[at : at + _LONGEST_PIECE]
