from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class HaloSiteConfig(AppConfig):
    name = "halo_site"
    default = True
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .auth_watch import watch

        watch()


class StaffSiteConfig(admin_apps.SimpleAdminConfig):
    """Django's admin app with our site in place of the plain one.

    The simple form: urls.py finds the pages when it is loaded. A start, a worker or a command that serves no pages
    does without them and what they import (a quarter of a second, 15 MB).
    """

    default = False  # of this module
    default_site = "halo_site.staff_site.HaloAdminSite"
