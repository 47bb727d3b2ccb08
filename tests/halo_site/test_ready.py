"""GET /api/ready says whether work would be done, and else what is missing."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from halo_site import ready
from halo_site.models import Heartbeat
from sessions_app.engine import engine

pytestmark = pytest.mark.django_db


def asked(client: Client) -> tuple[int, dict[str, Any]]:
    answer = client.get("/api/ready")
    return answer.status_code, answer.json()


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch):
    def seconds_ago(seconds: float | None) -> None:
        monkeypatch.setattr(ready, "seconds_since_scan", lambda: seconds)

    return seconds_ago


def test_with_a_database_its_schema_and_an_engine_it_is_ready(client: Client, scanned: Any) -> None:
    scanned(1.0)
    checks = {"database": "ok", "migrations": "ok", "engine": "ok"}
    assert asked(client) == (200, {"status": "ready", "checks": checks})


def test_an_engine_that_stands_still_is_named(client: Client, scanned: Any) -> None:
    scanned(60.0)
    status, said = asked(client)
    assert (status, said["checks"]["engine"]) == (503, "the engine has not looked at its queues for 60 s")


def test_a_worker_with_signs_of_life_counts_where_this_process_has_no_engine(client: Client, scanned: Any) -> None:
    scanned(None)
    assert asked(client)[0] == 503
    now = timezone.now()
    Heartbeat.objects.create(owner="w", name="worker", host="h", pid=1, started_at=now, seen_at=now)
    assert asked(client)[0] == 200


def test_a_schema_that_lacks_a_migration_is_named(
    client: Client, scanned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned(1.0)
    monkeypatch.setattr(ready, "on_disk", lambda: {("sessions_app", "9999_later")})
    status, said = asked(client)
    assert (status, said["checks"]["migrations"]) == (503, "1 not applied: run manage.py migrate")


def test_the_engine_notes_its_scans() -> None:
    engine._note_scan()
    since = engine.seconds_since_scan()
    assert since is not None
    assert since < 5
