"""Bring the database to the schema of this program: one process migrates, the others wait (CASES X9)."""

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.commands.migrate import Command as Migrate
from django.db import connection
from django.db.utils import OperationalError, ProgrammingError

from .crashpoint import crashpoint
from .errors import HaloError

log = logging.getLogger("halo.schema")
ADVISORY_KEY = 0x48414C4F  # "HALO": one lock number per database
WAIT = 600.0  # seconds a process waits for another one that migrates


class NewerSchema(HaloError):
    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"This database was written by a newer version of Halo (it knows {names[0]}, this program does not). "
            "Install that version again, or restore the backup made before the upgrade."
        )


def on_disk() -> set[tuple[str, str]]:
    """(app label, migration name) of every migration this program has; reads folder listings, imports nothing."""
    found = set()
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if folder.is_dir():
            found |= {(app.label, file.stem) for file in folder.glob("[!_]*.py")}
    return found


def applied() -> set[tuple[str, str]]:
    """What the database says; empty for a new one. Raises OperationalError when it cannot be reached."""
    connection.ensure_connection()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations")
            return {(app, name) for app, name in cursor.fetchall()}
    except (OperationalError, ProgrammingError) as error:
        if "django_migrations" not in str(error):
            raise
        return set()


def ensure_schema(tell: Callable[[str], None] = lambda text: None) -> bool:
    """Migrate when needed; True if this process did. Raises NewerSchema when the database is ahead of us.

    Safe to be killed at any point and to be called by several processes at once. The common case, nothing to do, is
    one query and no look at any migration module.
    """
    if not pending():
        return False
    with _one_at_a_time(tell):
        if not pending():
            return False
        call_command(_Migrate(), verbosity=0, interactive=False)
    return True


def pending() -> bool:
    """Whether this program has migrations that the database lacks. Raises NewerSchema."""
    known, done = on_disk(), applied()
    ours = {app.label for app in apps.get_app_configs() if Path(app.path).parent == Path(settings.BASE_DIR)}
    unknown = sorted(f"{app}.{name}" for app, name in done - known if app in ours)
    if unknown:
        raise NewerSchema(unknown)
    return bool(known - done)


class _Migrate(Migrate):
    def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:
        if action == "apply_success":
            log.info("migrated", extra={"migration": str(migration)})
            crashpoint("migrate.mid")


@contextmanager
def _one_at_a_time(tell: Callable[[str], None]) -> Iterator[None]:
    """A lock that ends with its holder: an advisory lock on PostgreSQL, a locked file beside SQLite."""
    waiting = "Another process is preparing the database; waiting for it"
    deadline = time.monotonic() + WAIT
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_KEY])
            if not cursor.fetchone()[0]:
                tell(waiting)
                cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{int(WAIT)}s"])
                cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_KEY])
                cursor.execute("RESET lock_timeout")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_KEY])
        return
    handle = os.open(settings.HALO.global_dir / "migrate.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        told = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    tell(waiting)
                    told = True
                if time.monotonic() > deadline:
                    raise HaloError("Another process has been preparing the database for 10 minutes") from None
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)
