"""A conversation as staff read it: entries turned into cards of plain data. Pure; the template escapes every text.

No markdown and no HTML of a message is ever interpreted here, so nothing in a transcript can act on its reader.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from halo_site.lib.figures import duration, money, short

SHOWN = 4_000  # characters of one text on the page; the rest has a page of its own

Outcome = tuple[str, str]  # ring, word
OUTCOMES: Mapping[str, Outcome] = {
    "ok": ("ok", "done"),
    "error": ("err", "failed"),
    "aborted": ("off", "stopped"),
    "unknown": ("warn", "outcome unknown"),
    "not_run": ("off", "not run"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of one text. kind: prose or code; `language` of a fenced block, or empty."""

    kind: str
    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ToolCard:
    name: str
    input: str
    output: str
    ring: str
    outcome: str
    time: str
    cut: int  # characters of the output that are not shown
    entry: int  # key of the entry that holds the output, 0 = none yet


@dataclass(frozen=True, slots=True)
class Block:
    """kind: text (parts), thinking (text) or tool (tool)."""

    kind: str
    parts: Sequence[Part] = ()
    text: str = ""
    tool: ToolCard | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """kind: user, agent, assistant, notice, summary, tool (a result whose call is not on this page)."""

    key: int
    kind: str
    who: str
    at: datetime
    blocks: Sequence[Block]
    marks: Sequence[str] = ()  # queued, deleted, partial, not in context
    level: str = ""  # of a notice: system or error
    figures: str = ""
    images: int = 0
    cut: int = 0


@dataclass(slots=True)
class _Results:
    """Tool results of the page by the id of their call; `used` have found it."""

    by_call: dict[str, Any] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


def cards(entries: Sequence[Any], names: Mapping[int, str], agent: str) -> list[Card]:
    """Entries in order of their ids -> cards. A tool result stands in the card of its call.

    names: user names by key, of the senders; agent: name of the session's agent.
    """
    results = _Results()
    for entry in entries:
        if entry.kind == "tool_result":
            for call in result_ids(entry):
                results.by_call[call] = entry
    found = []
    for entry in entries:
        if entry.kind == "tool_result":
            continue
        found.append(_card(entry, results, names, agent))
    for entry in entries:
        if entry.kind == "tool_result" and entry.pk not in results.used:
            block = Block("tool", tool=_tool(str(_meta(entry).get("name") or "tool"), None, entry))
            found.append(Card(entry.pk, "tool", agent, entry.created_at, [block], _marks(entry)))
    return sorted(found, key=lambda card: card.key)


def result_ids(entry: Any) -> list[str]:
    """Ids of the calls a tool_result entry answers."""
    ids = [block.get("tool_use_id") for block in _blocks(entry) if block.get("type") == "tool_result"]
    return [str(call) for call in ids or [_meta(entry).get("tool_use_id")] if call]


def full_text(entry: Any) -> str:
    """All of an entry as text, for reading what a card cut off."""
    texts = [entry.text] if entry.text else []
    for block in _blocks(entry):
        match block.get("type"):
            case "text" | "thinking":
                texts.append(str(block.get(block["type"], "")))
            case "tool_use":
                texts.append(f"{block.get('name')} {_json(block.get('input'))}")
            case "tool_result" if not entry.text:
                texts.append(_json(block.get("content")))
    return storable("\n\n".join(texts))


def parts(text: str) -> list[Part]:
    """Prose and fenced code (``` or ~~~), in order. A fence that never closes is code to the end."""
    found: list[Part] = []
    lines: list[str] = []
    fence, language = "", ""

    def close(kind: str) -> None:
        body = "\n".join(lines)
        if body.strip():
            found.append(Part(kind, body.strip("\n"), language if kind == "code" else ""))
        lines.clear()

    for line in text.split("\n"):
        stripped = line.strip()
        if not fence and stripped[:3] in ("```", "~~~"):
            close("prose")
            fence, language = stripped[:3], stripped[3:].strip("`~ ")[:20]
        elif fence and stripped.startswith(fence) and not stripped.strip(fence[0]):
            close("code")
            fence, language = "", ""
        else:
            lines.append(line)
    close("code" if fence else "prose")
    return found


