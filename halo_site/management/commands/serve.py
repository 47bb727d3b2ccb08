"""`manage.py serve`: the whole of Halo in one process, on one port (spec deploy 4 and 5)."""

import argparse
import os
import sys
import threading
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand

from halo_site.health import git_sha
from halo_site.lib import logs
from halo_site.lib.errors import HaloError
from halo_site.lib.home import prepare_home


class Command(BaseCommand):
    help = "Start Halo: browser app, API, agents and background tasks on one port"
    requires_system_checks: list[str] = []  # tests and `manage.py check` run them; a start must not wait for them
    requires_migrations_checks = False

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-p", "--port", help="port to listen on (HALO_PORT, 9527); 0 = any free one")
        parser.add_argument("--host", help="address to listen on (HALO_HOST, 127.0.0.1)")
        parser.add_argument("--no-qcluster", action="store_true", help="do not start the background task child")

    def handle(self, *args: Any, **options: Any) -> NoReturn:
        env = settings.HALO
        port = self._port(options["port"], env.port)
        host = options["host"] or env.host
        try:
            code = self._serve(host, port, qcluster=not options["no_qcluster"])
        except HaloError as error:
            self.stderr.write(str(error))
            code = 1
        sys.stdout.flush()
        # Threads of libraries must not hold up the end; everything of ours is closed by now.
        os._exit(code)

    def _serve(self, host: str, port: int, *, qcluster: bool) -> int:
        from halo_site.serve import first_start, listen
        from halo_site.serve.lock import InstanceLock

        env = settings.HALO
        threading.Thread(target=git_sha, daemon=True).start()  # asks git meanwhile; the first health answer needs it
        prepare_home(env)
        lock = InstanceLock(env.global_dir / "server.lock")
        if not env.redis_url:
            lock.take()
        port = listen.check_free(host, port)
        logs.start(env, file=env.global_dir / "logs" / "server.log")
        first_start.seed()
        if first_start.make_secret():
            begin_again(lock)  # settings are read once; the secret must be in them
        first_start.check_secret()
        first_start.prepare_database(self.stdout.write)
        if password := first_start.first_admin():
            self._welcome(password, listen.address(host, port))

        from halo_site.serve.process import ServerProcess

        try:
            return ServerProcess(env, host=host, port=port, qcluster=qcluster, tell=self._tell).run()
        finally:
            lock.release()

    def _tell(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _welcome(self, password: str, address: str) -> None:
        self._tell(
            "\n  Welcome to Halo. Open the address, log in once, then change the password.\n\n"
            f"    Address   {address}\n    User      admin\n    Password  {password}   (shown only this once)\n"
        )

    def _port(self, given: str | None, default: int) -> int:
        if given is None:
            return default
        if not given.isdigit() or int(given) > 65535:
            self.stderr.write(f"Invalid port: {given}")
            raise SystemExit(1)
        return int(given)


def begin_again(lock: Any) -> NoReturn:
    """The same command in the same process id, with the settings read anew."""
    lock.release()
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command line
