"""Staff pages of the ground layer: workspaces with their members, and the audit trail."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from halo_site.lib.errors import BadRequest

from .access import Caller
from .actions import check_not_ours, open_folder
from .models import AuditEvent, Membership, Workspace
from .staff import StaffAdmin, StaffTabularInline, by_value, is_staff, is_superuser, record, row_key

if TYPE_CHECKING:
    Formset = BaseModelFormSet[Any, Any]


class WorkspaceForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """A new workspace names a folder that exists; its name may stay empty."""

    class Meta:
        model = Workspace
        fields = ("path", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "name" in self.fields:
            self.fields["name"].required = bool(self.instance.pk)

    def clean_path(self) -> str:
        return checked_folder(self.cleaned_data["path"], None)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("path") and not data.get("name"):
            data["name"] = os.path.basename(data["path"]) or data["path"]
        return data


class RelinkForm(forms.Form):
    path = forms.CharField(max_length=4096, strip=True)

    def __init__(self, workspace: Workspace, *args: Any, any_folder: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workspace, self.any_folder = workspace, any_folder

    def clean_path(self) -> str:
        """The real path of a folder no other workspace has. Only superusers may name one that never was a workspace."""
        new = checked_folder(self.cleaned_data["path"], self.workspace)
        if not self.any_folder:
            if os.path.isdir(self.workspace.path):
                raise ValidationError(_("The old folder is still there. Only a superuser may point it elsewhere."))
            if not os.path.isdir(os.path.join(new, ".halo")):
                raise ValidationError(_("This folder holds no .halo folder, so it is not the workspace that moved."))
        return new


def checked_folder(given: str, current: Workspace | None) -> str:
    """The real path of an existing folder that no other workspace has. Raises ValidationError."""
    if not os.path.isabs(given) or "\0" in given:
        raise ValidationError(_("Give an absolute path on the server."))
    real = os.path.realpath(given)
    if not os.path.isdir(real):
        raise ValidationError(_("There is no such folder on the server."))
    if os.path.dirname(real) == real:
        raise ValidationError(_("The root of the file system cannot be a workspace."))
    if not os.access(real, os.W_OK):
        raise ValidationError(_("The server may not write in this folder."))
    try:
        check_not_ours(Path(real))
    except BadRequest as error:
        raise ValidationError(str(error)) from error
    taken = Workspace.objects.filter(path=real).first()
    if taken and taken != current:
        raise ValidationError(gettext("This folder is the workspace %(name)s already.") % {"name": taken.name})
    return real


class MembershipInline(StaffTabularInline[Membership, Workspace]):
    model = Membership
    extra = 0
    autocomplete_fields = ("user",)
    verbose_name, verbose_name_plural = _("member"), _("members")
    hide_title = True


@admin.register(Workspace)
class WorkspaceAdmin(StaffAdmin[Workspace]):
    """Members are staff's work. Opening a folder of the machine (add, relink anywhere) needs a superuser."""

    noun = "workspace"
    audits_add = False
    form = WorkspaceForm
    list_display = ("name", "shown_path", "member_count", "session_count", "opened_at")
    list_filter = ("opened_at",)
    search_fields = ("name", "path")
    ordering = ("-opened_at", "-pk")
    inlines = (MembershipInline,)
    change_form_template = "admin/workspaces_app/workspace/change.html"

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> tuple[str, ...]:
        return ("name", "path", "created_at", "opened_at") if obj else ("path", "name")

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> tuple[str, ...]:
        return ("path", "created_at", "opened_at") if obj else ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        return is_staff(request)

    def has_delete_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        """Its sessions go first, through the sessions page, where runs are stopped and ids tombstoned."""
        return is_superuser(request) and (obj is None or not obj.sessions.exists())

    def get_inlines(self, request: HttpRequest, obj: Workspace | None) -> Any:
        return self.inlines if obj else ()  # whoever opens a folder becomes its first member

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:
        """A new one goes the way of the app's "open folder": its `.halo/`, its first member, its audit row."""
        if change:
            super().save_model(request, obj, form, change)
            return
        made, _ = open_folder(Caller.of(request.user), obj.path, request=request)  # type: ignore[arg-type]
        if obj.name != made.name:
            Workspace.objects.filter(pk=made.pk).update(name=obj.name)
        obj.pk, obj._state.adding = made.pk, False

    @admin.display(description=_("Folder"), ordering="path")
    def shown_path(self, workspace: Workspace) -> SafeString:
        return format_html('<span class="h-mono">{}</span>', workspace.path)

    @admin.display(description=_("Members"))
    def member_count(self, workspace: Workspace) -> int:
        return self._counts(workspace)[0]

    @admin.display(description=_("Sessions"))
    def session_count(self, workspace: Workspace) -> int:
        return self._counts(workspace)[1]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Counts of the rows of one page in two queries: joined into the list they would multiply each other."""
        found = super().get_changelist_instance(request)
        keys = [row.pk for row in found.result_list]
        rows = Workspace.objects.filter(pk__in=keys)
        members = dict(rows.values_list("pk").annotate(Count("memberships")).order_by())
        sessions = dict(rows.values_list("pk").annotate(Count("sessions")).order_by())
        for row in found.result_list:
            row.staff_counts = (members.get(row.pk, 0), sessions.get(row.pk, 0))
        return found

    @staticmethod
    def _counts(workspace: Workspace) -> tuple[int, int]:
        counts: tuple[int, int] = getattr(workspace, "staff_counts", (0, 0))
        return counts

    def save_formset(self, request: HttpRequest, form: Any, formset: "Formset", change: bool) -> None:
        """Memberships: nobody raises themselves, and each change is an audit row."""
        formset.save(commit=False)
        touched: list[tuple[str, Membership, dict[str, Any]]] = [
            *(("add", row, {}) for row in formset.new_objects),
            *(("change", row, _before(formset, row)) for row, _ in formset.changed_objects),
            *(("delete", row, {}) for row in formset.deleted_objects),
        ]
        users = {row.user_id for _, row, _ in touched} | {
            old["user"] for _, _, old in touched if isinstance(old.get("user"), int)
        }
        if request.user.pk in users and not is_superuser(request):
            raise PermissionDenied("Only a superuser changes their own membership")
        super().save_formset(request, form, formset, change)
        for verb, row, old in touched:
            detail = {"user": row.user_id, "level": row.level, **({"before": old} if old else {})}
            record(request, f"membership.{verb}", row.user, workspace=row.workspace, detail=detail)

    def get_urls(self) -> list[URLPattern]:
        relink = path(
            "<int:key>/relink/", self.admin_site.admin_view(self.relink), name="workspaces_app_workspace_relink"
        )
        return [relink, *super().get_urls()]

    def relink(self, request: HttpRequest, key: int) -> HttpResponse:
        """A moved folder keeps its sessions: the old row gets the new path (ARCHITECTURE 4)."""
        workspace = get_object_or_404(Workspace, pk=key)
        form = RelinkForm(workspace, request.POST or None, any_folder=is_superuser(request))
        if request.method == "POST" and form.is_valid():
            new, old = form.cleaned_data["path"], workspace.path
            # The old path in WHERE: of two people who relink at once, one does.
            changed = Workspace.objects.filter(pk=workspace.pk, path=old).update(path=new)
            if changed:
                record(request, "workspace.relink", workspace, workspace=workspace, detail={"from": old, "to": new})
                self.message_user(
                    request,
                    gettext("%(name)s is now %(path)s.") % {"name": workspace.name, "path": new},
                    messages.SUCCESS,
                )
            else:
                self.message_user(request, gettext("Somebody else relinked it meanwhile."), messages.WARNING)
            return HttpResponseRedirect(reverse("admin:workspaces_app_workspace_change", args=[workspace.pk]))
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Relink %(name)s") % {"name": workspace.name},
            "opts": self.opts,
            "workspace": workspace,
            "original": workspace,
            "gone": not os.path.isdir(workspace.path),
            "form": form,
        }
        return TemplateResponse(request, "admin/workspaces_app/workspace/relink.html", context)


def _before(formset: "Formset", row: Membership) -> dict[str, Any]:
    """The user and level a changed membership had, as the form found them."""
    for form in formset.forms:
        if isinstance(form, ModelForm) and form.instance is row:
            return {name: form.initial.get(name) for name in ("user", "level")}
    return {}


class ActorFilter(admin.SimpleListFilter):
    """By person; somebody who is gone is found by the search."""

    title = _("person")
    parameter_name = "who"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(user.pk), user.username) for user in User.objects.order_by("username")[:100]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        actor = row_key(self.value())
        return queryset if actor is None else queryset.filter(actor=actor)


@admin.register(AuditEvent)
class AuditEventAdmin(StaffAdmin[AuditEvent]):
    """Who did what, when, from where. Rows are only ever added, so this page only shows them."""

    list_display = ("at", "actor_name", "action", "target", "workspace", "address")
    list_display_links = ("at",)
    list_filter = ("at", ActorFilter, by_value("action"))
    list_select_related = ("workspace",)
    search_fields = ("action", "target", "actor_name", "address")
    ordering = ("-id",)
    fields = ("at", "actor_name", "action", "target", "workspace", "address", "shown_detail")
    readonly_fields = ("shown_detail",)

    @admin.display(description=_("Detail"))
    def shown_detail(self, event: AuditEvent) -> SafeString:
        return format_html('<pre class="h-pre">{}</pre>', json.dumps(event.detail, indent=2, ensure_ascii=True))
