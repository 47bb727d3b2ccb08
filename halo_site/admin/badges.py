"""The small counters beside the entries of the sidebar. Empty text = no counter."""

from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from sessions_app.models import Session
from workspaces_app.models import Workspace


def workspaces(request: HttpRequest) -> str:
    """How many workspaces there are."""
    count: int | None = cache.get("halo.badge.workspaces")
    if count is None:
        count = Workspace.objects.count()
        cache.set("halo.badge.workspaces", count, 10)
    return str(count or "")


def at_work(request: HttpRequest) -> str:
    """How many sessions run right now."""
    count: int | None = cache.get("halo.badge.at_work")
    if count is None:
        count = Session.objects.filter(lease_owner__isnull=False, lease_until__gt=timezone.now()).count()
        cache.set("halo.badge.at_work", count, 10)
    return gettext("%(count)d run") % {"count": count} if count else ""
