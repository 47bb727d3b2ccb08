"""The relay graph of the staff site as JSON: sessions, and who waits for whom."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from halo_site.lib.figures import duration
from sessions_app.models import Session

from .layout import layout
from .look import state_of
from .models import ReplyTo

SHOWN_FOR = timedelta(hours=24)  # closed ones
MOST_ROWS = 60
MOST_DRAWN = 12  # targets; beyond it a picture says less than the table
WORDS: dict[str, tuple[str, str | Promise]] = {  # state -> (ring, word)
    "working": ("run", _("at work")),
    "pending": ("wait", _("waiting")),
    "completed": ("ok", _("delivered")),
    "aborted": ("err", _("aborted")),
    "stopped": ("off", _("stopped by its caller")),
    "cancelled": ("off", _("cancelled")),
    "undelivered": ("warn", _("not delivered")),
}


def graph() -> dict[str, Any]:
    """Open relays and those closed in the last day, newest first; `nodes` only while they make a picture."""
    recent = Q(closed_at=None) | Q(closed_at__gt=timezone.now() - SHOWN_FOR)
    found = list(ReplyTo.objects.filter(recent).select_related("caller", "target").order_by("-pk")[:MOST_ROWS])
    edges = [_edge(row) for row in found]
    drawn = len({edge["to"] for edge in edges}) <= MOST_DRAWN
    places = layout((edge["from"], edge["to"]) for edge in reversed(edges)) if drawn else {}
    nodes: dict[str, dict[str, Any]] = {}
    interims = Counter[str]()
    for row, edge in zip(found, edges, strict=True):
        interims[edge["to"]] += row.interims
    for row, edge in zip(found, edges, strict=True):
        for key, path, sid, session in (
            (edge["from"], row.caller_path, row.caller_sid, row.caller),
            (edge["to"], row.target_path, row.target_sid, row.target),
        ):
            if key in places and key not in nodes:
                column, line = places[key]
                place = {"column": column, "row": line, "interims": _interims(interims[key])}
                nodes[key] = _node(key, path, sid, session) | place
    return {"edges": edges, "nodes": list(nodes.values())}


def _edge(row: ReplyTo) -> dict[str, Any]:
    state = state_of(row)
    ring, word = WORDS[state]
    ended = row.closed_at or timezone.now()
    return {
        "id": row.pk,
        "from": f"{row.caller_path}\n{row.caller_sid}",
        "to": f"{row.target_path}\n{row.target_sid}",
        "fromName": _name(row.caller_path, row.caller, row.caller_sid),
        "toName": _name(row.target_path, row.target, row.target_sid),
        "open": row.closed_at is None,
        "state": state,
        "ring": ring,
        "word": str(word),
        "took": duration((ended - row.created_at).total_seconds() * 1000),
        "reason": row.reason,
        "hop": row.hop,
        "sends": row.sends,
        "interims": row.interims,
        "href": reverse("admin:relay_app_replyto_change", args=[row.pk]),
    }


def _name(path: str, session: Session | None, sid: str) -> str:
    return f"{path.rpartition('/')[2]} · {(session.title if session else None) or sid}"


def _interims(count: int) -> str:
    return ngettext("%(count)s interim report", "%(count)s interim reports", count) % {"count": count} if count else ""


def _node(key: str, path: str, sid: str, session: Session | None) -> dict[str, Any]:
    href = reverse("admin:sessions_app_session_transcript", args=[session.pk]) if session else ""
    title = (session.title if session else None) or sid
    return {"key": key, "title": title, "workspace": path.rpartition("/")[2], "path": path, "href": href}
