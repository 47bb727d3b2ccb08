"""What agents read, wrote and cost, summed over the calls of their models.

A sub-agent's calls count for the sub-agent. Currencies are never added up; what a call without a known price cost is
unknown, so it is counted apart (spec models 7).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from django.db.models import Count, F, Max, Q, Sum

from .models import ModelCall

Key = TypeVar("Key", int, str)


@dataclass(frozen=True, slots=True)
class Part:
    """The calls of one agent in one workspace and currency; those that failed or have no price have no currency."""

    workspace: int
    workspace_name: str
    agent: str
    agent_name: str
    currency: str
    micros: int | None
    calls: int
    unpriced: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    newest: int  # key of a call


@dataclass(slots=True)
class Spent:
    """A sum of parts. `costs`: known ones, in millionths by currency. `unpriced`: calls whose cost is unknown."""

    newest: Part  # says what agent and workspace are called by now
    calls: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    costs: dict[str, int] = field(default_factory=dict)

    def add(self, part: Part) -> None:
        self.newest = max(self.newest, part, key=lambda one: one.newest)
        self.calls += part.calls
        self.unpriced += part.unpriced
        self.input_tokens += part.input_tokens
        self.output_tokens += part.output_tokens
        self.cache_read_tokens += part.cache_read_tokens
        self.cache_write_tokens += part.cache_write_tokens
        if part.micros is not None:
            self.costs[part.currency] = self.costs.get(part.currency, 0) + part.micros


def parts_since(start: datetime, workspace: int | None = None) -> list[Part]:
    """Of the turns that began at `start` or later, in one workspace or all; one query. Open calls do not count yet."""
    calls = ModelCall.objects.filter(turn__started_at__gte=start).exclude(outcome="")
    if workspace is not None:
        calls = calls.filter(turn__session__workspace=workspace)
    rows = calls.values(
        "currency",
        workspace=F("turn__session__workspace"),
        workspace_name=F("turn__session__workspace__name"),
        agent=F("turn__session__agent_id"),
        agent_name=F("turn__session__agent_name"),
    ).annotate(
        micros=Sum("cost_micros"),
        calls=Count("pk"),
        unpriced=Count("pk", filter=Q(cost_micros=None, output_tokens__gt=0)),
        input_tokens=Sum("input_tokens"),
        output_tokens=Sum("output_tokens"),
        cache_read_tokens=Sum("cache_read_tokens"),
        cache_write_tokens=Sum("cache_write_tokens"),
        newest=Max("pk"),
    )
    return [Part(**row) for row in rows]


def main_currency(parts: Iterable[Part]) -> str:
    """The one with the largest sum; empty when no cost is known."""
    sums: dict[str, int] = {}
    for part in parts:
        if part.micros is not None:
            sums[part.currency] = sums.get(part.currency, 0) + part.micros
    return max(sums, key=lambda currency: sums[currency], default="")


def dearest_first(parts: list[Part], key: Callable[[Part], Key]) -> list[tuple[Key, Spent]]:
    """Summed by `key`, by cost in the main currency; those without one follow, by number of calls."""
    found: dict[Key, Spent] = {}
    for part in parts:
        found.setdefault(key(part), Spent(part)).add(part)
    main = main_currency(parts)
    return sorted(found.items(), key=lambda item: (-item[1].costs.get(main, -1), -item[1].calls, item[0]))
