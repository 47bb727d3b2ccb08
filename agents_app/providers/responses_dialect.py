"""The Responses family: OpenAI's newer wire form, also behind Bedrock. Pure; the sender in http.py does the I/O.

Deltas are for display; the answer is read from the response object of the last event. Source: spec models 4.4.
"""

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from halo_site.lib.sse import SseEvent, SseReader
from halo_site.lib.text import clean

from .aws import signing
from .contract import Block, Delta, ErrorKind, Message, ModelConfig, ModelRequest, StopReason, Usage
from .conversation import data_url, result_images, result_text, safe_id, safe_name, tidy
from .errors import Vendor
from .fold_parts import Call, Text, count
from .wire import Answer, Fold, Wire, WireRequest
from .wire_json import dump, load_arguments, load_event

_ANY_ID = re.compile(r"[\x21-\x7e]+")
_LONGEST_ID = 64
_EFFORTS = ("low", "medium", "high", "xhigh", "max")  # any other label is sent as high


class ResponsesDialect:
    content_type = "event-stream"

    def request(self, request: ModelRequest, wire: Wire) -> WireRequest:
        config = request.config
        body: dict[str, Any] = {
            "model": config.model,
            "input": convert(request.system, request.messages, config),
            "max_output_tokens": config.max_tokens,
            "stream": True,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.schema),
                }
                for tool in request.tools
            ]
            if not request.may_call:
                body["tool_choice"] = "none"
        if config.verbosity:
            body["text"] = {"verbosity": config.verbosity}
        if config.thinking and wire.thinking != "none":
            effort = config.thinking_effort or "medium"
            body["reasoning"] = {"effort": effort if effort in _EFFORTS else "high"}
            if wire.reasoning_summary:
                body["reasoning"]["summary"] = wire.reasoning_summary
        if wire.cache_key and request.session_id:
            body["prompt_cache_key"] = request.session_id
        body |= wire.body
        headers = {"content-type": "application/json", "accept": "text/event-stream", **wire.headers}
        key = config.secrets.get("api_key", "")
        if key:
            headers |= {"x-api-key": key} if wire.auth == "x-api-key" else {"authorization": f"Bearer {key}"}
        endpoint = config.endpoint.rstrip("/").removesuffix("/responses")
        return WireRequest(
            url=f"{endpoint}/responses",
            headers=headers,
            body=dump(body),
            signing=signing(config, wire.sigv4) if wire.sigv4 and not key else None,
        )

    def reader(self) -> SseReader:
        return SseReader()

    def fold(self, vendor: Vendor, taken: Set[str] = frozenset()) -> Fold:
        return ResponsesFold(vendor, taken)


def convert(system: str, messages: Sequence[Message], config: ModelConfig) -> list[dict[str, Any]]:
    """Our conversation as input items. Reasoning is not sent back (spec models 3.3)."""
    items: list[dict[str, Any]] = [{"role": "developer", "content": system}] if system.strip() else []
    for message in tidy(messages, vision=config.vision, replayed=lambda block: False):
        items += (_assistant if message["role"] == "assistant" else _user)(message["content"], config)
    return items


def _assistant(blocks: Sequence[Block], config: ModelConfig) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "text":
            if items and items[-1].get("role") == "assistant":
                items[-1]["content"] += block["text"]
            else:
                items.append({"role": "assistant", "content": block["text"]})
        elif block["type"] == "tool_use":
            items.append(
                {
                    "type": "function_call",
                    "call_id": safe_id(block["id"], _LONGEST_ID, _ANY_ID),
                    "name": safe_name(block["name"]),
                    "arguments": dump(block["input"]).decode(),
                }
            )
    return items


def _user(blocks: Sequence[Block], config: ModelConfig) -> list[dict[str, Any]]:
    """Results first; an image in a result follows in the person's message, because a result takes text only."""
    items: list[dict[str, Any]] = []
    images: list[Block] = []
    texts: list[str] = []
    for block in blocks:
        if block["type"] == "tool_result":
            call_id = safe_id(block["tool_use_id"], _LONGEST_ID, _ANY_ID)
            output = result_text(block.get("content"))
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
            images += result_images(block.get("content")) if config.vision else []
        elif block["type"] == "image":
            images.append(block)
        elif block["type"] == "text":
            texts.append(block["text"])
    if images:
        parts: list[dict[str, Any]] = [{"type": "input_image", "image_url": data_url(image)} for image in images]
        items.append({"role": "user", "content": parts + [{"type": "input_text", "text": text} for text in texts]})
    elif texts:
        items.append({"role": "user", "content": "\n\n".join(texts)})
    return items


