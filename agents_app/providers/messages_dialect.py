"""The Messages family: Anthropic and the vendors that offer its wire form. Pure; the sender in http.py does the I/O.

Source: spec models 4.1, 3.3, 3.4.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from halo_site.lib.sse import SseEvent, SseReader

from .contract import Block, Delta, ErrorKind, Message, ModelConfig, ModelRequest, StopReason, Usage
from .conversation import own_thinking, result_text, safe_id, safe_name, tidy
from .errors import Vendor
from .fold_parts import Call, Text, count
from .wire import Answer, Fold, Wire, WireRequest
from .wire_json import dump, load_arguments, load_event

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST_ID = 64
BUDGETS = {"low": 2048, "medium": 8192, "high": 24576, "xhigh": 40000, "max": 60000}  # tokens, for manual thinking
_SMALLEST_BUDGET = 1024
_STOP: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
}
_NOTES = {
    "refusal": "The vendor declined to answer.",
    "pause_turn": "The vendor paused this answer.",
    "model_context_window_exceeded": "The answer was cut because the context window is full.",
}


class MessagesDialect:
    content_type = "event-stream"

    def request(self, request: ModelRequest, wire: Wire) -> WireRequest:
        config = request.config
        body = {"model": config.model, **request_body(request, wire), "stream": True}
        headers = {"content-type": "application/json", "accept": "text/event-stream", **wire.headers}
        if wire.version_header:
            headers["anthropic-version"] = "2023-06-01"
        key = config.secrets.get("api_key", "")
        if key:
            headers |= {"authorization": f"Bearer {key}"} if wire.auth == "bearer" else {"x-api-key": key}
        endpoint = config.endpoint.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        return WireRequest(url=f"{endpoint}/v1/messages", headers=headers, body=dump(body))

    def reader(self) -> SseReader:
        return SseReader()

    def fold(self, vendor: Vendor, taken: Set[str] = frozenset()) -> Fold:
        return MessagesFold(vendor, taken)


def request_body(request: ModelRequest, wire: Wire) -> dict[str, Any]:
    """All that is the same wherever the family is served; `model` and how to stream are said elsewhere by some."""
    config = request.config
    thinking = thinking_fields(config, wire)
    on = thinking.get("thinking", {}).get("type") not in (None, "disabled")
    messages = convert(request.messages, config, thinking=on)
    manual = thinking.get("thinking", {}).get("type") == "enabled"
    if manual and not wire.thinking_always and _began_without_thinking(messages):
        thinking = thinking_fields(replace(config, thinking=False), wire)
        messages = convert(request.messages, config, thinking=False)
    body: dict[str, Any] = {"max_tokens": config.max_tokens, "messages": messages, **thinking, **wire.body}
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
        if not request.may_call:
            body["tool_choice"] = {"type": "none"}
    if mark := cache_mark(config, wire):
        _mark(body, mark)
    return body


def thinking_fields(config: ModelConfig, wire: Wire) -> dict[str, Any]:
    """`thinking` and `output_config` of a request (spec models 3.3)."""
    if not config.thinking and not wire.thinking_always:
        return {"thinking": {"type": "disabled"}} if wire.thinking_off == "disabled" else {}
    if config.thinking_mode == "manual" or config.thinking_budget:
        budget = thinking_budget(config)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget < config.max_tokens else {}
    fields: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
    if wire.adaptive_effort:
        effort = config.thinking_effort or "medium"
        fields["output_config"] = {"effort": effort if effort in BUDGETS else "medium"}
    return fields


def thinking_budget(config: ModelConfig) -> int:
    """Tokens for manual thinking: what the agent says, else by effort; at most half the output, at least 1024."""
    wanted = config.thinking_budget or BUDGETS.get(config.thinking_effort or "medium", BUDGETS["medium"])
    return max(_SMALLEST_BUDGET, min(wanted, config.max_tokens // 2))


def _began_without_thinking(messages: Sequence[Message]) -> bool:
    """The tool calls that are answered now were made without thinking, or by another vendor.

    With manual thinking the family refuses to think on in the middle of such a turn; the next turn thinks again.
    """
    last: list[Block] = next((item["content"] for item in reversed(messages) if item["role"] == "assistant"), [])
    called = any(block["type"] == "tool_use" for block in last)
    return called and last[0]["type"] not in ("thinking", "redacted_thinking")


def cache_mark(config: ModelConfig, wire: Wire) -> dict[str, str] | None:
    if not config.prompt_caching or wire.cache == "none":
        return None
    if config.prompt_caching == "1h" and wire.cache == "1h":
        return {"type": "ephemeral", "ttl": "1h"}
    return {"type": "ephemeral"}


def _mark(body: dict[str, Any], mark: dict[str, str]) -> None:
    """Three marks: system, last tool, last block of the last message. Stored blocks stay untouched."""
    if "system" in body:
        body["system"] = [{"type": "text", "text": body["system"], "cache_control": mark}]
    if "tools" in body:
        body["tools"][-1] = body["tools"][-1] | {"cache_control": mark}
    if body["messages"]:
        content = body["messages"][-1]["content"]
        content[-1] = content[-1] | {"cache_control": mark}


def convert(messages: Sequence[Message], config: ModelConfig, *, thinking: bool) -> list[Message]:
    """Our conversation for this family. Thinking goes back signed, to its own vendor, and only while it is on."""

    def replayed(block: Block) -> bool:
        signed = block["type"] == "redacted_thinking" or bool(block.get("signature"))
        return thinking and signed and own_thinking(block, config.provider)

    return [
        {"role": message["role"], "content": [_block(block, config) for block in message["content"]]}
        for message in tidy(messages, vision=config.vision, replayed=replayed)
    ]


def _block(block: Block, config: ModelConfig) -> Block:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "image":
            source = block["source"]
            kept = {"type": "base64", "media_type": source["media_type"], "data": source["data"]}
            return {"type": "image", "source": kept}
        case "thinking":
            return {"type": "thinking", "thinking": block.get("thinking", ""), "signature": block["signature"]}
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": block["data"]}
        case "tool_use":
            return {
                "type": "tool_use",
                "id": safe_id(block["id"], _LONGEST_ID, _ID),
                "name": safe_name(block["name"]),
                "input": block["input"] if isinstance(block["input"], dict) else {},
            }
        case "tool_result":
            return _tool_result(block, config)
    raise ValueError(f"unknown block type {block['type']!r} in the conversation")


def _tool_result(block: Block, config: ModelConfig) -> Block:
    content = block.get("content")
    parts: Any = result_text(content)
    if config.vision and not isinstance(content, str):
        parts = [_block(part, config) for part in content or () if part["type"] != "text" or part["text"].strip()]
        parts = parts or result_text("")
    result: Block = {
        "type": "tool_result",
        "tool_use_id": safe_id(block["tool_use_id"], _LONGEST_ID, _ID),
        "content": parts,
    }
    return result | ({"is_error": True} if block.get("is_error") else {})


class _Part:
    """One content block in the making."""

    __slots__ = ("call", "data", "kind", "signature", "text")

    def __init__(self, kind: str, data: str, call: Call | None) -> None:
        self.kind = kind
        self.data = data  # of redacted thinking
        self.call = call
        self.text = Text()
        self.signature = ""


class MessagesFold:
    """Events of one answer, put together again."""

    def __init__(self, vendor: Vendor, taken: Set[str]) -> None:
        self._vendor = vendor
        self._taken = set(taken)
        self._parts: list[_Part] = []
        self._by_index: dict[Any, _Part] = {}
        self._last: _Part | None = None
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._ended = False

    @property
    def done(self) -> bool:
        return self._ended

    def feed(self, event: SseEvent) -> list[Delta]:
        if event.data.strip() == b"[DONE]":
            return []
        try:
            value = load_event(event.data)
            if not isinstance(value, dict):
                return []
            kind = value.get("type") or event.event.decode("ascii", "replace")
            return self._event(str(kind), value)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            if self.done:
                return []  # the answer is whole: what comes after it takes nothing back
            raise self._vendor.network("sent a malformed event in the stream") from error

    def whole(self, document: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        try:
            if document.get("type") == "error" or document.get("error"):
                raise self._vendor.refused(document)
            self._count(document.get("usage"))
            for index, block in enumerate(document["content"]):
                deltas += self._begin(index, block)
                if block.get("signature"):
                    self._parts[-1].signature = str(block["signature"])
            self._stop = str(document.get("stop_reason") or "end_turn")
            self._ended = True
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise self._vendor.network("sent an answer of an unknown shape") from error
        return deltas

    def _event(self, kind: str, event: dict[str, Any]) -> list[Delta]:
        match kind:
            case "content_block_delta":
                return self._delta(event.get("index"), event["delta"])
            case "content_block_start":
                return self._begin(event.get("index"), event["content_block"])
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                self._count(event.get("usage"))
                self._stop = str((event.get("delta") or {}).get("stop_reason") or self._stop)
            case "message_stop":
                self._ended = True
            case "error":
                raise self._vendor.refused(event)
            case _ if event.get("error"):
                raise self._vendor.refused(event)
        return []

    def _count(self, usage: Any) -> None:
        """Counters are cumulative: within a call the last one wins, and a zero takes nothing back (C45)."""
        for name, value in (usage or {}).items():
            number = count(value)
            if number is not None:
                self._usage[name] = number or self._usage.get(name, 0)

    def _part(self, index: Any) -> _Part | None:
        return self._last if index is None else self._by_index.get(index)

    def _begin(self, index: Any, block: dict[str, Any]) -> list[Delta]:
        kind = str(block["type"])
        call = None
        if kind == "tool_use":
            call_id = str(block.get("id") or "")
            call = Call("" if call_id in self._taken else call_id, str(block.get("name") or ""))
            self._taken.add(call_id)
        part = self._last = _Part(kind, str(block.get("data") or ""), call)
        self._parts.append(part)
        if index is not None:
            self._by_index[index] = part
        if call is not None:
            # Some vendors send the arguments at once, with the start of the block.
            given = block.get("input")
            return self._add(part, "input_json_delta", dump(given).decode()) if given else []
        if kind == "text":
            return self._add(part, "text_delta", str(block.get("text") or ""))
        if kind == "thinking":
            return self._add(part, "thinking_delta", str(block.get("thinking") or ""))
        return []

    def _delta(self, index: Any, delta: dict[str, Any]) -> list[Delta]:
        kind = delta["type"]
        part = self._part(index)
        if part is None:
            if kind != "text_delta":
                raise ValueError("a delta without its block")
            return self._begin(index, {"type": "text", "text": delta["text"]})
        match kind:
            case "text_delta":
                return self._add(part, kind, delta["text"])
            case "thinking_delta":
                return self._add(part, kind, delta["thinking"])
            case "input_json_delta":
                return self._add(part, kind, delta.get("partial_json") or "")
            case "signature_delta":
                part.signature += delta["signature"]
        return []

    def _add(self, part: _Part, kind: str, piece: str) -> list[Delta]:
        if not piece:
            return []
        if kind == "input_json_delta":
            if part.call is None or not (piece := part.call.add(piece)):
                return []
            return [Delta(kind="tool_args", text=piece, tool_use_id=part.call.id)]
        piece = part.text.add(piece)
        if not piece:
            return []
        return [Delta(kind="text" if kind == "text_delta" else "thinking", text=piece)]

    def finish(self) -> Answer:
        if not self._ended:
            raise self._vendor.network("the stream ended in the middle of the answer")
        usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
        )
        stop: StopReason = _STOP.get(self._stop, "end_turn")
        blocks: list[Block] = []
        bad: dict[str, str] = {}
        calls = [part.call for part in self._parts if part.call]
        for part in self._parts:
            if part.call and stop == "max_tokens":
                continue  # it may have been cut, even where it looks whole: it is never run
            if (block := self._finished(part, bad)) is not None:
                blocks.append(block)
        if calls and stop != "max_tokens":
            stop = "tool_use"
        notes = [_NOTES[self._stop]] if self._stop in _NOTES else []
        said = bool(calls) or any(block["type"] == "text" for block in blocks)
        if not said and not notes:
            if stop != "max_tokens":
                raise self._vendor.error(ErrorKind.EMPTY, "an empty answer")
            if not blocks and not usage.output_tokens:
                raise self._vendor.error(ErrorKind.OVERFLOW, "an empty answer: the conversation leaves no room for one")
        return Answer(blocks=blocks, stop_reason=stop, usage=usage, bad_arguments=bad, notes=notes)

    def _finished(self, part: _Part, bad: dict[str, str]) -> Block | None:
        text = part.text.value
        if part.call is not None:
            arguments, complaint = load_arguments(part.call.arguments)
            if complaint:
                bad[part.call.id] = complaint
            return {"type": "tool_use", "id": part.call.id, "name": part.call.name, "input": arguments}
        if part.kind == "text":
            return {"type": "text", "text": text} if text else None
        if part.kind == "thinking" and (text or part.signature):
            block: Block = {"type": "thinking", "thinking": text, "provider": self._vendor.name}
            return block | ({"signature": part.signature} if part.signature else {})
        if part.kind == "redacted_thinking":
            return {"type": "redacted_thinking", "data": part.data, "provider": self._vendor.name}
        return None
