"""What a person has to decide or mend, worst first. Each row has one link, to the place of repair."""

import os
import shutil
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, Min, OuterRef, Q
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_app.providers.contract import ErrorKind
from sessions_app.models import Entry, ModelCall, Session
from workspaces_app import sandbox
from workspaces_app.models import Workspace

from .shape import Range

MOST = 8  # rows of one kind
STUCK_AFTER = timedelta(minutes=5)
FULL_AT = 0.9
FOLDERS_LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Matter:
    ring: str  # err = it has stopped, warn = it asks
    title: str
    text: str
    where: str
    since: datetime | None
    link: str
    button: str


def card(view: Range, now: datetime) -> dict[str, Any]:
    """Rows of `Matter`, as dictionaries."""
    matters = [
        *parked_sessions(),
        *rejected_accounts(now),
        *stuck_queues(now),
        *missing_folders(),
        *full_disk(),
        *no_sandbox(),
    ]
    return {"rows": [asdict(matter) for matter in matters]}


def parked_sessions() -> list[Matter]:
    """Died several times in a row; a person's next message wakes them."""
    rows = Session.objects.filter(parked_at__isnull=False, archived_at=None).select_related("workspace")
    return [
        Matter(
            "err",
            _("Session parked"),
            _("%(session)s died %(count)d times") % {"session": session, "count": session.deaths},
            session.workspace.name,
            session.parked_at,
            reverse("admin:sessions_app_session_transcript", args=[session.pk]),
            _("Open"),
        )
        for session in rows.order_by("-parked_at")[:MOST]
    ]


def rejected_accounts(now: datetime) -> list[Matter]:
    """Providers that refused our key or account in the last day and have not answered since."""
    day = Q(turn__started_at__gte=now - timedelta(days=1))
    refused: dict[str, list[datetime]] = defaultdict(list)
    rows = ModelCall.objects.filter(day, outcome=ErrorKind.ACCOUNT).order_by("-pk")
    for provider, started in rows.values_list("provider", "started_at")[:1000]:
        refused[provider].append(started)
    if not refused:
        return []
    worked = dict(
        ModelCall.objects.filter(day, provider__in=refused, output_tokens__gt=0, ended_at__isnull=False)
        .order_by("provider", "started_at")
        .values_list("provider", "started_at")
    )
    return [
        Matter(
            "err",
            _("Key rejected"),
            ngettext("%(provider)s refused %(count)d call", "%(provider)s refused %(count)d calls", len(times))
            % {"provider": provider, "count": len(times)},
            _("provider"),
            min(times),
            f"{reverse('admin:sessions_app_modelcall_changelist')}?{urlencode({'q': provider, 'outcome': 'account'})}",
            _("Show calls"),
        )
        for provider, times in refused.items()
        if provider not in worked or worked[provider] < max(times)
    ][:MOST]


def stuck_queues(now: datetime) -> list[Matter]:
    """Messages nobody takes: the engine is not running or cannot."""
    waiting = Entry.objects.filter(
        session=OuterRef("pk"),
        turn=None,
        deleted=None,
        kind__in=(Entry.Kind.USER, Entry.Kind.AGENT),
        created_at__lt=now - STUCK_AFTER,
    )
    rows = Session.objects.filter(Exists(waiting), archived_at=None, parked_at=None, lease_owner=None)
    oldest = Min("entries__created_at", filter=Q(entries__turn=None))
    found = dict(rows.annotate(oldest=oldest).order_by("pk").values_list("pk", "oldest")[:100])
    if not found:
        return []
    count = _("100 or more") if len(found) == 100 else str(len(found))
    return [
        Matter(
            "err",
            _("Messages wait"),
            ngettext(
                "%(count)s session has messages no process takes",
                "%(count)s sessions have messages no process takes",
                len(found),
            )
            % {"count": count},
            _("engine"),
            min(filter(None, found.values()), default=None),
            reverse("admin:sessions_app_session_transcript", args=[*found])
            if len(found) == 1
            else f"{reverse('admin:sessions_app_session_changelist')}?state=waiting",
            _("Show"),
        )
    ]


def missing_folders() -> list[Matter]:
    """Workspaces whose folder is not where it was: moved, unmounted or deleted."""
    rows = Workspace.objects.order_by("-opened_at", "-pk").only("path", "name", "opened_at")[:FOLDERS_LOOKED_AT]
    gone = [workspace for workspace in rows if not os.path.isdir(workspace.path)]
    return [
        Matter(
            "warn",
            _("Folder missing"),
            workspace.path,
            workspace.name,
            workspace.opened_at,
            reverse("admin:workspaces_app_workspace_relink", args=[workspace.pk]),
            _("Relink"),
        )
        for workspace in gone[:MOST]
    ]


def full_disk() -> list[Matter]:
    """The disk of the home folder, where the database and the logs are."""
    try:
        usage = shutil.disk_usage(settings.HALO.home)
    except OSError as error:
        return [
            Matter("err", _("Home folder unreadable"), str(error.strerror), _("server"), None, "#processes", _("Show"))
        ]
    share = usage.used / usage.total
    if share < FULL_AT:
        return []
    gb = 1_000_000_000
    return [
        Matter(
            "warn",
            _("Disk %(share)d %% full") % {"share": round(share * 100)},
            _("%(free).0f GB free of %(total).0f") % {"free": usage.free / gb, "total": usage.total / gb},
            _("server"),
            None,
            reverse("admin:workspaces_app_workspace_changelist"),
            _("Show"),
        )
    ]


def no_sandbox() -> list[Matter]:
    """Without one, sessions below full access get no shell."""
    state = sandbox.status()
    if state.available:
        return []
    return [Matter("warn", _("No sandbox"), state.reason, _("server"), None, "#processes", _("Show"))]
