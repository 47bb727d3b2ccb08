from django.apps import AppConfig
from django.conf import settings


class SessionsConfig(AppConfig):
    name = "sessions_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents_app.tools import add_team_tools
        from workspaces_app.actions import on_new_workspace

        from . import frames
        from .commands import frames as command_frames
        from .commands.dispatch import check_table
        from .delegation import tools
        from .delegation.run_end import report_to_parent
        from .run_end import on_run_end
        from .transcripts.follow import append_at_run_end
        from .transcripts.load import import_into_new

        if settings.HALO.goal_mode:
            from .goals.register import register as register_goals

            register_goals()
        check_table()
        frames.register()
        command_frames.register()
        add_team_tools(*tools.TOOLS)
        on_run_end("parent", report_to_parent)
        on_run_end("transcript", append_at_run_end)
        on_new_workspace(import_into_new)
