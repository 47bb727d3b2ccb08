"""`manage.py show_prompt <workspace> <agent>`: the system prompt a new session would start with."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.disabled import disabled_at
from agents_app.prompt_preview import preview
from halo_site.lib.access_level import Access
from halo_site.lib.errors import HaloError


class Command(BaseCommand):
    help = "Print what a model would get as its system prompt, and with --sources from which files"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workspace", help="folder of the workspace")
        parser.add_argument("agent", nargs="?", default="default", help="id of the agent (default: default)")
        parser.add_argument("--level", choices=[level.value for level in Access], default=Access.FULL.value)
        parser.add_argument("--child", action="store_true", help="as a session that another agent started")
        parser.add_argument("--working-dir", default="", help="working directory, relative to the workspace")
        parser.add_argument("--sources", action="store_true", help="list the files it is made of instead")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(options["workspace"]).resolve()
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder")
        try:
            worn = preview(
                folder,
                options["agent"],
                level=Access(options["level"]),
                child=options["child"],
                working_dir=options["working_dir"],
                disabled=disabled_at(folder),
            )
        except HaloError as error:
            raise CommandError(str(error)) from error
        self.stdout.write("\n".join(worn.prompt.sources) if options["sources"] else worn.prompt.text)
