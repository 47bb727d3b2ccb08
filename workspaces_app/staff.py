"""What every admin page of every app has in common: who may see it, and that each change leaves an audit row.

Django's per-model permissions are not used: staff see everything that is registered, and each admin class says what
staff may do there. Whoever is not active staff sees nothing.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.admin import SimpleListFilter
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from .audit import audit
from .models import Workspace

M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, TabularInline
else:
    from unfold.admin import ModelAdmin, TabularInline

    # The type checker wants ModelAdmin[Session]; at run time Django's class knows no brackets.
    ModelAdmin.__class_getitem__ = classmethod(lambda cls, _item: cls)
    TabularInline.__class_getitem__ = classmethod(lambda cls, _item: cls)


def is_staff(request: HttpRequest) -> bool:
    user = request.user
    return bool(user.is_active and getattr(user, "is_staff", False))


def is_superuser(request: HttpRequest) -> bool:
    return is_staff(request) and bool(getattr(request.user, "is_superuser", False))


def record(
    request: HttpRequest,
    action: str,
    target: object = "",
    *,
    workspace: Workspace | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """One audit row about what the person of this request did just now."""
    actor = request.user if isinstance(request.user, User) else None
    audit(action, actor=actor, target=target, workspace=workspace, request=request, detail=detail)


def row_key(text: str | None) -> int | None:
    """A row's key out of an address or a form; None for anything that cannot be one."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= 18 else None


class ValueFilter(SimpleListFilter):
    """By the values a column has in the newest rows; Django's own filter reads the whole table for them, each time."""

    field = ""
    newest = 2_000

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = model_admin.model.objects.order_by("-pk").values_list(self.field, flat=True)[: self.newest]
        values = {str(value) for value in rows if value} | ({str(self.value())} if self.value() else set())
        return [(value, value) for value in sorted(values)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(Q((self.field, value))) if value else queryset


def by_value(field: str) -> type[ValueFilter]:
    facts = {"field": field, "parameter_name": field, "title": gettext_lazy(field.replace("_", " "))}
    return type(f"By{field.title()}", (ValueFilter,), facts)


class StaffAdmin(ModelAdmin[M]):
    """Staff look, nobody changes. A class that allows more overrides the `has_..._permission` it means.

    `noun` begins the names of its audit events: `workspace.add`, `workspace.change`, `workspace.delete`.
    """

    noun = ""
    audits_add = True  # False where the verb behind it writes its own row
    list_fullwidth = True
    list_per_page = 50
    show_full_result_count = False
    actions: Sequence[Any] | None = ()  # "delete selected" goes round our own actions: nowhere by default

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return is_staff(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        """Back to the list. Django leads those who may not change rows to the dashboard."""
        answer: HttpResponse = super().response_delete(request, obj_display, obj_id)
        if isinstance(answer, HttpResponseRedirect):
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))
        return answer

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A refused change leaves a row too. Written out here because the refusal rolls its own transaction back."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except PermissionDenied as refusal:
            if request.method == "POST":
                record(request, f"{self.audit_noun()}.refused", object_id or "", detail={"why": str(refusal)})
            raise

    def log_addition(self, request: HttpRequest, obj: M, message: Any) -> Any:
        if self.audits_add:
            record(request, f"{self.audit_noun()}.add", obj, detail={"id": str(obj.pk)})
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: M, message: Any) -> Any:
        record(request, f"{self.audit_noun()}.change", obj, detail={"id": str(obj.pk), "what": _plain(message)})
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[M] | Iterable[M]) -> Any:
        for obj in queryset:
            record(request, f"{self.audit_noun()}.delete", obj, detail={"id": str(obj.pk)})
        return super().log_deletions(request, queryset)  # type: ignore[arg-type]

    def audit_noun(self) -> str:
        return self.noun or str(self.opts.model_name)


class StaffTabularInline(TabularInline[M, P]):
    """Rows of a parent page: who may change the parent may change them."""

    tab = False

    def has_view_permission(self, request: HttpRequest, obj: P | None = None) -> bool:
        return is_staff(request)

    def has_add_permission(self, request: HttpRequest, obj: P | None = None) -> bool:
        return is_staff(request)

    def has_change_permission(self, request: HttpRequest, obj: P | None = None) -> bool:
        return is_staff(request)

    def has_delete_permission(self, request: HttpRequest, obj: P | None = None) -> bool:
        return is_staff(request)


def _plain(message: Any) -> Any:
    """Django's change message with its lazy texts made plain, so that it can be stored as JSON."""
    if isinstance(message, dict):
        return {str(key): _plain(value) for key, value in message.items()}
    if isinstance(message, list | tuple):
        return [_plain(item) for item in message]
    return message if isinstance(message, int | float | bool | None) else str(message)
