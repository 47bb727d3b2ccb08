"""`manage.py agents`: who can be asked in a folder (spec cli-tui-acp 2)."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.agents import list_agents
from agents_app.disabled import disabled_at


class Command(BaseCommand):
    help = "List the agents of a folder and those of this installation"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("-w", "--workspace", metavar="PATH", help="folder (default: this one)")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(options["workspace"] or os.getcwd())
        if not folder.is_dir():
            raise CommandError(f"Workspace does not exist: {options['workspace']}")
        offered = [entry for entry in list_agents(folder.resolve(), disabled_at(folder.resolve())) if entry.offered]
        for entry in offered:
            assert entry.agent is not None  # offered ones are readable
            about = " ".join((entry.agent.config.description or entry.agent.name).split())
            self.stdout.write(f"[{'ws' if entry.scope == 'workspace' else 'global'}] {entry.id} — {about}")
        if not offered:
            self.stderr.write("No agents here.")
