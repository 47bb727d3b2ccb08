"""The finder of the staff site (Ctrl+K or /): a few rows of each kind, never a whole table."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from sessions_app.models import Session
from workspaces_app.models import Workspace

EACH = 6


def find(request: HttpRequest, app_list: Iterable[Any], term: str) -> list[dict[str, str]]:
    """Rows `{title, description, link, icon}`: pages whose name holds `term`, then users, sessions, workspaces."""
    found = [
        {"title": str(model["name"]), "description": _("Page"), "link": model["admin_url"], "icon": "tag"}
        for app in app_list
        for model in app["models"]
        if model["admin_url"] and term.lower() in str(model["name"]).lower()
    ]
    for user in User.objects.filter(Q(username__icontains=term) | Q(email__icontains=term)).order_by("pk")[:EACH]:
        found.append(_row(user.username, _("User"), "auth_user_change", user.pk, "person"))
    sessions = Session.objects.filter(Q(title__icontains=term) | Q(sid__istartswith=term)).select_related("workspace")
    for session in sessions.order_by("-updated_at")[:EACH]:
        where = _("Session in %(workspace)s") % {"workspace": session.workspace.name}
        found.append(_row(str(session), where, "sessions_app_session_transcript", session.pk, "chat_bubble"))
    workspaces = Workspace.objects.filter(Q(name__icontains=term) | Q(path__icontains=term))
    for workspace in workspaces.order_by("-opened_at", "-pk")[:EACH]:
        found.append(_row(workspace.name, workspace.path, "workspaces_app_workspace_change", workspace.pk, "folder"))
    return found


def _row(title: str, description: str, view: str, key: int, icon: str) -> dict[str, str]:
    return {"title": title, "description": description, "link": reverse(f"admin:{view}", args=[key]), "icon": icon}
