"""What is summarised when a conversation grows, and what stays. Pure (spec sessions 10; CASES C39, C40)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .history import INPUT_KINDS, Row, readable

INSTRUCTION = (
    "Summarise the conversation above for yourself: you go on with it and will see nothing of it but this summary. "
    "Keep decisions and their reasons, file paths and technical details, open actions and the present state, errors "
    "and how they were mended. Leave out pleasantries. Write in the language of the conversation. Do not call tools; "
    "answer with the summary alone."
)
NOTHING_LEFT = "(older turns contained only tool calls; no text retained)"
# Their old results can be had again by asking again.
REPEATABLE = frozenset({"file_read", "file_write", "file_edit", "file_list", "grep", "glob", "shell_exec", "web_fetch"})


@dataclass(frozen=True, slots=True)
class Cut:
    """`old` is replaced by a summary, `tail` stays as it is. `messages`: how many messages `old` makes."""

    old: Sequence[Row]
    tail: Sequence[Row]
    messages: int


def is_due(context_tokens: int, window: int, compress_at: float, fixed_tokens: int) -> bool:
    """Whether to summarise before the next call.

    fixed_tokens: of the parts of every request that no summary shortens. When they alone pass the limit, a paid
    summary would come again with every message and help nothing.
    """
    limit = window * compress_at
    return context_tokens > limit > fixed_tokens


def cut(rows: Sequence[Row], keep: int) -> Cut | None:
    """The newest `keep` messages stay; None = nothing to summarise.

    A message is what the model sees as one: results in a row, or inputs in a row. A tail never begins with results,
    their calls would be missing; so the cut moves on, and back when nothing else is left.
    """
    messages = _messages(rows)
    if len(messages) <= keep:
        return None
    at = len(messages) - keep
    while at < len(messages) and _is_result(messages[at]):
        at += 1
    if at == len(messages):
        at -= 1
        while at > 0 and _is_result(messages[at]):
            at -= 1
    old, tail = messages[:at], messages[at:]
    if not old or (len(old) == 1 and old[0][0].kind == "summary"):
        return None
    return Cut([row for group in old for row in group], [row for group in tail for row in group], len(old))


def _messages(rows: Sequence[Row]) -> list[list[Row]]:
    groups: list[list[Row]] = []
    for row in rows:
        if groups and row.kind != "assistant" and _side(groups[-1][0]) == _side(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _side(row: Row) -> str:
    return "input" if row.kind in INPUT_KINDS else row.kind


def _is_result(message: Sequence[Row]) -> bool:
    return message[0].kind == "tool_result"


def outdated(rows: Sequence[Row]) -> list[Row]:
    """Results the model may do without: of each repeatable tool all but the newest, and none it has not seen yet."""
    messages = _messages(rows)
    seen = messages[:-1] if messages and _is_result(messages[-1]) else messages
    newest: set[str] = set()
    found = []
    for row in reversed([row for message in seen for row in message]):
        name = str(row.meta.get("name", ""))
        if row.kind != "tool_result" or name not in REPEATABLE or row.meta.get("cleared"):
            continue
        if name in newest:
            found.append(row)
        newest.add(name)
    return found[::-1]


def old_images(rows: Sequence[Row]) -> list[Row]:
    """Rows with images that the model has seen before."""
    seen = [row for message in _messages(rows)[:-1] for row in message]
    return [row for row in seen if not row.meta.get("cleared") and any(map(_holds_image, row.blocks))]


def _holds_image(block: Any) -> bool:
    content = block.get("content")
    return block.get("type") == "image" or (isinstance(content, list) and any(map(_holds_image, content)))


def summary_text(summary: str, messages: int) -> str:
    """What stands for the old messages. `summary` must not be empty."""
    return f"[Conversation Summary — {messages} messages compacted]\n{summary.strip()}"


def local_summary(old: Cut, *, most: int, per_message: int) -> str:
    """A summary without asking a model: the beginnings of the newest messages that fit into `most` characters."""
    lines: list[str] = []
    room = most
    for message in reversed(_messages(old.old)):
        text = "\n".join(filter(None, (readable(row) for row in message))).strip()
        if not text:
            continue
        role = "assistant" if message[0].kind == "assistant" else "user"
        line = f"[{role}]: {text[:per_message]}"[:room]
        lines.append(line)
        room -= len(line) + 2
        if room <= 0:
            break
    body = "\n\n".join(reversed(lines)) or NOTHING_LEFT
    return f"[Conversation Summary — {old.messages} messages compacted (local fallback)]\n{body}"


def cleared(rows: Sequence[Row], gone: Sequence[Row]) -> list[Row]:
    """The same rows with the content of `gone` (by entry) marked as cleared."""
    entries = {row.entry for row in gone}
    return [replace(row, meta=row.meta | {"cleared": True}) if row.entry in entries else row for row in rows]


def estimate(fixed_characters: int, messages: Sequence[dict[str, Any]]) -> int:
    """Tokens of a request, four characters each; an image counts as 1,500."""
    return (fixed_characters + sum(_size(block) for message in messages for block in message["content"])) // 4


def _size(value: Any) -> int:
    if isinstance(value, dict):
        if value.get("type") == "image":
            return 6_000
        return sum(_size(part) for part in value.values())
    if isinstance(value, list):
        return sum(_size(part) for part in value)
    return len(str(value))