def storable(text: str) -> str:
    """Lone surrogates (JSON may hold them) and NUL cannot be sent as UTF-8 or shown: replaced."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _card(entry: Any, results: _Results, names: Mapping[int, str], agent: str) -> Card:
    meta, blocks, cut = _meta(entry), [], 0
    if entry.kind == "assistant":
        for block in _blocks(entry):
            match block.get("type"):
                case "thinking":
                    blocks.append(Block("thinking", text=_shown(block.get("thinking"))[0]))
                case "text":
                    text, left = _shown(block.get("text"))
                    cut += left
                    blocks.append(Block("text", parts=parts(text)))
                case "tool_use":
                    result = results.by_call.get(str(block.get("id")))
                    if result is not None:
                        results.used.add(result.pk)
                    blocks.append(Block("tool", tool=_tool(str(block.get("name")), block.get("input"), result)))
        images = 0
    else:
        text, cut = _shown(entry.text)
        blocks = [Block("text", parts=parts(text))] if text else []
        images = sum(1 for block in _blocks(entry) if block.get("type") == "image")
    return Card(
        key=entry.pk,
        kind=entry.kind,
        who=_who(entry, names, agent),
        at=entry.created_at,
        blocks=blocks,
        marks=_marks(entry),
        level=str(meta.get("level") or "system") if entry.kind == "notice" else "",
        figures=_figures(meta),
        images=images,
        cut=cut,
    )


def _tool(name: str, given: Any, result: Any) -> ToolCard:
    shown_input, _ = _shown(_json(given)) if given not in (None, {}) else ("", 0)
    if result is None:
        return ToolCard(storable(name), shown_input, "", "wait", "no result", "", 0, 0)
    meta = _meta(result)
    failed = any(block.get("is_error") for block in _blocks(result))
    ring, word = OUTCOMES.get(str(meta.get("outcome") or ("error" if failed else "ok")), ("warn", "outcome unknown"))
    output = result.text or _json([block.get("content") for block in _blocks(result)])
    shown, cut = _shown(output)
    took = meta.get("duration_ms")
    return ToolCard(
        name=storable(name),
        input=shown_input,
        output=shown,
        ring=ring,
        outcome=word,
        time=duration(took) if isinstance(took, int | float) else "",
        cut=cut,
        entry=result.pk,
    )


def _who(entry: Any, names: Mapping[int, str], agent: str) -> str:
    origin = entry.origin if isinstance(entry.origin, dict) else {}
    if entry.kind in ("assistant", "summary"):
        return agent
    sender = origin.get("sender")
    if isinstance(sender, int) and sender in names:
        return names[sender]
    return str(origin.get("kind") or entry.kind)


def _marks(entry: Any) -> list[str]:
    meta = _meta(entry)
    queued = entry.kind in ("user", "agent") and entry.turn_id is None and entry.deleted is None
    marks = {
        "queued": queued,
        "deleted": entry.deleted is not None,
        "cut short": bool(meta.get("partial")),
        "dropped try": bool(meta.get("reset")),
        "hidden": bool(meta.get("hidden")),
        "out of context": not entry.in_context and entry.kind in ("user", "agent", "assistant"),
    }
    return [word for word, holds in marks.items() if holds]


def _figures(meta: Mapping[str, Any]) -> str:
    """The quiet line of a model call: first token, tokens, price."""
    usage = meta.get("usage")
    if not isinstance(usage, dict):
        return ""

    def number(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) else 0

    read = number("cacheReadInputTokens")
    given = number("inputTokens") + read + number("cacheWriteInputTokens")
    words = [f"{short(given)} in", f"{short(number('outputTokens'))} out"]
    if read and given:
        words[0] += f", {round(100 * read / given)} % cached"
    if isinstance(usage.get("ttftMs"), int):
        words.insert(0, f"first token {duration(usage['ttftMs'])}")
    cost = meta.get("cost_micros")
    if isinstance(cost, int):
        words.append(money(cost, str(meta.get("currency") or "")))
    if meta.get("model"):
        words.append(storable(str(meta["model"])))
    return " · ".join(words)


def _shown(value: Any) -> tuple[str, int]:
    """The text as shown, and how many of its characters are not."""
    text = storable(value if isinstance(value, str) else "" if value is None else str(value))
    return text[:SHOWN], max(0, len(text) - SHOWN)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _meta(entry: Any) -> Mapping[str, Any]:
    return entry.meta if isinstance(entry.meta, dict) else {}


def _blocks(entry: Any) -> list[dict[str, Any]]:
    return [block for block in entry.blocks if isinstance(block, dict)] if isinstance(entry.blocks, list) else []
