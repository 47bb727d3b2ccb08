"""`manage.py extensions list|install|remove|pack`: preview extensions from a terminal. A running server notices."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from extensions_app import install, registry
from extensions_app.pack import pack, sample, samples
from extensions_app.scanner import Installed, scan
from halo_site.lib.errors import Conflict, HaloError
from sessions_app.terminal import one_line
from workspaces_app.audit import audit


class Command(BaseCommand):
    help = "List, install, remove and pack preview extensions"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="what is installed, what is broken and why, and the samples that come along")
        one = verbs.add_parser("install", help="from a zip, a folder, or a sample by its id")
        one.add_argument("source")
        one.add_argument("--older", action="store_true", help="also over a newer version")
        two = verbs.add_parser("remove", help="an extension, a broken one too")
        two.add_argument("id")
        three = verbs.add_parser("pack", help="check a folder and write <id>-<version>.zip")
        three.add_argument("folder")
        three.add_argument("--into", default=".", help="folder for the zip")

    def handle(self, *args: Any, **options: Any) -> None:
        verb = {"list": self._list, "install": self._install, "remove": self._remove, "pack": self._pack}
        try:
            verb[options["verb"]](options)
        except Conflict as error:
            hint = "; --older installs it all the same" if "installed" in error.extra else ""
            raise CommandError(one_line(f"{error}{hint}", 1000)) from error
        except HaloError as error:
            raise CommandError(one_line(str(error), 1000)) from error
        except OSError as error:
            raise CommandError(one_line(f"{error.filename}: {error.strerror}", 1000)) from error

    def _list(self, options: dict[str, Any]) -> None:
        found = scan(registry.root())
        for each in found.extensions:
            said = each.manifest
            self._say(f"{said.id} {said.version} {' '.join(said.extensions)} {said.name}")
            for kind, other in found.passed_over(said.id).items():
                self._say(f"{kind} of {said.id} opens with {other}")
        for broken in found.errors:
            self._say(f"{broken.id} BROKEN: {broken.error}")
        left = [name for name in samples() if found.find(name) is None]
        if left:
            self._say(f"Samples to install: {', '.join(left)}")

    def _install(self, options: dict[str, Any]) -> None:
        given = options["source"]
        source = Path(given)
        if not source.exists():
            source = sample(given)
        root, older = registry.root(), options["older"]
        if source.is_dir():
            installed = install.install_folder(root, source, older=older)
        else:
            with source.open("rb") as file:
                installed = install.install_zip(root, file, older=older)
        self._done("install", installed)

    def _done(self, verb: str, installed: Installed) -> None:
        said = installed.manifest
        audit(f"extension.{verb}", target=said.id, detail={"version": said.version, "door": "terminal"})
        registry.write_index(scan(registry.root()))
        self._say(f"Installed {said.id} {said.version}")

    def _remove(self, options: dict[str, Any]) -> None:
        root = registry.root()
        folder = scan(root).folder_of(options["id"])
        if folder is None:
            raise CommandError(f"{options['id']} is not installed")
        install.remove(root, folder)
        audit("extension.remove", target=options["id"], detail={"door": "terminal"})
        registry.write_index(scan(root))
        self._say(f"Removed {options['id']}")

    def _pack(self, options: dict[str, Any]) -> None:
        packed, target = pack(Path(options["folder"]), Path(options["into"]))
        self._say(f"{target} {packed.manifest.id} {packed.manifest.version}, {target.stat().st_size} bytes")

    def _say(self, text: str) -> None:
        self.stdout.write(one_line(text, 1000))
