"""Failed sign-ins and who is locked out, to read; superusers only, as user names people mistype may be passwords."""

from axes.models import AccessAttempt
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from workspaces_app.staff import StaffAdmin, is_superuser


@admin.register(AccessAttempt)
class AttemptAdmin(StaffAdmin[Model]):
    list_display = ("attempt_time", "username", "ip_address", "failures_since_start", "path_info", "user_agent")
    list_filter = ("attempt_time",)
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    # Not the posted form: axes masks passwords in it, but nobody needs the rest.
    fields = ("attempt_time", "username", "ip_address", "failures_since_start", "path_info", "user_agent")

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return is_superuser(request)
