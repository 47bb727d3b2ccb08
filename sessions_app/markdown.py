"""A session as one Markdown document, to keep or to pass on (spec spa 7): what people and agents said, whole. Pure.

What a person wrote is quoted, so that nothing in it reads as a heading of ours or runs on into the answer. A tool call
is one line and its output stays in Halo; thinking, figures of usage, summaries and deleted messages are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from .commands.texts import Lang
from .display import Row

INPUT_CUT = 160  # characters of a tool's input
NAME_CUT = 80  # characters of a file name
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]+')

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "person": "User",
        "channel": "Chat network",
        "relay": "Another workspace",
        "agent": "Agent",
        "report": "Report",
        "skill": "Skill",
        "cron": "Schedule",
        "goal": "Goal",
        "image": "Image",
        "failed": "failed",
        "error": "Error",
        "facts": "Session `{sid}` of {agent}, begun {begun}",
    },
    "zh": {
        "person": "用户",
        "channel": "聊天网络",
        "relay": "其他工作区",
        "agent": "智能体",
        "report": "报告",
        "skill": "技能",
        "cron": "定时任务",
        "goal": "目标",
        "image": "图片",
        "failed": "失败",
        "error": "错误",
        "facts": "{agent} 的会话 `{sid}`，开始于 {begun}",
    },
}


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the messages. begun: aware time."""

    sid: str
    title: str
    agent_name: str
    begun: datetime


def document(head: Head, rows: Iterable[Row], lang: Lang) -> Iterator[str]:
    """The document in pieces that only need to be joined. rows: display rows, oldest first."""
    words = _WORDS[lang]
    facts = words["facts"].format(sid=head.sid, agent=_line(head.agent_name), begun=_moment(head.begun))
    yield f"# {_line(head.title)}\n\n{facts}\n"
    for row in rows:
        if not row.get("deleted") and (body := "\n\n".join(_said(row, words))):
            yield f"\n{body}\n"


def file_name(title: str) -> str:
    """A name that every system can store."""
    return f"{_NOT_IN_NAMES.sub('_', _line(title))[:NAME_CUT].strip(' .') or 'session'}.md"


def _said(row: Row, words: Mapping[str, str]) -> Iterator[str]:
    match row["type"]:
        case "user" if "agentName" in row:  # a summary has none: all that it sums up is here itself
            yield _heading(_sender(row, words), row)
            lines = [*row["content"].splitlines(), *(_image(one, words) for one in row.get("images", ()))]
            yield "\n".join(f"> {line}".rstrip() for line in lines)
        case "assistant":
            if blocks := list(_blocks(row["contentBlocks"], words)):
                yield _heading(row["agentName"], row)
                yield from blocks
        case "notification":
            error = f"{words['error']}: " if row["level"] == "error" else ""
            yield f"— {error}{_line(row['content'])}"


def _heading(name: str, row: Row) -> str:
    return f"## {_line(name)}, {_moment(datetime.fromtimestamp(row['timestamp'] / 1000, UTC))}"


def _sender(row: Row, words: Mapping[str, str]) -> str:
    origin = row.get("origin", {"kind": "person"})
    kind = words.get(origin["kind"], "Halo")  # what is neither a person nor an agent is Halo itself
    return f"{kind}: {origin['name']}" if "name" in origin else kind


def _image(image: Mapping[str, Any], words: Mapping[str, str]) -> str:
    return f"{words['image']} {_code(str(image.get('path') or image.get('upload') or ''))}"


def _blocks(blocks: Iterable[Mapping[str, Any]], words: Mapping[str, str]) -> Iterator[str]:
    """One text per block; calls that follow each other are one list."""
    calls: list[str] = []
    for block in blocks:
        if block["type"] == "tool_call":
            calls.append(_call(block["toolCall"], words))
        elif block["type"] == "text":
            if calls:
                yield "\n".join(calls)
                calls = []
            yield _closed(block["text"].strip("\n"))
    if calls:
        yield "\n".join(calls)


def _call(call: Mapping[str, Any], words: Mapping[str, str]) -> str:
    asked = _line(orjson.dumps(call["input"]).decode())
    cut = asked if len(asked) <= INPUT_CUT else f"{asked[:INPUT_CUT]}…"
    failed = f" ({words['failed']})" if str(call.get("output", "")).startswith("__TOOL_ERROR__") else ""
    return f"- {_code(call['name'])} {_code(cut)}{failed}"


def _code(text: str) -> str:
    """Inline code, whatever the text holds."""
    line = _line(text)
    mark = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{mark}{pad}{line}{pad}{mark}"


def _closed(text: str) -> str:
    """With a code fence that was left open closed: a reply that was cut must not swallow what follows."""
    mark = ""
    for line in text.splitlines():
        if not (found := _FENCE.fullmatch(line)):
            continue
        fence, rest = found.groups()
        if not mark:
            mark = "" if fence[0] == "`" and "`" in rest else fence
        elif fence.startswith(mark) and not rest.strip():
            mark = ""
    return f"{text}\n{mark}" if mark else text


def _line(text: str) -> str:
    return " ".join(text.split())


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
