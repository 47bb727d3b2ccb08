"""The Responses family of the fake: a decided reply as its bytes, and what the vendor refuses. No product code."""

import json
import re
from typing import Any

from .model_rules import NAME, Refused, check_choice, check_image, need
from .model_wire import Reply, arguments_text, dumps

FIELDS = {"model", "input", "max_output_tokens", "stream", "tools", "tool_choice", "text", "reasoning", "store"} | {
    "prompt_cache_key", "temperature", "top_p", "parallel_tool_calls", "metadata", "instructions"
}  # fmt: skip
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class ResponsesWire:
    def __init__(self, reply: Reply, model: str, number: int) -> None:
        self.reply, self.model, self.number = reply, model, number
        self.sequence = 0

    def _event(self, kind: str, **data: Any) -> bytes:
        self.sequence += 1
        value = {"type": f"response.{kind}", "sequence_number": self.sequence, **data}
        return f"event: response.{kind}\n".encode() + b"data: " + dumps(value) + b"\n\n"

    def _items(self) -> list[dict[str, Any]]:
        """The whole output."""
        reply, items = self.reply, []
        if reply.thoughts:
            summary = [{"type": "summary_text", "text": "".join(reply.thoughts)}]
            items.append({"type": "reasoning", "id": f"rs_{self.number}", "summary": summary})
        if reply.texts:
            content = [{"type": "output_text", "text": "".join(reply.texts), "annotations": []}]
            items.append({
                "type": "message", "id": f"msg_{self.number}", "role": "assistant", "status": "completed",
                "content": content,
            })  # fmt: skip
        items += [
            {
                "type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": call["name"],
                "arguments": arguments_text(call), "status": "completed",
            }
            for call in reply.calls
        ]  # fmt: skip
        return items

    def _response(self, status: str, output: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {
            "id": f"resp_fake_{self.number}", "object": "response", "status": status, "model": self.model,
            "error": None, "incomplete_details": None, "output": output, **more,
        }  # fmt: skip

    def head(self) -> bytes:
        begun = self._response("in_progress", [])
        return self._event("created", response=begun) + self._event("in_progress", response=begun)

    def events(self) -> list[bytes]:
        out: list[bytes] = []
        for index, item in enumerate(self._items()):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {**item, "status": "in_progress"}
            if item["type"] == "reasoning":
                parts = [
                    self._event("reasoning_summary_text.delta", **place, summary_index=0, delta=word)
                    for word in self.reply.thoughts
                ]
                empty["summary"] = []
            elif item["type"] == "message":
                parts = [
                    self._event("output_text.delta", **place, content_index=0, delta=word) for word in self.reply.texts
                ]
                empty["content"] = []
            else:
                text = item["arguments"]
                parts = [
                    self._event("function_call_arguments.delta", **place, delta=text[at : at + 24])
                    for at in range(0, len(text), 24)
                ] or [b""]
                parts[-1] += self._event("function_call_arguments.done", **place, arguments=text)
                empty["arguments"] = ""
            parts[0] = self._event("output_item.added", output_index=index, item=empty) + parts[0]
            parts[-1] += self._event("output_item.done", output_index=index, item=item)
            out += parts
        return out

    def tail(self) -> bytes:
        response = self._whole()
        return self._event("completed" if response["status"] == "completed" else "incomplete", response=response)

    def _whole(self) -> dict[str, Any]:
        usage = self.reply.usage
        cached = usage.get("cache_read", 0)
        counted = {
            "input_tokens": usage["input"] + cached, "output_tokens": usage["output"],
            "input_tokens_details": {"cached_tokens": cached}, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["input"] + cached + usage["output"],
        }  # fmt: skip
        if self.reply.stop:
            return self._response(
                "incomplete", self._items(), incomplete_details={"reason": self.reply.stop}, usage=counted
            )
        return self._response("completed", self._items(), usage=counted)

    def whole(self) -> bytes:
        return dumps(self._whole())

    @staticmethod
    def error_event(error: Any) -> bytes:
        return b"event: error\ndata: " + dumps(error) + b"\n\n"

    @staticmethod
    def refusal(status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kinds = {401: "invalid_request_error", 429: "requests", 500: "server_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def check_responses(body: Any) -> None:
    need(isinstance(body, dict), "We could not parse the JSON body of your request.")
    for name in ("model", "input"):
        need(name in body, f"Missing required parameter: '{name}'.")
    for name in body:
        need(name in FIELDS, f"Unknown parameter: '{name}'.")
    limit = body.get("max_output_tokens")
    need(limit is None or (type(limit) is int and limit >= 16), "Invalid 'max_output_tokens': integer below minimum")
    need(body.get("tools") is None or body["tools"], "Invalid 'tools': empty array")
    check_choice(body, ["auto", "required", "none"])
    for at, tool in enumerate(body.get("tools") or ()):
        need(set(tool) == {"type", "name", "description", "parameters"}, f"tools[{at}]: wrong fields")
        need(tool["type"] == "function" and NAME.fullmatch(tool["name"]), f"Invalid 'tools[{at}].name'")
        need(tool["parameters"].get("type") == "object", f"Invalid schema for function '{tool['name']}'")
    effort = (body.get("reasoning") or {}).get("effort")
    need(effort is None or effort in EFFORTS, f"Invalid value: '{effort}'. Supported values are: {EFFORTS}")
    verbosity = (body.get("text") or {}).get("verbosity")
    need(verbosity in (None, "low", "medium", "high"), f"Invalid value: '{verbosity}'.")
    items = body["input"]
    need(isinstance(items, list) and items, "Invalid 'input': empty array")
    calls: list[str] = []
    answered: list[str] = []
    for at, item in enumerate(items):
        _check_item(item, f"input[{at}]", at, calls, answered)
        if item.get("role") == "user":
            _none_open(calls, answered)
    _none_open(calls, answered)
    last = items[-1]
    need(last.get("role") == "user" or last.get("type") == "function_call_output", "the input must end with the user")


def _none_open(calls: list[str], answered: list[str]) -> None:
    waiting = [call for call in calls if call not in answered]
    need(not waiting, f"No tool output found for function call {', '.join(waiting)}.")


def _check_item(item: Any, where: str, at: int, calls: list[str], answered: list[str]) -> None:
    need(isinstance(item, dict), f"Invalid type for '{where}'")
    kind = item.get("type", "message")
    if kind == "function_call":
        need(set(item) == {"type", "call_id", "name", "arguments"}, f"{where}: unknown parameter")
        need(0 < len(item["call_id"]) <= 64, f"Invalid '{where}.call_id': string too long")
        need(NAME.fullmatch(item["name"]), f"Invalid '{where}.name'")
        need(item["call_id"] not in calls, f"Duplicate item found with id {item['call_id']}")
        try:
            arguments = json.loads(item["arguments"])
        except ValueError:
            raise Refused(f"Invalid '{where}.arguments': not JSON") from None
        need(isinstance(arguments, dict), f"Invalid '{where}.arguments': not an object")
        calls.append(item["call_id"])
    elif kind == "function_call_output":
        need(set(item) == {"type", "call_id", "output"}, f"{where}: unknown parameter")
        need(
            item["call_id"] in calls and item["call_id"] not in answered,
            f"No tool call found for function call output with call_id {item['call_id']}.",
        )
        need(isinstance(item["output"], str) and item["output"].strip(), f"Invalid '{where}.output'")
        answered.append(item["call_id"])
    else:
        need(kind == "message", f"Invalid value: '{kind}' ({where}.type)")
        need(set(item) - {"type"} == {"role", "content"}, f"{where}: unknown parameter")
        need(item["role"] in ("developer", "user", "assistant"), f"Invalid value: '{item['role']}' ({where}.role)")
        need(item["role"] != "developer" or at == 0, f"{where}: the developer message must come first")
        _check_content(item["content"], item["role"], where)


def _check_content(content: Any, role: str, where: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"Invalid '{where}.content': empty string")
        return
    need(role == "user" and isinstance(content, list) and content, f"Invalid '{where}.content'")
    for part in content:
        if part.get("type") == "input_text":
            need(set(part) == {"type", "text"} and part["text"].strip(), f"Invalid '{where}.content': empty text")
        else:
            need(part.get("type") == "input_image", f"Invalid value: '{part.get('type')}' ({where}.content.type)")
            match = re.fullmatch(r"data:([\w/]+);base64,(.*)", part["image_url"], re.S)
            need(match, f"{where}: Invalid 'image_url'. Expected a valid URL")
            check_image(match[1], match[2], where)
