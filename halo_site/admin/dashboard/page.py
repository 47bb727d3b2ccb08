"""Puts the cards together for the template. Figures are texts here; series keep their numbers for the charts."""

import json
import time
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from halo_site.lib.figures import age, duration, money, percent, short

from . import attention, cards, processes, sandbox
from .shape import RANGES, USUAL, Range, filled, sparkline

ALL = {
    "sessions": cards.sessions,
    "turns": cards.turns,
    "cost": cards.cost,
    "models": cards.models,
    "spenders": cards.spenders,
    "attention": attention.card,
    "processes": processes.card,
    "sandbox": sandbox.card,
}


def cards_fragment(request: HttpRequest) -> HttpResponse:
    """The page's inner part alone, for its own renewal."""
    return TemplateResponse(request, "admin/halo/cards.html", {"dashboard": dashboard(request)})


def dashboard(request: HttpRequest) -> dict[str, Any]:
    """Everything the template shows. `?range=` 24h, 14d (default) or 90d; anything else means the default."""
    view = RANGES.get(request.GET.get("range", ""), USUAL)
    made = {name: cards.kept(name, view, make) for name, make in ALL.items()}
    data = {name: card for name, (card, _) in made.items()}
    turns = _turns(view, data["turns"])
    return {
        "range": view.key,
        "range_label": view.label,
        "ranges": [{"key": item.key, "label": item.label, "on": item is view} for item in RANGES.values()],
        "age": round(time.time() - min(at for _, at in made.values())),
        "counters": _counters(view, data, turns),
        "turns_json": json.dumps(
            {
                "kind": "turns",
                "labels": turns["labels"],
                "sets": [
                    {"name": _("Done"), "color": "--h-solid", "values": turns["done"]},
                    {"name": _("Stopped by people"), "color": "--h-field", "values": turns["stopped"]},
                    {"name": _("Failed"), "color": "--h-err", "values": turns["failed"]},
                ],
            }
        ),
        "tokens_json": json.dumps(
            {
                "kind": "tokens",
                "labels": turns["labels"],
                "sets": [
                    {"name": _("All"), "color": "--h-solid", "values": turns["tokens"]},
                    {
                        "name": _("From cache"),
                        "color": "--h-accent",
                        "fill": "--h-accent-soft",
                        "values": turns["cached"],
                    },
                ],
            }
        ),
        "table": [
            {"label": label, "done": done, "stopped": stopped, "failed": failed, "tokens": tokens, "cached": cached}
            for label, done, stopped, failed, tokens, cached in zip(
                turns["long_labels"],
                turns["done"],
                turns["stopped"],
                turns["failed"],
                turns["tokens"],
                turns["cached"],
                strict=True,
            )
        ],
        "attention": [{**row, "since": _when(row["since"])} for row in data["attention"]["rows"]],
        "processes": [_process(row) for row in data["processes"]["rows"]],
        "late": data["processes"]["late"],
        "sandbox": sandbox.told(data["sandbox"]),
        "workspaces": _spenders(data["spenders"]["workspaces"], data["spenders"]["currency"]),
        "agents": _spenders(data["spenders"]["agents"], data["spenders"]["currency"]),
        "models": [
            {**row, "calls": f"{row['calls']:,}", "median": duration(row["median"]), "p95": duration(row["p95"])}
            for row in data["models"]["rows"]
        ],
    }


def _turns(view: Range, card: dict[str, Any]) -> dict[str, Any]:
    buckets, rows = card["buckets"], card["rows"]

    def series(*names: str) -> list[int | float]:
        return filled(buckets, {start: sum(row[name] or 0 for name in names) for start, row in rows.items()})

    total, stopped, failed, running = series("total"), series("stopped"), series("failed"), series("running")
    return {
        "labels": [view.name(start) for start in buckets],
        "long_labels": [f"{start:%a %d %b %H:%M}" if view.hourly else f"{start:%a %d %b}" for start in buckets],
        "total": total,
        "stopped": stopped,
        "failed": failed,
        "done": [t - s - f - r for t, s, f, r in zip(total, stopped, failed, running, strict=True)],
        "tokens": series("uncached", "output", "cached", "written"),
        "cached": series("cached"),
        "input": series("uncached", "cached", "written"),
        "sessions": series("sessions"),
        "ttft": series("ttft"),
    }


