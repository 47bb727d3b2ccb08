"""What the real vendors refuse, checked as strictly as the strictest of them. Imports nothing of the product."""

import base64
import binascii
import json
import re
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MESSAGES_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SIGNATURE = "sig-"  # every signature this fake hands out starts like this; others are refused
MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
MESSAGES_FIELDS = {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking"} | {
    "output_config", "metadata", "stop_sequences", "temperature", "top_p", "top_k"
}  # fmt: skip
CHAT_FIELDS = {"model", "messages", "max_tokens", "max_completion_tokens", "tools", "tool_choice", "stream"} | {
    "stream_options", "reasoning_effort", "thinking", "prompt_cache_key", "temperature", "top_p", "stop"
}  # fmt: skip
CHAT_MESSAGE_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
}


class Refused(Exception):
    """The request breaks a rule. `code`: the vendor's machine-readable name for it."""

    def __init__(self, message: str, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def need(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)


def check_image(media_type: str, data: str, where: str) -> None:
    need(media_type in MAGIC, f"{where}: unsupported image media type {media_type!r}")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(f"{where}: invalid base64 data") from None
    need(raw.startswith(MAGIC[media_type]), "Could not process image")
    need(len(raw) <= 5 * 1024 * 1024, f"{where}: image exceeds 5 MB maximum")


def check_choice(body: dict[str, Any], known: list[Any]) -> None:
    """Whether the model must, may or must not call tools, in the form of the family."""
    if "tool_choice" in body:
        need(body.get("tools"), "tool_choice may only be specified while providing tools")
        need(body["tool_choice"] in known, f"tool_choice: unknown value {body['tool_choice']!r}")


# Anthropic Messages ---------------------------------------------------------------------------------------------------


def check_messages(body: Any) -> None:
    need(isinstance(body, dict), "body: Input should be an object")
    for name in ("model", "max_tokens", "messages"):
        need(name in body, f"{name}: Field required")
    for name in body:
        need(name in MESSAGES_FIELDS, f"{name}: Extra inputs are not permitted")
    need(isinstance(body["model"], str) and body["model"], "model: Input should be a valid string")
    need(_whole(body["max_tokens"]) and body["max_tokens"] >= 1, "max_tokens: must be greater than or equal to 1")
    marks = _check_system(body.get("system")) + _check_messages_tools(body.get("tools"))
    check_choice(body, [{"type": word} for word in ("auto", "any", "none")])
    thinking = body.get("thinking") or {"type": "disabled"}
    need(thinking.get("type") in ("enabled", "disabled", "adaptive"), "thinking.type: unknown")
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens")
        need(_whole(budget) and budget >= 1024, "thinking.enabled.budget_tokens: must be at least 1024")
        need(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`")
    messages = body["messages"]
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    expected = "user"
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        need(set(message) == {"role", "content"}, f"{where}: needs role and content, and nothing else")
        need(message["role"] == expected, f"{where}: roles must alternate between user and assistant")
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        need(isinstance(blocks, list) and blocks, f"{where}: all messages must have non-empty content")
        results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        if expected == "user":
            unanswered = [call for call in waiting if call not in results]
            need(
                not unanswered,
                f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {unanswered}",
            )
            for result in results:
                need(result in waiting, f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {result}")
            need(len(results) == len(set(results)), f"{where}: each tool_use must have a single result")
        waiting = []
        for inner, block in enumerate(blocks):
            marks += _check_block(block, expected, f"{where}.content.{inner}", inner, blocks, waiting, seen)
        expected = "assistant" if expected == "user" else "user"
    last = next((message["content"] for message in reversed(messages) if message["role"] == "assistant"), ())
    if thinking["type"] == "enabled" and any(block["type"] == "tool_use" for block in last if isinstance(block, dict)):
        need(last[0]["type"] in ("thinking", "redacted_thinking"), "Expected `thinking`, but found `tool_use`")
    need(messages[-1]["role"] == "user", "the conversation must end with a user message")
    need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _check_system(system: Any) -> int:
    if system is None or isinstance(system, str):
        return 0
    need(isinstance(system, list) and system, "system: Input should be a valid list")
    for block in system:
        need(block.get("type") == "text" and str(block.get("text")).strip(), "system: text content must be non-empty")
    return sum(_check_mark(block) for block in system)


def _check_messages_tools(tools: Any) -> int:
    marks = 0
    names: list[str] = []
    for at, tool in enumerate(tools or ()):
        need(set(tool) - {"cache_control"} == {"name", "description", "input_schema"}, f"tools.{at}: wrong fields")
        need(NAME.fullmatch(tool["name"]), f"tools.{at}.name: String should match pattern")
        need(tool["input_schema"].get("type") == "object", f"tools.{at}.input_schema.type: should be 'object'")
        marks += _check_mark(tool)
        names.append(tool["name"])
    need(len(names) == len(set(names)), "tools: Tool names must be unique.")
    return marks


def _check_mark(block: dict[str, Any]) -> int:
    mark = block.get("cache_control")
    if mark is None:
        return 0
    need(mark.get("type") == "ephemeral" and mark.get("ttl", "5m") in ("5m", "1h"), "cache_control: unknown")
    return 1


def _check_block(
    block: Any, role: str, where: str, at: int, blocks: list[Any], waiting: list[str], seen: set[str]
) -> int:
    need(isinstance(block, dict) and isinstance(block.get("type"), str), f"{where}: missing type")
    kind = block["type"]
    fields = {
        "text": {"text"},
        "image": {"source"},
        "tool_use": {"id", "name", "input"},
        "tool_result": {"tool_use_id", "content", "is_error"},
        "thinking": {"thinking", "signature"},
        "redacted_thinking": {"data"},
    }
    need(kind in fields, f"{where}: Input tag {kind!r} does not match any of the expected tags")
    extra = set(block) - fields[kind] - {"type", "cache_control"}
    need(not extra, f"{where}: Extra inputs are not permitted: {sorted(extra)}")
    need((role == "user") == (kind in ("tool_result", "image")) or kind == "text", f"{where}: {kind} in role {role}")
    if kind == "text":
        need(isinstance(block.get("text"), str) and block["text"].strip(), f"{where}: text content must be non-empty")
    elif kind == "image":
        source = block["source"]
        need(set(source) == {"type", "media_type", "data"} and source["type"] == "base64", f"{where}: source")
        check_image(source["media_type"], source["data"], where)
    elif kind == "tool_use":
        need(MESSAGES_ID.fullmatch(block["id"]), f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        need(NAME.fullmatch(block["name"]), f"{where}.name: String should match pattern")
        need(isinstance(block["input"], dict), f"{where}.input: Input should be a valid dictionary")
        need(block["id"] not in seen, f"{where}: `tool_use` ids must be unique")
        seen.add(block["id"])
        waiting.append(block["id"])
    elif kind == "tool_result":
        need(all(one["type"] == "tool_result" for one in blocks[:at]), f"{where}: tool_result blocks must come first")
        _check_result(block.get("content"), where)
    elif kind == "thinking":
        need(str(block.get("signature", "")).startswith(SIGNATURE), f"{where}: Invalid `signature` in `thinking` block")
        need("cache_control" not in block, f"{where}: cache_control cannot be set for thinking blocks")
    return _check_mark(block)


def _check_result(content: Any, where: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: text content must be non-empty")
        return
    need(isinstance(content, list) and content, f"{where}: tool_result content must be non-empty")
    for part in content:
        need(part.get("type") in ("text", "image"), f"{where}: unknown part")
        if part["type"] == "image":
            check_image(part["source"]["media_type"], part["source"]["data"], where)
        else:
            need(part["text"].strip(), f"{where}: text content must be non-empty")


# Chat completions -----------------------------------------------------------------------------------------------------


def check_chat(body: Any) -> None:
    need(isinstance(body, dict), "We could not parse the JSON body of your request.")
    for name in ("model", "messages"):
        need(name in body, f"you must provide a {name} parameter")
    for name in body:
        need(name in CHAT_FIELDS, f"Unrecognized request argument supplied: {name}")
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    need(limit is None or (_whole(limit) and limit >= 1), "max_tokens is too small")
    for at, tool in enumerate(body.get("tools") or ()):
        need(set(tool) == {"type", "function"} and tool["type"] == "function", f"tools.{at}: wrong fields")
        need(set(tool["function"]) == {"name", "description", "parameters"}, f"tools.{at}.function: wrong fields")
        need(NAME.fullmatch(tool["function"]["name"]), f"tools.{at}.function.name: does not match the pattern")
    need(body.get("tools") is None or body["tools"], "[] is too short - 'tools'")
    check_choice(body, ["auto", "required", "none"])
    messages = body["messages"]
    need(isinstance(messages, list) and messages, "[] is too short - 'messages'")
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for at, message in enumerate(messages):
        where = f"messages.[{at}]"
        role = message.get("role")
        need(role in CHAT_MESSAGE_FIELDS, f"{where}.role: invalid value {role!r}")
        extra = set(message) - CHAT_MESSAGE_FIELDS[role]
        need(not extra, f"{where}: additional properties are not allowed: {sorted(extra)}")
        if role == "tool":
            call = message.get("tool_call_id")
            need(
                call in waiting,
                f"{where}: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
            )
            waiting.remove(call)
            need(isinstance(message.get("content"), str) and message["content"].strip(), f"{where}: empty content")
        else:
            need(
                not waiting,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            )
            need(role != before, f"{where}: roles must alternate")
            need(role != "system" or at == 0, f"{where}: the system message must come first")
            if role == "assistant":
                waiting = _check_assistant(message, where, seen)
            else:
                _check_content(message.get("content"), where)
        before = role
    need(not waiting, f"The following tool_call_ids did not have response messages: {', '.join(waiting)}")
    need(messages[-1]["role"] in ("user", "tool"), "the conversation must end with a user or tool message")


def _check_assistant(message: dict[str, Any], where: str, seen: set[str]) -> list[str]:
    calls = message.get("tool_calls")
    need(calls is None or (isinstance(calls, list) and calls), f"{where}.tool_calls: [] is too short")
    content = message.get("content")
    need((content is None and calls) or (isinstance(content, str) and content.strip()), f"{where}: missing content")
    ids = []
    for call in calls or ():
        need(
            set(call) == {"id", "type", "function"} and call["type"] == "function", f"{where}.tool_calls: wrong fields"
        )
        need(0 < len(call["id"]) <= 40, f"{where}.tool_calls.id: string too long. Expected a maximum length of 40")
        need(call["id"] not in seen, f"{where}.tool_calls.id: duplicate")
        need(NAME.fullmatch(call["function"]["name"]), f"{where}.tool_calls.function.name: does not match the pattern")
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            raise Refused(f"{where}.tool_calls.function.arguments: not valid JSON") from None
        need(isinstance(arguments, dict), f"{where}.tool_calls.function.arguments: not an object")
        seen.add(call["id"])
        ids.append(call["id"])
    return ids


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: missing content")
        return
    need(isinstance(content, list) and content, f"{where}: missing content")
    for part in content:
        kind = part.get("type")
        if kind == "text":
            need(part["text"].strip(), f"{where}: empty text part")
        else:
            need(kind == "image_url", f"{where}: invalid part type {kind!r}")
            match = re.fullmatch(r"data:([\w/]+);base64,(.*)", part["image_url"]["url"], re.S)
            need(match, f"{where}: invalid image_url")
            check_image(match[1], match[2], where)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
