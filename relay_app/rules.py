"""What may be handed on, what holds a report back, and how reports read. Pure (spec relay R3.8, R4, wire formats)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sessions_app.chain import Chain, Waiting

WAITS_AT_MOST = timedelta(hours=24)  # for what a target handed on itself
KEPT = timedelta(days=30)  # closed rows
MOST_MESSAGE = 1 << 20  # bytes
MOST_ERROR = 500  # characters of an error in the marker, so that no cap can cut the marker off
NO_OUTPUT = "(no output)"

Abort = Literal["other", "account", "gone", "cancelled"]
ADVICE: dict[Abort, str] = {
    "other": "The target did not finish. Partial output follows; resume it with relay_send.",
    "account": "Fix the target's model configuration. Do not resume it with relay_send — a re-send fails the same way.",
    "gone": "It cannot be resumed. Send the task to another session if it is still needed.",
    "cancelled": "A person ended the wait. Do not send the task again unless you are asked to.",
}
INTERIM = (
    "[Relay interim report · workspace {workspace} · session {sid} · status: still running] This is an interim reply — "
    "the session is still working; its final [Relay report] follows when done. Do not treat this as the result."
)


def named(path: str, sid: str) -> str:
    """A session, as refusals call it."""
    return f"{path} · {sid}"


def handed_to(chain: Chain | None, caller: Waiting, new_id: str) -> Chain:
    """The chain of a task that `caller` hands on while it works for `chain`. `answers` stay those of the caller."""
    if chain is None:
        return Chain((new_id,), 1, (caller,))
    callers = (*(each for each in chain.callers if each.root != caller.root), caller)
    return Chain(chain.ids, chain.hop + 1, callers, chain.answers)


def handed_back(task: Chain, caller_root: int) -> Chain:
    """The chain of whoever reads the report of a task: that of the caller when it dispatched."""
    callers = tuple(each for each in task.callers if each.root != caller_root)
    return Chain(task.ids, max(0, task.hop - 1), callers, task.answers)


def cycle(chain: Chain | None, caller: Waiting, target: Waiting) -> str:
    """Why a dispatch would run in a circle: its target waits for the very turn that makes it. "" = it would not."""
    callers = chain.callers if chain else ()
    at = next((place for place, each in enumerate(callers) if each.root == target.root), None)
    if at is None:
        return ""
    path = [*callers[at:]]
    if path[-1].root != caller.root:
        path.append(caller)
    names = " → ".join([*(each.at for each in path), target.at])
    return f"relay cycle: {names}; answer with your final text instead"


def too_far(hop: int, limit: int) -> str:
    if hop <= limit:
        return ""
    return f"relay hop limit reached: this task was handed on {hop - 1} times, {limit} are allowed; answer it yourself"


def too_dear(spent: Mapping[str, int], cap: float | None) -> str:
    """spent: millionths by currency."""
    over = [(micros, currency) for currency, micros in spent.items() if cap is not None and micros > cap * 1_000_000]
    if not over:
        return ""
    micros, currency = max(over)
    return (
        f"relay spend cap reached: this chain of tasks has cost {micros / 1_000_000:.4f} {currency}".rstrip()
        + f", {cap:g} is allowed; answer with what you have"
    )


def held_back(key: int, waits: Mapping[int, Collection[int]]) -> bool:
    """Whether a debt waits for another one. waits: debt -> debts it waits for.

    Those that wait for each other in a circle are not held back by it: somebody has to begin.
    """
    return any(not _leads_to(other, key, waits) for other in waits.get(key, ()))


def _leads_to(start: int, goal: int, waits: Mapping[int, Collection[int]]) -> bool:
    seen, left = {start}, [start]
    while left:
        key = left.pop()
        if key == goal:
            return True
        new = set(waits.get(key, ())) - seen
        seen |= new
        left += new
    return False


@dataclass(frozen=True, slots=True)
class End:
    """How the work on a task ended. abort: None = completed."""

    text: str
    abort: Abort | None = None
    error: str = ""
    unanswered: int = 0  # tasks it handed on itself and heard nothing of

    @property
    def status(self) -> str:
        return "aborted" if self.abort else "completed"


def final_report(end: End, *, workspace: str, sid: str, limit: int) -> str:
    body = end.text.strip() or NO_OUTPUT
    if end.unanswered:
        hours = WAITS_AT_MOST // timedelta(hours=1)
        body = f"[Not answered within {hours} hours: {end.unanswered} task(s) it had handed on.]\n\n{body}"
    if end.abort:
        reason = " ".join(end.error.split())[:MOST_ERROR]
        body = f"[RELAY TARGET ABORTED: {reason}] {ADVICE[end.abort]}\n\n{body}"
    header = f"[Relay report · workspace {workspace} · session {sid} · status: {end.status}]"
    return f"{header}\n\n{capped(body, workspace, sid, limit)}"


def interim_report(text: str, *, workspace: str, sid: str, limit: int) -> str:
    return f"{INTERIM.format(workspace=workspace, sid=sid)}\n\n{capped(text.strip(), workspace, sid, limit)}"


def capped(body: str, workspace: str, sid: str, limit: int) -> str:
    """At most `limit` characters of a report, and where the rest is."""
    if len(body) <= limit:
        return body
    return (
        f"{body[:limit]}\n\n[Report truncated: {len(body)} chars total, showing first {limit}. "
        f'Use relay_read("{workspace}", "{sid}") for the full result.]'
    )
