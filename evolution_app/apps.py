from django.apps import AppConfig


class EvolutionConfig(AppConfig):
    name = "evolution_app"
    default_auto_field = "django.db.models.BigAutoField"
