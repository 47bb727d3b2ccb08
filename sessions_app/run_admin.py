"""Staff pages of what a conversation did: turns, model calls and tool calls, to read."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from halo_site.lib.figures import duration, money, short
from workspaces_app.staff import StaffAdmin, by_value

from . import transcript
from .models import ModelCall, Session, ToolCall, Turn
from .staff_state import ring

TURN_RINGS = {
    Turn.Status.RUNNING: ("run", _("running")),
    Turn.Status.DONE: ("ok", _("done")),
    Turn.Status.ERROR: ("err", _("failed")),
    Turn.Status.ABORTED: ("off", _("stopped")),
    Turn.Status.INTERRUPTED: ("err", _("interrupted")),
}


def session_link(session: Session) -> SafeString:
    address = reverse("admin:sessions_app_session_transcript", args=[session.pk])
    return format_html('<a class="h-title" href="{}">{}</a>', address, str(session))


class LastDaysFilter(admin.SimpleListFilter):
    """By start; the model's date filter would compare in the middle of a day."""

    title = _("started")
    parameter_name = "days"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("1", gettext("Today (UTC)")),
            ("7", gettext("Past 7 days")),
            ("14", gettext("Past 14 days")),
            ("90", gettext("Past 90 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value not in ("1", "7", "14", "90"):
            return queryset
        midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return queryset.filter(started_at__gte=midnight - timedelta(days=int(value) - 1))


class TurnAdmin(StaffAdmin[Turn]):
    list_display = (
        "started_at", "shown_session", "index", "shown_status", "model", "tokens", "cached", "cost", "ttft", "took",
    )  # fmt: skip
    list_filter = (LastDaysFilter, "status", "session__workspace")
    list_select_related = ("session",)
    search_fields = ("session__sid", "session__title", "model")
    ordering = ("-started_at", "-pk")

    @admin.display(description=_("Session"))
    def shown_session(self, turn: Turn) -> SafeString:
        return session_link(turn.session)

    @admin.display(description=_("Status"), ordering="status")
    def shown_status(self, turn: Turn) -> SafeString:
        glyph, word = TURN_RINGS[Turn.Status(turn.status)]
        if isinstance(turn.error, dict) and turn.error.get("kind"):
            return ring(glyph, f"{word}: {turn.error['kind']}")
        return ring(glyph, word)

    @admin.display(description=_("Tokens in / out"))
    def tokens(self, turn: Turn) -> str:
        given = turn.input_tokens + turn.cache_read_tokens + turn.cache_write_tokens
        return f"{short(given)} / {short(turn.output_tokens)}"

    @admin.display(description=_("From cache"), ordering="cache_read_tokens")
    def cached(self, turn: Turn) -> str:
        return short(turn.cache_read_tokens)

    @admin.display(description=_("Cost"), ordering="cost_micros")
    def cost(self, turn: Turn) -> str:
        return money(turn.cost_micros, turn.session.currency)

    @admin.display(description=_("First token"), ordering="ttft_ms")
    def ttft(self, turn: Turn) -> str:
        return duration(turn.ttft_ms)

    @admin.display(description=_("Took"))
    def took(self, turn: Turn) -> str:
        return duration((turn.ended_at - turn.started_at).total_seconds() * 1000 if turn.ended_at else None)


class ModelCallAdmin(StaffAdmin[ModelCall]):
    list_display = (
        "started_at", "shown_session", "provider", "model", "attempt", "shown_outcome", "tokens", "cost", "ttft",
    )  # fmt: skip
    list_filter = (LastDaysFilter, by_value("outcome"), by_value("provider"))
    list_select_related = ("turn__session",)
    search_fields = ("call_id", "provider", "model")
    ordering = ("-pk",)

    @admin.display(description=_("Session"))
    def shown_session(self, call: ModelCall) -> SafeString:
        return session_link(call.turn.session)

    @admin.display(description=_("Outcome"), ordering="outcome")
    def shown_outcome(self, call: ModelCall) -> SafeString:
        if not call.outcome:
            return ring("wait", _("open"))
        return ring("err" if call.error else "ok", call.outcome)

    @admin.display(description=_("Tokens in / out"))
    def tokens(self, call: ModelCall) -> str:
        given = call.input_tokens + call.cache_read_tokens + call.cache_write_tokens
        return f"{short(given)} / {short(call.output_tokens)}"

    @admin.display(description=_("Cost"), ordering="cost_micros")
    def cost(self, call: ModelCall) -> str:
        return money(call.cost_micros, call.currency)

    @admin.display(description=_("First token"), ordering="ttft_ms")
    def ttft(self, call: ModelCall) -> str:
        return duration(call.ttft_ms)


class ToolCallAdmin(StaffAdmin[ToolCall]):
    list_display = ("started_at", "shown_session", "name", "shown_outcome", "took")
    list_filter = (LastDaysFilter, by_value("outcome"), by_value("name"))
    list_select_related = ("turn__session",)
    search_fields = ("tool_use_id", "call_id", "name")
    ordering = ("-pk",)

    @admin.display(description=_("Session"))
    def shown_session(self, call: ToolCall) -> SafeString:
        return session_link(call.turn.session)

    @admin.display(description=_("Outcome"), ordering="outcome")
    def shown_outcome(self, call: ToolCall) -> SafeString:
        if not call.outcome:
            return ring("wait", _("open"))
        glyph, word = transcript.OUTCOMES.get(call.outcome, ("warn", call.outcome))
        return ring(glyph, gettext(word))

    @admin.display(description=_("Took"))
    def took(self, call: ToolCall) -> str:
        return duration((call.ended_at - call.started_at).total_seconds() * 1000 if call.ended_at else None)
