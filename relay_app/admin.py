"""Staff pages of relays: the list with its verb, and the graph that renews itself."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from halo_site.lib.errors import HaloError
from sessions_app.models import Session
from workspaces_app.staff import StaffAdmin, is_staff, record

from .graph import WORDS, graph
from .look import state_of
from .models import ReplyTo

AT_ONCE = 200


def _title(session: Session | None, sid: str) -> str:
    return (session.title if session else None) or sid


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        closed = [(key, str(WORDS[key][1])) for key in ReplyTo.Outcome.values]
        return [("open", gettext("open")), *closed]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ReplyTo]) -> QuerySet[ReplyTo]:
        value = self.value()
        if value == "open":
            return queryset.filter(closed_at=None)
        return queryset.filter(outcome=value) if value in ReplyTo.Outcome.values else queryset


@admin.register(ReplyTo)
class ReplyToAdmin(StaffAdmin[ReplyTo]):
    noun = "relay"
    change_list_template = "admin/relay_app/replyto/list.html"
    list_display = ("route", "state", "hop", "sends", "interims", "created_at", "closed_at")
    list_filter = (StateFilter, "created_at")
    list_select_related = ("caller", "target")
    search_fields = ("caller_path", "target_path", "caller_sid", "target_sid")
    ordering = ("-pk",)
    actions = ("cancel_relays",)
    fieldsets = (
        (_("Caller"), {"fields": ("caller_path", "caller_sid", "caller_agent")}),
        (_("Target"), {"fields": ("target_path", "target_sid")}),
        (_("State"), {"fields": ("state", "reason", "sends", "interims", "hop", "chain_id")}),
        (_("Times"), {"fields": ("created_at", "renewed_at", "closed_at")}),
    )
    readonly_fields = ("state",)

    def has_verbs_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    @admin.display(description=_("Relay"))
    def route(self, row: ReplyTo) -> SafeString:
        return format_html(
            '<span class="h-title">{} → {}</span><span class="h-sid">{} → {}</span>',
            row.caller_path.rpartition("/")[2],
            row.target_path.rpartition("/")[2],
            _title(row.caller, row.caller_sid),
            _title(row.target, row.target_sid),
        )

    @admin.display(description=_("State"))
    def state(self, row: ReplyTo) -> SafeString:
        ring, word = WORDS[state_of(row)]
        return format_html(
            '<span class="h-state"><span class="h-ring {}" aria-hidden="true"></span>{}</span>', ring, word
        )

    @admin.action(description=_("Cancel"), permissions=["verbs"])
    def cancel_relays(self, request: HttpRequest, queryset: QuerySet[ReplyTo]) -> None:
        """Each caller gets its report as aborted."""
        from . import actions

        done = 0
        for row in queryset.order_by("pk")[:AT_ONCE]:
            try:
                closed = actions.cancel(row.pk, request.user.get_username())
            except HaloError as error:
                self.message_user(request, f"{row}: {error}", messages.ERROR)
                continue
            done += 1
            record(request, "relay.cancel", closed, workspace=closed.target_workspace, detail={"key": closed.pk})
        if done:
            text = ngettext("Cancelled %(count)s relay.", "Cancelled %(count)s relays.", done)
            self.message_user(request, text % {"count": done}, messages.SUCCESS)

    # The graph.

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("graph/", view(self.graph), name="relay_app_replyto_graph"),
            path("graph/data/", view(self.graph_data), name="relay_app_replyto_graph_data"),
            *super().get_urls(),
        ]

    def graph(self, request: HttpRequest) -> HttpResponse:
        """The page; its script draws it from `graph_data` and renews it."""
        context = {**self.admin_site.each_context(request), "title": gettext("Relay graph")}
        return TemplateResponse(request, "admin/relay_app/replyto/graph.html", context)

    def graph_data(self, request: HttpRequest) -> HttpResponse:
        answer = JsonResponse(graph())
        answer["Cache-Control"] = "no-store"
        return answer
