"""The lines of a transcript file, version 1 (spec storage 2.5). Pure.

Each append begins with the session as it is now. Readers keep the last record of an id and skip kinds they do not
know; a `deleted` record names all deleted entries, so the last one counts.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from ..models import Entry, Session, Turn

Record = Mapping[str, Any]
VERSION = 1
LONGEST_NAME = 200  # bytes of a file name


def file_of(agent_id: str, sid: str) -> str:
    """Path below the workspace. The last segment of an id is unique; one that is too long is cut and hashed."""
    name = sid.rpartition(">")[2]
    if len(name.encode()) > LONGEST_NAME:
        name = f"{name[:40]}-{hashlib.blake2b(name.encode(), digest_size=12).hexdigest()}"
    return f".halo/sessions/{agent_id}/{name}.jsonl"


def lines_of(records: Iterable[Record]) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def header(session: Session, parent: str | None, after: int) -> Record:
    """`after`: entries up to this one stand above; 0 = all follow, and what stands above is another copy's."""
    return {
        "v": VERSION,
        "kind": "session",
        "after": after,
        "id": session.sid,
        "agentId": session.agent_id,
        "agentName": session.agent_name,
        "title": session.title,
        "description": session.description,
        "source": session.source,
        "parentSessionId": parent,
        "workingDir": session.working_dir,
        "accessLevel": session.access_level,
        "createdAt": iso(session.created_at),
        "updatedAt": iso(session.updated_at),
        "stoppedAt": iso(session.stopped_at),
        "archivedAt": iso(session.archived_at),
        "contextTokens": session.context_tokens,
        "totalOutputTokens": session.output_tokens,
        "exchangeCount": session.exchange_count,
    }


def turn_record(turn: Turn) -> Record:
    return {
        "kind": "turn",
        "id": turn.pk,
        "index": turn.index,
        "status": turn.status,
        "stopReason": turn.stop_reason,
        "error": turn.error,
        "model": turn.model,
        "startedAt": iso(turn.started_at),
        "endedAt": iso(turn.ended_at),
    }


def entry_record(entry: Entry, source: str | None) -> Record:
    """`source`: id of the session that sent it."""
    origin = {key: value for key, value in (entry.origin or {}).items() if key != "sender"}  # a key of this database
    said = {
        "kind": entry.kind,
        "text": entry.text,
        "blocks": entry.blocks,
        "meta": entry.meta,
        "origin": origin,
        "source": source,
        "inContext": entry.in_context,
        "createdAt": iso(entry.created_at),
    }
    return {"kind": "entry", "id": entry.pk, "turn": entry.turn_id, "entry": said}


def summary_record(entry_id: int, covers: Sequence[int]) -> Record:
    return {"kind": "summary", "id": entry_id, "covers": list(covers)}


def deleted_record(ids: Sequence[tuple[int, int]]) -> Record:
    """Pairs of an entry and the entry whose deletion took it along."""
    return {"kind": "deleted", "ids": [entry for entry, _ in ids], "by": [by for _, by in ids]}


def iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
