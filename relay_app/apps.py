from django.apps import AppConfig
from django.conf import settings


class RelayConfig(AppConfig):
    name = "relay_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents_app.tools import add_relay_tools
        from sessions_app.debts import add_debtor
        from sessions_app.run_end import on_run_end

        from . import availability, reports, tools
        from .run_end import send_final

        add_relay_tools(*tools.TOOLS)
        add_debtor(reports)
        on_run_end("relay", send_final)
        if settings.HALO.standalone is not None:
            availability.switch_off()
