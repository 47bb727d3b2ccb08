"""`manage.py sessions list|show|tail|search`: read conversations without a browser. Nothing is changed."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.display import milliseconds
from sessions_app.engine.context import load_context
from sessions_app.engine.history import history
from sessions_app.engine.lease import something_waits
from sessions_app.listing import MAX_LIMIT, NEW_SESSION, page_of
from sessions_app.models import Session
from sessions_app.search.find import find
from sessions_app.search.question import question_of
from sessions_app.terminal import message, moment, one_line
from sessions_app.windows import rows_after, window_before
from workspaces_app.models import Workspace

NOBODY = 0  # no user: nothing is "unseen"
EVERY = 0.5  # seconds between two looks of `tail --follow`


class Command(BaseCommand):
    help = "List, show, follow and search sessions"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        lists = verbs.add_parser("list", help="sessions, newest first")
        lists.add_argument("--archived", action="store_true", help="archived ones, too")
        show = verbs.add_parser("show", help="a whole conversation")
        show.add_argument("session", help="id of the session")
        show.add_argument("--raw", action="store_true", help="what the model gets, as JSON")
        tail = verbs.add_parser("tail", help="the newest messages")
        tail.add_argument("session", help="id of the session")
        tail.add_argument("-f", "--follow", action="store_true", help="go on until the session is idle")
        search = verbs.add_parser("search", help="messages that hold every word")
        search.add_argument("words", nargs="+", help='words, or "a phrase" in quotes of its own')
        search.add_argument("--archived", action="store_true", help="in archived sessions, too")
        for verb in (lists, tail, search):
            verb.add_argument("-n", type=int, default=20, help="how many (default: 20)", metavar="N")
        for verb in (lists, show, tail, search):
            verb.add_argument("-w", "--workspace", help="folder of the workspace (default: all)")
            verb.add_argument("--json", action="store_true", help="one JSON object per line")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options.get("n", 1) <= MAX_LIMIT:
            raise CommandError(f"-n must be from 1 to {MAX_LIMIT}")
        getattr(self, f"_{options['verb']}")(_workspaces(options["workspace"]), options)

    def _list(self, workspaces: list[Workspace] | None, options: Mapping[str, Any]) -> None:
        places = list(Workspace.objects.all()) if workspaces is None else workspaces
        rows = [
            {"workspacePath": place.path, **row}
            for place in places
            for row in page_of(place.pk, NOBODY, parent="*", archived=options["archived"], limit=options["n"]).rows
        ]
        newest = sorted(rows, key=lambda row: row["updatedAt"], reverse=True)[: options["n"]]
        for row in newest:
            words = (row["id"], moment(row["updatedAt"]), row["status"], row["agentName"], one_line(row["title"], 60))
            self._say(row, ["  ".join(one_line(word, 255) for word in words)], options)

    def _show(self, workspaces: list[Workspace] | None, options: Mapping[str, Any]) -> None:
        session = _session(options["session"], workspaces)
        if options["raw"]:
            self.stdout.write(json.dumps(history(load_context(session.pk)), indent=2))
            return
        self._say_all(rows_after(session.pk, session.agent_name, 0), options)

    def _tail(self, workspaces: list[Workspace] | None, options: Mapping[str, Any]) -> None:
        session = _session(options["session"], workspaces)
        last = 0
        for row in window_before(session.pk, session.agent_name, None, options["n"]).rows:
            last = max(last, row["entryId"])
            self._say(row, message(row), options)
        while options["follow"] and _is_busy(session.pk):
            time.sleep(EVERY)
            last = self._say_all(_settled(session, last), options) or last
        if options["follow"]:
            self._say_all(rows_after(session.pk, session.agent_name, last), options)

    def _search(self, workspaces: list[Workspace] | None, options: Mapping[str, Any]) -> None:
        question = question_of(" ".join(options["words"]))
        keys = None if workspaces is None else [place.pk for place in workspaces]
        for hit in find(question, keys, archived=options["archived"], limit=options["n"]).hits:
            row: dict[str, Any] = {
                "workspacePath": hit.workspace_path,
                "sessionId": hit.sid,
                "entryId": hit.entry_id,
                "title": hit.title or NEW_SESSION,
                "snippet": hit.snippet,
                "timestamp": milliseconds(hit.at),
            }
            head = f"{hit.sid}  entry {hit.entry_id}  {moment(row['timestamp'])}  {one_line(row['title'], 60)}"
            self._say(row, [one_line(head, 400), f"  {one_line(hit.snippet, 250)}"], options)

    def _say_all(self, rows: Iterable[Mapping[str, Any]], options: Mapping[str, Any]) -> int:
        """The entry of the last row, 0 = there was none."""
        last = 0
        for row in rows:
            last = row["entryId"]
            self._say(row, message(row), options)
        return last

    def _say(self, row: Mapping[str, Any], lines: Iterable[str], options: Mapping[str, Any]) -> None:
        for line in [json.dumps(row)] if options["json"] else lines:
            self.stdout.write(line)


def _workspaces(path: str | None) -> list[Workspace] | None:
    """None = all."""
    if path is None:
        return None
    real = os.path.realpath(path)
    found = list(Workspace.objects.filter(path=real))
    if not found:
        raise CommandError(f"{real} is not a workspace")
    return found


def _session(sid: str, workspaces: list[Workspace] | None) -> Session:
    found = Session.objects.filter(sid=sid).select_related("workspace")
    if workspaces is not None:
        found = found.filter(workspace__in=workspaces)
    sessions = list(found[:2])
    if not sessions:
        raise CommandError(f"There is no session {sid}")
    if len(sessions) > 1:
        raise CommandError(f"Several workspaces have a session {sid}: name one with --workspace")
    return sessions[0]


def _is_busy(session_key: int) -> bool:
    leased = Session.objects.filter(pk=session_key, lease_owner__isnull=False).exists()
    return leased or something_waits(session_key)


def _settled(session: Session, last: int) -> Iterator[Mapping[str, Any]]:
    """Rows after `last` that no longer grow: before the newest one, while the session runs."""
    rows = list(rows_after(session.pk, session.agent_name, last))
    newest = max((row["entryId"] for row in rows), default=0)
    return (row for row in rows if row["entryId"] < newest)
