#!/usr/bin/env python
"""Django's command line for Halo: serve, migrate, runworker and the rest."""

import gc
import os
import sys

LONG_LIVED = {"serve", "runworker"}


def main() -> None:
    if LONG_LIVED & set(sys.argv[1:2]):
        # Looking for garbage among modules that are just being loaded costs a tenth of the start; these commands
        # turn the collector on when they are up (halo_site/lib/garbage.py).
        gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        if LONG_LIVED & set(sys.argv[1:2]):
            _leave_out_unused_driver()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A wrong variable or a broken config.yaml: the sentence says what to mend, a stack trace would hide it.
        sys.exit(f"manage.py: {error}")


def _leave_out_unused_driver() -> None:
    """The look of the staff site loads PostgreSQL's driver wherever it is installed: 9 MB for nothing on SQLite."""
    from django.conf import settings

    if "sqlite" in str(settings.DATABASES["default"]["ENGINE"]):
        sys.modules.setdefault("psycopg", None)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
