"""When a dead `qcluster` child starts again: a pure function (spec deploy 5.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

PAUSE = 2.0  # seconds between a death and the next start
WINDOW = 300.0  # seconds that count
MOST = 5  # restarts in one window; after that one per window


@dataclass(frozen=True, slots=True)
class Respawn:
    delay: float  # seconds from now
    slow: bool  # True: it died too often, staff should know


def respawn(restarts: Sequence[float], now: float) -> Respawn:
    """What to do about a child that just died.

    restarts: monotonic times at which it was started again so far; now: the same clock. The exit code does not
    matter: a guard killed with -9 makes qcluster end with 0 (DEPENDENCIES R2).
    """
    recent = [at for at in restarts if now - at < WINDOW]
    if len(recent) < MOST:
        return Respawn(PAUSE, slow=False)
    return Respawn(max(PAUSE, max(recent) + WINDOW - now), slow=True)
