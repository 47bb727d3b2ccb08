"""The limit on wrong passwords: 5 per address and 5 per account, then 429 for 15 minutes, and longer each time again.

django-axes keeps the counts in the database, so they outlive restarts and are shared by all processes; the API and
the staff site's form use the same ones. Options: settings.py, AXES_*. How long a lock-out lasts: lockouts.py.

A try is counted before its password is hashed and given back when the password was right: counted afterwards, as the
library does, tries at the same time would all see the count from before them.

At an address where the person logged in before, an account is never locked for longer than the first time: strangers,
who wait longer and longer, could else lock them out for good.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.db import connection
from django.db.models import F, Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.timesince import timeuntil

from halo_site import lockouts
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import TooManyRequests

TOO_MANY = "Too many attempts, try again later"


@dataclass(frozen=True, slots=True)
class Try:
    """One counted try: its row, when that was last counted before, and now."""

    row: int
    before: datetime | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Subject:
    """What failures are counted against: an account or an address."""

    name: str  # of its lock-outs
    attempts: QuerySet[Any]

    @classmethod
    def account(cls, name: str) -> Self:
        return cls(f"account {name}", AccessAttempt.objects.filter(username=name))

    @classmethod
    def address(cls, address: str | None) -> Self:
        return cls(f"address {address or ''}", AccessAttempt.objects.filter(ip_address=address))

    def used_up_until(self) -> datetime | None:
        """When it gets new tries, however often it was locked before; None while it has one left."""
        recent = self.attempts.filter(attempt_time__gte=timezone.now() - _cool_off())
        found = recent.aggregate(failures=Sum("failures_since_start"), newest=Max("attempt_time"))
        if (found["failures"] or 0) < settings.AXES_FAILURE_LIMIT:
            return None
        newest: datetime = found["newest"]
        return newest + _cool_off()

    def locked_until(self) -> datetime | None:
        return _latest(self.used_up_until(), lockouts.end_of(self.name))


class Handler(AxesDatabaseHandler):  # type: ignore[misc]
    def is_allowed(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Counts this request's one try; False when the address or the account has none left."""
        if getattr(request, "counted_try", None) is None:
            request.counted_try = self._count(request, credentials)  # type: ignore[attr-defined]
        return request.counted_try is not None  # type: ignore[attr-defined]

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        return locked_until(request, account_name(request, credentials)) is not None

    @in_transaction
    def _count(self, request: HttpRequest, credentials: dict[str, Any] | None) -> Try | None:
        name, address = account_name(request, credentials), address_of(request)
        _lock(name, address)
        AccessAttempt.objects.filter(attempt_time__lt=timezone.now() - _cool_off()).delete()
        lockouts.forget_old()
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
        if request is None:
            return
        if getattr(request, "counted_try", None) is not None:
            self._lock_out(account_name(request, credentials), address_of(request))
        if self.is_locked(request, credentials):
            request.axes_locked_out = True  # type: ignore[attr-defined]
            request.axes_credentials = credentials  # type: ignore[attr-defined]

    @in_transaction
    def _lock_out(self, name: str, address: str | None) -> None:
        _lock(name, address)
        lockouts.forget_old()
        for subject in (Subject.account(name), Subject.address(address)):
            if subject.used_up_until():
                lockouts.begin(subject.name)

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """A success clears the failures of that account only.

        The library would also clear those of the address: whoever owns one account could then guess at another
        without end, by logging in to their own after every fourth try.
        """
        return int(self.reset_attempts(username=account_name(request, credentials)))

    def reset_attempts(
        self, *, ip_address: str | None = None, username: str | None = None, ip_or_username: bool = False
    ) -> int:
        """Their lock-outs end too, those of everybody when nothing is named. The commands `axes_reset*` call it."""
        if ip_address is None and username is None:
            lockouts.forget_all()
        if ip_address is not None:
            lockouts.forget(Subject.address(ip_address).name)
        if username is not None:
            lockouts.forget(Subject.account(username).name)
        return int(super().reset_attempts(ip_address=ip_address, username=username, ip_or_username=ip_or_username))


def account_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The name failures are counted under; made storable, since anything can be typed into a login form."""
    name = (credentials or {}).get("username")
    if name is None:
        name = request.POST.get("username")
    return str(name or "").replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:255]


def address_of(request: HttpRequest) -> str | None:
    """middleware/peer.py already put the responsible address into REMOTE_ADDR."""
    return request.META.get("REMOTE_ADDR") or None


def _cool_off() -> timedelta:
    """How long a failure counts, and the first lock-out lasts."""
    cool_off: timedelta = settings.AXES_COOLOFF_TIME
    return cool_off


def _latest(*ends: datetime | None) -> datetime | None:
    return max([end for end in ends if end is not None], default=None)


def _lock(name: str, address: str | None) -> None:
    """Nobody else counts for that account or address until the transaction ends; on SQLite it is alone by itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for key in sorted((f"login account {name}", f"login address {address}")):
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


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


def locked_until(request: HttpRequest, username: str) -> datetime | None:
    """When that account may be tried from this request's address again; None = now."""
    address = address_of(request)
    account = Subject.account(username)
    end = account.used_up_until() if lockouts.is_known(username, address) else account.locked_until()
    return _latest(end, Subject.address(address).locked_until())


def seconds_left(request: HttpRequest, username: str) -> int:
    """Whole seconds until the lock ends, at least 1."""
    until = locked_until(request, username)
    left = (until - timezone.now()).total_seconds() if until else 0.0
    return max(1, int(left) + 1)


def locked_page(request: HttpRequest) -> HttpResponse:
    """What the staff site's login form shows while locked."""
    left = seconds_left(request, account_name(request, getattr(request, "axes_credentials", None)))
    now = timezone.now()
    with translation.override("en"):  # as the rest of the page
        wait = timeuntil(now + timedelta(seconds=left + 59), now)  # whole minutes, rounded up
    body = f"<!doctype html><meta charset=utf-8><title>Halo</title><p>Too many attempts. Try again in {wait}.</p>"
    return HttpResponse(body, status=429, headers={"Retry-After": str(left)})
