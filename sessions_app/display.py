"""What a person sees of a session: display rows from entries. Pure, but for the types of the rows.

One entry makes one row; an assistant's tool results are folded into its tool blocks, and its usage follows as a row
of its own. The shape is `recentMessages[]` of spec ws-protocol.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halo_site.lib.ids import base36

from .models import Entry

Row = dict[str, Any]

# Kinds that make a row. Results do not: they are part of the row that asked for them.
SHOWN = (Entry.Kind.USER, Entry.Kind.AGENT, Entry.Kind.ASSISTANT, Entry.Kind.NOTICE, Entry.Kind.SUMMARY)
INPUTS = (Entry.Kind.USER, Entry.Kind.AGENT)


@dataclass(frozen=True, slots=True)
class Line:
    """The columns of an entry that display needs, in the order of `FIELDS`."""

    id: int
    kind: str
    turn: int | None
    text: str
    blocks: Sequence[dict[str, Any]]
    meta: Mapping[str, Any]
    origin: Mapping[str, Any] | None
    client_msg_id: str | None
    deleted: int | None
    created_at: datetime


FIELDS = ("id", "kind", "turn_id", "text", "blocks", "meta", "origin", "client_msg_id", "deleted", "created_at")


def is_shown(line: Line) -> bool:
    """Not: what waits in the queue (it has a list of its own), what a retry dropped, what is meant for the model."""
    if line.kind in INPUTS and line.turn is None:
        return False
    return not is_unseen(line.meta)


def is_unseen(meta: Mapping[str, Any]) -> bool:
    """Meant for the model, or dropped by a retry."""
    return bool(meta.get("hidden") or meta.get("reset"))


def results_by_call(lines: Iterable[Line]) -> dict[str, Line]:
    """Tool results by `tool_use_id`; the first one of an id stays."""
    found: dict[str, Line] = {}
    for line in lines:
        if line.kind == Entry.Kind.TOOL_RESULT:
            found.setdefault(str(line.meta.get("tool_use_id", "")), line)
    return found


def display_rows(lines: Sequence[Line], agent_name: str, results: Mapping[str, Line] | None = None) -> list[Row]:
    """The rows of a window, oldest first. `results`: of all calls in it, when they are not among `lines`."""
    answered = results_by_call(lines) if results is None else results
    rows: list[Row] = []
    for line in lines:
        if line.kind not in SHOWN or not is_shown(line):
            continue
        if line.kind in INPUTS:
            rows.append(_input_row(line))
        elif line.kind == Entry.Kind.ASSISTANT:
            rows.extend(_assistant_rows(line, agent_name, answered))
        else:
            rows.append(_notice_row(line))
    return rows


def _base(line: Line, type: str, role: str, content: str) -> Row:
    row: Row = {
        "id": f"m_{base36(line.id)}",
        "entryId": line.id,
        "type": type,
        "role": role,
        "content": content,
        "timestamp": milliseconds(line.created_at),
    }
    if line.deleted:
        row["deleted"] = True
    return row


def from_session(sid: str, text: str) -> str:
    """A message of another session, as people see it (spec sessions 9.6)."""
    return f"(from: session {sid})\n{text}"


def _input_row(line: Line) -> Row:
    origin = line.origin or {}
    sender = origin.get("session")
    row = _base(line, "user", "user", from_session(sender, line.text) if sender else line.text)
    row["agentName"] = "user"
    if origin.get("kind", "person") != "person":
        row["origin"] = {"kind": origin["kind"], **({"name": origin["name"]} if origin.get("name") else {})}
    if line.client_msg_id:
        row["clientMsgId"] = line.client_msg_id
    images = [
        {"upload": block.get("upload"), "path": block.get("path"), "mimeType": block.get("media_type")}
        for block in line.blocks
        if block.get("type") == "image"
    ]
    if images:
        row["images"] = images
    return row


def _assistant_rows(line: Line, agent_name: str, results: Mapping[str, Line]) -> Iterable[Row]:
    turn_id = line.meta.get("turn_id")
    blocks = [_block(block, turn_id, results) for block in line.blocks if shows(block)]
    content = "".join(block["text"] for block in blocks if block["type"] == "text")
    row = _base(line, "assistant", "assistant", content)
    row |= {"agentName": agent_name, "contentBlocks": blocks, "turnId": turn_id}
    if line.meta.get("partial"):
        row["partial"] = True
    yield row
    usage = line.meta.get("usage")
    if usage:
        yield _usage_row(line, agent_name, usage)


def shows(block: Mapping[str, Any]) -> bool:
    """Whether a block of a reply is visible: tool calls, and text or thinking that is not empty."""
    kind = block.get("type")
    return kind == "tool_use" or (kind in ("text", "thinking") and bool(block.get(kind)))


def _block(block: Mapping[str, Any], turn_id: object, results: Mapping[str, Line]) -> Row:
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": block["text"], "turnId": turn_id}
    if kind == "thinking":
        return {"type": "thinking", "text": block["thinking"], "turnId": turn_id}
    call: Row = {"name": block["name"], "input": block["input"], "toolUseId": block["id"]}
    result = results.get(block["id"])
    if result is not None:
        call["output"] = result.text
        if (duration := result.meta.get("duration_ms")) is not None:
            call["durationMs"] = duration
    return {"type": "tool_call", "toolCall": call, "turnId": turn_id}


def _usage_row(line: Line, agent_name: str, usage: Mapping[str, Any]) -> Row:
    row = _base(line, "usage", "system", "")
    row |= {"id": f"{row['id']}_1", "agentName": agent_name, "turnId": line.meta.get("turn_id"), "usage": usage}
    if model := line.meta.get("model"):
        row["modelId"] = model
    if (cost := line.meta.get("cost_micros")) is not None:
        row |= {"costMicros": cost, "currency": line.meta.get("currency", "")}
    return row


def _notice_row(line: Line) -> Row:
    if line.kind == Entry.Kind.SUMMARY:
        return _base(line, "user", "user", line.text)
    row = _base(line, "notification", "system", line.text)
    row["level"] = line.meta.get("level", "system")
    if code := line.meta.get("code"):
        row["code"] = code
    if source := line.meta.get("fork"):
        row["fork"] = source  # the session this one began as a copy of: {session, entry, title}
    return row


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
