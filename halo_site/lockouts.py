"""Lock-outs of accounts and addresses that were guessed at. Each that begins within a day of the one before lasts
twice as long: guessing day and night gets a few dozen tries a week, a person who mistyped waits a quarter of an hour.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from workspaces_app.models import AuditEvent

from .auth import LONGEST as LONGEST_LOGIN
from .models import LoginLock

LONGEST = timedelta(hours=24)
REMEMBERED = timedelta(days=1)  # after its end


def length(number: int) -> timedelta:
    """Of the `number`th lock-out in a row, counted from 1."""
    first: timedelta = settings.AXES_COOLOFF_TIME
    doublings: int = min(number - 1, 10)
    return min(first * (1 << doublings), LONGEST)


def begin(subject: str) -> None:
    """Call it in the transaction that found too many failures, after `forget_old`.

    A lock-out that is going on stays as long as it is.
    """
    now = timezone.now()
    last = LoginLock.objects.filter(subject=subject).first()
    if last is not None and last.until > now:
        return
    number = last.number + 1 if last is not None else 1
    LoginLock.objects.update_or_create(subject=subject, defaults={"number": number, "until": now + length(number)})


def end_of(subject: str) -> datetime | None:
    """None when nothing is locked."""
    running = LoginLock.objects.filter(subject=subject, until__gt=timezone.now())
    return running.values_list("until", flat=True).first()


def forget(*subjects: str) -> None:
    """Ends these lock-outs; the next one is the first again."""
    LoginLock.objects.filter(subject__in=subjects).delete()


def forget_all() -> None:
    LoginLock.objects.all().delete()


def forget_old() -> None:
    """Of lock-outs that do not make the next one longer any more."""
    LoginLock.objects.filter(until__lte=timezone.now() - REMEMBERED).delete()


def is_known(username: str, address: str | None) -> bool:
    """Whether the person typed their password at that address, as long ago as a login may be renewed."""
    since = timezone.now() - timedelta(seconds=LONGEST_LOGIN)
    logins = AuditEvent.objects.filter(action="login", actor__username=username, address=address, at__gte=since)
    return bool(address) and logins.exists()
