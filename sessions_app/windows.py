"""Windows of a session's log, cut by entry id and read through the index (ARCHITECTURE 4).

Old clients page by segments: 500 rows each, counted from the oldest, so that segments 1 to `archiveCount` and the
window of a snapshot are all rows without overlap (spec sessions 11). What waits in the queue or was dropped by a
retry counts for the cut but makes no row; so a position never moves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Count, QuerySet

from halo_site.lib.prepared import Param, Select

from .display import FIELDS, INPUTS, SHOWN, Line, Row, display_rows, results_by_call
from .models import Entry

SEGMENT = 500
NEWEST = 100  # least rows of a snapshot, if there are as many
SNAPSHOT_BYTES = 768 * 1024
ROW_BYTES = 256 * 1024
MAX_ID = (1 << 63) - 1
OUTPUT_CUT = 4000  # characters of a tool's output that stay in a row over ROW_BYTES


@dataclass(frozen=True, slots=True)
class Window:
    """Rows oldest first. before: entry id that asks for the next older window; None when there is none."""

    rows: Sequence[Row]
    before: int | None

    @property
    def has_more(self) -> bool:
        return self.before is not None


def _lines(entries: QuerySet[Entry]) -> list[Line]:
    return [Line(*values) for values in entries.values_list(*FIELDS)]


def _shown(session_key: int | Param) -> QuerySet[Entry]:
    return Entry.objects.filter(session=session_key, kind__in=SHOWN)


_NEXT_REPLY = Select(
    lambda: (
        Entry.objects.filter(session=Param("session"), kind=Entry.Kind.ASSISTANT, id__gt=Param("after"))
        .order_by("id")
        .values_list("id")[:1]
    )
)
_RESULTS = Select(
    lambda: (
        Entry.objects.filter(
            session=Param("session"), kind=Entry.Kind.TOOL_RESULT, id__gt=Param("after"), id__lt=Param("before")
        )
        .order_by("id")
        .values_list(*FIELDS)
    )
)


def _results(session_key: int, lines: Sequence[Line]) -> dict[str, Line]:
    """Results of the tool calls in a window: they lie between it and the next reply after it."""
    if not any(block.get("type") == "tool_use" for line in lines for block in line.blocks):
        return {}
    next_reply = _NEXT_REPLY.first(session=session_key, after=lines[-1].id)
    before = next_reply[0] if next_reply else MAX_ID
    rows = _RESULTS.rows(session=session_key, after=lines[0].id, before=before)
    return results_by_call(Line(*row) for row in rows)


def window_before(session_key: int, agent_name: str, before: int | None, limit: int) -> Window:
    """At most `limit` entries older than `before` (None = the newest)."""
    entries = _shown(session_key)
    if before is not None:
        entries = entries.filter(id__lt=before)
    lines = _lines(entries.order_by("-id")[: limit + 1])
    more = len(lines) > limit
    lines = lines[:limit][::-1]
    rows = display_rows(lines, agent_name, _results(session_key, lines))
    return Window(rows, lines[0].id if more else None)


def rows_after(session_key: int, agent_name: str, after: int) -> Iterator[Row]:
    """All rows newer than entry `after`, oldest first, read in pieces."""
    while True:
        lines = _lines(_shown(session_key).filter(id__gt=after).order_by("id")[:SEGMENT])
        yield from display_rows(lines, agent_name, _results(session_key, lines))
        if len(lines) < SEGMENT:
            return
        after = lines[-1].id


def segment(session_key: int, agent_name: str, number: int) -> list[Row] | None:
    """Segment `number`, from 1; None when it is not full and old enough yet."""
    if not 1 <= number <= segments_before_newest(_shown(session_key).count()):
        return None
    start = (number - 1) * SEGMENT
    lines = _lines(_shown(session_key).order_by("id")[start : start + SEGMENT])
    return display_rows(lines, agent_name, _results(session_key, lines))


def segments_before_newest(total: int) -> int:
    """How many full segments lie before the newest window of a log with `total` entries that count."""
    return max(0, total - NEWEST) // SEGMENT


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest window, rows already encoded: they fit into one frame."""

    rows: Sequence[orjson.Fragment]
    before: int | None
    archive_count: int


_COUNT = Select(lambda: _shown(Param("session")).values("session").annotate(total=Count("*")).values_list("total"))
_NEWEST = Select(lambda: _shown(Param("session")).order_by("-id").values_list(*FIELDS), limit="limit")


def newest_window(session_key: int, agent_name: str, open_turn: int | None) -> Newest:
    """The window of a snapshot: 100 to 599 entries, cut at a segment; fewer when they would not fit a frame.

    open_turn: key of the running turn; what it said so far is left out (it is replayed after the snapshot).
    """
    counted = _COUNT.first(session=session_key)
    total = counted[0] if counted else 0
    archived = segments_before_newest(total)
    newest = _NEWEST.rows(session=session_key, limit=total - archived * SEGMENT)
    lines = [Line(*row) for row in reversed(newest)]
    settled = [line for line in lines if line.turn != open_turn or line.kind in INPUTS] if open_turn else lines
    rows: list[orjson.Fragment] = []
    size = 0
    first = lines[0].id if lines and archived else None
    for row in reversed(display_rows(settled, agent_name, _results(session_key, settled))):
        data = encode_row(row)
        size += len(data)
        if rows and size > SNAPSHOT_BYTES:
            first = row["entryId"] + 1
            break
        rows.append(orjson.Fragment(data))
    return Newest(rows[::-1], first, archived)


def inputs_before(session_key: int, before: int | None) -> int:
    """How many inputs a window leaves out: those older than its first entry; None = it is the whole log."""
    return 0 if before is None else Entry.objects.filter(session=session_key, kind__in=INPUTS, id__lt=before).count()


def encode_row(row: Row) -> bytes:
    """A row for a frame; one that is far too big loses the tails of its tool outputs (the windows route has them)."""
    data = orjson.dumps(row)
    if len(data) <= ROW_BYTES or "contentBlocks" not in row:
        return data
    return orjson.dumps(row | {"contentBlocks": [_cut_output(block) for block in row["contentBlocks"]]})


def _cut_output(block: dict[str, Any]) -> dict[str, Any]:
    call = block.get("toolCall")
    if call is None or len(call.get("output", "")) <= OUTPUT_CUT:
        return block
    return block | {"toolCall": call | {"output": call["output"][:OUTPUT_CUT], "outputCut": True}}
