"""Ask the index. It names candidates; whether a text really holds the terms is decided here, alike on each database."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from ..display import is_unseen
from ..models import Entry, Session
from .question import Question, is_plain

BATCH = 200
READ = 20_000  # candidates of one call; more go on with the next one
MOST_GRAMS = 200  # a short term with more continuations is so frequent that reading finds it quicker
GRAM = 3
DENSE = "\u2e80"  # scripts from here on have words of two characters (PostgreSQL: two are a gram as well)


@dataclass(frozen=True, slots=True)
class Hit:
    workspace_path: str
    sid: str
    entry_id: int
    title: str | None
    snippet: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """hits: newest first. before: entry id that asks for older ones, None when there are none."""

    hits: Sequence[Hit]
    before: int | None


def find(
    question: Question,
    workspaces: Collection[int] | None,
    *,
    archived: bool = False,
    before: int | None = None,
    limit: int = 50,
) -> Found:
    """Messages that hold every term, in sessions of these workspaces (None = all; the caller checked the rights).

    Not found: what is deleted, hidden or waits in a queue, and sessions of internal agents.
    """
    hits: list[Hit] = []
    last = before
    for read, row in enumerate(_candidates(question, workspaces, archived, before), 1):
        key, text, meta, at, sid, title, path = row
        snippet = None if is_unseen(meta) else question.snippet(text)
        if snippet is not None:
            if len(hits) == limit:
                return Found(hits, last)
            hits.append(Hit(path, sid, key, title, snippet, at))
            last = key
        if read == READ:
            return Found(hits, key)
    return Found(hits, None)


def _candidates(
    question: Question, workspaces: Collection[int] | None, archived: bool, before: int | None
) -> Iterator[tuple[Any, ...]]:
    entries = _narrowed(question, _visible(workspaces, archived))
    while entries is not None:
        older = entries if before is None else entries.filter(pk__lt=before)
        rows = list(older.order_by("-pk").values_list(*_COLUMNS)[:BATCH])
        yield from rows
        if len(rows) < BATCH:
            return
        before = rows[-1][0]


_COLUMNS = ("pk", "text", "meta", "created_at", "session__sid", "session__title", "session__workspace__path")


def _visible(workspaces: Collection[int] | None, archived: bool) -> QuerySet[Entry]:
    """What may stand in the log as people see it."""
    kinds = (Entry.Kind.USER, Entry.Kind.AGENT, Entry.Kind.ASSISTANT)
    found = Entry.objects.filter(kind__in=kinds, deleted=None, turn__isnull=False)
    found = found.exclude(session__source=Session.Source.INTERNAL)
    if not archived:
        found = found.filter(session__archived_at=None)
    return found if workspaces is None else found.filter(session__workspace__in=workspaces)


def _narrowed(question: Question, entries: QuerySet[Entry]) -> QuerySet[Entry] | None:
    """Only what the index names. None: a term occurs nowhere."""
    narrow = _by_fts5 if connection.vendor == "sqlite" else _by_grams
    if not question.terms:
        return None
    for term in question.terms:
        if is_plain(term):
            entries = entries.filter(text__icontains=term)
    return narrow(question.terms, entries)


def _by_fts5(terms: Sequence[str], entries: QuerySet[Entry]) -> QuerySet[Entry] | None:
    wanted = []
    for term in terms:
        if len(term) >= GRAM:
            wanted += [_quoted(term[at : at + GRAM]) for at in range(len(term) - GRAM + 1)]
            continue
        grams = _continuations(term)
        if not grams:
            return None
        if len(grams) <= MOST_GRAMS:
            wanted.append(f"({' OR '.join(map(_quoted, grams))})")
    if not wanted:
        return entries
    asked = RawSQL("SELECT rowid FROM halo_search WHERE halo_search MATCH %s", [" AND ".join(wanted)])
    return entries.filter(pk__in=asked)


def _continuations(term: str) -> list[str]:
    """Grams that begin with a short term; the index folds them to lower case."""
    start = term.lower()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT term FROM halo_search_grams WHERE term >= %s AND term < %s LIMIT %s",
            [start, start + "\U0010ffff", MOST_GRAMS + 1],
        )
        return [gram for (gram,) in cursor.fetchall()]


def _quoted(gram: str) -> str:
    return '"' + gram.replace('"', '""') + '"'


def _by_grams(terms: Sequence[str], entries: QuerySet[Entry]) -> QuerySet[Entry]:
    for term in terms:
        if len(term) >= GRAM or (len(term) == 2 and term[0] >= DENSE):
            asked = RawSQL("SELECT entry FROM halo_search WHERE grams @> halo_grams(%s)", [term])
            entries = entries.filter(pk__in=asked)
    return entries
