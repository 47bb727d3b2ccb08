"""Which processes of Halo run, as far as this one can see: itself, its children, those with a heartbeat or a lease.

Memory and names come from /proc for processes of this host, from the heartbeat for others; of a process that only
holds a lease we know no more than that.
"""

import os
from collections import Counter
from datetime import datetime
from typing import Any

from halo_site.models import Heartbeat
from halo_site.proc import children, is_ours, memory_of, name_of
from sessions_app.engine.lease import LIFE
from sessions_app.engine.owner import boot_and_namespace, is_gone, started_at
from sessions_app.models import Session

from .shape import Range

LATE = 20  # seconds without a sign (usual: 10) until a process counts as silent


def card(view: Range, now: datetime) -> dict[str, Any]:
    """Rows `{name, sessions, memory (bytes or None), beat (seconds since its last sign or None), late}`."""
    holds, newest = leases(now)
    beats = {row.owner: row for row in Heartbeat.objects.order_by("host", "started_at", "pid")}
    seen = {owner: max(row.seen_at, newest.get(owner, row.seen_at)) for owner, row in beats.items()}
    mine: dict[int, dict[str, Any]] = {}
    for pid in (os.getpid(), *children(os.getpid())):
        if pid == os.getpid() or is_ours(pid):
            mine[pid] = {"name": name_of(pid), "sessions": None, "memory": memory_of(pid), "beat": 0.0, "late": False}
    others: list[dict[str, Any]] = []
    for owner, sign in (newest | seen).items():
        beat = max(0.0, (now - sign).total_seconds())
        row = {"sessions": holds[owner], "beat": beat, "late": beat > LATE}
        if (here := living_pid(owner)) is not None:
            mine.setdefault(here, {"name": name_of(here), "memory": memory_of(here)}).update(row)
        else:
            others.append(absent(owner, beats.get(owner)) | row)
    processes = [*mine.values(), *others]
    return {"rows": processes, "late": sum(1 for row in processes if row["late"])}


def leases(now: datetime) -> tuple[Counter[str], dict[str, datetime]]:
    """Per owner: how many sessions it holds, and when it last renewed."""
    holds: Counter[str] = Counter()
    newest: dict[str, datetime] = {}
    rows = Session.objects.filter(lease_owner__isnull=False, lease_until__isnull=False)
    for owner, until in rows.values_list("lease_owner", "lease_until"):
        assert owner is not None
        assert until is not None
        holds[owner] += until > now
        newest[owner] = max(until - LIFE, newest.get(owner, until - LIFE))
    return holds, newest


def living_pid(owner: str) -> int | None:
    """The pid of an owner that lives on this host."""
    host, number, start = ([*owner.split(":"), "", ""])[:3]
    alive = host == boot_and_namespace() and number.isdigit() and started_at(int(number)) == start
    return int(number) if alive else None


def absent(owner: str, beat: Heartbeat | None) -> dict[str, Any]:
    """What is known of a process that is not among those of this host."""
    host, number, _ = ([*owner.split(":"), "", ""])[:3]
    gone = is_gone(owner)
    if beat:
        name = f"{beat.name}, {beat.host} pid {beat.pid}"
    else:
        name = f"pid {number}" if gone else f"{host[:8]} pid {number}"
    return {"name": f"{name} (gone)" if gone else name, "memory": beat.memory if beat and not gone else None}
