"""`manage.py import_sessions PATH`: conversations that a folder brought along, into the database."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from halo_site.lib.access_level import Access
from sessions_app.terminal import one_line
from sessions_app.transcripts.load import import_folder
from workspaces_app.models import Workspace


class Command(BaseCommand):
    help = "Import the sessions in .halo/sessions of a workspace that the database does not know"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", help="folder of the workspace, opened once before")
        levels = [level.value for level in Access]
        parser.add_argument("--level", choices=levels, default=Access.FULL.value, help="most access they get")

    def handle(self, *args: Any, **options: Any) -> None:
        real = os.path.realpath(options["path"])
        workspace = Workspace.objects.filter(path=real).first()
        if workspace is None:
            raise CommandError(f"{real} is not a workspace: open it in the app first")
        if not os.path.isdir(real):
            raise CommandError(f"{real} is not there")
        counts: dict[str, int] = {}
        for outcome in import_folder(workspace, level=Access(options["level"])):
            counts[outcome.verdict] = counts.get(outcome.verdict, 0) + 1
            self.stdout.write(one_line(f"{outcome.verdict} {outcome.sid or outcome.path}", 400))
            for problem in outcome.problems:
                self.stdout.write("  " + one_line(f"{outcome.path}: {problem}", 400))
        self.stdout.write(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "No session files.")
