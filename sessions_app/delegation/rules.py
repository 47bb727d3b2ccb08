"""Ids of a tree, limits and texts. Pure (spec sessions 1 and 9; tools 3.13)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halo_site.lib.ids import new_sid

PREVIEW = 200  # characters of a task shown in lists and frames
DESCRIPTION = 80  # of a description in the state of siblings
ABORTED = "SUB-AGENT ABORTED"
INTERIM = (
    "[Sub-agent interim report · session {sid} · status: still running] This is an interim reply — the session is "
    "still working; its final report follows when done. Do not treat this as the result."
)
NO_OUTPUT = "(no output)"
ALL_DONE = (
    "[System @ {now}] All sub-agents you dispatched have completed. This is the final report — you may now "
    "consolidate and wrap up."
)
NOT_YET = "[System @ {now}] Do NOT wrap up yet — {active} sub-agent(s) still running, {queued} report(s) still queued."


def child_id(parent: str) -> str:
    return f"{parent}>{new_sid()}"


def root_of(sid: str) -> str:
    return sid.partition(">")[0]


def depth(sid: str) -> int:
    return sid.count(">") + 1


def in_tree(caller: str, target: str) -> bool:
    """Tools that name a session reach their own tree only; a foreign id is like a missing one."""
    return root_of(caller) == root_of(target)


def opening(sid: str, context: str, message: str) -> str:
    """What a child reads first."""
    return "\n\n".join(part for part in (f"[Session {sid}]", context.strip(), message) if part)


def origin(kind: str, level: str, *, name: str, sid: str, **handed_on: Any) -> dict[str, Any]:
    """Where an agent's message comes from, as its entry keeps it: kind (agent, report), sender's level, name and id."""
    return {"kind": kind, "level": level, "name": name, "session": sid, **handed_on}


def too_deep(limit: int) -> str:
    return f"Maximum nesting depth ({limit}) reached. Complete this task directly instead of delegating to a sub-agent."


def report_body(*, final: str, output: str, status: str, error: str, sid: str, limit: int) -> str:
    """What a parent is told at the end of a child's run. status: of its newest turn (`Turn.Status`)."""
    text = final.strip() or output.strip()
    if status not in ("done", "running"):
        reason = error.strip() or {"aborted": "It was stopped.", "interrupted": "The server stopped."}.get(status, "")
        said = f"\nWhat it had said:\n{text}" if text else ""
        text = f"{ABORTED}: {reason or status}{said}"
    return capped(text or NO_OUTPUT, sid, limit)


def capped(text: str, sid: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return (
        f"{text[:limit]}\n[Report truncated: {len(text)} chars total, showing first {limit}. "
        f'Use get_session_output("{sid}") for the full result.]'
    )


def interim_body(output: str, sid: str, limit: int) -> str:
    """What a parent is told while the child goes on (spec relay R5.7)."""
    return f"{INTERIM.format(sid=sid)}\n\n{capped(output.strip(), sid, limit)}"


def door(parent: int | None, batch: Iterable[tuple[int | None, Mapping[str, Any]]]) -> dict[str, Any] | None:
    """Whom the answer to a batch of (source session, origin) may go to in between (spec relay R5.4).

    `{"kind": "parent"}`, `{"kind": "relay", "dispatches": [keys of debts]}` or None. Texts decide nothing.
    """
    entries = list(batch)
    if parent is not None:
        return {"kind": "parent"} if any(source == parent for source, _ in entries) else None
    relayed = [origin for source, origin in entries if source is None and origin.get("kind") == "relay"]
    if not relayed:
        return None
    return {"kind": "relay", "dispatches": sorted({origin["dispatch"] for origin in relayed if origin.get("dispatch")})}


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended that answered somebody, without an error and with text."""

    final: bool  # it ended with an answer, not with a tool
    kicked: bool  # its model wants another turn for the interrupted task
    waits: bool  # another turn follows
    busy: bool  # none follows; sub-agents that were at work when it began still are


def interim_owed(end: TurnEnd) -> bool:
    """Whether the final report would miss this answer (spec relay R5.1 to R5.3)."""
    if end.waits:
        return end.kicked or end.final
    return end.busy


@dataclass(frozen=True, slots=True)
class Sibling:
    """A child that is neither stopped nor archived."""

    name: str
    description: str
    created_at: datetime
    updated_at: datetime


def sibling_status(now: datetime, active: Sequence[Sibling], queued_reports: int) -> str:
    """For a root whose batch holds an agent's entry: whether more will come."""
    moment = _iso(now)
    if not active and not queued_reports:
        return ALL_DONE.format(now=moment)
    lines = [NOT_YET.format(now=moment, active=len(active), queued=queued_reports)]
    if active:
        lines.append("Still running:")
    lines += [
        f"  - {child.name} (created {_iso(child.created_at)}, last active {_iso(child.updated_at)}): "
        f"{child.description[:DESCRIPTION]}"
        for child in active
    ]
    return "\n".join(lines)


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
