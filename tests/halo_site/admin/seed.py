"""A server that has been used for two weeks, for the pages of the staff site and their pictures. Same every time."""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models import F, Max
from django.utils import timezone

from sessions_app.models import Entry, ModelCall, Session, ToolCall, Turn
from workspaces_app.models import Membership, Workspace

MODELS = ("aster-large", "aster-mini")
OUTCOMES = ["done"] * 42 + ["aborted"] * 2 + ["error"]


@dataclass
class Seeded:
    keeper: User
    workspaces: list[Workspace]
    talk: Session  # a session with every kind of entry
    parked: Session


def plant(folder: Path, now: datetime | None = None, per_day: int = 60, days: int = 14) -> Seeded:
    now = now or timezone.now()
    dice = random.Random(7)
    keeper = User.objects.create_superuser("keeper", "keeper@example.org", "keeper-password")
    people = [User.objects.create_user(name, f"{name}@example.org", "x") for name in ("ines", "jonas", "mei")]
    workspaces = []
    for name in ("harbour-api", "tide-model", "notes", "sensor-firmware"):
        path = folder / name
        path.mkdir(parents=True, exist_ok=True)
        workspaces.append(Workspace.objects.create(path=str(path), name=name, opened_at=now - timedelta(hours=3)))
    workspaces.append(
        Workspace.objects.create(path="/srv/data/old-archive", name="old-archive", opened_at=now - timedelta(days=9))
    )
    for workspace in workspaces[:3]:
        for person, level in zip(people, ("full", "workspace", "readonly"), strict=True):
            Membership.objects.create(workspace=workspace, user=person, level=level)
    sessions = [
        session_in(workspaces[n % 4], f"s{n:03}", title, people[n % 3], now - timedelta(hours=n))
        for n, title in enumerate(
            ("Export timeout", "Weekly digest", "Station import", "Tide tables 2031", "Flaky upload test",
             "Release notes", "Read the sensor manual", "Rename the models", "Why is the chart empty", "Backup plan")
        )
    ]  # fmt: skip
    turns_over(sessions, dice, now, per_day, days)
    owner = "0a1b2c3d-1:4242:99"
    for session, activity in ((sessions[0], "turn"), (sessions[1], "turn"), (sessions[3], "compact")):
        Session.objects.filter(pk=session.pk).update(
            lease_owner=owner, lease_until=now + timedelta(minutes=5), lease_epoch=3, activity=activity
        )
    parked = sessions[2]
    Session.objects.filter(pk=parked.pk).update(parked_at=now - timedelta(minutes=40), deaths=3)
    Session.objects.filter(pk=sessions[9].pk).update(archived_at=now)
    refused = Turn.objects.create(session=sessions[4], index=500_000, started_at=now)
    Turn.objects.filter(pk=refused.pk).update(
        status="error",
        started_at=now - timedelta(minutes=70),
        ended_at=now - timedelta(minutes=69),
        error={"kind": "account", "message": "401 invalid key"},
    )
    ModelCall.objects.create(
        turn=refused, call_id="refused", provider="northlight", model="north-1", started_at=now - timedelta(minutes=70),
        ended_at=now - timedelta(minutes=70), outcome="account", error="401 invalid key",
    )  # fmt: skip
    talk = sessions[0]
    conversation(talk, people[0], now)
    return Seeded(keeper, workspaces, talk, parked)


def session_in(workspace: Workspace, sid: str, title: str, who: User, at: datetime, **more: object) -> Session:
    return Session.objects.create(
        workspace=workspace, sid=sid, agent_id="default", agent_name="Default", title=title, created_by=who,
        created_at=at, updated_at=at, currency="USD", **more,
    )  # fmt: skip


