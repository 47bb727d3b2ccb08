"""What all families need before they translate a conversation. Pure; the stored messages are never changed."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .contract import Block, Message

_THINKING = ("thinking", "redacted_thinking")
_ORDER = {"tool_result": 0, "image": 1, "text": 2}  # in a user message: results, images, text (spec models 3.6)
_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def tidy(messages: Sequence[Message], *, vision: bool, replayed: Callable[[Block], bool]) -> list[Message]:
    """The conversation as vendors accept it: no blank text, no empty message, roles alternate, results before text.

    A model without vision gets a sentence instead of the images. replayed: whether a block of thinking goes back.
    """
    tidied: list[Message] = []
    for message in messages:
        blocks = _blocks(message["content"])
        if not vision:
            blocks = _without_images(blocks)
        blocks = [block for block in blocks if _is_sent(block, replayed)]
        if all(block["type"] in _THINKING for block in blocks):
            continue  # thinking alone is no message
        if tidied and tidied[-1]["role"] == message["role"]:
            tidied[-1]["content"] += blocks
        else:
            tidied.append({"role": message["role"], "content": blocks})
    for message in tidied:
        if message["role"] == "user":
            message["content"].sort(key=lambda block: _ORDER.get(str(block.get("type")), 2))
    return tidied


def _blocks(content: str | Sequence[Block]) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _is_sent(block: Block, replayed: Callable[[Block], bool]) -> bool:
    if block["type"] in _THINKING:
        return replayed(block)
    return block["type"] != "text" or bool(str(block.get("text") or "").strip())


def _without_images(blocks: list[Block]) -> list[Block]:
    kept = [block for block in blocks if block.get("type") != "image"]
    removed = len(blocks) - len(kept)
    if removed:
        some = "1 image was" if removed == 1 else f"{removed} images were"
        kept.append({"type": "text", "text": f"[{some} left out: this model does not take images]"})
    return kept


def result_text(content: Any) -> str:
    """The text of a tool result, `[image]` where an image stands; never empty (some vendors refuse that)."""
    if isinstance(content, str):
        text = content
    else:
        parts = (part.get("text", "") if part.get("type") == "text" else "[image]" for part in content or ())
        text = "\n".join(parts)
    return text if text.strip() else "(no output)"


def result_images(content: Any) -> list[Block]:
    return [] if isinstance(content, str) else [part for part in content or () if part.get("type") == "image"]


def data_url(block: Block) -> str:
    """An image block as an address that holds it."""
    source = block["source"]
    return f"data:{source['media_type']};base64,{source['data']}"


def safe_name(name: str) -> str:
    """A tool name as it may be sent back: a model may have called a tool by a name that its own vendor refuses."""
    return _NAME.sub("_", name)[:64] or "unknown"


def safe_id(call_id: str, longest: int, allowed: re.Pattern[str]) -> str:
    """The id of a tool call, verbatim where the vendor takes it. After a change of vendor it may not (`f.grep:0`)."""
    if len(call_id) <= longest and allowed.fullmatch(call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:24]


def call_ids(messages: Sequence[Message]) -> frozenset[str]:
    """Ids of all tool calls in the conversation."""
    return frozenset(
        block["id"]
        for message in messages
        if message["role"] == "assistant" and not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_use"
    )


def own_thinking(block: Mapping[str, Any], provider: str) -> bool:
    """Thinking goes back only to the vendor it came from; blocks without a name are of unknown origin and stay."""
    return bool(block.get("provider", provider) == provider)
