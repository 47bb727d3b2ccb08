"""What to do after a failed model call. Pure; spec sessions 6 and models 3.8."""

from dataclasses import dataclass

from agents_app.providers.contract import ErrorKind


@dataclass(frozen=True, slots=True)
class Retry:
    """Wait, tell the person, call again. `drop_images`: the vendor refused one; all go first."""

    seconds: float
    drop_images: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The turn ends as an error."""


_SLOW = {ErrorKind.THROTTLE, ErrorKind.SERVER}
_QUICK = {ErrorKind.NETWORK, ErrorKind.EMPTY}
MAX_WAIT = 60.0


def may_fall_back(kind: ErrorKind) -> bool:
    """Whether another model may do better: the vendor is overloaded, broken or out of reach."""
    return kind in _SLOW | _QUICK


def after_failure(
    kind: ErrorKind,
    *,
    failures: int,
    max_attempts: int,
    jitter: float,
    retry_after: float | None = None,
    images_dropped: bool = False,
) -> Retry | GiveUp:
    """failures: calls in a row that failed, this one included (from 1); jitter: 0 to 1; waits in seconds.

    A vendor's own Retry-After is kept, at least as long as our wait and at most 60 s.
    """
    if kind is ErrorKind.IMAGE and not images_dropped:
        return Retry(0.0, drop_images=True)
    if failures >= max_attempts:
        return GiveUp()
    if kind in _SLOW:
        wait = min(2.0 * 2 ** (failures - 1) + jitter, MAX_WAIT)
        return Retry(min(max(wait, (retry_after or 0.0) + jitter), MAX_WAIT))
    if kind in _QUICK:
        return Retry(min(1.0 * 2 ** (failures - 1) + jitter / 2, MAX_WAIT))
    if kind is ErrorKind.REPAIR and failures == 1:
        return Retry(0.0)
    return GiveUp()
