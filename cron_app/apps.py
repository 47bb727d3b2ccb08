from django.apps import AppConfig


class CronConfig(AppConfig):
    name = "cron_app"
    default_auto_field = "django.db.models.BigAutoField"
