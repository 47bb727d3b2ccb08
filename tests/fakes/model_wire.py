"""A decided reply as the bytes of the two wire forms. Imports nothing of the product."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

DIRECTIVE = re.compile(r"\[\[fake\s*(.*?)\]\]", re.S)
SETTING = re.compile(r"(\w+)=(\S+)")


@dataclass
class Step:
    """One reply. Everything is optional; a directive in the last user message may set every scalar field.

    Times are milliseconds. `after`: how many content events are sent before a fault strikes (hang, reset, error).
    """

    # What is said
    tokens: int = 20  # "t000 t001 ...", when there is no text
    text: str | None = None
    think: int = 0
    thinking: str | None = None
    echo: bool = False  # say the last user message back
    tool: str = ""  # call this tool before the text, `calls` times in a row
    args: dict[str, Any] = field(default_factory=dict)
    calls: int = 1
    at_once: bool = False  # all of them in the first reply instead
    tool_calls: list[dict[str, Any]] = field(default_factory=list)  # [{name, arguments, id?}]
    stubborn: bool = False  # call tools also where the request forbids it
    usage: dict[str, int] = field(default_factory=dict)  # input, output, cache_read, cache_write
    stop: str = ""  # the vendor's own word for why it stopped

    # How fast
    ttft: float = 0.0
    delay: float = 0.0

    # What goes wrong
    status: int = 200
    fails: int = 0  # only the first N calls with this same last user message go wrong; 0 = all
    retry_after: str = ""
    error: Any = None  # body of an error answer; a string is sent as it is
    hang: str = ""  # "headers" or "stream": until the client goes away
    after: int = 1
    reset: int = -1  # bytes of the body, then a TCP reset
    cut: int = -1  # bytes of the body, then an orderly end
    close: int = -1  # bytes of the body, then the connection is closed in the middle of it
    split: int = 0  # bytes per write; 0 = an event per write
    repeat: int = 1  # every content event so many times
    raw: str | None = None  # this body, as it is
    json: bool = False  # a whole JSON answer although a stream was asked for
    sse_error: Any = None  # this error event in the stream, after `after` content events
    content_type: str = ""
    line_end: str = "\n"

    FAULTS = ("status", "hang", "reset", "cut", "close", "sse_error", "error")

    def merged(self, values: dict[str, Any]) -> "Step":
        step = Step(**self.__dict__)
        for key, value in values.items():
            if key not in self.__dict__:
                raise ValueError(f"unknown setting {key!r}")
            setattr(step, key, _typed(value, getattr(self, key)))
        return step

    def healthy(self) -> "Step":
        blank = Step()
        return self.merged({name: getattr(blank, name) for name in self.FAULTS})


def _typed(value: Any, like: Any) -> Any:
    if not isinstance(value, str) or isinstance(like, str):
        return value
    if isinstance(like, bool):
        return value in ("1", "true", "yes")
    if isinstance(like, int):
        return int(value)
    if isinstance(like, float):
        return float(value)
    try:
        return json.loads(value)
    except ValueError:
        return value


def directive(text: str) -> dict[str, Any]:
    """The settings of the last `[[fake key=value ... args={...}]]` in `text`; `args` swallows the rest."""
    found = DIRECTIVE.findall(text)
    if not found:
        return {}
    head, has_args, tail = found[-1].partition("args=")
    values: dict[str, Any] = dict(SETTING.findall(head))
    if has_args:
        values["args"] = json.loads(tail)
    return values


@dataclass
class Reply:
    texts: list[str]
    thoughts: list[str]
    calls: list[dict[str, Any]]
    usage: dict[str, int]
    stop: str


def reply_of(step: Step, last_user: str, rounds: int, number: int, prompt_tokens: int) -> Reply:
    """rounds: model calls since the last user message; number: of this call, for ids."""
    calls = [dict(call) for call in step.tool_calls]
    if step.tool and step.at_once:
        calls += [{"name": step.tool, "arguments": step.args} for _ in range(step.calls if rounds == 0 else 0)]
    elif step.tool and rounds < step.calls:
        calls.append({"name": step.tool, "arguments": step.args})
    for at, call in enumerate(calls):
        call.setdefault("id", f"call_{number}_{at}")
        call.setdefault("arguments", {})
    if step.text is not None:
        texts = re.findall(r"\S+\s*|\s+", step.text)
    elif calls:
        texts = []
    elif step.echo:
        texts = re.findall(r"\S+\s*|\s+", last_user)
    else:
        texts = [f"t{at % 1000:03d} " for at in range(step.tokens)]
    if step.thinking is not None:
        thoughts = re.findall(r"\S+\s*|\s+", step.thinking)
    else:
        thoughts = [f"h{at % 1000:03d} " for at in range(step.think)]
    usage = {"input": prompt_tokens, "output": len(texts) + len(thoughts) + 5 * len(calls), **step.usage}
    return Reply(texts, thoughts, calls, usage, step.stop)


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def arguments_text(call: dict[str, Any]) -> str:
    """A string is sent as it is, so that a test can send bad JSON."""
    given = call["arguments"]
    return given if isinstance(given, str) else json.dumps(given)


class ChatWire:
    def __init__(self, reply: Reply, model: str, number: int) -> None:
        self.reply, self.model = reply, model
        self.id = f"chatcmpl-fake-{number}"

    def _chunk(self, delta: dict[str, Any] | None, finish: str | None = None, **top: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        value = {"id": self.id, "object": "chat.completion.chunk", "created": 0, "model": self.model}
        return b"data: " + dumps({**value, "choices": choices, **top}) + b"\n\n"

    def events(self) -> list[bytes]:
        """The content: one event per word, then the tool calls."""
        reply = self.reply
        out = [self._chunk({"reasoning_content": word}) for word in reply.thoughts]
        out += [self._chunk({"content": word}) for word in reply.texts]
        for at, call in enumerate(reply.calls):
            function = {"name": call["name"], "arguments": ""}
            out.append(
                self._chunk({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": function}]})
            )
            text = arguments_text(call)
            for start in range(0, len(text), 24):
                part = {"index": at, "function": {"arguments": text[start : start + 24]}}
                out.append(self._chunk({"tool_calls": [part]}))
        return out

    def head(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def tail(self) -> bytes:
        return self._chunk({}, self._finish) + self._chunk(None, usage=self._usage) + b"data: [DONE]\n\n"

    @property
    def _finish(self) -> str:
        return self.reply.stop or ("tool_calls" if self.reply.calls else "stop")

    @property
    def _usage(self) -> dict[str, Any]:
        usage = self.reply.usage
        cached = usage.get("cache_read", 0)
        return {
            "prompt_tokens": usage["input"] + cached,
            "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + cached + usage["output"],
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def whole(self) -> bytes:
        reply = self.reply
        message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.texts) or None}
        if reply.thoughts:
            message["reasoning_content"] = "".join(reply.thoughts)
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": arguments_text(call)},
                }
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return dumps({"id": self.id, "object": "chat.completion", "choices": [choice], "usage": self._usage})

    @staticmethod
    def error_event(error: Any) -> bytes:
        return b"data: " + dumps(error) + b"\n\n"

    @staticmethod
    def refusal(status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kinds = {401: "invalid_request_error", 429: "requests", 500: "server_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class MessagesWire:
    def __init__(self, reply: Reply, model: str, number: int) -> None:
        self.reply, self.model = reply, model
        self.id = f"msg_fake_{number}"
        self.signature = f"sig-{number}"

    @staticmethod
    def _event(kind: str, **data: Any) -> bytes:
        return b"event: " + kind.encode() + b"\ndata: " + dumps({"type": kind, **data}) + b"\n\n"

    def head(self) -> bytes:
        usage = self.reply.usage
        counted = {
            "input_tokens": usage["input"],
            "cache_read_input_tokens": usage.get("cache_read", 0),
            "cache_creation_input_tokens": usage.get("cache_write", 0),
            "output_tokens": 1,
        }
        message = {
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": counted,
        }  # fmt: skip
        return self._event("message_start", message=message) + self._event("ping")

    def events(self) -> list[bytes]:
        out: list[bytes] = []
        index = 0
        for kind, delta, words in (
            ("thinking", "thinking_delta", self.reply.thoughts),
            ("text", "text_delta", self.reply.texts),
        ):
            if not words:
                continue
            block = [
                self._event("content_block_delta", index=index, delta={"type": delta, kind: word}) for word in words
            ]
            block[0] = (
                self._event("content_block_start", index=index, content_block={"type": kind, kind: ""}) + block[0]
            )
            if kind == "thinking":
                signed = {"type": "signature_delta", "signature": self.signature}
                block[-1] += self._event("content_block_delta", index=index, delta=signed)
            block[-1] += self._event("content_block_stop", index=index)
            out += block
            index += 1
        for call in self.reply.calls:
            start = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}}
            out.append(self._event("content_block_start", index=index, content_block=start))
            text = arguments_text(call)
            for at in range(0, len(text), 24):
                part = {"type": "input_json_delta", "partial_json": text[at : at + 24]}
                out.append(self._event("content_block_delta", index=index, delta=part))
            out.append(self._event("content_block_stop", index=index))
            index += 1
        return out

    def tail(self) -> bytes:
        delta = {"stop_reason": self._stop, "stop_sequence": None}
        usage = {"output_tokens": self.reply.usage["output"]}
        return self._event("message_delta", delta=delta, usage=usage) + self._event("message_stop")

    @property
    def _stop(self) -> str:
        return self.reply.stop or ("tool_use" if self.reply.calls else "end_turn")

    def whole(self) -> bytes:
        content: list[dict[str, Any]] = []
        if self.reply.thoughts:
            signed = {"thinking": "".join(self.reply.thoughts), "signature": self.signature}
            content.append({"type": "thinking", **signed})
        if self.reply.texts:
            content.append({"type": "text", "text": "".join(self.reply.texts)})
        content += [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
            for call in self.reply.calls
        ]
        usage = {"input_tokens": self.reply.usage["input"], "output_tokens": self.reply.usage["output"]}
        return dumps(
            {
                "id": self.id,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": content,
                "stop_reason": self._stop,
                "stop_sequence": None,
                "usage": usage,
            }
        )

    @staticmethod
    def error_event(error: Any) -> bytes:
        return b"event: error\ndata: " + dumps(error) + b"\n\n"

    @staticmethod
    def refusal(status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kinds = {
            400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
            404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
            504: "timeout_error", 529: "overloaded_error",
        }  # fmt: skip
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}
