"""`manage.py seal_secrets`: seals the secrets that are stored in clear; `--open` takes all seals off again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.settings_sections import declared
from halo_site.lib import sealed, settings_write
from halo_site.lib.errors import HaloError


class Command(BaseCommand):
    help = "Encrypt the secrets of the global settings file with HALO_SETTINGS_KEY, or decrypt them with --open"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--open", action="store_true", help="store them in clear again, before the key changes")

    def handle(self, *args: Any, **options: Any) -> None:
        if not sealed.is_on():
            raise CommandError("HALO_SETTINGS_KEY is not set")
        secret = {key for key, part in declared(None).items() if part.secret}
        try:
            changed = settings_write.reseal(secret, seal=not options["open"])
        except HaloError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{changed} secret(s) {'opened' if options['open'] else 'sealed'}")
