"""The chat-completions family: OpenAI and all who copied it. Pure; the sender in http.py does the I/O.

Source: spec models 4.3; the field cases C28-C35, C42, C45.
"""

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from halo_site.lib.sse import SseEvent, SseReader

from .contract import Block, Delta, ErrorKind, Message, ModelConfig, ModelRequest, StopReason, Usage
from .conversation import data_url, own_thinking, result_images, result_text, safe_id, safe_name, tidy
from .errors import Vendor
from .fold_parts import Call, Text, count
from .wire import Answer, Fold, Wire, WireRequest
from .wire_json import dump, load_arguments, load_event

_ANY_ID = re.compile(r"[\x21-\x7e]+")
_LONGEST_ID = 40  # characters; OpenAI refuses longer ones
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")  # weakest first
_STOP: dict[str, StopReason] = {"length": "max_tokens", "max_tokens": "max_tokens", "stop_sequence": "stop_sequence"}
_FILTERED = ("content_filter", "sensitive", "content-filter")
_BROKEN = {  # finish reasons that are failures in truth
    "error": ErrorKind.SERVER,
    "network_error": ErrorKind.NETWORK,
    "insufficient_system_resource": ErrorKind.SERVER,
}


class ChatDialect:
    content_type = "event-stream"

    def request(self, request: ModelRequest, wire: Wire) -> WireRequest:
        config = request.config
        body: dict[str, Any] = {
            "model": config.model,
            "messages": convert(request.system, request.messages, config),
            wire.max_tokens_field: config.max_tokens,
            "stream": True,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
                }
                for tool in request.tools
            ]
            if not request.may_call:
                body["tool_choice"] = "none"
        if wire.stream_usage:
            body["stream_options"] = {"include_usage": True}
        if wire.cache_key and request.session_id:
            body["prompt_cache_key"] = request.session_id
        body |= thinking_fields(config, wire) | wire.body
        headers = {"content-type": "application/json", "accept": "text/event-stream", **wire.headers}
        key = config.secrets.get("api_key", "")
        if key:
            headers |= {"x-api-key": key} if wire.auth == "x-api-key" else {"authorization": f"Bearer {key}"}
        endpoint = config.endpoint.rstrip("/")
        url = endpoint if endpoint.endswith("/chat/completions") else f"{endpoint}/chat/completions"
        return WireRequest(url=url, headers=headers, body=dump(body))

    def reader(self) -> SseReader:
        return SseReader()

    def fold(self, vendor: Vendor, taken: Set[str] = frozenset()) -> Fold:
        return ChatFold(vendor, taken)


def thinking_fields(config: ModelConfig, wire: Wire) -> dict[str, Any]:
    """How this vendor is told to think or not to (spec models 2.2, 3.3)."""
    match wire.thinking:
        case "effort" if config.thinking and (label := known_effort(config.thinking_effort, wire.efforts)):
            return {"reasoning_effort": label}
        case "type":
            return {"thinking": {"type": "enabled" if config.thinking else "disabled"}}
        case "off_only" if not config.thinking:
            return {"thinking": {"type": "disabled"}}
    return {}


