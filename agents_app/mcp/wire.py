"""Messages of the Model Context Protocol: JSON-RPC 2.0. Pure: the links do the I/O.

Source: modelcontextprotocol.io, revisions 2024-11-05 to 2025-11-25. Of a server we take tools, and of their results
text and images; resources, prompts and sampling are neither offered nor asked for.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from halo_site.lib.text import clean

from . import schemas

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # ours first
MESSAGE_LIMIT = 16 * 1024 * 1024  # bytes of one message
MAX_TOOLS = 256  # of one server
MAX_PAGES = 64
MAX_NAME = 64  # characters of a tool's whole name
MAX_DESCRIPTION = 1_024  # characters
MAX_SCHEMA = 32 * 1024  # bytes
MAX_IMAGES = 20
MAX_PARTS = 2_000  # of one result
MAX_DEPTH = 40
METHOD_NOT_FOUND = -32601

Json = dict[str, Any]
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
# Vendors of models refuse the whole request for one such schema, so the tool is left out instead.
_AT_TOP = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class Malformed(Exception):
    """The server said something that is not what the protocol wants there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """To a request of ours. Exactly one of the two is set."""

    id: int
    result: Json | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the server. It may be answered; we know `ping` only."""

    id: int | str
    method: str


@dataclass(frozen=True, slots=True)
class Told:
    """A notification of the server."""

    method: str


Incoming = Answer | Asked | Told


def request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    return _bytes({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    return _bytes({"jsonrpc": "2.0", "method": method} | ({"params": params} if params else {}))


def reply_to(asked: Asked) -> bytes:
    """`ping` gets its pong; everything else we do not offer."""
    if asked.method == "ping":
        return _bytes({"jsonrpc": "2.0", "id": asked.id, "result": {}})
    problem = {"code": METHOD_NOT_FOUND, "message": "not offered by this client"}
    return _bytes({"jsonrpc": "2.0", "id": asked.id, "error": problem})


def _bytes(message: Json) -> bytes:
    """What a server gave is given back as it was: ids and cursors may hold half characters, or very long numbers."""
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:
        return json.dumps(message).encode()


def opening() -> Json:
    """The params of `initialize`: no capability of ours."""
    return {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {"name": "halo", "version": "1"}}


def read(data: bytes) -> list[Incoming]:
    """The messages of one line, event or body (older revisions allow a batch). Raises Malformed."""
    document = _document(data)
    return [_message(item) for item in (document if isinstance(document, list) else [document])]


def _document(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:  # halves of surrogate pairs and bad UTF-8 are mended later, not refused (SECURITY-BAR L5)
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Malformed("not JSON") from error


def _message(item: Any) -> Incoming:
    if not isinstance(item, dict):
        raise Malformed("not a message")
    number, method = item.get("id"), item.get("method")
    if isinstance(method, str):
        return Asked(number, method) if isinstance(number, int | str) else Told(method)
    if isinstance(number, str) and number.isdecimal() and len(number) < 10:
        number = int(number)  # some servers answer with the id as text
    error = item.get("error")
    if not isinstance(number, int) or isinstance(number, bool):
        raise Malformed(
            "a message without method and id" if error is None else f"an error without an id: {_said(error)}"
        )
    if error is not None:
        return Answer(number, error=_said(error))
    if not isinstance(item.get("result"), dict):
        return Answer(number, error="malformed answer: it has no result")
    return Answer(number, result=item["result"])


def _said(error: Any) -> str:
    if not isinstance(error, dict):
        return "an error without a text"
    text = error.get("message")
    code = error.get("code")
    shown = clean(text).strip()[:2_000] if isinstance(text, str) and text.strip() else "an error without a text"
    return f"{shown} ({code})" if isinstance(code, int) else shown


def version_of(opened: Json) -> str:
    """The revision the server chose. Raises Malformed for one that we do not speak."""
    version = opened.get("protocolVersion")
    if version not in VERSIONS:
        raise Malformed(f"it speaks version {str(version)[:40]!r}; Halo knows {', '.join(VERSIONS)}")
    return str(version)


# -- tools ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool. `full_name` is what the model calls, `name` what the server knows."""

    name: str
    full_name: str
    description: str
    schema: Json
    read_only: bool


def page_of(result: Json) -> tuple[list[Any], str | None]:
    """The tools of one page, and the cursor of the next. Raises Malformed."""
    tools, cursor = result.get("tools"), result.get("nextCursor")
    if not isinstance(tools, list):
        raise Malformed("its list of tools is no list")
    return tools, cursor if isinstance(cursor, str) and cursor else None


def offered(
    server: str, raw: Sequence[Any], only: Sequence[str] | None, say: Callable[[str], str] = clean
) -> tuple[tuple[Offered, ...], tuple[str, ...]]:
    """The tools as models may have them, by name, and a warning for each that was dropped.

    only: names to keep. say: cleans and masks a text.
    """
    found: dict[str, Offered] = {}
    warnings: list[str] = []
    for item in raw[:MAX_TOOLS]:
        try:
            tool = _tool(server, item, say)
        except Malformed as error:
            warnings.append(str(error))
            continue
        if only is not None and tool.name not in only:
            continue
        if len(tool.full_name) > MAX_NAME:
            warnings.append(f"{tool.full_name[:80]}: dropped, the name is longer than {MAX_NAME} characters")
        elif tool.full_name in found:
            warnings.append(f"{tool.full_name}: dropped, the name is there twice")
        else:
            found[tool.full_name] = tool
    if len(raw) > MAX_TOOLS:
        warnings.append(f"{len(raw) - MAX_TOOLS} tools after the first {MAX_TOOLS} were dropped")
    known = {tool.name for tool in found.values()}
    warnings += [f"{server} has no tool {name!r}" for name in only or () if name not in known]
    return tuple(found[name] for name in sorted(found)), tuple(warnings)


