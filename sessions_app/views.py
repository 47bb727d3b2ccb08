"""What a viewer is sent on subscribing: a snapshot, and the replay of the turn that is still running.

Read without a transaction: on SQLite one would take the write lock. `seq` before and after must agree, so what is
read belongs together (ARCHITECTURE 6). Frames are encoded here, in a database thread, once for all who asked.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Exists, OuterRef, Subquery

from halo_site.lib.errors import Unavailable
from halo_site.lib.events import encode
from halo_site.lib.packet import Packet
from halo_site.lib.prepared import Param, Select

from .display import FIELDS, INPUTS, Line, milliseconds, results_by_call, shows
from .engine.queue import queue_items
from .events import (
    ChatFollowup,
    ChatStream,
    ChatSystem,
    ChatThinking,
    ChatUsage,
    RunError,
    RunEvent,
    ToolCallStarted,
    ToolOutput,
    ToolResultArrived,
)
from .limits import context_window
from .models import Entry, Session, ToolCall, Turn
from .windows import newest_window

READS = 5  # tries until nothing was saved in between
REPLAY_BYTES = 2 << 20
OLD_RESULT_CUT = 500  # characters left of a result when a replay is over REPLAY_BYTES


@dataclass(frozen=True, slots=True)
class View:
    """One read of a session, ready to be sent."""

    sid: str
    seq: int
    running: bool
    newest_input: int  # entry id of the newest message
    queue: Sequence[dict[str, Any]]
    packets: Sequence[Packet]  # state:snapshot, chat:usage if known, replay if running


_SESSION = Select(
    lambda: Session.objects.filter(pk=Param("key")).values_list(
        "sid",
        "root_id",
        "root__sid",
        "workspace__path",
        "agent_id",
        "agent_name",
        "activity",
        "archived_at",
        "context_tokens",
        "output_tokens",
        "seq",
        "lease_epoch",
        "lease_owner",
    )
)
_OPEN_TURN = Select(
    lambda: Turn.objects.filter(session=Param("key"), status=Turn.Status.RUNNING).values_list("pk", "started_at")
)
_STATE = Select(lambda: Session.objects.filter(pk=Param("key")).values_list("seq", "lease_epoch", "lease_owner"))


@dataclass(frozen=True, slots=True)
class _Session:
    key: int
    sid: str
    root: int | None
    parent_tree: str | None  # sid of the root, None for a root
    workspace_path: str
    agent_id: str
    agent_name: str
    activity: str
    archived_at: datetime | None
    context_tokens: int
    output_tokens: int
    seq: int
    lease_epoch: int
    lease_owner: str | None

    @property
    def root_sid(self) -> str:
        return self.parent_tree or self.sid

    @property
    def task(self) -> str | None:
        """The `taskId` of its frames: roots have none."""
        return None if self.root is None else self.sid


def read_view(session_key: int, *, with_archive_count: bool) -> View | None:
    """None = the session is gone. Raises Unavailable when it changed under every read."""
    for _ in range(READS):
        row = _SESSION.first(key=session_key)
        if row is None:
            return None
        session = _Session(session_key, *row)
        view = _view(session, _OPEN_TURN.first(key=session_key), with_archive_count)
        after = _STATE.first(key=session_key)
        if after is None:
            return None
        if after == (session.seq, session.lease_epoch, session.lease_owner):
            return view
    raise Unavailable("The session changes too quickly to be read; try again")


def _view(session: _Session, turn: tuple[int, datetime] | tuple[Any, ...] | None, with_archive_count: bool) -> View:
    running = session.lease_owner is not None
    open_turn, started_at = turn if turn and running else (None, None)
    newest = newest_window(session.key, session.agent_name, open_turn)
    queue = queue_items(session.key)
    snapshot: dict[str, Any] = {
        "activePlan": None,
        "agents": [],
        "recentMessages": newest.rows,
        "sessionId": session.sid,
        "agentId": session.agent_id,
        "agentName": session.agent_name,
        "maxContextTokens": context_window(session.workspace_path, session.agent_id),
        "hasMore": newest.before is not None,
        "before": newest.before,
        "seq": session.seq,
        "running": running,
        "compacting": running and session.activity == "compact",
        "queue": queue,
        "startedAt": milliseconds(started_at) if started_at else None,
        "activity": session.activity,
        "archivedAt": milliseconds(session.archived_at) if session.archived_at else None,
        "activeAgents": _active_agents(session),
    }
    if with_archive_count:
        snapshot["archiveCount"] = newest.archive_count
    frames = [orjson.dumps({"type": "state:snapshot", "snapshot": snapshot})]
    task, root_sid = session.task, session.root_sid
    if session.context_tokens:
        known = {"contextTokens": session.context_tokens, "outputTokens": session.output_tokens}
        frame: dict[str, Any] = {"type": "chat:usage", "sessionId": root_sid, **known}
        frames.append(orjson.dumps(frame | ({"taskId": task} if task else {})))
    if open_turn:
        frames.extend(_replay(session, open_turn))
    packets = [Packet("", data) for data in frames]
    return View(session.sid, session.seq, running, _newest_input(session.key), queue, packets)


_ACTIVE_BELOW = Select(
    lambda: Session.objects.filter(root=Param("root"), lease_owner__isnull=False).values_list("agent_name", "sid")
)


def _active_agents(session: _Session) -> list[dict[str, str]]:
    return [
        {"agentName": name, "taskId": sid}
        for name, sid in _ACTIVE_BELOW.rows(root=session.root or session.key)
        if sid.startswith(session.sid + ">")
    ]


_NEWEST_INPUT = Select(
    lambda: Entry.objects.filter(session=Param("session"), kind__in=INPUTS).order_by("-id").values_list("id")[:1]
)


def _newest_input(session_key: int) -> int:
    found = _NEWEST_INPUT.first(session=session_key)
    return found[0] if found else 0


def _replay(session: _Session, turn: int) -> list[bytes]:
    """The frames that rebuild the open turn, marked `replay`, oldest first (spec ws-protocol 36)."""
    kinds = (Entry.Kind.ASSISTANT, Entry.Kind.TOOL_RESULT, Entry.Kind.NOTICE)
    entries = Entry.objects.filter(session=session.key, turn=turn, kind__in=kinds).order_by("id")
    lines = [Line(*values) for values in entries.values_list(*FIELDS)]
    outputs = dict(
        ToolCall.objects.filter(turn=turn, outcome="").exclude(output="").values_list("tool_use_id", "output")
    )
    build = _ReplayBuilder(session, results_by_call(lines), outputs)
    events = [build.event(ChatFollowup, agent_name=session.agent_name)]
    for line in lines:
        events.extend(build.of_line(line))
    return _fitting(events)


def _fitting(events: Sequence[RunEvent]) -> list[bytes]:
    """Encoded, newest results whole; older ones are cut once the sum is over REPLAY_BYTES."""
    frames: list[bytes] = []
    size = 0
    for event in reversed(events):
        data = encode(event)
        if size + len(data) > REPLAY_BYTES and isinstance(event, ToolResultArrived):
            data = encode(replace(event, result=event.result[:OLD_RESULT_CUT]))
        size += len(data)
        frames.append(data)
    return frames[::-1]


@dataclass(frozen=True, slots=True)
class _ReplayBuilder:
    session: _Session
    results: Mapping[str, Line]
    outputs: Mapping[str, str]

    def event(self, kind: type[RunEvent], **values: Any) -> RunEvent:
        return kind(session_id=self.session.root_sid, task_id=self.session.task, replay=True, **values)

    def of_line(self, line: Line) -> Iterator[RunEvent]:
        if line.kind == Entry.Kind.NOTICE:
            if line.meta.get("level") == "error":
                yield self.event(RunError, error=line.text, code=line.meta.get("code"))
            else:
                yield self.event(ChatSystem, text=line.text)
        elif line.kind == Entry.Kind.ASSISTANT and not line.meta.get("reset"):
            yield from self._of_reply(line)

    def _of_reply(self, line: Line) -> Iterator[RunEvent]:
        turn_id, name = str(line.meta.get("turn_id", "")), self.session.agent_name
        for block in line.blocks:
            if not shows(block):
                continue
            if block["type"] == "text":
                yield self.event(ChatStream, text=block["text"], agent_name=name, turn_id=turn_id)
            elif block["type"] == "thinking":
                yield self.event(ChatThinking, text=block["thinking"], agent_name=name, turn_id=turn_id)
            else:
                yield from self._of_call(block, turn_id)
        if usage := line.meta.get("usage"):
            yield self.event(
                ChatUsage,
                context_tokens=sum(
                    usage.get(key, 0) for key in ("totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
                ),
                output_tokens=self.session.output_tokens,
                turn_id=turn_id,
                model_id=line.meta.get("model"),
                usage=usage,
                cost_micros=line.meta.get("cost_micros"),
                currency=line.meta.get("currency"),
            )

    def _of_call(self, block: Mapping[str, Any], turn_id: str) -> Iterator[RunEvent]:
        name, use = self.session.agent_name, block["id"]
        call = {"tool": block["name"], "tool_use_id": use, "input": block["input"]}
        yield self.event(ToolCallStarted, agent_name=name, turn_id=turn_id, **call)
        result = self.results.get(use)
        if result is not None:
            duration = result.meta.get("duration_ms")
            yield self.event(
                ToolResultArrived, result=result.text, tool_use_id=use, agent_name=name, duration_ms=duration
            )
        elif use in self.outputs:
            yield self.event(ToolOutput, tool_use_id=use, text=self.outputs[use])


def first_view(session_key: int, sid: str, workspace_path: str, agent_id: str) -> View:
    """The view of a session that was created in this instant by its first message: known without another read."""
    queue = queue_items(session_key)
    data = empty_snapshot(sid, workspace_path, agent_id, queue)
    newest = queue[-1]["entryId"] if queue else 0
    return View(sid, 0, False, newest, queue, [Packet("", data)])


def empty_snapshot(sid: str, workspace_path: str, agent_id: str, queue: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """The snapshot of a session without rows, or of one that does not exist yet (a draft)."""
    snapshot: dict[str, Any] = {
        "activePlan": None,
        "agents": [],
        "recentMessages": [],
        "sessionId": sid,
        "agentId": agent_id,
        "maxContextTokens": context_window(workspace_path, agent_id),
        "archiveCount": 0,
        "hasMore": False,
        "before": None,
        "seq": 0,
        "running": False,
        "compacting": False,
        "queue": queue,
        "startedAt": None,
        "activity": "",
        "activeAgents": [],
    }
    return orjson.dumps({"type": "state:snapshot", "snapshot": snapshot})


@dataclass(frozen=True, slots=True)
class Stored:
    """What the rows say of a session right now, for the hub's regular comparison."""

    seq: int
    running: bool
    newest_input: int
    queue: Sequence[dict[str, Any]]


def read_stored(session_keys: Collection[int]) -> dict[int, Stored]:
    """One query for all, and one for those with a queue. A key that is missing was deleted."""
    inputs = Entry.objects.filter(session=OuterRef("pk"), kind__in=INPUTS)
    waiting = Exists(inputs.filter(turn=None, deleted=None))
    newest = Subquery(inputs.order_by("-id").values("id")[:1])
    rows = Session.objects.filter(pk__in=session_keys).annotate(newest=newest, waiting=waiting)
    found = {}
    for key, seq, owner, newest_id, waits in rows.values_list("pk", "seq", "lease_owner", "newest", "waiting"):
        found[key] = Stored(seq, owner is not None, newest_id or 0, queue_items(key) if waits else ())
    return found
