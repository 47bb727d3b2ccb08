"""People: staff keep ordinary accounts, only superusers touch flags and the accounts of those who have them (L7).

Who is logged in as somebody whose rights change is looked after by `halo_site/auth_watch.py`.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Count, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from halo_site.end_logins import end_all_logins
from workspaces_app.models import Membership
from workspaces_app.staff import StaffAdmin, StaffTabularInline, is_staff, is_superuser, record

FLAGS = ("is_staff", "is_superuser", "groups", "user_permissions")

if TYPE_CHECKING:
    _Form = ModelForm[User]
    _UserAdmin = DjangoUserAdmin[User]
else:
    _Form = UserChangeForm
    _UserAdmin = DjangoUserAdmin


class AccountForm(_Form):
    """Somebody must stay who can mend everything."""

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        keeps = data.get("is_superuser", self.instance.is_superuser) and data.get("is_active", self.instance.is_active)
        if self.instance.pk and not keeps and is_last_superuser(self.instance.pk):
            raise ValidationError(_("This is the last superuser: make somebody else one first."))
        return data


def is_last_superuser(key: int) -> bool:
    owners = list(User.objects.filter(is_superuser=True, is_active=True).values_list("pk", flat=True)[:2])
    return owners == [key]


class MembershipsOfUser(StaffTabularInline[Membership, User]):
    """To see where somebody works; it is changed on the workspace's page, in one place."""

    model = Membership
    extra = 0
    verbose_name_plural = _("workspaces")
    fields = ("workspace", "level")

    def has_add_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


@admin.register(User)
class AccountAdmin(StaffAdmin[User], _UserAdmin):
    """Ordinary accounts are staff's; those of staff and superusers only a superuser changes."""

    noun = "user"
    form = AccountForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "role", "active", "membership_count", "last_login", "date_joined")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("username", "email", "first_name", "last_name")
    ordering = ("username",)
    filter_horizontal = ()
    actions = ("end_logins",)
    inlines = (MembershipsOfUser,)
    add_fieldsets = ((None, {"fields": ("username", "usable_password", "password1", "password2")}),)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Rights"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (_("Times"), {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).annotate(staff_memberships=Count("memberships"))

    # Who may do what to whom.

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return is_superuser(request) or (is_staff(request) and (obj is None or is_ordinary(obj)))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        if obj is None:
            return is_staff(request)
        if obj.pk == request.user.pk or is_last_superuser(obj.pk):
            return False
        return self.has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        fixed = tuple(super().get_readonly_fields(request, obj))
        return fixed if is_superuser(request) else (*fixed, "is_staff", "is_superuser")

    def get_inlines(self, request: HttpRequest, obj: User | None) -> Any:
        return self.inlines if obj else ()

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        self._refuse_flags(request, object_id or "")
        return super().changeform_view(request, object_id, form_url, extra_context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._refuse_flags(request, "")
        answer: HttpResponse = super().add_view(request, form_url, extra_context)
        return answer

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        try:
            answer: HttpResponse = super().user_change_password(request, id, form_url)
        except PermissionDenied:
            if request.method == "POST":
                record(request, "user.refused", id, detail={"why": "password of an account they may not change"})
            raise
        return answer

    def _refuse_flags(self, request: HttpRequest, target: str) -> None:
        """A form that carries a flag its sender may not set was not made by our page: refuse it whole."""
        sent = [name for name in FLAGS if name in request.POST]
        if sent and not is_superuser(request):
            record(request, "user.refused", target, detail={"fields": sent})
            raise PermissionDenied("Only a superuser sets flags")

    # The verb.

    @admin.action(description=_("Log out everywhere"), permissions=["change"])
    def end_logins(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Every login of the chosen people ends; those the person of this request may not change are passed over."""
        done = 0
        for user in queryset.order_by("username"):
            if not self.has_change_permission(request, user):
                record(request, "user.refused", user, detail={"why": "logins of an account they may not change"})
                continue
            with transaction.atomic():
                end_all_logins(user.pk)
                record(request, "logout.everywhere", user, detail={"id": str(user.pk)})
            done += 1
        text = ngettext("Logged out %(count)s person everywhere.", "Logged out %(count)s people everywhere.", done)
        self.message_user(request, text % {"count": done}, messages.SUCCESS if done else messages.WARNING)

    # Columns.

    @admin.display(description=_("Role"), ordering="is_superuser")
    def role(self, user: User) -> str:
        return str(_("Superuser") if user.is_superuser else _("Staff") if user.is_staff else _("Member"))

    @admin.display(description=_("State"), ordering="is_active")
    def active(self, user: User) -> SafeString:
        name, word = ("ok", _("active")) if user.is_active else ("off", _("disabled"))
        return format_html('<span class="h-state"><span class="h-ring {}"></span>{}</span>', name, word)

    @admin.display(description=_("Workspaces"))
    def membership_count(self, user: User) -> int:
        return int(getattr(user, "staff_memberships", 0))


def is_ordinary(user: User) -> bool:
    return not (user.is_staff or user.is_superuser)
