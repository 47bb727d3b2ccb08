"""Bring conversations of a folder into the database: what it does not know, and never what was deleted.

Nothing in the folder is changed. An imported session has at most the given level and starts nothing by itself.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from halo_site.lib.access_level import Access, lowest
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import HaloError, NotFound
from halo_site.lib.ids import is_safe_id
from workspaces_app.access import Caller
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace

from ..actions import after_commit
from ..models import Entry, Session, Tombstone, Turn
from .found import Found, FoundEntry, TurnLine, read_lines
from .reference import read_document

log = logging.getLogger("halo.transcript")
FOLDER = ".halo/sessions"
LARGEST = 256 << 20  # bytes of one file
BATCH = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """verdict: imported, known, deleted or refused. problems: why, or which lines were left out."""

    path: str
    sid: str
    verdict: str
    problems: Sequence[str] = field(default_factory=tuple)


def import_folder(workspace: Workspace, *, level: Access, user_id: int | None = None) -> Iterator[Outcome]:
    """Every session file of the workspace, parents before children."""
    root = Path(workspace.path)
    jail = Jail(root, level=Access.FULL, confined=True)
    found = []
    for path in _files(jail):
        try:
            read = read_lines if path.endswith(".jsonl") else read_document
            data, _ = jail.read(path, limit=LARGEST)
            one = read(data, PurePath(root)) if read is read_lines else read_document(data, _segments(jail, path))
            found.append((path, one))
        except (HaloError, ValueError) as error:
            yield Outcome(path, "", "refused", (str(error),))
    # Of two files about one session ours comes first.
    for path, one in sorted(found, key=lambda pair: (pair[1].header.id.count(">"), not pair[0].endswith("l"), pair[0])):
        yield _import(workspace, path, one, level, user_id)


def import_into_new(workspace: Workspace, caller: Caller, level: Access) -> None:
    """A folder that became a workspace just now may have brought conversations along."""
    try:
        for outcome in import_folder(workspace, level=level, user_id=caller.user_id):
            log.info("%s: %s %s", outcome.path, outcome.verdict, "; ".join(outcome.problems))
    except HaloError as error:
        log.warning("the sessions of %s were not imported: %s", workspace.path, error)


def _files(jail: Jail) -> Iterator[str]:
    try:
        agents = jail.entries(FOLDER)
    except NotFound:
        return
    for agent in agents:
        if agent.is_dir and not agent.is_link:
            for file in jail.entries(f"{FOLDER}/{agent.name}"):
                if not file.is_dir and file.name.endswith((".jsonl", ".json")):
                    yield f"{FOLDER}/{agent.name}/{file.name}"


def _segments(jail: Jail, path: str) -> Any:
    """Reads archive segment N (gzip bytes) of a session file of the reference design."""
    stem = path.removesuffix(".json")
    return lambda number: jail.read(f"{stem}.arch.{number}.json.gz", limit=LARGEST)[0]


@in_transaction
def _import(workspace: Workspace, path: str, found: Found, level: Access, user_id: int | None) -> Outcome:
    header = found.header
    sid = header.id
    if not is_safe_id(sid):
        return Outcome(path, sid, "refused", ("its id is not valid",))
    if Session.objects.filter(workspace=workspace, sid=sid).exists():
        return Outcome(path, sid, "known")
    if Tombstone.objects.filter(workspace=workspace, sid=sid).exists():
        return Outcome(path, sid, "deleted")
    above, _, _ = sid.rpartition(">")
    parent = Session.objects.filter(workspace=workspace, sid=above).first() if above else None
    if above and parent is None:
        return Outcome(path, sid, "refused", (f"its parent {above} is not here",))
    internal = header.agent_id.startswith("__") and header.agent_id.endswith("__")
    access = lowest(Access.stored(header.access_level), level, Access.stored(parent.access_level if parent else None))
    session = Session.objects.create(
        workspace=workspace,
        sid=sid,
        parent=parent,
        root_id=parent.root_key if parent else None,
        agent_id=header.agent_id,
        agent_name=header.agent_name or header.agent_id,
        title=header.title,
        description=header.description or "",
        source="internal" if internal else "delegated" if parent else "explorer",
        created_by_id=user_id,
        access_level=access.value,
        working_dir=_inside(header.working_dir, PurePath(workspace.path)),
        created_at=header.created_at,
        updated_at=header.updated_at,
        stopped_at=header.stopped_at or (header.updated_at if parent else None),
        archived_at=header.archived_at,
        context_tokens=header.context_tokens,
        output_tokens=header.total_output_tokens,
        exchange_count=header.exchange_count,
    )
    turns = _turns(session, found)
    rows = [_row(session, turns[one.turn], one) for one in found.entries]
    stored = Entry.objects.bulk_create(rows, batch_size=BATCH)
    keys = {one.id: row.pk for one, row in zip(found.entries, stored, strict=True)}
    for one, row in zip(found.entries, stored, strict=True):
        if one.deleted is not None:
            row.deleted = keys.get(one.deleted, row.pk)
    Entry.objects.bulk_update([row for row in stored if row.deleted], ["deleted"], batch_size=BATCH)
    Session.objects.filter(pk=session.pk).update(turn_count=len(turns))
    after_commit(session, listed=True)
    return Outcome(path, sid, "imported", tuple(found.problems))


def _inside(folder: str | None, root: PurePath) -> str | None:
    """A working folder, when it lies in this workspace."""
    place = root / folder if folder else root
    return folder if place.is_relative_to(root) and ".." not in place.parts else None


def _turns(session: Session, found: Found) -> dict[int, Turn]:
    """Their numbers in the file -> rows, in the old order; a turn that the file does not tell of is made up."""
    first: dict[int, FoundEntry] = {}
    for one in found.entries:
        first.setdefault(one.turn, one)
    lines = {
        number: found.turns.get(number) or TurnLine(id=number, index=place, started_at=one.said.created_at)
        for place, (number, one) in enumerate(first.items())
    }
    ordered = sorted(lines.items(), key=lambda item: (item[1].index, item[0]))
    return {
        number: Turn.objects.create(
            session=session,
            index=index,
            status="interrupted" if line.status == "running" else line.status,
            stop_reason=line.stop_reason,
            error=line.error,
            model=line.model,
            access_level=session.access_level,
            started_at=line.started_at,
            ended_at=line.ended_at or line.started_at,
        )
        for index, (number, line) in enumerate(ordered)
    }


def _row(session: Session, turn: Turn, one: FoundEntry) -> Entry:
    said = one.said
    return Entry(
        session=session,
        turn=turn,
        kind=said.kind,
        text=said.text,
        blocks=said.blocks,
        meta=said.meta,
        origin=said.origin | {"level": session.access_level} if said.kind in ("user", "agent") else None,
        in_context=said.in_context,
        created_at=said.created_at,
    )
