"""GET /api/ready: whether this installation can do its work now (spec observability 10).

A load balancer or a supervisor asks; a person reads which of the three parts is missing.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta

from django.db import DatabaseError
from django.db.models.functions import Now

from halo_site.lib.errors import HaloError
from halo_site.lib.migrating import applied, on_disk
from halo_site.models import Heartbeat
from sessions_app.engine.engine import SCAN_EVERY, seconds_since_scan

from .heartbeat import EVERY

OK = "ok"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Each part is `ok` or a sentence."""

    database: str
    migrations: str
    engine: str

    @property
    def is_ready(self) -> bool:
        return (self.database, self.migrations, self.engine) == (OK, OK, OK)

    def body(self) -> dict[str, object]:
        checks = asdict(self)
        wrong = "; ".join(f"{name}: {said}" for name, said in checks.items() if said != OK)
        body: dict[str, object] = {"status": "not ready" if wrong else "ready", "checks": checks}
        return body | ({"error": wrong} if wrong else {})


def readiness() -> Readiness:
    """Asks the database; never raises for what may be missing."""
    engine = _engine_here()
    try:
        missing = on_disk() - applied()
        if engine != OK and not missing and _engine_elsewhere():
            engine = OK
    except (DatabaseError, HaloError):
        return Readiness("cannot be reached", "not known", engine)
    migrations = f"{len(missing)} not applied: run manage.py migrate" if missing else OK
    return Readiness(OK, migrations, engine)


def _engine_here() -> str:
    since = seconds_since_scan()
    if since is None:
        return "no engine runs"
    return OK if since < 2 * SCAN_EVERY + 1 else f"the engine has not looked at its queues for {since:.0f} s"


def _engine_elsewhere() -> bool:
    """Several processes serve one database: a worker that shows signs of life counts."""
    lately = Now() - timedelta(seconds=2 * EVERY)
    return Heartbeat.objects.filter(name__in=("worker", "web and engine"), seen_at__gt=lately).exists()