def _tool(server: str, item: Any, say: Callable[[str], str]) -> Offered:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"]:
        raise Malformed("a tool without a name was dropped")
    name = clean(item["name"])
    full_name = f"mcp__{server}__{_ODD.sub('_', name)}"  # vendors of models take no other characters
    schema = _schema(full_name[:80], item.get("inputSchema"), say)
    description, hints = item.get("description"), item.get("annotations")
    return Offered(
        name=name,
        full_name=full_name,
        description=(say(description)[:MAX_DESCRIPTION] if isinstance(description, str) else "")
        or f"{name} of {server}",
        schema=schema,
        read_only=isinstance(hints, dict) and hints.get("readOnlyHint") is True,
    )


def _schema(tool: str, raw: Any, say: Callable[[str], str]) -> Json:
    """As given, if models can be told of it. Raises Malformed."""
    if not isinstance(raw, dict) or raw.get("type") != "object" or not isinstance(raw.get("properties", {}), dict):
        raise Malformed(f"{tool}: dropped, its schema describes no object")
    if _depth(raw) > MAX_DEPTH:
        raise Malformed(f"{tool}: dropped, its schema is deeper than {MAX_DEPTH} levels")
    if odd := _AT_TOP & raw.keys():
        raise Malformed(f"{tool}: dropped, models take no {min(odd)} at the top of a schema")
    if not all(_PROPERTY.fullmatch(key) for key in raw.get("properties", {})):
        raise Malformed(f"{tool}: dropped, models do not take the names of its arguments")
    if wrong := schemas.first_fault(raw):
        raise Malformed(f"{tool}: dropped, its schema is not valid at {clean(wrong)[:80]}")
    schema: Json = _said_in({"properties": {}} | raw, say)
    try:
        size = len(orjson.dumps(schema))
    except TypeError as error:  # a number that no model request can hold
        raise Malformed(f"{tool}: dropped, its schema cannot be passed on") from error
    if size > MAX_SCHEMA:
        raise Malformed(f"{tool}: dropped, its schema is larger than {MAX_SCHEMA // 1024} KiB")
    return schema


def _said_in(value: Any, say: Callable[[str], str]) -> Any:
    """Every text in a value of bounded depth, through `say`."""
    if isinstance(value, str):
        return say(value)
    if isinstance(value, dict):
        return {say(key): _said_in(item, say) for key, item in value.items()}
    return [_said_in(item, say) for item in value] if isinstance(value, list) else value


def _depth(value: Any) -> int:
    """Levels, counted without recursion: a parser may allow more than Python's stack does."""
    level, items = 0, [value]
    while items and level <= MAX_DEPTH:
        level += 1
        items = [
            inner
            for item in items
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return level


# -- results -------------------------------------------------------------------------------------------------------

Kind = Literal["text", "image", "left_out"]


@dataclass(frozen=True, slots=True)
class Part:
    """text: the text, or why an image or another kind is left out. data: bytes of an image, not yet looked at."""

    kind: Kind
    text: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Called:
    parts: tuple[Part, ...]
    is_error: bool


def called(result: Json) -> Called:
    """The result of `tools/call`. Raises Malformed."""
    content = result.get("content", [])
    if not isinstance(content, list):
        raise Malformed("its result has no list of parts")
    parts = [_part(item) for item in content[:MAX_PARTS]]
    if len(content) > MAX_PARTS:
        parts.append(Part("left_out", f"{len(content) - MAX_PARTS} parts after the first {MAX_PARTS}"))
    structured = result.get("structuredContent")
    if isinstance(structured, dict) and not any(part.kind == "text" for part in parts):
        if _depth(structured) > MAX_DEPTH:
            raise Malformed(f"its structured content is deeper than {MAX_DEPTH} levels")
        parts.append(Part("text", json.dumps(structured, indent=2, ensure_ascii=False)))
    images = [part for part in parts if part.kind == "image"]
    if len(images) > MAX_IMAGES:
        late = set(map(id, images[MAX_IMAGES:]))
        parts = [Part("left_out", f"an image beyond the first {MAX_IMAGES}") if id(p) in late else p for p in parts]
    return Called(tuple(parts), result.get("isError") is True)


def _part(item: Any) -> Part:
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        raise Malformed("a part of its result has no type")
    match item["type"]:
        case "text":
            if not isinstance(item.get("text"), str):
                raise Malformed("a text of its result is no text")
            return Part("text", item["text"])
        case "image":
            try:
                return Part("image", data=base64.b64decode(item.get("data") or "", validate=True))
            except (binascii.Error, ValueError, TypeError):
                raise Malformed("an image of its result is not base64") from None
        case kind:
            return Part("left_out", f"a part of kind {_ODD.sub('_', kind)[:40]}, which Halo does not take")