class ResponsesFold:
    """Events of one answer, put together again."""

    def __init__(self, vendor: Vendor, taken: Set[str]) -> None:
        self._vendor = vendor
        self._taken = set(taken)
        self._text = Text()
        self._thinking = Text()
        self._calls: dict[Any, Call] = {}  # by output index
        self._open: list[tuple[str, Call]] = []  # shown, by the vendor's id; taken out when they are finished
        self._items: dict[Any, dict[str, Any]] = {}  # whole output items that came one by one
        self._response: dict[str, Any] | None = None  # of the last event

    @property
    def done(self) -> bool:
        return self._response is not None

    def feed(self, event: SseEvent) -> list[Delta]:
        if self.done or event.data.strip() == b"[DONE]":
            return []  # the answer is whole: what comes after it takes nothing back
        try:
            value = load_event(event.data)
            if not isinstance(value, dict):
                return []
            kind = value.get("type") or event.event.decode("ascii", "replace")
            return self._event(str(kind), value)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise self._vendor.network("sent a malformed event in the stream") from error

    def whole(self, document: dict[str, Any]) -> list[Delta]:
        try:
            return self._end(document)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise self._vendor.network("sent an answer of an unknown shape") from error

    def _event(self, kind: str, event: dict[str, Any]) -> list[Delta]:
        match kind.removeprefix("response."):
            case "output_text.delta" | "refusal.delta":
                return self._say("text", event["delta"])
            case "reasoning_summary_text.delta" | "reasoning_text.delta":
                return self._say("thinking", event["delta"])
            case "reasoning_summary_part.added" if event.get("summary_index"):
                return self._say("thinking", "\n\n")
            case "output_item.added" if event["item"].get("type") == "function_call":
                self._calls[event.get("output_index")] = self._begin(event["item"])
            case "function_call_arguments.delta":
                call = self._calls.get(event.get("output_index"))
                if call is not None and (piece := call.add(event["delta"])):
                    return [Delta(kind="tool_args", text=piece, tool_use_id=call.id)]
            case "output_item.done":
                self._items[int(event.get("output_index", len(self._items)))] = event["item"]
            case "completed" | "incomplete":
                return self._end(event["response"])
            case "failed":
                raise self._vendor.refused(event.get("response") or event)
            case "error":
                raise self._vendor.refused(event)
            case _ if event.get("error"):
                raise self._vendor.refused(event)
        return []

    def _say(self, kind: Any, piece: str) -> list[Delta]:
        piece = (self._text if kind == "text" else self._thinking).add(piece)
        return [Delta(kind=kind, text=piece)] if piece else []

    def _begin(self, item: Mapping[str, Any]) -> Call:
        call_id = str(item.get("call_id") or "")
        call = Call("" if call_id in self._taken else call_id, str(item.get("name") or ""))
        self._taken.add(call_id)
        self._open.append((call_id, call))
        return call

    def _finished(self, item: Mapping[str, Any]) -> Call:
        """The call that was shown while it was streamed, or a new one. Places in the output may have moved."""
        call_id = str(item.get("call_id") or "")
        if not any(known == call_id for known, _ in self._open):
            self._begin(item)
        at = next(at for at, (known, _) in enumerate(self._open) if known == call_id)
        return self._open.pop(at)[1]

    def _end(self, response: dict[str, Any]) -> list[Delta]:
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise self._vendor.refused(response)
        if not response.get("output") and self._items:  # some servers leave out what they have sent before
            response = response | {"output": [self._items[at] for at in sorted(self._items)]}
        self._response = response
        text, thinking = _text_of(response["output"]), _thinking_of(response["output"])
        deltas: list[Delta] = []
        for kind, whole, shown in (("thinking", thinking, self._thinking), ("text", text, self._text)):
            if whole.startswith(shown.value):  # a server that streamed less than it said
                deltas += self._say(kind, whole[len(shown.value) :])
        return deltas

    def finish(self) -> Answer:
        if self._response is None:
            raise self._vendor.network("the stream ended in the middle of the answer")
        try:
            return self._answer(self._response)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise self._vendor.network("sent an answer of an unknown shape") from error

    def _answer(self, response: Mapping[str, Any]) -> Answer:
        output = response["output"]
        reason = str((response.get("incomplete_details") or {}).get("reason") or "")
        usage = normalise_usage(response.get("usage") or {})
        text, thinking = _text_of(output), _thinking_of(output)
        blocks: list[Block] = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking, "provider": self._vendor.name})
        if text:
            blocks.append({"type": "text", "text": text})
        bad: dict[str, str] = {}
        stop: StopReason = "max_tokens" if reason == "max_output_tokens" else "end_turn"
        calls = [item for item in output if item.get("type") == "function_call"]
        if stop != "max_tokens":  # the last call may have been cut, even where it looks whole: none is run
            for item in calls:
                call = self._finished(item)
                arguments, complaint = load_arguments(str(item.get("arguments") or ""))
                if complaint:
                    bad[call.id] = complaint
                blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
            if calls:
                stop = "tool_use"
        notes = ["The vendor's content filter cut this answer."] if reason == "content_filter" else []
        if not (text or calls or notes) and not (stop == "max_tokens" and (thinking or usage.output_tokens)):
            if stop == "max_tokens":
                raise self._vendor.error(ErrorKind.OVERFLOW, "an empty answer: the conversation leaves no room for one")
            raise self._vendor.error(ErrorKind.EMPTY, "an empty answer")
        return Answer(blocks=blocks, stop_reason=stop, usage=usage, bad_arguments=bad, notes=notes)


def _text_of(output: Sequence[Mapping[str, Any]]) -> str:
    parts = [part for item in output if item.get("type") == "message" for part in item.get("content") or ()]
    return clean("".join(str(part.get("text") or part.get("refusal") or "") for part in parts))


def _thinking_of(output: Sequence[Mapping[str, Any]]) -> str:
    """The summary where there is one, else the reasoning itself."""
    parts: list[str] = []
    for item in output:
        if item.get("type") == "reasoning":
            parts += [str(part.get("text") or "") for part in item.get("summary") or item.get("content") or ()]
    return clean("\n\n".join(parts))


def normalise_usage(usage: Mapping[str, Any]) -> Usage:
    """Cached tokens are counted into the input; ours are exclusive (spec models 2.6)."""
    cached = count((usage.get("input_tokens_details") or {}).get("cached_tokens")) or 0
    return Usage(
        input_tokens=max(0, (count(usage.get("input_tokens")) or 0) - cached),
        output_tokens=count(usage.get("output_tokens")) or 0,
        cache_read_tokens=cached,
    )
