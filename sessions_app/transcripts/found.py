"""A conversation as a file tells it, checked: the file may come from anywhere. Pure.

What could act is not believed: paths of pictures outside the workspace, keys of meta that nobody knows, senders.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Annotated, Any, Literal

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from halo_site.lib.ids import LONGEST_SID
from halo_site.lib.text import clean_json

MAX_ID = (1 << 63) - 1
META = frozenset(
    [
        "turn_id",
        "final",
        "partial",
        "hidden",
        "reset",
        "cleared",
        "images_removed",
        "usage",
        "model",
        "cost_micros",
        "currency",
        "tool_use_id",
        "name",
        "duration_ms",
        "outcome",
        "level",
        "code",
        "covers",
        "model_text",
        "note",
    ]
)
ORIGINS = frozenset(["person", "channel", "relay", "agent", "report", "skill", "cron", "goal", "nudge", "kick"])
LOST_IMAGE = {"type": "text", "text": "[image not imported]"}

Block = dict[str, Any]


class _Line(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Header(_Line):
    id: str = Field(max_length=LONGEST_SID)
    agent_id: str = Field(pattern=r"^\w[\w-]*$", max_length=128)
    agent_name: Annotated[str, Field(max_length=255)] = ""
    title: Annotated[str | None, Field(max_length=255)] = None
    description: str | None = ""
    parent_session_id: str | None = None
    working_dir: str | None = None
    access_level: str | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    stopped_at: AwareDatetime | None = None
    archived_at: AwareDatetime | None = None
    context_tokens: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    total_output_tokens: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    exchange_count: Annotated[int, Field(ge=0, le=(1 << 31) - 1)] = 0


class TurnLine(_Line):
    id: int
    index: int = 0
    status: Literal["running", "done", "error", "aborted", "interrupted"] = "done"
    stop_reason: Annotated[str, Field(max_length=32)] = ""
    error: dict[str, Any] | None = None
    model: Annotated[str, Field(max_length=255)] = ""
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None


class Said(_Line):
    kind: Literal["user", "agent", "assistant", "tool_result", "notice", "summary"]
    text: str = ""
    blocks: list[Block] = []
    meta: dict[str, Any] = {}
    origin: dict[str, Any] = {}
    in_context: bool = True
    created_at: AwareDatetime


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """id and turn: numbers of the file. deleted: number of the entry whose deletion took it along."""

    id: int
    turn: int
    said: Said
    deleted: int | None = None


@dataclass(slots=True)
class Found:
    header: Header
    turns: dict[int, TurnLine] = field(default_factory=dict)
    entries: list[FoundEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_lines(data: bytes, root: PurePath) -> Found:
    """A transcript of ours. Bad lines become `problems`; raises ValueError when no line tells of the session."""
    header: Header | None = None
    turns: dict[int, TurnLine] = {}
    entries: dict[int, FoundEntry] = {}
    deleted: dict[int, int] = {}
    problems = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = clean_json(orjson.loads(line))
            match record["kind"]:
                case "session":
                    header = Header.model_validate(record)
                    if record.get("after") == 0:
                        turns, entries, deleted = {}, {}, {}
                case "turn":
                    turn = TurnLine.model_validate(record)
                    turns[turn.id] = turn
                case "entry" if record["turn"] is not None:
                    said = trusted(Said.model_validate(record["entry"]), root)
                    entries[int(record["id"])] = FoundEntry(int(record["id"]), int(record["turn"]), said)
                case "deleted":
                    deleted = {int(key): int(by) for key, by in zip(record["ids"], record["by"], strict=True)}
                case "summary":
                    for key in record["covers"]:
                        if key in entries:
                            entries[key].said.in_context = False
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"line {number}: {_reason(error)}")
    if header is None:
        raise ValueError("no line tells which session this is")
    found = Found(header, turns, problems=problems)
    for key in sorted(entries):
        found.entries.append(replace(entries[key], deleted=deleted.get(key)))
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error) or type(error).__name__


def trusted(said: Said, root: PurePath) -> Said:
    """The same without what a file must not decide."""
    meta = {key: value for key, value in said.meta.items() if key in META}
    for key, wanted in (("covers", int), ("usage", dict), ("turn_id", str), ("tool_use_id", str)):
        if not isinstance(meta.get(key), wanted):
            meta.pop(key, None)
    kind = said.origin.get("kind")
    origin = {"kind": kind if kind in ORIGINS else "person"}
    origin |= {key: said.origin[key] for key in ("session", "name") if isinstance(said.origin.get(key), str)}
    blocks = [kept for block in said.blocks if (kept := _block(said.kind, block, root)) is not None]
    return said.model_copy(update={"meta": meta, "origin": origin, "blocks": blocks})


def _block(kind: str, block: Mapping[str, Any], root: PurePath) -> Block | None:
    def has(**types: type) -> bool:
        return all(isinstance(block.get(name), wanted) for name, wanted in types.items())

    match kind, block.get("type"):
        case "assistant", "text" if has(text=str):
            return {"type": "text", "text": block["text"]}
        case "assistant", "thinking" if has(thinking=str):
            kept = {"type": "thinking", "thinking": block["thinking"]}
            return kept | ({"signature": block["signature"]} if has(signature=str) else {})
        case "assistant", "tool_use" if has(id=str, name=str, input=dict):
            return {key: block[key] for key in ("type", "id", "name", "input")}
        case "tool_result", "tool_result" if has(tool_use_id=str):
            result = {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": _content(block)}
            return result | ({"is_error": True} if block.get("is_error") is True else {})
        case (("user" | "agent"), "image"):
            return _image(block, root)
    return None


def _content(block: Mapping[str, Any]) -> str | list[Block]:
    content = block.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [part for part in content if isinstance(part, dict)]
    return [
        {"type": "text", "text": part["text"]} if isinstance(part.get("text"), str) else dict(LOST_IMAGE)
        for part in parts
    ]


def _image(block: Mapping[str, Any], root: PurePath) -> Block | None:
    path, media = block.get("path"), block.get("media_type")
    if not isinstance(path, str) or not isinstance(media, str):
        return None
    place = PurePath(path)
    if not place.is_relative_to(root) or ".." in place.parts:
        return None
    return {"type": "image", "path": path, "media_type": media}
