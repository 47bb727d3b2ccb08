from django.apps import AppConfig
from django.conf import settings

from halo_site.lib.atomic_file import use_journal


class WorkspacesConfig(AppConfig):
    name = "workspaces_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .terminals import frames

        frames.register()
        # Every process notes its temporary files; the next start of the server removes what a killed one left.
        use_journal(settings.HALO.global_dir / ".temp-files")
