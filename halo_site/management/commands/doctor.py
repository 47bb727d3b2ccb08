"""`manage.py doctor`: looks at everything a server needs and says what is wrong and what to do."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection


class Finding(NamedTuple):
    good: bool
    what: str
    advice: str = ""


class Command(BaseCommand):
    help = "Check home, secrets, database, Redis, port, tools and the built browser app"
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--quiet", action="store_true", help="print only what is wrong")

    def handle(self, *args: Any, **options: Any) -> None:
        bad = 0
        for finding in look():
            bad += not finding.good
            if finding.good and options["quiet"]:
                continue
            self.stdout.write(f"{'ok  ' if finding.good else 'BAD '} {finding.what}")
            if not finding.good and finding.advice:
                self.stdout.write(f"     {finding.advice}")
        if bad:
            sys.exit(1)


def look() -> Iterator[Finding]:
    """All findings, cheapest first. A look that cannot be made is a finding too."""
    for check in (home, secret, database, redis, port, tools, sandbox, browser_app):
        yield from check()


def home() -> Iterator[Finding]:
    from halo_site.lib.home import HomeUnusable, prepare_home

    try:
        prepare_home(settings.HALO)
    except HomeUnusable as error:
        yield Finding(False, f"home {settings.HALO.home}", str(error))
        return
    free = shutil.disk_usage(settings.HALO.home).free // 2**20
    yield Finding(
        free > 200, f"home {settings.HALO.home}, {free} MiB free", "Make room: messages are refused when full."
    )


def secret() -> Iterator[Finding]:
    from halo_site.serve.first_start import WeakSecret, check_secret

    try:
        check_secret()
    except WeakSecret as error:
        yield Finding(
            False, "signing secret", f"{error}. A home that never started has none: `manage.py serve` makes it."
        )
        return
    yield Finding(True, "signing secret")


def database() -> Iterator[Finding]:
    from django.contrib.auth.models import User
    from django.db.utils import Error

    from halo_site.lib.migrating import NewerSchema, pending

    name = f"database {connection.vendor}"
    try:
        if pending():
            yield Finding(False, name, "The schema is behind: start the server, or `manage.py migrate`.")
            return
        admins = [user for user in User.objects.filter(is_superuser=True, is_active=True) if user.has_usable_password()]
    except NewerSchema as error:
        yield Finding(False, name, str(error))
        return
    except (Error, OSError) as error:
        yield Finding(False, name, f"Cannot be reached: {str(error).splitlines()[0]}")
        return
    yield Finding(True, name)
    yield Finding(bool(admins), f"{len(admins)} superuser(s) who can log in", "`manage.py createsuperuser`")


def redis() -> Iterator[Finding]:
    if not settings.HALO.redis_url:
        return
    from redis import Redis
    from redis.exceptions import RedisError

    try:
        Redis.from_url(settings.HALO.redis_url, socket_timeout=3).ping()
    except RedisError as error:
        yield Finding(False, "Redis", f"Cannot be reached: {error}")
        return
    yield Finding(True, "Redis")


def port() -> Iterator[Finding]:
    from halo_site.serve.listen import CannotListen, check_free

    env = settings.HALO
    try:
        check_free(env.host, env.port)
    except CannotListen as error:
        yield Finding(False, f"port {env.port}", f"{error} (fine when that is Halo itself)")
        return
    yield Finding(True, f"port {env.port} is free")


def tools() -> Iterator[Finding]:
    for name, run, advice in (
        ("git", ["git", "--version"], "Install git: without it there is no source control."),
        ("ripgrep", [str(_ripgrep()), "--version"], "Run scripts/setup run again: grep and glob need it."),
    ):
        yield _runs(name, run, advice)


def sandbox() -> Iterator[Finding]:
    from workspaces_app.sandbox import status

    state = status()
    if state.available:
        yield Finding(True, f"sandbox {state.version}")
    else:
        advice = "Sessions below full access get no shell. `apt install bubblewrap`, or allow user namespaces."
        yield Finding(False, f"sandbox: {state.reason}", advice)


def _ripgrep() -> str:
    from pathlib import Path

    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.exists() else "rg"


def _runs(name: str, command: list[str], advice: str) -> Finding:
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, text=True)
    except (OSError, subprocess.TimeoutExpired):
        return Finding(False, name, advice)
    return Finding(done.returncode == 0, done.stdout.splitlines()[0] if done.stdout else name, advice)


def browser_app() -> Iterator[Finding]:
    built = settings.BASE_DIR / "static" / "dist" / ".vite" / "manifest.json"
    yield Finding(built.exists(), "browser app is built", "scripts/setup run")
