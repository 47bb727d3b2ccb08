"""A strict fake of the model vendors, on loopback. Imports nothing of the product.

Families: chat completions, Messages, Responses, Bedrock InvokeModel with a response stream.

In a test:

    async with FakeModelServer() as server:
        server.will(text="Hello")                         # the next call
        server.will(status=429, retry_after="1")          # the one after it
        ... endpoint = server.chat  (or .messages, .responses, .bedrock)
        assert server.requests[0]["body"]["model"] == "m"

As a process, for harnesses: `python -m tests.fakes.model_server --port 9700 --log calls.jsonl`, steered by
`POST /control {"defaults": {...}, "queue": [{...}], "script": [{...}], "strict": true, "window": 8000}`, read by
`GET /requests?n=20`, `GET /control`, cleared by `POST /reset`.

A reply is decided by, later ones winning: defaults, `script` (step k answers the k-th call since the last user message,
the last one repeats), the model name (`fake:tokens=5,delay=2`), a directive in the last user message
(`[[fake tokens=200 delay=10 tool=NAME args={...}]]`), and `queue` (one step per call, used up). See model_wire.Step.

Every request is checked by model_rules and refused as the real vendor would; every request is kept, with its body.
"""

import argparse
import asyncio
import json
import socket
import struct
import sys
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from .bedrock_wire import BedrockWire, check_bedrock, check_signature
from .model_rules import Refused, check_chat, check_messages
from .model_wire import ChatWire, MessagesWire, Step, directive, dumps, reply_of
from .responses_wire import ResponsesWire, check_responses

AnyWire = ChatWire | MessagesWire | ResponsesWire
Wire = type[ChatWire] | type[MessagesWire] | type[ResponsesWire]
FAMILIES: dict[str, Wire] = {
    "/chat/completions": ChatWire,
    "/messages": MessagesWire,
    "/responses": ResponsesWire,
    "/invoke-with-response-stream": BedrockWire,
}
CHECKS = {
    ChatWire: check_chat, MessagesWire: check_messages, ResponsesWire: check_responses, BedrockWire: check_bedrock
}  # fmt: skip
BODY_LIMIT = 64 * 1024 * 1024
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class ClientGone(Exception):
    pass


