"""What came of a message, read from the rows: the same whoever ran it, and whatever frames were lost."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn

Status = Turn.Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """error: why the run did not end well, "" = it did."""

    session_id: str
    text: str
    tool_calls: tuple[dict[str, Any], ...]
    usage: dict[str, Any] | None
    error: str
    turns: int
    children: int

    def as_json(self, duration_ms: int) -> dict[str, Any]:
        return {
            "text": self.text,
            "sessionId": self.session_id,
            "toolCalls": list(self.tool_calls),
            "usage": self.usage,
            "error": self.error or None,
            "turns": self.turns,
            "children": self.children,
            "durationMs": duration_ms,
        }


def turn_of(entry_key: int) -> Turn | None:
    """The turn that read a message; None while it waits."""
    return Turn.objects.filter(entries=entry_key).first()


def is_taken_back(entry_key: int) -> bool:
    """True when the message will never be read: removed from the queue, or gone with its session."""
    return not Entry.objects.filter(pk=entry_key, deleted=None).exists()


def outcome(session_key: int, sid: str, entry_key: int, *, only_its_turn: bool) -> Outcome:
    """Of the turn that read the message, and of all later ones unless `only_its_turn`."""
    first = turn_of(entry_key)
    if first is None:
        gone = not Session.objects.filter(pk=session_key).exists()
        why = f"Session {sid} was deleted" if gone else "The message was not read"
        return Outcome(sid, "", (), None, why, 0, 0)
    turns = Turn.objects.filter(session=session_key, index__gte=first.index).order_by("index")
    if only_its_turn:
        turns = turns.filter(pk=first.pk)
    keys = list(turns.values_list("pk", flat=True))
    texts = [
        text
        for text, meta in Entry.objects.filter(turn__in=keys, kind=Entry.Kind.ASSISTANT, deleted=None)
        .order_by("pk")
        .values_list("text", "meta")
        if text.strip() and not meta.get("reset")
    ]
    below = Session.objects.filter(root=session_key, created_at__gte=first.started_at)
    return Outcome(
        session_id=sid,
        text="\n\n".join(text.strip("\n") for text in texts),
        tool_calls=tuple(_tool_calls(keys)),
        usage=_usage(keys),
        error=_error([*turns]),
        turns=len(keys),
        children=below.count(),
    )


def _error(turns: list[Turn]) -> str:
    """Of the newest turn, else of any that failed: a later one does not undo a lost answer."""
    for turn in (turns[-1], *turns[:-1]):
        if turn.status == Status.RUNNING:
            return "The run has not ended"
        if turn.status in (Status.ERROR, Status.INTERRUPTED):
            return str((turn.error or {}).get("message") or turn.status)
        if turn.status == Status.ABORTED and turn is turns[-1]:
            return "The run was stopped"
    return ""


def _tool_calls(turns: list[int]) -> list[dict[str, Any]]:
    rows = ToolCall.objects.filter(turn__in=turns).order_by("pk").values_list("name", "started_at", "ended_at")
    return [
        {"name": name, "durationMs": int((end - start).total_seconds() * 1000) if end else None}
        for name, start, end in rows
    ]


def _usage(turns: list[int]) -> dict[str, Any] | None:
    """Of all calls together; the model is that of the last one. None = no model was asked."""
    calls = ModelCall.objects.filter(turn__in=turns)
    last = calls.order_by("-pk").values_list("model", "currency").first()
    if last is None:
        return None
    sums = calls.aggregate(
        inputTokens=Sum("input_tokens"),
        outputTokens=Sum("output_tokens"),
        cacheReadInputTokens=Sum("cache_read_tokens"),
        cacheWriteInputTokens=Sum("cache_write_tokens"),
        costMicros=Sum("cost_micros"),
    )
    cost = sums.pop("costMicros")
    found: dict[str, Any] = {name: value or 0 for name, value in sums.items()} | {"modelId": last[0]}
    return found if cost is None else found | {"costMicros": cost, "currency": last[1]}
