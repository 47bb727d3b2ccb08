"""`manage.py cli "<prompt>"`: run an agent once from a terminal or a script (docs/cli.md)."""

import asyncio
import os
import sys
import threading
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from halo_site.cli.options import Options, add_arguments, prompt_of
from halo_site.lib.errors import HaloError

EXIT_WITHIN = 5.0  # seconds after the work is done, whatever thread still hangs


class Command(BaseCommand):
    help = "Say something to an agent and print its answer: scripts, CI, quick questions"
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """`-v` is --verbose here, not Django's --verbosity."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **given: Any) -> NoReturn:
        try:
            options = Options.of(given)
            if given["standalone"] and settings.HALO.standalone is None:
                _begin_again_standalone(options)
            _check_home()
            piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
            code = self._run(options, prompt_of(options.words, piped), piped=bool(piped.strip()))
        except HaloError as error:
            self.stderr.write(f"[error] {error}" if given["verbose"] else str(error))
            code = 1
        watchdog = threading.Timer(EXIT_WITHIN, os._exit, [code])
        watchdog.daemon = True
        watchdog.start()
        sys.exit(code)

    def _run(self, options: Options, prompt: str, *, piped: bool) -> int:
        from halo_site import transport
        from halo_site.lib import logs
        from halo_site.lib.db import close_all
        from halo_site.lib.home import prepare_home
        from halo_site.serve import first_start

        env = settings.HALO
        prepare_home(env)
        logs.start(env, file=env.global_dir / "logs" / "cli.log", stream=sys.stderr)
        if env.standalone:
            first_start.seed()
        first_start.prepare_database(self.stderr.write)
        if env.standalone:
            from relay_app.availability import switch_off

            _stand_alone_owner()
            switch_off()
        try:
            return asyncio.run(_work(options, prompt, piped))
        finally:
            transport.end_tool()
            close_all()


async def _work(options: Options, prompt: str, piped: bool) -> int:
    from halo_site import transport
    from halo_site.cli.process import Cli
    from halo_site.cli.screen import Screen
    from halo_site.lib.publish import Local

    news = Local() if settings.HALO.standalone else transport.start_tool()
    return await Cli(options, Screen(options.format, options.verbose), news).run(prompt, piped=piped)


def _check_home() -> None:
    """Raises HaloError when no server was ever started here; a standalone run seeds the home itself."""
    if settings.HALO.standalone is None and not (settings.HALO.global_dir / ".template-version").exists():
        raise HaloError(f"halo: {settings.HALO.global_dir}/ not initialized. Run `manage.py serve` once first.")


def _begin_again_standalone(options: Options) -> NoReturn:
    """The same command with the database of the workspace; Django reads its settings once."""
    folder = options.workspace / ".halo"
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"HALO_STANDALONE": str(folder / "standalone.sqlite3")}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606 - our own command line


def _stand_alone_owner() -> None:
    """Behind every session stands a user; nobody can log in as this one."""
    from django.contrib.auth.models import User

    if not User.objects.exists():
        owner = User(username="owner", is_superuser=True, is_staff=True)
        owner.set_unusable_password()
        owner.save()