def known_effort(label: str | None, known: Sequence[str]) -> str | None:
    """Our effort label as one the vendor knows: the same, else the next weaker, else the weakest; None = send none."""
    if not known:
        return None
    label = label or "medium"
    if label in known or label not in _EFFORTS:
        return label if label in known else known[-1] if len(known) == 1 else known[len(known) // 2]
    rank = _EFFORTS.index(label)
    weaker = [name for name in known if name in _EFFORTS and _EFFORTS.index(name) <= rank]
    return weaker[-1] if weaker else known[0]


def convert(system: str, messages: Sequence[Message], config: ModelConfig) -> list[dict[str, Any]]:
    """Our conversation as chat messages. Results of tools come before what the person wrote in the same message."""
    sent: list[dict[str, Any]] = [{"role": "system", "content": system}] if system.strip() else []
    for message in tidy(messages, vision=config.vision, replayed=lambda block: own_thinking(block, config.provider)):
        sent += [_assistant(message["content"])] if message["role"] == "assistant" else _user(message, config)
    return sent


def _assistant(blocks: Sequence[Block]) -> dict[str, Any]:
    kinds: dict[str, list[Block]] = {"text": [], "thinking": [], "tool_use": []}
    for block in blocks:
        kinds.get(block["type"], []).append(block)
    thinking = "".join(block.get("thinking", "") for block in kinds["thinking"])
    text = "".join(block["text"] for block in kinds["text"])
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thinking:
        message["reasoning_content"] = thinking
    if kinds["tool_use"]:
        message["tool_calls"] = [
            {
                "id": safe_id(block["id"], _LONGEST_ID, _ANY_ID),
                "type": "function",
                "function": {"name": safe_name(block["name"]), "arguments": dump(block["input"]).decode()},
            }
            for block in kinds["tool_use"]
        ]
    return message


def _user(message: Message, config: ModelConfig) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    images: list[Block] = []
    rest: list[Block] = []
    for block in message["content"]:
        if block["type"] == "tool_result":
            sent.append(
                {
                    "role": "tool",
                    "tool_call_id": safe_id(block["tool_use_id"], _LONGEST_ID, _ANY_ID),
                    "content": result_text(block.get("content")),
                }
            )
            if config.vision:
                images += result_images(block.get("content"))
        elif block["type"] == "image":
            images.append(block)
        elif block["type"] == "text":
            rest.append(block)
    if not images:
        if rest:
            sent.append({"role": "user", "content": "\n\n".join(block["text"] for block in rest)})
        return sent
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": data_url(block)}} for block in images]
    parts += [{"type": "text", "text": block["text"]} for block in rest]
    sent.append({"role": "user", "content": parts})
    return sent


class ChatFold:
    """Chunks of one answer, put together again."""

    def __init__(self, vendor: Vendor, taken: Set[str]) -> None:
        self._vendor = vendor
        self._taken = taken
        self._text = Text()
        self._thinking = Text()
        self._calls: list[Call] = []
        self._by_index: dict[Any, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._finish = ""
        self._closed = False  # [DONE] was the last thing said
        self._usage: dict[str, Any] = {}
        self._streamed = True

    @property
    def done(self) -> bool:
        return self._closed and bool(self._finish)

    def feed(self, event: SseEvent) -> list[Delta]:
        if event.data.strip() == b"[DONE]":
            self._closed = True
            return []
        try:
            chunk = load_event(event.data)
            return self._chunk(chunk, failed=event.event == b"error") if isinstance(chunk, dict) else []
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            if self.done:
                return []  # the answer is whole: what comes after it takes nothing back
            raise self._vendor.network("sent a malformed event in the stream") from error

    def whole(self, document: dict[str, Any]) -> list[Delta]:
        self._streamed = False
        self._closed = True
        try:
            return self._chunk(document, failed=False)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise self._vendor.network("sent an answer of an unknown shape") from error

    def _chunk(self, chunk: dict[str, Any], *, failed: bool) -> list[Delta]:
        if failed or chunk.get("error") or (not chunk.get("choices") and _refusal(chunk.get("base_resp"))):
            raise self._vendor.refused(chunk)
        if isinstance(chunk.get("usage"), dict):
            self._usage |= {key: value for key, value in chunk["usage"].items() if value is not None}
        deltas: list[Delta] = []
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue  # we asked for one answer
            if isinstance(choice.get("usage"), dict):
                self._usage |= {key: value for key, value in choice["usage"].items() if value is not None}
            delta = choice.get("delta") or (choice.get("message") if self._first_words else None)
            if delta:
                self._closed = False if self._streamed else self._closed
                self._delta(delta, deltas)
            if choice.get("finish_reason"):
                self._finish = str(choice["finish_reason"])
        return deltas

    @property
    def _first_words(self) -> bool:
        """A whole `message` counts only where nothing was streamed: some servers repeat it at the end."""
        return not (self._text.value or self._thinking.value or self._calls)

    def _delta(self, delta: dict[str, Any], deltas: list[Delta]) -> None:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and (piece := self._thinking.add(thought)):
            deltas.append(Delta(kind="thinking", text=piece))
        for said in (delta.get("content"), delta.get("refusal")):
            if said and (piece := self._text.add(_plain(said))):
                deltas.append(Delta(kind="text", text=piece))
        for fragment in delta.get("tool_calls") or ():
            self._tool(fragment, deltas)

    def _tool(self, fragment: dict[str, Any], deltas: list[Delta]) -> None:
        function = fragment.get("function") or {}
        call = self._call_of(fragment.get("index"), str(fragment.get("id") or ""), str(function.get("name") or ""))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = dump(arguments).decode()
        if arguments and (piece := call.add(str(arguments))):
            deltas.append(Delta(kind="tool_args", text=piece, tool_use_id=call.id))

    def _call_of(self, index: Any, call_id: str, name: str) -> Call:
        """Whose fragment this is: by index, else by id, else the last opened call (C32).

        Some servers number every call 0; there a new id together with a name opens a new call.
        """
        call = self._by_id.get(call_id) if call_id else None
        if call is None and index is not None:
            call = self._by_index.get(index)
            if call is not None and call_id and name and call_id != call.id:
                call = None
        elif call is None and not call_id and self._calls:
            last = self._calls[-1]
            call = None if name and last.name and last.complete else last
        if call is None:
            call = Call("" if call_id in self._taken else call_id, name)
            self._calls.append(call)
        if call_id:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        call.name = call.name or name
        return call

    def finish(self) -> Answer:
        if not self._finish and not self._closed:
            raise self._vendor.network("the stream ended in the middle of the answer")
        if self._finish in _BROKEN:
            raise self._vendor.error(_BROKEN[self._finish], f"the answer ended with: {self._finish}")
        usage = normalise_usage(self._usage)
        stop: StopReason = _STOP.get(self._finish, "end_turn")
        text, thinking = self._text.value, self._thinking.value
        blocks: list[Block] = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking, "provider": self._vendor.name})
        if text:
            blocks.append({"type": "text", "text": text})
        bad: dict[str, str] = {}
        calls = [call for call in self._calls if call.name or call.arguments]
        if stop != "max_tokens":  # the last call may have been cut, even where it looks whole: none is run
            for call in calls:
                arguments, complaint = load_arguments(call.arguments)
                if complaint:
                    bad[call.id] = complaint
                blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
            if calls:
                stop = "tool_use"
        notes = ["The vendor's content filter cut this answer."] if self._finish in _FILTERED else []
        self._check_not_empty(stop, bool(text or calls), bool(thinking), usage, notes)
        return Answer(blocks=blocks, stop_reason=stop, usage=usage, bad_arguments=bad, notes=notes)

    def _check_not_empty(self, stop: StopReason, said: bool, thought: bool, usage: Usage, notes: list[str]) -> None:
        """An answer without content is a failure, not an answer (C42)."""
        if said or notes:
            return
        if stop == "max_tokens":
            if thought or usage.output_tokens:
                return  # the limit went into thinking: the person is told that the answer was cut
            raise self._vendor.error(ErrorKind.OVERFLOW, "an empty answer: the conversation leaves no room for one")
        raise self._vendor.error(ErrorKind.EMPTY, "an empty answer")


def normalise_usage(usage: Mapping[str, Any]) -> Usage:
    """Vendors of this family count cached tokens into the prompt; ours are exclusive (spec models 2.6)."""
    details = usage.get("prompt_tokens_details")
    candidates = (
        details.get("cached_tokens") if isinstance(details, dict) else None,
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cache_read_tokens"),
        usage.get("cached_tokens"),
    )
    cached = next((number for value in candidates if (number := count(value)) is not None), 0)
    prompt = count(usage.get("prompt_tokens")) or 0
    return Usage(
        input_tokens=max(0, prompt - cached),
        output_tokens=count(usage.get("completion_tokens")) or 0,
        cache_read_tokens=cached,
    )


def _refusal(base: Any) -> bool:
    """MiniMax says in a 200 what went wrong."""
    return isinstance(base, dict) and bool(base.get("status_code"))


def _plain(content: Any) -> str:
    """Text of a delta: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content if part.get("type", "text") == "text")