class FakeModelServer:
    def __init__(self, port: int = 0, log: Path | None = None) -> None:
        self.port = port
        self.log = log
        self.defaults = Step()
        self.queue: deque[dict[str, Any]] = deque()
        self.script: list[dict[str, Any]] = []
        self.strict = True
        self.key = ""  # when set, requests must carry it
        self.aws_keys = {"AKIAFAKE": "sk-test-0123456789abcdef"}  # secret by key id, for signed requests
        self.window = 0  # tokens (4 bytes each) that fit; 0 = any number
        self.models = ["fake", "fake-large"]
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.reset()

    # Steering ----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self._failed: dict[str, int] = {}
        self._changed = asyncio.Event()

    def will(self, **step: Any) -> None:
        """How the next unplanned call is answered."""
        Step().merged(step)  # complains about unknown settings now, not in the server
        self.queue.append(step)

    async def wait_for(self, count: int, *, done: bool = False, seconds: float = 60.0) -> list[dict[str, Any]]:
        """Wait until `count` requests have come (or have been answered to their end, or dropped)."""
        async with asyncio.timeout(seconds):
            while sum(1 for request in self.requests if not done or request["ended"]) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.requests

    @property
    def chat(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def messages(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    responses = chat
    bedrock = messages

    # Life ----------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def hang_up(self) -> None:
        """Close every connection, as a vendor does with idle ones, and let the other side notice."""
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(10):
            await asyncio.sleep(0.001)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self.hang_up()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.connections += 1
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while await self._serve(reader, writer):
                pass
        except (ClientGone, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    # HTTP ----------------------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request. False = the connection is over."""
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        size = int(headers.get("content-length", 0))
        if size > BODY_LIMIT:
            return False
        body = await reader.readexactly(size)
        address = urlsplit(target)
        path = address.path.rstrip("/")
        wire = next((FAMILIES[end] for end in FAMILIES if path.endswith(end)), None)
        if method == "POST" and wire is not None:
            return await self._complete(wire, path, headers, body, reader, writer)
        status, answer = self._side_route(method, path, parse_qs(address.query), body)
        self._send(writer, status, dumps(answer))
        await writer.drain()
        return True

    def _side_route(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Any]:
        match method, path:
            case "GET", "/health":
                return 200, {"status": "ok"}
            case "GET", "/requests":
                return 200, self.requests[-int(query.get("n", ["20"])[0]) :]
            case "GET", "/control":
                return 200, self._state()
            case "POST", "/reset":
                self.reset()
                return 200, {"ok": True}
            case "POST", "/control":
                try:
                    self._control(json.loads(body or b"{}"))
                except (ValueError, TypeError) as error:
                    return 400, {"error": str(error)}
                return 200, self._state()
            case "GET", _ if path.endswith("/models"):
                return 200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        return 404, {"error": {"message": f"Invalid URL ({method} {path})", "type": "invalid_request_error"}}

    def _state(self) -> dict[str, Any]:
        return {
            "calls": len(self.requests),
            "in_flight": sum(1 for request in self.requests if not request["ended"]),
            "aborted": sum(1 for request in self.requests if request["outcome"] == "aborted"),
            "refused": sum(1 for request in self.requests if request["outcome"] == "refused"),
            "queue": list(self.queue),
        }

    def _control(self, values: dict[str, Any]) -> None:
        if "defaults" in values:
            self.defaults = Step().merged(values["defaults"])
        for step in values.get("queue", ()):
            self.will(**step)
        if "script" in values:
            self.script = list(values["script"] or ())
        self.strict = bool(values.get("strict", self.strict))
        self.window = int(values.get("window", self.window))
        self.key = str(values.get("key", self.key))

    @staticmethod
    def _send(
        writer: asyncio.StreamWriter, status: int, body: bytes, *extra: str, kind: str = "application/json"
    ) -> None:
        head = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"content-type: {kind}", *extra]
        head.append(f"content-length: {len(body)}")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    # A model call --------------------------------------------------------------------------------------------------

    async def _complete(
        self, wire: Wire, path: str, headers: dict[str, str], raw: bytes,
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    ) -> bool:  # fmt: skip
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        entry: dict[str, Any] = {
            "n": len(self.requests) + 1,
            "time": time.time(),
            "path": path,
            "key": self._key_of(headers),
            "headers": headers,
            "body": body,
            "outcome": "open",
            "error": "",
            "ended": False,
        }
        self.requests.append(entry)
        self._changed.set()
        model = str(body.get("model") if isinstance(body, dict) else "")
        if wire is BedrockWire:
            model = unquote(path.split("/")[-2])
        try:
            step, last_user, rounds = self._decide(body, model)
            try:
                self._check(wire, path, headers, body, raw)
            except Refused as refused:
                entry.update(outcome="refused", error=str(refused))
                self._send(writer, refused.status, dumps(wire.refusal(refused.status, str(refused), refused.code)))
                await writer.drain()
                return True
            reply = reply_of(step, last_user, rounds, entry["n"], len(raw) // 4)
            call = _Answer(wire(reply, model, entry["n"]), step, reader, writer)
            go_on = await call.give(wire is BedrockWire or bool(body.get("stream")))
            entry["outcome"] = "done" if step.status == 200 and go_on else "fault"
            return go_on
        except (ClientGone, ConnectionError):
            entry["outcome"] = "aborted"
            return False
        finally:
            if entry["outcome"] == "open":
                entry["outcome"] = "aborted"
            entry["ended"] = True
            self._changed.set()
            if self.log is not None:
                with self.log.open("ab") as file:
                    file.write(dumps(entry) + b"\n")

    def _key_of(self, headers: dict[str, str]) -> str:
        """The key a request carries; of a signed one the secret that belongs to the key id it names."""
        sent = headers.get("authorization", "")
        if sent.startswith("AWS4-"):
            return self.aws_keys.get(sent.partition("Credential=")[2].partition("/")[0], "")
        return headers.get("x-api-key") or sent.removeprefix("Bearer ")

    def _decide(self, body: Any, model: str) -> tuple[Step, str, int]:
        last_user, rounds = _read_conversation(body)
        step = self.defaults
        if self.script:
            step = step.merged(self.script[min(rounds, len(self.script) - 1)])
        if ":" in model:
            step = step.merged(dict(pair.split("=", 1) for pair in model.partition(":")[2].split(",") if "=" in pair))
        step = step.merged(directive(last_user))
        if self.queue:
            step = step.merged(self.queue.popleft())
        if _forbids_calls(body) and not step.stubborn:
            step = step.merged({"tool": "", "tool_calls": []})
        if step.fails:
            failed = self._failed.get(last_user, 0)
            self._failed[last_user] = failed + 1
            if failed >= step.fails:
                step = step.healthy()
        return step, last_user, rounds

    def _check(self, wire: Wire, path: str, headers: dict[str, str], body: Any, raw: bytes) -> None:
        key = self._key_of(headers)
        if headers.get("authorization", "").startswith("AWS4-"):
            check_signature("POST", path, headers, raw, self.aws_keys)
        if self.key and key != self.key:
            raise Refused(f"Incorrect API key provided: {key}", status=401, code="invalid_api_key")
        if self.strict:
            try:
                CHECKS[wire](body)
            except (KeyError, TypeError, AttributeError) as error:
                raise Refused(f"malformed request: {error!r}") from error
        if self.window and len(raw) // 4 > self.window:
            raise Refused(
                f"prompt is too long: {len(raw) // 4} tokens > {self.window} maximum",
                code="context_length_exceeded" if wire in (ChatWire, ResponsesWire) else None,
            )


def _forbids_calls(body: Any) -> bool:
    return isinstance(body, dict) and body.get("tool_choice") in ("none", {"type": "none"})


def _read_conversation(body: Any) -> tuple[str, int]:
    """(text of the last message a person wrote, model calls since)."""
    rounds = 0
    messages = (body.get("messages") or body.get("input")) if isinstance(body, dict) else None
    inside = False  # an answer of the Responses family is several items
    for message in reversed(messages if isinstance(messages, list) else []):
        role = message.get("role")
        ours = role == "assistant" or message.get("type") == "function_call"
        rounds += ours and not inside
        inside = ours and "input" in body
        if ours:
            continue
        if role == "user" and (text := _text(message.get("content"))):
            return text, rounds
    return "", rounds


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if part.get("type") in ("text", "input_text"))


class _Answer:
    """Sends one decided reply, with its faults."""

    def __init__(self, wire: AnyWire, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.wire, self.step, self.reader, self.writer = wire, step, reader, writer
        self.sent = 0

    async def give(self, stream: bool) -> bool:
        """True when the connection can be used again. Raises ClientGone."""
        step = self.step
        await self._pause(step.ttft)
        if step.hang == "headers":
            await self._pause(None)
        if step.status != 200:
            self._refuse()
            await self.writer.drain()
            return True
        if step.raw is None and (step.json or not stream):
            kind = step.content_type or "application/json"
            FakeModelServer._send(self.writer, 200, self.wire.whole(), kind=kind)
            await self.writer.drain()
            return True
        binary = isinstance(self.wire, BedrockWire)
        kind = "application/vnd.amazon.eventstream" if binary else "text/event-stream; charset=utf-8"
        kind = step.content_type or kind
        head = ("HTTP/1.1 200 OK", f"content-type: {kind}", "cache-control: no-cache", "transfer-encoding: chunked")
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n")
        if step.raw is not None:
            whole = await self._body(step.raw.encode("utf-8", "surrogateescape"))
            if step.hang == "stream":
                await self._pause(None)
        else:
            whole = await self._stream()
        if whole:
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()
        return whole

    def _refuse(self) -> None:
        step = self.step
        error = step.error
        if error is None:
            error = self.wire.refusal(step.status, "scripted failure")
        body = error.encode() if isinstance(error, str) else dumps(error)
        extra = [f"retry-after: {step.retry_after}"] if step.retry_after else []
        kind = "text/html" if isinstance(error, str) else "application/json"
        FakeModelServer._send(self.writer, step.status, body, *extra, kind=kind)

    async def _stream(self) -> bool:
        step = self.step
        content = [event for event in self.wire.events() for _ in range(step.repeat)]
        pending = self.wire.head()
        began = time.perf_counter()
        for at, event in enumerate(content):
            if at == step.after and (step.sse_error is not None or step.hang == "stream"):
                break
            if at and step.delay:  # an absolute schedule: errors of the timer do not add up
                await self._pause(began * 1000 + at * step.delay - time.perf_counter() * 1000)
            if not await self._body(pending + event):
                return False
            pending = b""
        if step.hang == "stream":
            await self._body(pending)
            await self._pause(None)
        if step.sse_error is not None:
            return await self._body(pending + self.wire.error_event(step.sse_error))
        return await self._body(pending + self.wire.tail())

    async def _body(self, data: bytes) -> bool:
        """Bytes of the body; False when a cut or reset of the step ended it."""
        step = self.step
        if step.line_end != "\n" and not isinstance(self.wire, BedrockWire):
            data = data.replace(b"\n", step.line_end.encode())
        end = max(step.reset, step.cut, step.close)
        if end >= 0:
            data = data[: max(0, end - self.sent)]
        self.sent += len(data)
        size = step.split or len(data) or 1
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await self.writer.drain()
        if 0 <= end <= self.sent:
            if step.cut >= 0:
                self.writer.write(b"0\r\n\r\n")
                await self.writer.drain()
            elif step.reset >= 0:
                linger = struct.pack("ii", 1, 0)
                self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.writer.transport.abort()
            return False
        if self.reader.at_eof():
            raise ClientGone
        return True

    async def _pause(self, milliseconds: float | None) -> None:
        """Wait (None = for ever), but not for a client that has gone."""
        if milliseconds is not None and milliseconds <= 0:
            return
        try:
            async with asyncio.timeout(None if milliseconds is None else milliseconds / 1000):
                await self.reader.read(1)  # nobody sends anything now: this ends when the client hangs up
        except TimeoutError:
            return
        raise ClientGone


async def run(port: int, log: Path | None) -> None:
    async with FakeModelServer(port, log) as server:
        print(f"listening on 127.0.0.1:{server.port}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A strict fake of model vendors on loopback")
    parser.add_argument("--port", type=int, default=9700)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    try:
        asyncio.run(run(options.port, options.log))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
