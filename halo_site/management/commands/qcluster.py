"""`manage.py qcluster`: django-q2's own command that also ends when the server that started it dies."""

from typing import Any

from django.conf import settings
from django_q.management.commands.qcluster import Command as QClusterCommand

from halo_site.lib import logs
from halo_site.lib.parent import end_with_parent


class Command(QClusterCommand):  # type: ignore[misc]
    requires_system_checks: list[str] = []  # the server that starts it has the same code

    def handle(self, *args: Any, **options: Any) -> None:
        end_with_parent()
        logs.start(settings.HALO, file=settings.HALO.global_dir / "logs" / "qcluster.log")
        from halo_site import transport

        transport.start_tool()
        super().handle(*args, **options)
