from django.apps import AppConfig


class ExtensionsConfig(AppConfig):
    name = "extensions_app"
    default_auto_field = "django.db.models.BigAutoField"
