"""Staff pages of conversations: sessions with their transcript and verbs."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from halo_site.lib.errors import HaloError, NotFound
from halo_site.lib.figures import money, short
from workspaces_app.staff import StaffAdmin, by_value, is_staff, record, row_key

from . import transcript
from .models import Entry, ModelCall, Session, ToolCall, Turn
from .run_admin import ModelCallAdmin, ToolCallAdmin, TurnAdmin
from .staff_state import FILTERS, in_state, ring, state_of, with_state

WINDOW = 50  # entries of one transcript page
AT_ONCE = 200  # sessions one action may take


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> tuple[tuple[str, str], ...]:
        return tuple((key, str(word)) for key, word in FILTERS)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        return in_state(queryset, self.value() or "", timezone.now())


class RootFilter(admin.SimpleListFilter):
    title = _("depth")
    parameter_name = "depth"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("root", gettext("Conversations")), ("child", gettext("Sub-agents"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        match self.value():
            case "root":
                return queryset.filter(parent=None)
            case "child":
                return queryset.exclude(parent=None)
        return queryset


admin.site.register(Turn, TurnAdmin)
admin.site.register(ModelCall, ModelCallAdmin)
admin.site.register(ToolCall, ToolCallAdmin)


@admin.register(Session)
class SessionAdmin(StaffAdmin[Session]):
    noun = "session"
    list_display = ("shown_title", "state", "workspace", "agent_name", "creator", "turn_count", "cost", "updated_at")
    list_filter = (StateFilter, RootFilter, "workspace", by_value("agent_id"), "source", "updated_at")
    list_select_related = ("workspace", "created_by")
    search_fields = ("sid", "title")
    ordering = ("-updated_at", "-pk")
    actions = ("stop_sessions", "archive_sessions", "delete_sessions")
    fieldsets = (
        (None, {"fields": ("title", "sid", "workspace", "parent", "agent_id", "agent_name", "description")}),
        (_("Rights"), {"fields": ("created_by", "access_level", "working_dir", "source")}),
        (_("Figures"), {"fields": ("context_tokens", "output_tokens", "cost", "exchange_count", "turn_count")}),
        (_("Times"), {"fields": ("created_at", "updated_at", "stopped_at", "archived_at", "parked_at", "deaths")}),
        (_("Run"), {"fields": ("activity", "lease_owner", "lease_epoch", "lease_until", "runner", "abort_requested")}),
    )
    readonly_fields = ("cost",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        return with_state(super().get_queryset(request))

    def has_delete_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        """Never by Django's own delete: our verb stops runs, tombstones ids and tells open tabs."""
        return False

    def has_verbs_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    @admin.display(description=_("Session"), ordering="title")
    def shown_title(self, session: Session) -> SafeString:
        return format_html(
            '<a class="h-title" href="{}">{}</a><span class="h-sid">{}</span>',
            reverse("admin:sessions_app_session_transcript", args=[session.pk]),
            session.title or gettext("New session"),
            session.sid,
        )

    list_display_links = None

    @admin.display(description=_("State"))
    def state(self, session: Session) -> SafeString:
        state = state_of(session, timezone.now())
        return ring(state.ring, state.word)

    @admin.display(description=_("Started by"), empty_value="–")
    def creator(self, session: Session) -> str | None:
        return session.created_by.get_username() if session.created_by else None

    @admin.display(description=_("Cost"), ordering="cost_micros")
    def cost(self, session: Session) -> str:
        return money(session.cost_micros, session.currency)

    # The verbs.

    @admin.action(description=_("Stop"), permissions=["verbs"])
    def stop_sessions(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse | None:
        from . import actions

        def stop(session: Session) -> int:
            return int(actions.stop(session.pk, user_id=request.user.pk))

        done, live = self._each(request, "stop", queryset, stop)
        if done:
            idle = done - live
            self.message_user(
                request,
                " ".join(
                    filter(
                        None,
                        (
                            ngettext("Stopped %(count)s session.", "Stopped %(count)s sessions.", live) % _count(live),
                            ngettext("%(count)s session ran nothing.", "%(count)s sessions ran nothing.", idle)
                            % _count(idle)
                            if idle
                            else "",
                        ),
                    )
                ),
                messages.SUCCESS,
            )
        return self._back(request, queryset)

    @admin.action(description=_("Archive…"), permissions=["verbs"])
    def archive_sessions(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse | None:
        if "confirmed" not in request.POST:
            return self._ask(request, queryset, "archive_sessions")
        from . import actions

        done, rows = self._each(request, "archive", queryset, lambda session: actions.archive(session.pk))
        if done:
            text = ngettext("Archived %(count)s session, sub-agents included.",
                            "Archived %(count)s sessions, sub-agents included.", rows)  # fmt: skip
            self.message_user(request, text % _count(rows), messages.SUCCESS)
        return self._back(request, queryset)

    @admin.action(description=_("Delete…"), permissions=["verbs"])
    def delete_sessions(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse | None:
        if "confirmed" not in request.POST:
            return self._ask(request, queryset, "delete_sessions")
        from . import actions

        def delete(session: Session) -> int:
            return actions.delete(session.pk, user_id=request.user.pk)

        done, rows = self._each(request, "delete", queryset, delete)
        if done:
            text = ngettext("Deleted %(count)s session, sub-agents included.",
                            "Deleted %(count)s sessions, sub-agents included.", rows)  # fmt: skip
            self.message_user(request, text % _count(rows), messages.SUCCESS)
        return None

    def _each(
        self, request: HttpRequest, verb: str, queryset: QuerySet[Session], act: Callable[[Session], int]
    ) -> tuple[int, int]:
        """Do one verb to each session, each in its own transaction with its own audit row.

        Returns how many sessions it was done to and the sum of what the verb returned. One that is gone meanwhile
        (with its parent, or by somebody else) is passed over; other refusals are told and the rest goes on.
        """
        done = total = 0
        for session in queryset.select_related("workspace").order_by("sid")[:AT_ONCE]:
            try:
                result = act(session)
            except NotFound:
                continue
            except HaloError as error:
                self.message_user(request, f"{session}: {error}", messages.ERROR)
                continue
            done, total = done + 1, total + result
            detail = {"key": session.pk, "sid": session.sid, "rows": result}
            record(request, f"session.{verb}", session, workspace=session.workspace, detail=detail)
        return done, total

    def _ask(self, request: HttpRequest, queryset: QuerySet[Session], action: str) -> HttpResponse | None:
        """What would be lost, with counts, and a button that names the act."""
        chosen = list(queryset.select_related("workspace")[: AT_ONCE + 1])
        if len(chosen) > AT_ONCE:
            self.message_user(
                request, gettext("At most %(count)d sessions at once.") % {"count": AT_ONCE}, messages.ERROR
            )
            return None
        tree = subtree(chosen)
        now = timezone.now()
        if action == "delete_sessions":
            title = ngettext("Delete %(count)s session?", "Delete %(count)s sessions?", len(tree))
            button = ngettext("Delete %(count)s session", "Delete %(count)s sessions", len(tree))
        else:
            title = ngettext("Archive %(count)s session?", "Archive %(count)s sessions?", len(tree))
            button = ngettext("Archive %(count)s session", "Archive %(count)s sessions", len(tree))
        context = {
            **self.admin_site.each_context(request),
            "title": title % _count(len(tree)),
            "opts": self.opts,
            "action": action,
            "chosen": [(session, state_of(session, now)) for session in chosen[:20]],
            "more": max(0, len(chosen) - 20),
            "keys": [session.pk for session in chosen],
            "button": button % _count(len(tree)),
            "origin": request.POST.get("from", ""),
            "counts": [
                (gettext("Sessions chosen"), len(chosen)),
                (gettext("Their sub-agents"), len(tree) - len(chosen)),
                (gettext("At work now"), sum(1 for _, owner, until in tree if owner and until and until > now)),
                (gettext("Turns"), Turn.objects.filter(session__in=[key for key, _, _ in tree]).count()),
                (gettext("Entries"), Entry.objects.filter(session__in=[key for key, _, _ in tree]).count()),
            ],
        }
        return TemplateResponse(request, "admin/sessions_app/session/confirm.html", context)

    def _back(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse | None:
        """To the transcript when the verb was used there; None = the list."""
        key = row_key(request.POST.get("from"))
        if key is not None and queryset.filter(pk=key).exists():
            return HttpResponseRedirect(reverse("admin:sessions_app_session_transcript", args=[key]))
        return None

    # The transcript.

    def get_urls(self) -> list[URLPattern]:
        name = "sessions_app_session_transcript"
        view = self.admin_site.admin_view
        return [
            path("<int:key>/transcript/", view(self.transcript), name=name),
            path("<int:key>/transcript/<int:entry>/", view(self.entry_text), name="sessions_app_session_entry"),
            *super().get_urls(),
        ]

    def transcript(self, request: HttpRequest, key: int) -> HttpResponse:
        """The newest entries, or those before `?before=<entry>`; oldest on top. Opening it is an audit row."""
        session = get_object_or_404(self.get_queryset(request).select_related("workspace", "created_by"), pk=key)
        before = row_key(request.GET.get("before"))
        log = Entry.objects.filter(session=session)
        older = log if before is None else log.filter(pk__lt=before)
        entries = list(older.order_by("-pk")[:WINDOW])[::-1]
        if not request.GET and session.created_by_id != request.user.pk:
            record(request, "session.read", session, workspace=session.workspace, detail={"key": session.pk})
        first, last = (entries[0].pk, entries[-1].pk) if entries else (0, 0)
        earlier = log.filter(pk__lt=first).count() if entries else 0
        later = log.filter(pk__gt=last).count() if entries and older is not log else 0
        # The page after this one ends WINDOW entries later; without so many it is the newest one.
        after = list(log.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[: WINDOW + 1]) if later else []
        context = {
            **self.admin_site.each_context(request),
            "title": str(session),
            "opts": self.opts,
            "session": session,
            "original": session,
            "state": state_of(session, timezone.now()),
            "cards": transcript.cards(entries, names_of(entries), session.agent_name),
            "earlier": earlier,
            "first": first,
            "later": later,
            "next": after[WINDOW] if len(after) > WINDOW else None,
            "children": list(session.children.order_by("pk")[:20]),
            "facts": facts(session),
        }
        return TemplateResponse(request, "admin/sessions_app/session/transcript.html", context)

    def entry_text(self, request: HttpRequest, key: int, entry: int) -> HttpResponse:
        """All of one entry as plain text: nothing in it is ever markup."""
        row = get_object_or_404(Entry, pk=entry, session=key)
        answer = HttpResponse(transcript.full_text(row), content_type="text/plain; charset=utf-8")
        answer["X-Content-Type-Options"] = "nosniff"
        answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
        return answer


def subtree(chosen: Iterable[Session]) -> list[tuple[int, str | None, datetime | None]]:
    """(key, lease owner, lease end) of the chosen sessions and everything below them, each once."""
    found: dict[int, tuple[int, str | None, datetime | None]] = {}
    level = [session.pk for session in chosen]
    while level:
        rows = Session.objects.filter(pk__in=level).values_list("pk", "lease_owner", "lease_until")
        found |= {row[0]: row for row in rows}
        below = Session.objects.filter(parent__in=level).values_list("pk", flat=True)
        level = [key for key in below if key not in found]
    return list(found.values())


def names_of(entries: Iterable[Entry]) -> dict[int, str]:
    """User names of the senders of these entries."""
    senders = {
        entry.origin["sender"]
        for entry in entries
        if isinstance(entry.origin, dict) and isinstance(entry.origin.get("sender"), int)
    }
    return dict(User.objects.filter(pk__in=senders).values_list("pk", "username"))


def facts(session: Session) -> list[tuple[str, str]]:
    """The line under the title of a transcript."""
    return [
        (gettext("Workspace"), session.workspace.name),
        (gettext("Agent"), session.agent_name),
        (gettext("Started by"), session.created_by.get_username() if session.created_by else "–"),
        (gettext("Access"), session.access_level),
        (gettext("Turns"), short(session.turn_count)),
        (gettext("Context"), gettext("%(count)s tokens") % {"count": short(session.context_tokens)}),
        (gettext("Cost"), money(session.cost_micros, session.currency)),
    ]


def _count(number: int) -> dict[str, str]:
    return {"count": f"{number:,}"}
