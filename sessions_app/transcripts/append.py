"""Append what is new of a session to its transcript: at least once, whole lines, never into a folder that is gone."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db.models import F

from halo_site.lib.access_level import Access
from halo_site.lib.crashpoint import crashpoint
from halo_site.lib.db import in_light_transaction
from halo_site.lib.errors import HaloError, NotFound
from halo_site.lib.prepared import Param, Select, update_row
from workspaces_app.jail import Jail

from ..engine.lease import queued
from ..models import Entry, Session, Turn
from .records import deleted_record, entry_record, file_of, header, lines_of, summary_record, turn_record

log = logging.getLogger("halo.transcript")
PIECE = 500  # entries read at once
_NEWEST = 2**62


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines to append. upto: newest entry in them; more: there are newer ones."""

    root: str
    path: str
    data: bytes
    upto: int
    more: bool


def append(session_key: int) -> None:
    """Bring one file up to date. Waits for disk and database: for a thread of its own. Raises HaloError, OSError."""
    piece = next_piece(session_key)
    if piece is not None and piece.upto and _is_missing(piece):
        piece = next_piece(session_key, True)  # somebody removed the file: all of it again
    while piece is not None:
        write(piece)
        crashpoint("transcript.after_write")
        if not mark(session_key, piece.upto):
            remove(piece.root, [piece.path])  # deleted meanwhile
            return
        piece = next_piece(session_key) if piece.more else None


_SESSION = Select(
    lambda: (
        Session.objects.filter(pk=Param("session"))
        .annotate(folder=F("workspace__path"), parent_sid=F("parent__sid"))
        .defer("prompt", "abort_requested")
    )
)
_ENTRIES = Select(
    lambda: (
        Entry.objects.filter(
            session=Param("session"), pk__gt=Param("after"), pk__lt=Param("before"), turn__isnull=False
        )
        .annotate(source_sid=F("source_session__sid"))
        .order_by("pk")
    ),
    limit="limit",
)
_TURNS = Select(
    lambda: Turn.objects.filter(session=Param("session"), pk__gte=Param("first"), pk__lte=Param("last")).order_by("pk")
)


def next_piece(session_key: int, anew: bool = False) -> Piece | None:
    """What the file lacks, from the first entry on with `anew`; None when the session is gone."""
    found = _SESSION.objects(session=session_key)
    if not found:
        return None
    session: Session = found[0]
    after = 0 if anew else session.exported
    span = {"after": after, "before": _still_open(session_key) or _NEWEST, "limit": PIECE + 1}
    read = _ENTRIES.objects(session=session_key, **span)
    more, entries = len(read) > PIECE, read[:PIECE]
    records = [header(session, session.parent_sid, after)]  # type: ignore[attr-defined]
    records += [turn_record(turn) for turn in _turns_of(session_key, entries)]
    records += [entry_record(entry, entry.source_sid) for entry in entries]
    records += _changes(session_key, entries)
    upto = entries[-1].pk if entries else after
    folder: str = session.folder  # type: ignore[attr-defined]
    return Piece(folder, file_of(session.agent_id, session.sid), lines_of(records), upto, more)


def _turns_of(session_key: int, entries: Sequence[Entry]) -> list[Turn]:
    keys = {entry.turn_id for entry in entries if entry.turn_id is not None}
    if not keys:
        return []
    return [turn for turn in _TURNS.objects(session=session_key, first=min(keys), last=max(keys)) if turn.pk in keys]


_WAITING = Select(lambda: Entry.objects.filter(queued(Param("session"))).order_by("pk").values_list("pk")[:1])
_RUNNING = Select(
    lambda: (
        Entry.objects.filter(turn__session=Param("session"), turn__status=Turn.Status.RUNNING)
        .order_by("pk")
        .values_list("pk")[:1]
    )
)


def _still_open(session_key: int) -> int | None:
    """The first entry that waits, or belongs to a turn that runs: from there on entries still change."""
    found = [row[0] for rows in (_WAITING, _RUNNING) if (row := rows.first(session=session_key)) is not None]
    return min(found, default=None)


_DELETED = Select(
    lambda: (
        Entry.objects.filter(session=Param("session"), turn__isnull=False, deleted__isnull=False)
        .order_by("pk")
        .values_list("pk", "deleted")
    )
)


def _changes(session_key: int, entries: Sequence[Entry]) -> list[dict[str, object]]:
    """What became of older entries: out of the context since a summary, deleted."""
    changes = []
    summaries = [entry.pk for entry in entries if entry.kind == Entry.Kind.SUMMARY]
    if summaries:
        log_of = Entry.objects.filter(session=session_key, turn__isnull=False).order_by("pk")
        gone = log_of.filter(in_context=False, pk__lte=entries[-1].pk).exclude(kind=Entry.Kind.NOTICE)
        changes.append(dict(summary_record(summaries[-1], list(gone.values_list("pk", flat=True)))))
    deleted = [(key, by) for key, by in _DELETED.rows(session=session_key)]
    return [*changes, dict(deleted_record(deleted))]


@in_light_transaction
def mark(session_key: int, upto: int) -> bool:
    """Remember how far the file goes; False = the session was deleted."""
    return update_row(Session, session_key, exported=upto) == 1


def write(piece: Piece) -> None:
    """Raises HaloError or OSError: then the file holds whole lines, or one torn at its end that the next write cuts."""
    _jail(piece.root).append_lines(piece.path, piece.data)


def remove(root: str, paths: Sequence[str]) -> None:
    """Transcripts of deleted sessions; those of a folder that is away stay there."""
    for path in paths:
        try:
            _jail(root).remove_file(path)
        except NotFound:
            continue
        except (HaloError, OSError) as error:
            log.warning("a transcript was not removed: %s", error)


def _is_missing(piece: Piece) -> bool:
    try:
        _jail(piece.root).stat(piece.path)
    except NotFound:
        return True
    except HaloError:
        return False
    return False


def _jail(root: str) -> Jail:
    return Jail(Path(root), level=Access.FULL, confined=True)