def turns_over(sessions: list[Session], dice: random.Random, now: datetime, per_day: int, days: int) -> None:
    """Fewer on weekends; today so far as the hour allows."""
    turns, indices = [], Counter()
    for back in range(days):
        day = now - timedelta(days=back)
        busy = per_day * (0.3 if day.weekday() >= 5 else dice.uniform(0.75, 1.2))
        for _ in range(max(1, int(busy))):
            at = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=back)
            room = (now - at).total_seconds() if back == 0 else 86_399
            at += timedelta(seconds=dice.uniform(0, max(1, room - 1)))
            session = dice.choices(sessions, [9, 4, 2, 5, 2, 1, 1, 1, 1, 1])[0]
            size = dice.randint(2_000, 40_000)
            indices[session.pk] += 1
            turns.append(
                Turn(
                    session=session, index=indices[session.pk] - 1, status=dice.choice(OUTCOMES), started_at=at,
                    ended_at=at + timedelta(seconds=dice.uniform(2, 70)), model=dice.choice(MODELS),
                    input_tokens=size // 6, cache_read_tokens=size, cache_write_tokens=size // 20,
                    output_tokens=dice.randint(80, 1_800), cost_micros=size * 3,
                    ttft_ms=int(dice.lognormvariate(6.6, 0.5)),
                )
            )  # fmt: skip
    Turn.objects.bulk_create(turns)
    ModelCall.objects.bulk_create(
        ModelCall(
            turn=turn, call_id=f"c{turn.pk}", attempt=int(dice.random() < 0.02), provider="aster", model=turn.model,
            started_at=turn.started_at, ended_at=turn.ended_at, outcome="end_turn", input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens, cache_read_tokens=turn.cache_read_tokens, cost_micros=turn.cost_micros,
            ttft_ms=turn.ttft_ms, currency="USD",
        )
        for turn in turns
    )  # fmt: skip
    for session in sessions:
        own = [turn for turn in turns if turn.session is session]
        Session.objects.filter(pk=session.pk).update(
            turn_count=len(own), cost_micros=sum(turn.cost_micros for turn in own), context_tokens=61_000
        )


def conversation(session: Session, who: User, now: datetime) -> None:
    """One entry of each kind, in the stored form."""
    turn = Turn.objects.filter(session=session).first() or Turn.objects.create(session=session, started_at=now, index=0)
    ToolCall.objects.create(
        turn=turn, call_id="m1", tool_use_id="t1", name="file_read", started_at=now, ended_at=now, outcome="ok"
    )

    def add(kind: str, text: str = "", minutes: int = 0, **more: object) -> Entry:
        more.setdefault("turn", turn)
        return Entry.objects.create(
            session=session, kind=kind, text=text, created_at=now - timedelta(minutes=30 - minutes), **more
        )

    origin = {"kind": "person", "sender": who.pk, "level": "full"}
    add("user", "The CSV export times out for big stations. Find out why and mend it.", 0, origin=origin)
    add(
        "assistant", minutes=1,
        blocks=[
            {"type": "thinking", "thinking": "The export builds the whole file in memory first.\nLook at service.py."},
            {"type": "text", "text": "I read the export first."},
            {"type": "tool_use", "id": "t1", "name": "file_read", "input": {"path": "exports/service.py"}},
            {"type": "tool_use", "id": "t2", "name": "shell_exec", "input": {"command": "pytest tests/exports -q"}},
        ],
        meta={"turn_id": "m1", "model": "aster-large", "cost_micros": 21_000, "currency": "USD",
              "usage": {"inputTokens": 1_400, "outputTokens": 412, "cacheReadInputTokens": 17_000, "ttftMs": 640}},
    )  # fmt: skip
    add("tool_result", "def export(station):\n    rows = list(station.rows())\n    return to_csv(rows)", 2,
        blocks=[{"type": "tool_result", "tool_use_id": "t1", "content": "def export", "is_error": False}],
        meta={"tool_use_id": "t1", "name": "file_read", "duration_ms": 12, "outcome": "ok"})  # fmt: skip
    add("tool_result", "FAILED tests/exports/test_big.py: timeout after 30 s\n1 failed, 11 passed", 3,
        blocks=[{"type": "tool_result", "tool_use_id": "t2", "content": "FAILED", "is_error": True}],
        meta={"tool_use_id": "t2", "name": "shell_exec", "duration_ms": 41_000, "outcome": "error"})  # fmt: skip
    add(
        "assistant", minutes=5,
        blocks=[{"type": "text", "text": "`export` holds every row before it writes the first one. It streams now:\n\n"
                 "```python\ndef export(station):\n    for row in station.rows():\n        yield to_line(row)\n```\n\n"
                 "The test for a big station passes in 2 s."}],
        meta={"turn_id": "m2", "final": True, "model": "aster-large", "cost_micros": 4_000, "currency": "USD",
              "usage": {"inputTokens": 900, "outputTokens": 180, "cacheReadInputTokens": 18_400, "ttftMs": 480}},
    )  # fmt: skip
    add("notice", "Halo was restarted while the agent worked.", 6, meta={"level": "system"}, in_context=False)
    add("user", "Also mention the new limit in the README.", 8, origin=origin, turn=None)
    indices = Turn.objects.filter(session=session).aggregate(Max("index"))
    Session.objects.filter(pk=session.pk).update(
        exchange_count=F("exchange_count") + 2, turn_count=indices["index__max"] + 1
    )
