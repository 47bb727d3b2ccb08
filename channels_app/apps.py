from django.apps import AppConfig


class ChannelsConfig(AppConfig):
    name = "channels_app"
    default_auto_field = "django.db.models.BigAutoField"
