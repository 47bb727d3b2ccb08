# ruff: noqa: E501 - a recording reads best as one line
"""Recordings of model streams in many shapes, and what has to come out of each."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from agents_app.providers.contract import Delta, ErrorKind, ProviderError
from agents_app.providers.errors import Vendor
from agents_app.providers.registry import DIALECTS
from agents_app.providers.wire import Answer, BrokenStream
from halo_site.lib.sse import SseEvent
from tests.fakes.bedrock_wire import chunk as frame
from tests.fakes.bedrock_wire import exception


@dataclass(frozen=True)
class Recording:
    name: str
    family: str
    stream: bytes
    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    stop: str = "end_turn"
    usage: tuple[int, int, int, int] = (0, 0, 0, 0)  # input, output, cache read, cache write
    error: ErrorKind | None = None
    ends_at: int = field(default=0)  # bytes after which the answer is whole

    def __str__(self) -> str:
        return f"{self.family}-{self.name}"


@dataclass
class Played:
    deltas: list[Delta]
    answer: Answer | None = None
    error: ProviderError | None = None

    def joined(self, kind: str) -> str:
        return "".join(delta.text for delta in self.deltas if delta.kind == kind)

    def of(self, kind: str, key: str) -> str:
        assert self.answer is not None, self.error
        return "".join(block[key] for block in self.answer.blocks if block["type"] == kind)

    @property
    def calls(self) -> tuple[tuple[str, Any], ...]:
        assert self.answer is not None, self.error
        return tuple((block["name"], block["input"]) for block in self.answer.blocks if block["type"] == "tool_use")

    @property
    def usage(self) -> tuple[int, int, int, int]:
        assert self.answer is not None, self.error
        usage = self.answer.usage
        return usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens


def play(family: str, *chunks: bytes) -> Played:
    """The pure half of a call: bytes through the reader and the fold."""
    fold = DIALECTS[family].fold(Vendor(family))
    reader = DIALECTS[family].reader()
    played = Played([])
    try:
        for chunk in chunks:
            for event in reader.feed(chunk):
                played.deltas += fold.feed(event)
        for event in reader.close():
            played.deltas += fold.feed(event)
        played.answer = fold.finish()
    except ProviderError as error:
        played.error = error
    except BrokenStream as error:  # the sender makes this of it
        played.error = Vendor(family).network(str(error))
    return played


def events_of(family: str, *chunks: bytes) -> list[SseEvent]:
    """What the reader alone makes of the bytes."""
    reader = DIALECTS[family].reader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def data(*values: Any) -> bytes:
    return b"".join(
        b"data: " + (value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()) + b"\n\n"
        for value in values
    )


def named(*values: dict[str, Any]) -> bytes:
    return b"".join(b"event: " + value["type"].encode() + b"\n" + data(value) for value in values)


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def said(text: str) -> dict[str, Any]:
    return chunk({"content": text})


def call(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    part = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return chunk({"tool_calls": [{**part, "function": function}]})


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **more}}


STOP = chunk({}, "stop")
CALLS = chunk({}, "tool_calls")
DONE = b"[DONE]"
TWO = (("grep", {"pattern": "a b"}), ("file_read", {"path": "x/你.py"}))
ARGS = ('{"pattern":"a b"}', '{"path":"x/你.py"}')


def start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 12, "output_tokens": 1, **usage}}}


def block(index: int, kind: str, *deltas: dict[str, Any], **first: Any) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **first}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *words: str) -> list[dict[str, Any]]:
    return block(index, "text", *({"type": "text_delta", "text": word} for word in words), text="")


def thinking_block(index: int, *words: str) -> list[dict[str, Any]]:
    deltas = [{"type": "thinking_delta", "thinking": word} for word in words]
    return block(index, "thinking", *deltas, {"type": "signature_delta", "signature": "sig-1"}, thinking="")


def tool_block(index: int, call_id: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, "tool_use", *deltas, id=call_id, name=name, input={})


def end(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    counted = {"output_tokens": 20, **usage}
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": counted},
        {"type": "message_stop"},
    ]


def chat_recordings() -> list[Recording]:
    def chat(name: str, *parts: Any, **wanted: Any) -> Recording:
        return Recording(
            name, "chat", b"".join(part if isinstance(part, bytes) else data(part) for part in parts), **wanted
        )

    done = data(DONE)
    u = {"usage": (26, 7, 64, 0)}
    count = usage(90, 7, prompt_tokens_details={"cached_tokens": 64})
    hello = [said("Hel"), said("lo 你好"), said(" 🌍")]
    full = {"text": "Hello 你好 🌍", **u}
    tool = {"calls": TWO, "stop": "tool_use", **u}
    return [
        chat("plain", *hello, STOP, count, done, **full),
        chat("no-done", *hello, STOP, count, **full),
        chat("no-usage", *hello, STOP, done, text="Hello 你好 🌍"),
        chat("done-without-finish", *hello, count, done, **full),
        chat("done-early", said("Hel"), done, said("lo"), STOP, done, text="Hello"),
        chat("usage-with-finish", *hello, {**STOP, "usage": count["usage"]}, done, **full),
        chat("usage-after-done", *hello, STOP, done, count, **full),
        chat("thinking", chunk({"reasoning_content": "hm "}), chunk({"reasoning_content": "ok"}), *hello, STOP, count, done,
             thinking="hm ok", **full),
        chat("reasoning-alias", chunk({"reasoning": "hm"}), *hello, STOP, count, done, thinking="hm", **full),
        chat("both-reasonings", chunk({"reasoning": "hm", "reasoning_content": "hm"}), *hello, STOP, count, done,
             thinking="hm", **full),
        chat("null-fields", chunk({"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": None}),
             *hello, STOP, count, done, **full),
        chat("content-parts", chunk({"content": [{"type": "text", "text": "Hello 你好 🌍"}]}), STOP, count, done, **full),
        chat("cache-hit-alias", *hello, STOP, usage(90, 7, prompt_cache_hit_tokens=64), done, **full),
        chat("cache-above-prompt", *hello, STOP, usage(10, 7, prompt_cache_hit_tokens=64), done,
             text="Hello 你好 🌍", usage=(0, 7, 64, 0)),
        chat("two-calls", call(0, "c1", "grep", ""), call(0, None, None, ARGS[0][:6]), call(1, "c2", "file_read", ""),
             call(1, None, None, ARGS[1][:9]), call(0, None, None, ARGS[0][6:]), call(1, None, None, ARGS[1][9:]),
             CALLS, count, done, **tool),
        chat("calls-by-id", call(None, "c1", "grep", ARGS[0][:6]), call(None, "c1", None, ARGS[0][6:]),
             call(None, "c2", "file_read", ARGS[1]), CALLS, count, done, **tool),
        chat("calls-all-at-once", chunk({"tool_calls": [
            {"id": "c1", "function": {"name": "grep", "arguments": ARGS[0]}},
            {"id": "c2", "function": {"name": "file_read", "arguments": ARGS[1]}}]}), CALLS, count, done, **tool),
        chat("calls-all-index-0", call(0, "c1", "grep", ARGS[0]), call(0, "c2", "file_read", ARGS[1]), CALLS, count, done,
             **tool),
        chat("calls-without-ids", call(None, None, "grep", ARGS[0]), call(None, None, "file_read", ARGS[1]), CALLS, count,
             done, **tool),
        chat("arguments-as-object", chunk({"tool_calls": [
            {"index": 0, "id": "c1", "function": {"name": "grep", "arguments": {"pattern": "a b"}}}]}), CALLS, count, done,
             calls=TWO[:1], stop="tool_use", **u),
        chat("empty-arguments", call(0, "c1", "grep", ""), CALLS, count, done, calls=(("grep", {}),), stop="tool_use", **u),
        chat("finish-stop-with-calls", call(0, "c1", "grep", ARGS[0]), STOP, count, done, calls=TWO[:1], stop="tool_use", **u),
        chat("text-and-call", *hello, call(0, "c1", "grep", ARGS[0]), CALLS, count, done, calls=TWO[:1], stop="tool_use",
             **full),
        chat("length", *hello, chunk({}, "length"), count, done, stop="max_tokens", **full),
        chat("length-in-a-call", *hello, call(0, "c1", "grep", ARGS[0][:6]), chunk({}, "length"), count, done,
             stop="max_tokens", **full),
        chat("content-filter", *hello, chunk({}, "content_filter"), count, done, **full),
        chat("comments", b": OPENROUTER PROCESSING\n\n", hello[0], b"data:\n\n: x\n\nevent: ping\n\n", *hello[1:], STOP,
             count, done, **full),
        chat("second-choice", hello[0], {"choices": [{"index": 1, "delta": {"content": "no"}}]}, *hello[1:], STOP, count,
             done, **full),
        chat("surrogates", b'data: {"choices":[{"delta":{"content":"a\\ud83c"}}]}\n\n',
             b'data: {"choices":[{"delta":{"content":"\\udf0d b\\u0000"}}]}\n\n', STOP, done, text="a🌍 b\ufffd"),
        chat("bad-utf8", b'data: {"choices":[{"delta":{"content":"a\xff b"}}]}\n\n', STOP, done, text="a\ufffd b"),
        chat("error-object", *hello, {"error": {"message": "quota exceeded"}}, done, error=ErrorKind.ACCOUNT),
        chat("error-beside-choices", {"choices": [], "error": {"message": "upstream failed", "code": 502}}, done,
             error=ErrorKind.SERVER),
        chat("refused-in-base-resp", {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
             error=ErrorKind.ACCOUNT),
        chat("finish-error", *hello, chunk({}, "error"), done, error=ErrorKind.SERVER),
    ]  # fmt: skip


def messages_recordings() -> list[Recording]:
    def messages(name: str, *events: Any, **wanted: Any) -> Recording:
        parts: list[bytes] = []
        for event in events:
            for one in event if isinstance(event, list) else [event]:
                parts.append(one if isinstance(one, bytes) else named(one))
        return Recording(name, "messages", b"".join(parts), **wanted)

    u = {"usage": (12, 20, 0, 0)}
    hello = text_block(0, "Hel", "lo 你好", " 🌍")
    full = {"text": "Hello 你好 🌍", **u}
    calls = [
        *tool_block(0, "t1", "grep", ARGS[0][:6], ARGS[0][6:]),
        *tool_block(1, "t2", "file_read", "", ARGS[1]),
    ]
    tool = {"calls": TWO, "stop": "tool_use", **u}
    mixed = [calls[0], calls[4], calls[1], calls[5], calls[6], calls[2], calls[3], calls[7]]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    at_once = [
        {"type": "content_block_start", "index": i,
         "content_block": {"type": "tool_use", "id": f"t{i}", "name": n, "input": a}}
        for i, (n, a) in enumerate(TWO)
    ]  # fmt: skip
    unnamed = b"".join(data(event) for event in [start(), *hello, *end()])
    return [
        messages("plain", start(), hello, end(), **full),
        messages("ping", start(), {"type": "ping"}, hello[:2], {"type": "ping"}, hello[2:], end(), **full),
        messages("without-event-names", unnamed, **full),
        messages("done-at-the-end", start(), hello, end(), data(DONE), **full),
        messages("done-in-the-middle", start(), hello[:2], data(DONE), hello[2:], end(), **full),
        messages("thinking", start(), thinking_block(0, "hm ", "ok"), text_block(1, "Hello 你好 🌍"), end(), thinking="hm ok",
                 **full),
        messages("two-texts", start(), text_block(0, "Hello "), text_block(1, "你好 🌍"), end(), **full),
        messages("text-in-the-start", start(), block(0, "text", text="Hello 你好 🌍"), end(), **full),
        messages("two-calls", start(), calls, end("tool_use"), **tool),
        messages("interleaved-calls", start(), mixed, end("tool_use"), **tool),
        messages("calls-at-once", start(), at_once, end("tool_use"), **tool),
        messages("call-after-text", start(), hello, tool_block(1, "t1", "grep", ARGS[0]), end("tool_use"), calls=TWO[:1],
                 stop="tool_use", **full),
        messages("empty-arguments", start(), tool_block(0, "t1", "grep"), end("tool_use"), calls=(("grep", {}),),
                 stop="tool_use", **u),
        messages("end-turn-with-calls", start(), calls, end(), **tool),
        messages("max-tokens", start(), hello, end("max_tokens"), stop="max_tokens", **full),
        messages("max-tokens-in-a-call", start(), hello, tool_block(1, "t1", "grep", ARGS[0][:6])[:-1], end("max_tokens"),
                 stop="max_tokens", **full),
        messages("stop-sequence", start(), hello, end("stop_sequence"), stop="stop_sequence", **full),
        messages("refusal", start(), hello, end("refusal"), **full),
        messages("window-full", start(), hello, end("model_context_window_exceeded"), stop="max_tokens", **full),
        messages("cache-counters", start(cache_read_input_tokens=10, cache_creation_input_tokens=5), hello, end(),
                 text="Hello 你好 🌍", usage=(12, 20, 10, 5)),
        messages("usage-at-the-end", start(input_tokens=0, output_tokens=0), hello, end(input_tokens=30),
                 text="Hello 你好 🌍", usage=(30, 20, 0, 0)),
        messages("null-counters", start(), hello,
                 {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                  "usage": {"input_tokens": None, "output_tokens": 20}}, {"type": "message_stop"}, **full),
        messages("unknown-events", start(), {"type": "new_thing", "x": 1}, hello, end(), **full),
        messages("unknown-block", start(), block(0, "server_tool_use", id="s", name="n"), text_block(1, "Hello 你好 🌍"), end(),
                 **full),
        messages("redacted", start(), block(0, "redacted_thinking", data="abc"), text_block(1, "Hello 你好 🌍"), end(), **full),
        messages("without-index", start(),
                 [{k: v for k, v in event.items() if k != "index"} for event in [*hello]], end(), **full),
        messages("comments", b": keepalive\n\n", start(), b": keepalive\n\n", hello, b"data:\n\n", end(), **full),
        messages("surrogates", start(), hello[0],
                 b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83c"}}\n\n',
                 b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\udf0d\\u0000"}}\n\n',
                 end(), text="a🌍\ufffd", **u),
        messages("overloaded", start(), hello[:2], error, error=ErrorKind.SERVER),
        messages("error-at-once", {"type": "error", "error": {"type": "authentication_error", "message": "no"}},
                 error=ErrorKind.ACCOUNT),
    ]  # fmt: skip


def response(status: str, *output: dict[str, Any], **more: Any) -> dict[str, Any]:
    counted = {"input_tokens": 90, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 64}}
    whole = {"id": "r1", "status": status, "error": None, "output": list(output), "usage": counted} | more
    return {"type": f"response.{status}", "response": whole}


def message_item(*texts: str, kind: str = "output_text", key: str = "text") -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": kind, key: text} for text in texts]}


def call_item(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def reasoning_item(*texts: str) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in texts]}


def words(*texts: str, kind: str = "output_text", index: int = 0) -> list[dict[str, Any]]:
    return [{"type": f"response.{kind}.delta", "output_index": index, "delta": text} for text in texts]


def opened(index: int, item: dict[str, Any], *pieces: str) -> list[dict[str, Any]]:
    """A call as it is streamed."""
    begun = {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}
    kind = "response.function_call_arguments.delta"
    return [begun, *({"type": kind, "output_index": index, "delta": piece} for piece in pieces)]


def responses_recordings() -> list[Recording]:
    def responses(name: str, *events: Any, **wanted: Any) -> Recording:
        parts: list[bytes] = []
        for event in events:
            for one in event if isinstance(event, list) else [event]:
                parts.append(one if isinstance(one, bytes) else named(one))
        return Recording(name, "responses", b"".join(parts), **wanted)

    u = {"usage": (26, 7, 64, 0)}
    hello = words("Hel", "lo 你好", " 🌍")
    said_ = message_item("Hello 你好 🌍")
    full = {"text": "Hello 你好 🌍", **u}
    begun = {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    calls = [call_item("c1", "grep", ARGS[0]), call_item("c2", "file_read", ARGS[1])]
    streamed = [*opened(0, calls[0], ARGS[0][:6], ARGS[0][6:]), *opened(1, calls[1], "", ARGS[1])]
    mixed = [streamed[0], streamed[3], streamed[1], streamed[4], streamed[5], streamed[2]]
    tool = {"calls": TWO, "stop": "tool_use", **u}
    end_ = response("completed", said_)
    items = [{"type": "response.output_item.done", "output_index": 0, "item": said_}]
    hm = words("hm ", "ok", kind="reasoning_summary_text")
    part = {"type": "response.reasoning_summary_part.added", "summary_index": 1}
    unnamed = b"".join(data(event) for event in [begun, *hello, end_])
    cut = response("incomplete", said_, incomplete_details={"reason": "max_output_tokens"})
    failed = response("failed", error={"code": "server_error", "message": "The model fell over"})
    return [
        responses("plain", begun, hello, end_, **full),
        responses("done-at-the-end", begun, hello, end_, data(DONE), **full),
        responses("done-in-the-middle", begun, hello[:2], data(DONE), hello[2:], end_, **full),
        responses("without-event-names", unnamed, **full),
        responses("without-begin", hello, end_, **full),
        responses("nothing-streamed", begun, end_, **full),
        responses("half-streamed", begun, hello[:1], end_, **full),
        responses("items-only-one-by-one", begun, hello, items, response("completed"), **full),
        responses("two-parts", begun, words("Hello "), words("你好 🌍"),
                  response("completed", message_item("Hello ", "你好 🌍")), **full),
        responses("two-messages", begun, words("Hello "), words("你好 🌍", index=1),
                  response("completed", message_item("Hello "), message_item("你好 🌍")), **full),
        responses("refused-in-words", begun, words("Hello 你好 🌍", kind="refusal"),
                  response("completed", message_item("Hello 你好 🌍", kind="refusal", key="refusal")), **full),
        responses("thinking", begun, hm, words(*["Hel", "lo 你好", " 🌍"], index=1),
                  response("completed", reasoning_item("hm ok"), said_), thinking="hm ok", **full),
        responses("thinking-in-two-parts", begun, words("hm", kind="reasoning_summary_text"), part,
                  words("ok", kind="reasoning_summary_text"), hello,
                  response("completed", reasoning_item("hm", "ok"), said_), thinking="hm\n\nok", **full),
        responses("raw-thinking", begun, words("hm", kind="reasoning_text"), hello,
                  response("completed", {"type": "reasoning", "summary": [], "content": [{"text": "hm"}]}, said_),
                  thinking="hm", **full),
        responses("two-calls", begun, streamed, response("completed", *calls), **tool),
        responses("interleaved-calls", begun, mixed, response("completed", *calls), **tool),
        responses("calls-not-streamed", begun, response("completed", *calls), **tool),
        responses("call-after-text", begun, hello, opened(1, calls[0], ARGS[0]), response("completed", said_, calls[0]),
                  calls=TWO[:1], stop="tool_use", **full),
        responses("moved-calls", begun, opened(3, calls[0], ARGS[0]), opened(5, calls[1], ARGS[1]),
                  response("completed", *calls), **tool),
        responses("empty-arguments", begun, response("completed", call_item("c1", "grep", "")), calls=(("grep", {}),),
                  stop="tool_use", **u),
        responses("max-tokens", begun, hello, cut, stop="max_tokens", **full),
        responses("max-tokens-in-a-call", begun, hello, opened(1, calls[0], ARGS[0][:6]),
                  response("incomplete", said_, {**calls[0], "arguments": ARGS[0][:6]},
                           incomplete_details={"reason": "max_output_tokens"}), stop="max_tokens", **full),
        responses("content-filter", begun, hello,
                  response("incomplete", said_, incomplete_details={"reason": "content_filter"}), **full),
        responses("no-usage", begun, hello, response("completed", said_, usage=None), text="Hello 你好 🌍"),
        responses("cache-above-input", begun, hello, response("completed", said_, usage={
            "input_tokens": 10, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 64}}),
            text="Hello 你好 🌍", usage=(0, 7, 64, 0)),
        responses("unknown-events", begun, {"type": "response.new_thing", "x": 1}, hello, end_, **full),
        responses("unknown-item", begun, hello, response("completed", {"type": "web_search_call"}, said_), **full),
        responses("comments", b": keepalive\n\n", begun, b"data:\n\n", hello, b": keepalive\n\n", end_, **full),
        responses("surrogates", begun, b'data: {"type":"response.output_text.delta","delta":"a\\ud83c"}\n\n',
                  b'data: {"type":"response.output_text.delta","delta":"\\udf0d\\u0000"}\n\n',
                  response("completed", message_item("a🌍\u0000")), text="a🌍\ufffd", **u),
        responses("failed", begun, hello[:2], failed, error=ErrorKind.SERVER),
        responses("error-event", begun, hello[:2],
                  {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, error=ErrorKind.THROTTLE),
        responses("error-object", begun, data({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}),
                  error=ErrorKind.ACCOUNT),
        responses("too-long", begun, response("failed", error={
            "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}),
            error=ErrorKind.OVERFLOW),
    ]  # fmt: skip


def bedrock_recordings() -> list[Recording]:
    """Every recording of the Messages family in AWS frames, and what only AWS does."""
    found: list[Recording] = []
    for one in messages_recordings():
        events = [event.data for event in events_of("messages", one.stream) if b"[DONE]" not in event.data]
        found.append(replace(one, family="bedrock", stream=b"".join(frame(event) for event in events)))
    begun = b"".join(frame(json.dumps(event).encode()) for event in [start(), *text_block(0, "Hel")[:2]])
    errors = [
        ("throttlingException", "Too many tokens", ErrorKind.THROTTLE),
        ("modelStreamErrorException", "The model fell over", ErrorKind.SERVER),
        ("modelTimeoutException", "Model has timed out", ErrorKind.SERVER),
        ("internalServerException", "The system encountered an unexpected error", ErrorKind.SERVER),
        ("serviceUnavailableException", "Try again", ErrorKind.SERVER),
        ("validationException", "Input is too long for requested model.", ErrorKind.OVERFLOW),
        ("accessDeniedException", "You don't have access to the model", ErrorKind.ACCOUNT),
    ]
    found += [
        Recording(f"{name}", "bedrock", begun + exception(name, message), error=kind) for name, message, kind in errors
    ]
    return found


def variants(recordings: list[Recording]) -> list[Recording]:
    """The same answers as servers of other habits write them."""

    def varied(one: Recording, name: str, stream: bytes) -> Recording:
        return replace(one, name=f"{one.name}, {name}", stream=stream)

    plain = [one for one in recordings if one.name in ("plain", "two-calls", "thinking")]
    return (
        [varied(one, "no space", one.stream.replace(b"data: ", b"data:")) for one in plain]
        + [varied(one, "byte order mark", b"\xef\xbb\xbf" + one.stream) for one in plain]
        + [varied(one, "no last blank line", one.stream.removesuffix(b"\n")) for one in plain]
        + [varied(one, "with ids", one.stream.replace(b"data: ", b"id: 7\nretry: 9\ndata: ")) for one in plain]
    )


SSE = chat_recordings() + messages_recordings() + responses_recordings()
SSE += variants(SSE)
RECORDINGS = SSE + bedrock_recordings()
