"""What the model gets: entries -> messages. Pure; the log is never changed by it.

`history(rows)` assembles and repairs: roles alternate, every tool_use has exactly one result right behind it, in the
order of the calls (spec sessions 7, "Repair"; ARCHITECTURE 4). Images stay references
(`{"type": "image", "source": {"type": "path", "path", "media_type"}}`) until the sender needs their bytes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]
Message = dict[str, Any]

NO_RESULT = "[tool execution interrupted — no result. Do not automatically retry; ask the user or proceed without it.]"
OUTCOME_UNKNOWN = (
    "[outcome unknown: the server stopped while this tool ran. It may or may not have taken effect: check before you "
    "repeat it.]"
)
NOT_RUN = "[not run]"
IMAGE_REMOVED = "[image removed: rejected by model provider]"
IMAGE_CLEARED = "[Old image cleared]"
THOUGHTS = ("thinking", "redacted_thinking")
INPUT_KINDS = ("user", "agent", "summary")
CUT_OFF = "[This reply was cut off here.]"


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of the context, in reading order."""

    kind: str  # user, agent, assistant, tool_result, summary
    text: str = ""
    blocks: Sequence[Block] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    source: str | None = None  # sid of the sending session
    entry: int = 0  # key of its row, 0 = not known here


def history(rows: Iterable[Row]) -> list[Message]:
    """Messages in the internal conversation format (spec models 2.4), valid for every dialect."""
    return repair(_message(row) for row in rows if not row.meta.get("reset"))


def readable(row: Row) -> str:
    """The text of a row that a person would read; "" for results and calls."""
    if row.kind == "tool_result" or row.meta.get("reset"):
        return ""
    blocks = _said(row) if row.kind == "assistant" else _asked(row)
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _message(row: Row) -> Message:
    match row.kind:
        case "assistant":
            return {"role": "assistant", "content": list(_said(row))}
        case "tool_result":
            return {"role": "user", "content": list(_results(row))}
        case _:
            return {"role": "user", "content": list(_asked(row))}


def _asked(row: Row) -> Iterable[Block]:
    removed = IMAGE_REMOVED if row.meta.get("images_removed") else IMAGE_CLEARED if row.meta.get("cleared") else ""
    for block in row.blocks:
        if block.get("type") == "image":
            if removed:
                yield {"type": "text", "text": removed}
            else:
                source = {"type": "path", "path": block["path"], "media_type": block["media_type"]}
                yield {"type": "image", "source": source}
    text = row.meta.get("model_text") or row.text
    if row.kind == "agent" and row.source:
        text = f"(from: session {row.source})\n{text}"
    if row.meta.get("note"):  # for the model only, e.g. that an image could not be shown to it
        text = f"{text}\n\n{row.meta['note']}" if text else str(row.meta["note"])
    if text:
        yield {"type": "text", "text": text}


def _said(row: Row) -> Iterable[Block]:
    partial = bool(row.meta.get("partial"))
    text = False
    for block in row.blocks:
        kind = block.get("type")
        if kind in THOUGHTS and (not partial or block.get("signature") or kind != "thinking"):
            yield block
        elif kind == "text" and block.get("text"):
            text = True
            yield {"type": "text", "text": block["text"]}
        elif kind == "tool_use" and not partial:
            yield block
    if partial and text:
        yield {"type": "text", "text": CUT_OFF}


def _results(row: Row) -> Iterable[Block]:
    for block in row.blocks:
        if block.get("type") != "tool_result":
            continue
        content = block.get("content", "")
        if row.meta.get("cleared"):
            content = "[Old tool result content cleared]"
        elif row.meta.get("images_removed") and isinstance(content, list):
            content = [
                {"type": "text", "text": IMAGE_REMOVED} if part.get("type") == "image" else part for part in content
            ]
        yield {**block, "content": content}


def repair(messages: Iterable[Message]) -> list[Message]:
    """Make any list of messages valid; a valid one stays as it is.

    Invalid entries and empty text go; neighbours of one role merge; each tool_use gets exactly one result, first in
    the next user message and in the order of the calls; results without a request go.
    """
    merged: list[Message] = []
    for message in messages:
        role, blocks = message.get("role"), _blocks(message.get("content"))
        if role not in ("user", "assistant") or not blocks:
            continue
        last = merged[-1] if merged else None
        if (
            last
            and last["role"] == role == "assistant"
            and any(block["type"] == "tool_use" for block in last["content"])
        ):
            merged.append({"role": "user", "content": []})  # its calls get their results before it speaks again
            last = None
        if last and last["role"] == role:
            last["content"] += blocks
        else:
            merged.append({"role": role, "content": blocks})
    out: list[Message] = []
    open_calls: list[str] = []
    for message in merged:
        if message["role"] == "assistant":
            if not out:  # a history begins with a person
                continue
            message["content"] = _unique_calls(message["content"])
            if not _speaks(message["content"]):
                continue
            if out[-1]["role"] == "assistant":  # the user message between them was only orphans
                out[-1]["content"] += message["content"]
            else:
                out.append(message)
            open_calls = _calls(out[-1]["content"])
        else:
            content = _answered(open_calls, message["content"])
            open_calls = []
            if not content:
                continue
            if out and out[-1]["role"] == "user":
                out[-1]["content"] += content
            else:
                out.append({"role": "user", "content": content})
    if open_calls:
        out.append({"role": "user", "content": _answered(open_calls, [])})
    return out


def _blocks(content: object) -> list[Block]:
    if not isinstance(content, list):
        return []
    return [
        block
        for block in content
        if isinstance(block, dict) and block.get("type") and not (block["type"] == "text" and not block.get("text"))
    ]


def _calls(blocks: list[Block]) -> list[str]:
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _speaks(blocks: list[Block]) -> bool:
    """False for thinking alone: no vendor takes a message without text or a call."""
    return any(block["type"] not in THOUGHTS for block in blocks)


def _unique_calls(blocks: list[Block]) -> list[Block]:
    seen: set[str] = set()
    kept = []
    for block in blocks:
        if block["type"] == "tool_result":
            continue
        if block["type"] == "tool_use":
            if block.get("id") in seen or not block.get("id"):
                continue
            seen.add(block["id"])
        kept.append(block)
    return kept


def _answered(calls: list[str], blocks: list[Block]) -> list[Block]:
    results: dict[str, Block] = {}
    for block in blocks:
        if block["type"] == "tool_result" and block.get("tool_use_id") in calls:
            results.setdefault(block["tool_use_id"], block)
    first = [
        results.get(call) or {"type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": True}
        for call in calls
    ]
    return first + [block for block in blocks if block["type"] not in ("tool_result", "tool_use", *THOUGHTS)]
