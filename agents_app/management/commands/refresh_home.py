"""`manage.py refresh_home`: write Halo's own files in the home anew, whatever version it has (docs/agents.md)."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agents_app.seed import seed_home
from halo_site.lib.errors import HaloError


class Command(BaseCommand):
    help = "Bring Halo's own files in the home back to what this version ships; what you changed is kept beside them"

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            written = seed_home(settings.HALO.home, settings.HALO.default_provider, force=True)
        except (HaloError, OSError) as error:
            raise CommandError(str(error)) from error
        for name in written:
            self.stdout.write(str(settings.HALO.global_dir / name))
        self.stdout.write(f"{len(written)} files written")
