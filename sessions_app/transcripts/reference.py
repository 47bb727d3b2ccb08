"""Session files of the reference design (spec storage 2.5, 2.6): one JSON document, older rows in gzip segments. Pure
but for `segment`, which reads one of these."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import orjson

from halo_site.lib.errors import HaloError
from halo_site.lib.text import clean_json

from .found import Found, FoundEntry, Header, Said, TurnLine, trusted

MOST = 256 << 20  # bytes of an unpacked segment
NOWHERE = PurePath("/nowhere")  # these files name no pictures

Row = Mapping[str, Any]


def read_document(data: bytes, segment: Callable[[int], bytes]) -> Found:
    """segment: number from 1 -> gzip bytes. Raises ValueError when it is no session; bad rows become `problems`."""
    document = clean_json(orjson.loads(data))
    if not isinstance(document, dict):
        raise ValueError("this is no session")
    found = Found(Header.model_validate({"createdAt": document.get("updatedAt"), **document}))
    rows: list[Any] = []
    for number in range(1, _count(document.get("archiveCount")) + 1):
        try:
            rows += _unpacked(segment(number))
        except (HaloError, ValueError, zlib.error) as error:
            found.problems.append(f"segment {number}: {error}")
    messages = document.get("messages") or [_shown(message) for message in document.get("rawMessages") or []]
    rows += messages
    for at, row in enumerate(rows, 1):
        try:
            _add(found, row)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError) as error:  # OSError: the time
            found.problems.append(f"message {at}: {str(error).splitlines()[0] if str(error) else 'not readable'}")
    if not found.header.exchange_count:
        found.header.exchange_count = sum(1 for entry in found.entries if entry.said.kind == "user")
    return found


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= 10_000 else 0


def _unpacked(data: bytes) -> list[Any]:
    unpack = zlib.decompressobj(wbits=31)
    found = unpack.decompress(data, MOST)
    if unpack.unconsumed_tail:
        raise ValueError("too large")
    rows = clean_json(orjson.loads(found))
    if not isinstance(rows, list):
        raise ValueError("not a list of messages")
    return rows


def _shown(message: Any) -> Row:
    """A message of the model's history as a row: the text of it."""
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    return {"role": message.get("role") if isinstance(message, dict) else None, "content": text}


def _type(row: Row) -> str:
    """The type, or what a file without types means by this row."""
    if row.get("type"):
        return str(row["type"])
    if row.get("role") in ("user", "assistant"):
        return str(row["role"])
    other = {"toolName": "tool_call", "toolOutput": "tool_result", "usage": "usage", "systemPrompt": "context"}
    return next((kind for name, kind in other.items() if row.get(name) is not None), "notification")


def _add(found: Found, row: Row) -> None:
    kind = _type(row)
    if row.get("taskId") or kind not in ("user", "assistant", "notification"):
        return  # lines of a sub-agent, and rows that repeat what the reply has
    stamp = row.get("timestamp")
    at = found.header.updated_at if stamp is None else datetime.fromtimestamp(stamp / 1000, UTC)
    turn = found.entries[-1].turn if found.entries else 0
    if kind == "user" or not turn:
        turn += 1
        found.turns[turn] = TurnLine(id=turn, index=turn, started_at=at)
    said = list(_said(row, kind, at, len(found.entries)))
    gone = (
        next((one.id for one in found.entries if one.turn == turn), len(found.entries) + 1)
        if row.get("deleted")
        else None
    )
    for one in said:
        found.entries.append(FoundEntry(len(found.entries) + 1, turn, trusted(one, NOWHERE), gone))


def _said(row: Row, kind: str, at: datetime, number: int) -> Iterator[Said]:
    text = str(row.get("content") or "")
    if kind != "assistant":
        notice = kind == "notification"
        yield Said(kind="notice" if notice else "user", text=text, in_context=not notice, created_at=at)
        return
    call = f"import_{number}"
    blocks: list[dict[str, Any]] = []
    results: list[tuple[str, str]] = []
    for block in _blocks(row, text):
        if block["type"] == "thinking":
            continue  # without its signature no vendor takes it back
        if block["type"] == "text":
            blocks.append({"type": "text", "text": str(block["text"])})
        elif block["type"] == "tool_call":
            tool = block["toolCall"]
            use = str(tool.get("toolUseId") or f"{call}_{len(blocks)}")
            given = tool.get("input")
            given = given if isinstance(given, dict) else {"input": given}
            blocks.append({"type": "tool_use", "id": use, "name": str(tool["name"]), "input": given})
            results.append((use, str(tool.get("output") or "")))
    shown = "".join(block["text"] for block in blocks if block["type"] == "text")
    meta = {"turn_id": call, "final": not results}
    yield Said(kind="assistant", text=shown, blocks=blocks, meta=meta, created_at=at)
    for use, output in results:
        result = {"type": "tool_result", "tool_use_id": use, "content": output}
        marks = {"turn_id": call, "tool_use_id": use, "outcome": "ok"}
        yield Said(kind="tool_result", text=output, blocks=[result], meta=marks, created_at=at)


def _blocks(row: Row, text: str) -> list[Any]:
    if row.get("contentBlocks") is not None:
        return list(row["contentBlocks"])
    calls = [{"type": "tool_call", "toolCall": call} for call in row.get("toolCalls") or []]
    return [*calls, {"type": "text", "text": text}] if text else calls
