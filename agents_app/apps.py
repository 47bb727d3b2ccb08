from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from workspaces_app.actions import on_open_workspace

        from .providers.admission import hear_of_rests
        from .sharing.actions import settle

        on_open_workspace(settle)
        hear_of_rests()
