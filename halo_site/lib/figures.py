"""Figures as people read them (DESIGN 5): counts, money, times, shares. A dash means unknown, never zero."""

import math
from collections.abc import Iterable


def short(number: int | float) -> str:
    """People's form of a count: 412, 18.4k, 4.1M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit * 0.99995:
            text = f"{number / limit:.1f}"
            return f"{text.removesuffix('.0')}{unit}"
    return str(round(number))


SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "JP¥"}


def money(micros: int | None, currency: str) -> str:
    """Millionths of a currency as DESIGN 5 writes them: $12.40, under a cent <$0.01, unknown price a dash."""
    if micros is None:
        return "–"
    symbol = SYMBOLS.get(currency or "USD", f"{currency} ")
    if 0 < micros < 10_000:
        return f"<{symbol}0.01"
    return f"{symbol}{micros / 1_000_000:,.2f}"


def duration(milliseconds: float | None) -> str:
    """850 ms, 1.2 s, 2 min; a dash when unknown."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1000:
        return f"{round(milliseconds)} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{round(milliseconds / 60_000)} min"


def age(seconds: float) -> str:
    """4 s, 12 min, 3 h, 2 days."""
    seconds = max(0, seconds)
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86_400)} days"


def percentile(values: Iterable[int | float], share: float) -> int | float | None:
    """Nearest rank; `share` from 0 to 1. None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def percent(part: int | float, whole: int | float) -> str:
    """2.2 %, 80 %; a dash of nothing."""
    if not whole:
        return "–"
    value = 100 * part / whole
    return f"{value:.1f} %" if 0 < value < 10 else f"{round(value)} %"