def _counters(view: Range, data: dict[str, Any], turns: dict[str, Any]) -> list[dict[str, Any]]:
    """Six counters: label, figure, line, what stands below. "Today" is the newest bucket of the range."""
    # Whole texts, not parts of them: other languages put "today" elsewhere.
    if view.hourly:
        labels = _("Turns this hour"), _("Tokens this hour"), _("Cost this hour"), _("Failed turns this hour")
    else:
        labels = _("Turns today"), _("Tokens today"), _("Cost today"), _("Failed turns today")
    cost, sessions, models = data["cost"], data["sessions"], data["models"]
    spent = filled(cost["buckets"], cost["micros"])
    week = turns["total"][-8:-1] or [0]
    failed, read, started = turns["failed"][-1], turns["input"][-1], turns["total"][-1]
    priced = bool(cost["micros"])
    other_money = ", ".join(f"+ {money(value, name)}" for name, value in cost["others"].items() if value)
    unpriced = (
        ngettext("%(count)s model unpriced", "%(count)s models unpriced", cost["unpriced"])
        % {"count": cost["unpriced"]}
        if cost["unpriced"]
        else ""
    )
    return [
        _counter(_("Sessions at work"), short(sessions["at_work"]), turns["sessions"],
                 _("%(open)s open, queue %(queued)s")
                 % {"open": short(sessions["open"]), "queued": short(sessions["queued"])}),
        _counter(labels[0], short(turns["total"][-1]), turns["total"],
                 _("mean of 7 before %(mean)s") % {"mean": short(sum(week) / len(week))}),
        _counter(labels[1], short(turns["tokens"][-1]), turns["tokens"],
                 _("%(share)s from cache") % {"share": percent(turns["cached"][-1], read)}
                 if read else _("nothing read yet")),
        _counter(labels[2], money(int(spent[-1]) if priced else None, cost["currency"]), spent,
                 other_money or unpriced or (_("all models priced") if priced else _("no known prices"))),
        _counter(labels[3], short(failed), turns["failed"],
                 _("%(share)s of turns") % {"share": percent(failed, started)} if started else _("none started yet"),
                 state="err" if failed else ""),
        _counter(_("First token"), duration(models["median"]), turns["ttft"],
                 _("median, p95 %(p95)s") % {"p95": duration(models["p95"])}),
    ]  # fmt: skip


def _counter(label: str, figure: str, line: list[int | float], below: str, state: str = "") -> dict[str, Any]:
    return {"label": label, "figure": figure, "line": sparkline(line), "below": below, "state": state}


def _process(row: dict[str, Any]) -> dict[str, Any]:
    memory = row["memory"]
    return {
        "name": row["name"],
        "sessions": "–" if row["sessions"] is None else row["sessions"],
        "memory": "–" if memory is None else f"{memory / 1_048_576:.0f} MB",
        "beat": _age(row["beat"]),
        "late": row["late"],
    }


def _spenders(rows: list[dict[str, Any]], main: str) -> list[dict[str, Any]]:
    """Bars are measured in the main currency, in calls when no cost is known."""
    sizes = [row["costs"].get(main, 0) if main else row["calls"] for row in rows]
    most = max(sizes, default=0) or 1
    return [
        {
            "key": row["key"],
            "name": row["name"],
            "share": max(1, round(100 * size / most)),
            "cost": " + ".join(
                money(row["costs"][name], name) for name in sorted(row["costs"], key=lambda name: (name != main, name))
            )
            or money(None, main),
            "calls": ngettext("%(count)s call", "%(count)s calls", row["calls"]) % {"count": f"{row['calls']:,}"},
        }
        for row, size in zip(rows, sizes, strict=True)
    ]


def _age(seconds: float) -> str:
    return age(seconds).replace("days", _("days"))  # the shorter units are symbols


def _when(moment: datetime | None) -> str:
    """08:14 today, otherwise how long ago."""
    if moment is None:
        return ""
    now = timezone.now()
    if moment.astimezone(UTC).date() == now.astimezone(UTC).date():
        return f"{moment.astimezone(UTC):%H:%M}"
    return _age((now - moment).total_seconds())
