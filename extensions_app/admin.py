"""Staff page of preview extensions: what is installed, what is broken and why; install and remove."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from halo_site.body_rules import UPLOAD_COOKIE
from halo_site.lib.errors import HaloError, NotFound
from halo_site.tokens import Kind, issue
from workspaces_app.access import Caller
from workspaces_app.staff import StaffAdmin, is_staff

from . import actions, registry
from .isolation import Isolation, isolation
from .models import Extension

UPLOAD_LIFE = 3600  # seconds from showing the page to sending the zip


@admin.register(Extension)
class ExtensionAdmin(StaffAdmin[Extension]):
    """Rows are the index of the folders on disk; installing and removing change the disk, and the index follows."""

    noun = "extension"
    list_display = ("shown_name", "version", "shown_types", "shown_rights", "shown_state", "installed_at")
    list_display_links = ("shown_name",)
    search_fields = ("folder", "name")
    ordering = (Case(When(error="", then=1), default=0), "folder")  # broken ones first
    fields = ("folder", "name", "version", "shown_types", "priority", "shown_rights", "shown_state", "installed_at")
    readonly_fields = ("shown_types", "shown_rights", "shown_state")
    change_list_template = "admin/extensions_app/extension/list.html"

    def has_delete_permission(self, request: HttpRequest, obj: Extension | None = None) -> bool:
        return is_staff(request)

    def get_urls(self) -> list[URLPattern]:
        upload = path("upload/", self.admin_site.admin_view(self.upload), name="extensions_app_extension_upload")
        return [upload, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With a cookie that lets the same person send a zip: whoever signed in here has no token of the app."""
        context = {"compat": isolation() is Isolation.COMPAT, "may_install": is_staff(request), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, context)
        if is_staff(request):
            place = reverse("admin:extensions_app_extension_upload")
            token = issue(Kind.UPLOAD, {}, life=UPLOAD_LIFE)
            answer.set_cookie(
                UPLOAD_COOKIE,
                token,
                UPLOAD_LIFE,
                path=place,
                secure=request.is_secure(),
                httponly=True,
                samesite="Strict",
            )
        return answer

    def upload(self, request: HttpRequest) -> HttpResponse:
        """POST `file`: the zip. Its verdict is the message on the list."""
        given = request.FILES.get("file") if request.method == "POST" else None
        if given is not None:
            try:
                older = request.POST.get("older") == "1"
                caller = Caller.of(request.user)  # type: ignore[arg-type]
                said = actions.do_install(caller, given, request, older=older).manifest
            except HaloError as error:
                messages.error(request, str(error))
                if "installed" in error.extra:
                    messages.warning(request, gettext("To go back to it, tick the box and send the zip again."))
            else:
                text = gettext("Installed %(name)s %(version)s.") % {"name": said.name, "version": said.version}
                messages.success(request, text)
        elif request.method == "POST":
            messages.error(request, gettext("Choose a zip file first."))
        return HttpResponseRedirect(reverse("admin:extensions_app_extension_changelist"))

    def delete_model(self, request: HttpRequest, obj: Extension) -> None:
        try:
            actions.do_remove(Caller.of(request.user), obj.folder, request)  # type: ignore[arg-type]
        except NotFound:
            messages.warning(request, gettext("It is not there any more."))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """The verb behind it wrote its own row."""
        return None

    @admin.display(description=_("Name"), ordering="name")
    def shown_name(self, row: Extension) -> SafeString:
        return format_html('<b>{}</b> <span class="h-mono">{}</span>', row.name, row.folder)

    @admin.display(description=_("File types"))
    def shown_types(self, row: Extension) -> str:
        """With the other extension behind a type that it opens in place of this one."""
        others = registry.snapshot().passed_over(row.folder)
        return " ".join(
            kind + (gettext(" (opens with %(id)s)") % {"id": others[kind]} if kind in others else "")
            for kind in row.file_types
        )

    @admin.display(description=_("May save"))
    def shown_rights(self, row: Extension) -> str:
        return gettext("yes") if "save" in row.capabilities else gettext("no")

    @admin.display(description=_("State"))
    def shown_state(self, row: Extension) -> SafeString:
        if row.error:
            glyph = '<span class="h-state"><span class="h-ring err" aria-hidden="true"></span>{}</span>'
            return format_html(glyph + '<div class="h-errtext">{}</div>', gettext("broken"), row.error)
        glyph = '<span class="h-state"><span class="h-ring ok" aria-hidden="true"></span>{}</span>'
        return format_html(glyph, gettext("installed"))
