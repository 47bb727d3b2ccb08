"""The numbers of the start page: one query per card, each answer kept for 10 s (a slow one longer).

A card's function returns plain data (it goes through the cache); `page.py` turns it into what the template shows.
Tokens are all tokens of a call: uncached input, output, cache reads and cache writes.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Avg, CharField, Count, Exists, F, Func, OuterRef, Q, Sum
from django.utils import timezone
from django.utils.translation import get_language

from halo_site.lib.figures import percentile
from sessions_app.models import Entry, ModelCall, Session, Turn
from sessions_app.spending import Key, Part, dearest_first, main_currency, parts_since

from .shape import Range

KEEP_SECONDS = 10
REST = 30  # a card that took a second is kept for half a minute, so that it never costs more than 3 % of a core
MOST = 6  # rows of a list
NEWEST_CALLS = 20_000  # first-token figures look at no more calls than these

Card = dict[str, Any]


def kept(name: str, view: Range, make: Callable[[Range, datetime], Card]) -> tuple[Card, float]:
    """The card and when it was made (Unix seconds); from the cache while it is young enough."""
    key = f"halo.dashboard.{name}.{view.key}.{get_language()}"
    found: tuple[Card, float] | None = cache.get(key)
    if found is None:
        began = time.monotonic()
        found = (make(view, timezone.now()), time.time())
        cache.set(key, found, max(KEEP_SECONDS, REST * (time.monotonic() - began)))
    return found


class UtcText(Func):
    """A moment as `2031-03-15` or, with 13 characters, `2031-03-15 12`; in UTC.

    Django's TruncDay does the same, but on SQLite by a Python function for each row: 9 s for 85,000 turns.
    """

    output_field = CharField()

    def __init__(self, field: str, size: int) -> None:
        super().__init__(F(field))
        self.size = size

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template=f"SUBSTR(%(expressions)s, 1, {self.size})")

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        form = "YYYY-MM-DD HH24"[: 15 if self.size == 13 else 10]
        return self.as_sql(compiler, connection, template=f"TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', '{form}')")


def _bucket(view: Range, field: str) -> UtcText:
    return UtcText(field, 13 if view.hourly else 10)


def _start(text: str) -> datetime:
    """The bucket that `UtcText` names."""
    return datetime.fromisoformat(text if len(text) == 10 else f"{text}:00").replace(tzinfo=UTC)


def sessions(view: Range, now: datetime) -> Card:
    """Sessions as they are this moment."""
    waiting = Entry.objects.filter(
        session=OuterRef("pk"), turn=None, kind__in=(Entry.Kind.USER, Entry.Kind.AGENT), deleted=None
    )
    live = Q(lease_owner__isnull=False, lease_until__gt=now)
    found = Session.objects.filter(archived_at=None).aggregate(
        at_work=Count("pk", filter=live),
        open=Count("pk", filter=Q(parent=None)),
        queued=Count("pk", filter=Q(Exists(waiting)) & ~live),
    )
    return dict(found)


def turns(view: Range, now: datetime) -> Card:
    """Per bucket: turns by outcome, tokens, mean first token, sessions that worked."""
    buckets = view.buckets(now)
    rows = (
        Turn.objects.filter(started_at__gte=buckets[0])
        .annotate(bucket=_bucket(view, "started_at"))
        .values("bucket")
        .annotate(
            total=Count("pk"),
            failed=Count("pk", filter=Q(status__in=(Turn.Status.ERROR, Turn.Status.INTERRUPTED))),
            stopped=Count("pk", filter=Q(status=Turn.Status.ABORTED)),
            running=Count("pk", filter=Q(status=Turn.Status.RUNNING)),
            uncached=Sum("input_tokens"),
            output=Sum("output_tokens"),
            cached=Sum("cache_read_tokens"),
            written=Sum("cache_write_tokens"),
            ttft=Avg("ttft_ms"),
            sessions=Count("session", distinct=True),
        )
        .order_by("bucket")
    )
    return {"buckets": buckets, "rows": {_start(row["bucket"]): row for row in rows}}


def cost(view: Range, now: datetime) -> Card:
    """Per bucket and currency: what calls with a known price cost; how many models have none."""
    buckets = view.buckets(now)
    rows = (
        ModelCall.objects.filter(turn__started_at__gte=buckets[0])
        .exclude(outcome="")
        .annotate(bucket=_bucket(view, "turn__started_at"))
        .values("bucket", "currency")
        .annotate(
            micros=Sum("cost_micros"),
            unpriced=Count("model", distinct=True, filter=Q(cost_micros=None, output_tokens__gt=0)),
        )
    )
    per_currency: dict[str, dict[datetime, int]] = defaultdict(dict)
    unpriced = 0
    for row in rows:
        start = _start(row["bucket"])
        if row["micros"] is not None:
            per_currency[row["currency"]][start] = row["micros"]
        if start == buckets[-1]:
            unpriced += row["unpriced"]
    main = max(per_currency, key=lambda name: sum(per_currency[name].values()), default="")
    return {
        "buckets": buckets,
        "currency": main,
        "micros": dict(per_currency[main]) if main in per_currency else {},
        "others": {name: found.get(buckets[-1], 0) for name, found in per_currency.items() if name != main},
        "unpriced": unpriced,
    }


def models(view: Range, now: datetime) -> Card:
    """First-token time per model over the range, of the newest calls; and of the newest bucket over all models."""
    buckets = view.buckets(now)
    rows = (
        ModelCall.objects.filter(turn__started_at__gte=buckets[0])
        .order_by("-pk")
        .values_list("model", "ttft_ms", "attempt", "started_at")[:NEWEST_CALLS]
    )
    calls: Counter[str] = Counter()
    retries: Counter[str] = Counter()
    times: dict[str, list[int]] = defaultdict(list)
    newest: list[int] = []
    for model, ttft, attempt, started in rows:
        calls[model] += 1
        retries[model] += attempt > 0
        if ttft is not None:
            times[model].append(ttft)
            if started >= buckets[-1]:
                newest.append(ttft)
    return {
        "rows": [
            {
                "model": model,
                "calls": count,
                "median": percentile(times[model], 0.5),
                "p95": percentile(times[model], 0.95),
                "retries": retries[model],
            }
            for model, count in calls.most_common(MOST)
        ],
        "median": percentile(newest, 0.5),
        "p95": percentile(newest, 0.95),
    }


def spenders(view: Range, now: datetime) -> Card:
    """The workspaces and the agents that cost most; without prices those with the most calls."""
    parts = parts_since(view.buckets(now)[0])
    return {
        "currency": main_currency(parts),
        "workspaces": _dearest(parts, lambda part: part.workspace, lambda part: part.workspace_name),
        "agents": _dearest(parts, lambda part: part.agent, lambda part: part.agent_name),
    }


def _dearest(parts: list[Part], key: Callable[[Part], Key], name: Callable[[Part], str]) -> list[dict[str, Any]]:
    return [
        {"key": found, "name": name(spent.newest), "costs": spent.costs, "calls": spent.calls}
        for found, spent in dearest_first(parts, key)[:MOST]
    ]
