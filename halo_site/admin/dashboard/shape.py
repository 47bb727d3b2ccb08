"""Pure: the stretch of time the page looks at, series without holes, and small lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Range:
    """What the page looks back at: `count` buckets of `step`, the newest one unfinished. Days are UTC days."""

    key: str
    label: str | Promise
    step: timedelta
    count: int

    @property
    def hourly(self) -> bool:
        return self.step < timedelta(days=1)

    def buckets(self, now: datetime) -> list[datetime]:
        """Starts of the buckets, oldest first; the last one holds `now` (aware)."""
        now = now.astimezone(UTC)
        last = now.replace(minute=0, second=0, microsecond=0)
        if not self.hourly:
            last = last.replace(hour=0)
        return [last - self.step * back for back in range(self.count - 1, -1, -1)]

    def name(self, start: datetime) -> str:
        """Label of one bucket on an axis: 14:00, 17, 3 Oct."""
        if self.hourly:
            return f"{start:%H:%M}"
        return f"{start.day} {start:%b}" if self.count > 31 else str(start.day)


RANGES = {
    item.key: item
    for item in (
        Range("24h", _("24 h"), timedelta(hours=1), 24),
        Range("14d", _("14 days"), timedelta(days=1), 14),
        Range("90d", _("90 days"), timedelta(days=1), 90),
    )
}
USUAL = RANGES["14d"]


def filled(buckets: Sequence[datetime], found: Mapping[datetime, int | float | None]) -> list[int | float]:
    """One number per bucket; a bucket nothing was found for is 0."""
    return [found.get(start) or 0 for start in buckets]


def sparkline(values: Sequence[int | float], width: int = 72, height: int = 20) -> str:
    """Points of an SVG polyline in a box of width x height pixels. Empty for fewer than two values."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    span, inner = (high - low) or 1, height - 3
    step = width / (len(values) - 1)
    flat = high == low
    return " ".join(
        f"{i * step:.1f},{(height / 2 if flat and low else 1.5 + inner * (1 - (value - low) / span)):.1f}"
        for i, value in enumerate(values)
    )
