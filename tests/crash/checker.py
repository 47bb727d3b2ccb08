"""Which invariants of SECURITY-BAR section 3 does this evidence break? A pure function; imports no product code.

Evidence comes from four witnesses that do not know each other: what the client sent and saw, what the model server
was asked, what the database holds at the end, and what lies on disk. I7 needs the scheduler and I10 chat platforms:
they get their lines here with those features.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
SHOWN_LAG = 1.0  # seconds of streamed text that a crash may lose


@dataclass(frozen=True)
class Sent:
    """One message of a person, in the order sent. `mark` is a text that no other message holds."""

    mid: str
    mark: str
    sid: str
    acked: bool


@dataclass(frozen=True)
class Shown:
    """All text of one reply that a client had at `at` (seconds, any clock)."""

    turn_id: str
    text: str
    at: float


@dataclass(frozen=True)
class Request:
    """One request as the model server got it; `status` is what it answered."""

    body: Row
    status: int = 200
    family: str = "openai"  # or anthropic


@dataclass(frozen=True)
class Evidence:
    sent: Sequence[Sent] = ()
    shown: Sequence[Shown] = ()
    killed_at: Sequence[float] = ()  # same clock as Shown.at
    requests: Sequence[Request] = ()
    sessions: Sequence[Row] = ()
    turns: Sequence[Row] = ()
    entries: Sequence[Row] = ()
    tool_calls: Sequence[Row] = ()
    model_calls: Sequence[Row] = ()
    relays: Sequence[Row] = ()  # tasks handed to other sessions
    effects: Mapping[str, int] = field(default_factory=dict)  # mark of a side effect -> how often it happened
    transcripts: Mapping[str, bytes] = field(default_factory=dict)  # file name -> content
    leftovers: Sequence[str] = ()  # temporary files, orphan processes
    live_leases: bool = False  # True while a server may still be at work


@dataclass(frozen=True)
class Broken:
    invariant: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


def check(evidence: Evidence) -> list[Broken]:
    """Every broken invariant, in the order of their numbers; empty = nothing was lost, doubled or torn."""
    found: list[Broken] = []
    for look in (_i1, _i2, _i3, _i4, _i5, _i6, _i8, _i9):
        found += look(evidence)
    return found


def _i1(evidence: Evidence) -> Iterable[Broken]:
    """Every acknowledged message is exactly one row, in order."""
    by_mid = defaultdict(list)
    for entry in evidence.entries:
        if entry.get("client_msg_id"):
            by_mid[entry["client_msg_id"]].append(entry["id"])
    last: dict[str, int] = {}
    for sent in evidence.sent:
        rows = by_mid[sent.mid]
        if len(rows) > 1:
            yield Broken("I1", f"{sent.mid} is stored {len(rows)} times")
        if sent.acked and not rows:
            yield Broken("I1", f"{sent.mid} was acknowledged and is gone")
        if rows:
            if rows[0] < last.get(sent.sid, 0):
                yield Broken("I1", f"{sent.mid} stands before a message sent earlier")
            last[sent.sid] = rows[0]
    for sid, number in Counter(entry["client_msg_id"] for entry in evidence.entries).items():
        if sid and number > 1 and all(sent.mid != sid for sent in evidence.sent):
            yield Broken("I1", f"{sid} is stored {number} times")


def _i2(evidence: Evidence) -> Iterable[Broken]:
    """Every message enters the model as new input once, and never twice in one request.

    New input is what stands after the last assistant message. After a crash it may stand there once more, then with
    the nudge behind it; the very same input asked again is a second run.
    """
    entries = {entry["client_msg_id"]: entry for entry in evidence.entries if entry.get("client_msg_id")}
    turns = {turn["id"]: turn for turn in evidence.turns}
    for sent in evidence.sent:
        asked: list[str] = []
        for number, request in enumerate(evidence.requests):
            times = sum(text.count(sent.mark) for text in _user_texts(request.body))
            if times > 1:
                yield Broken("I2", f"{sent.mid} stands {times} times in request {number}")
            newest = _newest_input(request.body)
            if request.status != 200 or sent.mark not in newest:
                continue
            if newest in asked:
                yield Broken("I2", f"{sent.mid} was asked again by request {number}")
            asked.append(newest)
        entry = entries.get(sent.mid)
        if entry is None or evidence.live_leases:
            continue
        if entry["turn_id"] is None:
            yield Broken("I2", f"{sent.mid} still waits in the queue")
        elif not asked and turns[entry["turn_id"]]["status"] == "done":
            yield Broken("I2", f"{sent.mid} is answered as done but no request held it as new input")


def _i3(evidence: Evidence) -> Iterable[Broken]:
    """Every history sent is valid."""
    for number, request in enumerate(evidence.requests):
        if request.status == 400:
            yield Broken("I3", f"the model server refused request {number}")
        judge = anthropic_faults if request.family == "anthropic" else openai_faults
        for fault in judge(request.body.get("messages") or []):
            yield Broken("I3", f"request {number}: {fault}")


def _i4(evidence: Evidence) -> Iterable[Broken]:
    """No running turn and no lease is left after recovery."""
    if evidence.live_leases:
        return
    for turn in evidence.turns:
        if turn["status"] == "running":
            yield Broken("I4", f"turn {turn['index']} is still running")
    for session in evidence.sessions:
        if session["lease_owner"]:
            yield Broken("I4", f"session {session['sid']} still has a lease")
    for call in evidence.model_calls:
        if not call["outcome"]:
            yield Broken("I4", f"a model call of turn {call['turn_id']} was never closed")


def _i5(evidence: Evidence) -> Iterable[Broken]:
    """Exactly one final report per dispatch, and none for one that was never made."""
    finals: Counter[int] = Counter()
    for entry in evidence.entries:
        report = (entry.get("origin") or {}).get("relay") or {}
        if report.get("part") == "final":
            finals[report["dispatch"]] += 1
    for relay in evidence.relays:
        number = finals.pop(relay["id"], 0)
        if relay["closed_at"] is None:
            if number or not evidence.live_leases:
                yield Broken("I5", f"relay {relay['id']} is still owed, {number} reports were sent")
        elif number != (relay["outcome"] in ("completed", "aborted", "cancelled")):
            yield Broken("I5", f"relay {relay['id']} is {relay['outcome']} and has {number} final reports")
    for dispatch in finals:
        yield Broken("I5", f"a report answers relay {dispatch}, which does not exist")


def _i6(evidence: Evidence) -> Iterable[Broken]:
    """A tool call with side effects starts at most once, and its intent was saved before."""
    for mark, number in evidence.effects.items():
        if number > 1:
            yield Broken("I6", f"the effect {mark} happened {number} times")
        if number and not evidence.tool_calls:
            yield Broken("I6", f"the effect {mark} happened without a saved intent")
    for name, number in Counter((call["turn_id"], call["tool_use_id"]) for call in evidence.tool_calls).items():
        if number > 1:
            yield Broken("I6", f"tool call {name[1]} has {number} intents")
    for call in evidence.tool_calls:
        if not call["outcome"] and not evidence.live_leases:
            yield Broken("I6", f"tool call {call['tool_use_id']} has no outcome")


def _i8(evidence: Evidence) -> Iterable[Broken]:
    """Every transcript line parses; nothing half-done lies about."""
    for name, content in evidence.transcripts.items():
        lines = content.split(b"\n")
        if lines and lines[-1] and not evidence.live_leases:
            yield Broken("I8", f"{name} ends in a torn line")
        for number, line in enumerate(lines[:-1], 1):
            try:
                json.loads(line)
            except ValueError:
                yield Broken("I8", f"{name} line {number} is not JSON")
    for leftover in evidence.leftovers:
        yield Broken("I8", f"left behind: {leftover}")


def _i9(evidence: Evidence) -> Iterable[Broken]:
    """What a person saw is in the database, but for the last second before a crash; a broken reply is marked."""
    stored: dict[str, str] = {}
    finished = {turn["id"] for turn in evidence.turns if turn["status"] == "done"}
    for entry in evidence.entries:
        turn_id = (entry.get("meta") or {}).get("turn_id")
        if entry["kind"] != "assistant" or not turn_id:
            continue
        blocks = entry.get("blocks") or []
        stored[turn_id] = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    newest = {entry["turn_id"]: entry for entry in evidence.entries if entry["kind"] == "assistant"}
    for turn_key, entry in newest.items():
        meta = entry.get("meta") or {}
        calls = [block for block in entry.get("blocks") or [] if block.get("type") == "tool_use"]
        if turn_key not in finished and not meta.get("partial") and not meta.get("final") and not calls:
            yield Broken("I9", f"the reply of entry {entry['id']} broke off and is not marked")
    for shown in evidence.shown:
        kills = [at for at in evidence.killed_at if at >= shown.at]
        if kills and min(kills) - shown.at < SHOWN_LAG:
            continue
        if not stored.get(shown.turn_id, "").startswith(shown.text):
            yield Broken("I9", f"{len(shown.text)} characters of {shown.turn_id} were shown and are not stored")


# ---- reading requests


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part, Mapping) and part.get("type") == "text"]


def _user_texts(body: Row) -> list[str]:
    return [
        text
        for message in body.get("messages") or []
        if message["role"] == "user"
        for text in _texts(message["content"])
    ]


def _newest_input(body: Row) -> str:
    """What stands after the last assistant message, results of tools included."""
    newest: list[Any] = []
    for message in reversed(body.get("messages") or []):
        if message["role"] not in ("user", "tool"):
            break
        newest.append(message["content"])
    return json.dumps(newest, sort_keys=True)


def openai_faults(messages: Sequence[Row]) -> list[str]:
    """Why a chat-completions history is invalid: each call answered once, at once, and nothing else answered."""
    faults, open_calls = [], []
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] in open_calls:
                open_calls.remove(message["tool_call_id"])
            else:
                faults.append(f"message {number} answers a call that is not open")
            continue
        if open_calls:
            faults.append(f"message {number} comes before the results of {open_calls}")
            open_calls = []
        if role == "assistant":
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
            if not open_calls and not "".join(_texts(message.get("content"))):
                faults.append(f"message {number} is an empty assistant message")
        elif role == "user" and not message.get("content"):
            faults.append(f"message {number} is an empty user message")
    if open_calls:
        faults.append(f"the history ends before the results of {open_calls}")
    return faults


def anthropic_faults(messages: Sequence[Row]) -> list[str]:
    """Why a Messages history is invalid: roles alternate from user, each tool_use answered in the next message."""
    faults, open_calls = [], []
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role != ("user", "assistant")[number % 2]:
            faults.append(f"message {number} has role {role} out of turn")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if not blocks or any(block.get("type") == "text" and not block.get("text") for block in blocks):
            faults.append(f"message {number} has empty content")
        results = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        if sorted(results) != sorted(open_calls):
            faults.append(f"message {number} answers {results}, open were {open_calls}")
        open_calls = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    if open_calls:
        faults.append(f"the history ends before the results of {open_calls}")
    return faults
