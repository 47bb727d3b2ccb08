"""`manage.py import_workspace ZIP -w PATH [--yes]`: take over what somebody shared with `/workspace share`."""

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.sharing import actions
from agents_app.sharing.actions import Actor, Preview, Wanted
from agents_app.sharing.plan import ASKED, Choice
from halo_site.lib.errors import HaloError
from halo_site.lib.yaml_files import load_mapping
from workspaces_app.models import Workspace

MEANS = {
    "new": "new",
    "same": "here already",
    "differs": "DIFFERS from yours: comes only with --replace",
    "hides": "would HIDE the home's own here: comes only with --replace",
    "blocked": "cannot come: a file or a link is in its way",
}


class Command(BaseCommand):
    help = "Import an archive of `/workspace share`: first a preview, with --yes all that was chosen or nothing"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("zip", nargs="?", help="the archive")
        parser.add_argument("-w", "--workspace", required=True, help="folder of the workspace, opened once before")
        parser.add_argument("--yes", action="store_true", help="import what the preview shows")
        parser.add_argument("--replace", action="append", default=[], metavar="ITEM", help="all = everything asked for")
        parser.add_argument("--leave", action="append", default=[], metavar="ITEM", help="new, and not wanted")
        parser.add_argument("--values", metavar="FILE", help="YAML of parameters, `key: value`; - = standard input")
        parser.add_argument("--undo", action="store_true", help="take the last import back")
        parser.add_argument("--force", action="store_true", help="with --undo: lose changes made since")

    def handle(self, *args: Any, **options: Any) -> None:
        real = os.path.realpath(options["workspace"])
        workspace = Workspace.objects.filter(path=real).first()
        if workspace is None or not os.path.isdir(real):
            raise CommandError(f"{real} is not a workspace: open it in the app first")
        if bool(options["zip"]) is options["undo"]:
            raise CommandError("Name an archive, or give --undo")
        try:
            self._undo(workspace, options) if options["undo"] else self._import(workspace, options)
        except HaloError as error:
            raise CommandError(_plain(str(error))) from error
        except OSError as error:
            raise CommandError(_plain(f"{error.filename}: {error.strerror}")) from error

    def _import(self, workspace: Workspace, options: dict[str, Any]) -> None:
        source = Path(options["zip"])
        with source.open("rb") as file:
            actions.check_size(os.fstat(file.fileno()).st_size)
            seen = actions.preview(workspace, file)
            self._show(seen)
            if not options["yes"]:
                self._say("Nothing was imported. To do it: the same line with --yes")
                return
            asked = [step.item.path for step in seen.steps if step.verdict in ASKED]
            replace = asked if "all" in options["replace"] else options["replace"]
            values = _values(options["values"]) if options["values"] else {}
            wanted = Wanted(seen.id, Choice(replace, options["leave"]), values)
            file.seek(0)
            done = actions.do_import(workspace, file, wanted, name=source.name, actor=Actor())
        self._say(f"Imported: {', '.join(done.paths)}")
        for key in done.missing:
            self._say(f"Still to be set in Settings: {key}")

    def _show(self, seen: Preview) -> None:
        for step in seen.steps:
            self._say(f"{step.item.path}  {step.item.kind}, {len(step.item.files)} files: {MEANS[step.verdict]}")
        for one in seen.left_out:
            self._say(f"{one.path}  left out ({one.reason})")
        for need in seen.needs:
            state = "is set" if need.key not in seen.unset else "needs a value" if need.required else "may be set"
            self._say(f"{need.key}  {state}. {need.field.description}".rstrip())

    def _undo(self, workspace: Workspace, options: dict[str, Any]) -> None:
        paths = actions.do_undo(workspace, force=options["force"], actor=Actor())
        self._say(f"As before: {', '.join(paths)}")

    def _say(self, text: str) -> None:
        self.stdout.write(_plain(text))


def _values(name: str) -> dict[str, Any]:
    """Secrets do not belong on a command line: others see it."""
    return load_mapping(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))


def _plain(text: str) -> str:
    """Without what steers a terminal: names come from a stranger."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
