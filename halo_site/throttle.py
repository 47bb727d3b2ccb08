"""The limit on wrong passwords: 5 per address and 5 per account, then 429 until 15 minutes after the last one.

django-axes keeps the counts in the database, so they outlive restarts and are shared by all processes; the API and
the staff site's form use the same ones. Options: settings.py, AXES_*.

A try is counted before its password is hashed and given back when the password was right: counted afterwards, as the
library does, tries at the same time would all see the count from before them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from halo_site.lib.db import in_transaction
from halo_site.lib.errors import TooManyRequests

TOO_MANY = "Too many attempts, try again later"


@dataclass(frozen=True, slots=True)
class Try:
    """One counted try: its row, when that was last counted before, and now."""

    row: int
    before: datetime | None
    at: datetime


class Handler(AxesDatabaseHandler):  # type: ignore[misc]
    def is_allowed(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Counts this request's one try; False when the address or the account has none left."""
        if getattr(request, "counted_try", None) is None:
            request.counted_try = self._count(request, credentials)  # type: ignore[attr-defined]
        return request.counted_try is not None  # type: ignore[attr-defined]

    @in_transaction
    def _count(self, request: HttpRequest, credentials: dict[str, Any] | None) -> Try | None:
        name, address = account_name(request, credentials), address_of(request)
        _lock(f"login account {name}", f"login address {address}")
        self.clean_expired_user_attempts(request, credentials)
        if self.is_locked(request, credentials):
            return None
        at = timezone.now()
        row, created = AccessAttempt.objects.get_or_create(
            username=name,
            ip_address=address,
            user_agent=request.axes_user_agent,  # type: ignore[attr-defined]
            defaults={"failures_since_start": 0},
        )
        AccessAttempt.objects.filter(pk=row.pk).update(
            failures_since_start=F("failures_since_start") + 1,
            attempt_time=at,
            path_info=request.axes_path_info,  # type: ignore[attr-defined]
            http_accept=request.axes_http_accept,  # type: ignore[attr-defined]
        )
        return Try(row.pk, None if created else row.attempt_time, at)

    def user_login_failed(
        self, sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """The failure was counted before; the last one allowed also locks, which the login form shows at once."""
        if request is not None and self.is_locked(request, credentials):
            request.axes_locked_out = True  # type: ignore[attr-defined]
            request.axes_credentials = credentials  # type: ignore[attr-defined]

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """A success clears the failures of that account only.

        The library would also clear those of the address: whoever owns one account could then guess at another
        without end, by logging in to their own after every fourth try.
        """
        return int(self.reset_attempts(username=account_name(request, credentials)))


def account_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The name failures are counted under; made storable, since anything can be typed into a login form."""
    name = (credentials or {}).get("username")
    if name is None:
        name = request.POST.get("username")
    return str(name or "").replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:255]


def address_of(request: HttpRequest) -> str | None:
    """middleware/peer.py already put the responsible address into REMOTE_ADDR."""
    return request.META.get("REMOTE_ADDR") or None


def _lock(*names: str) -> None:
    """Nobody else counts under these names until the transaction ends; on SQLite it is alone by itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in sorted(names):
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


@in_transaction
def give_back(request: HttpRequest) -> None:
    """The password was right: the try of this request was no failure."""
    counted: Try | None = getattr(request, "counted_try", None)
    if counted is None:
        return
    row = AccessAttempt.objects.filter(pk=counted.row)
    row.update(failures_since_start=F("failures_since_start") - 1)
    row.filter(failures_since_start=0).delete()
    if counted.before is not None:
        row.filter(attempt_time=counted.at).update(attempt_time=counted.before)  # a lock must not last longer


def check_not_locked(request: HttpRequest, username: str) -> None:
    """Counts a try for this request; raises TooManyRequests while the address or the account is locked. Sync."""
    if not AxesProxyHandler.is_allowed(request, {"username": username}):
        raise TooManyRequests(TOO_MANY, retry_after=seconds_left(request, username))


def seconds_left(request: HttpRequest, username: str) -> int:
    """Whole seconds until the lock ends: 15 minutes after the newest counted failure."""
    handler = AxesProxyHandler.get_implementation()
    newest: datetime | None = None
    for attempts in handler.get_user_attempts(request, {"username": username}):
        latest = attempts.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
        if latest is not None and (newest is None or latest > newest):
            newest = latest
    cool_off: timedelta = settings.AXES_COOLOFF_TIME
    left = (newest + cool_off - timezone.now()).total_seconds() if newest else 0.0
    return max(1, int(left) + 1)


def locked_page(request: HttpRequest) -> HttpResponse:
    """What the staff site's login form shows while locked."""
    left = seconds_left(request, account_name(request, getattr(request, "axes_credentials", None)))
    body = (
        "<!doctype html><meta charset=utf-8><title>Halo</title>"
        f"<p>Too many attempts. Try again in {max(1, round(left / 60))} minutes.</p>"
    )
    return HttpResponse(body, status=429, headers={"Retry-After": str(left)})
