"""Units of work: which of them wait for the disk, and what a lost connection costs."""

import pytest
from django.db import connection, transaction

from halo_site.lib import db
from halo_site.lib.db import DbThreads, in_light_transaction, in_transaction
from halo_site.lib.errors import Unavailable

pytestmark = pytest.mark.django_db(transaction=True)


def flushes() -> str:
    """How hard the present transaction is to lose."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit" if connection.vendor == "postgresql" else "PRAGMA synchronous")
        return str(cursor.fetchone()[0])


FULL, LIGHT = {"postgresql": ("on", "off"), "sqlite": ("2", "1")}[connection.vendor]


def test_a_light_transaction_does_not_wait_for_the_disk_and_the_next_one_does():
    assert in_light_transaction(flushes)() == LIGHT
    assert in_transaction(flushes)() == FULL
    assert flushes() == FULL


def test_a_light_transaction_that_fails_is_undone_and_leaves_nothing_behind():
    from django.contrib.auth.models import User

    @in_light_transaction
    def unit() -> None:
        User.objects.create(username="ann")
        raise LookupError

    with pytest.raises(LookupError):
        unit()
    assert flushes() == FULL
    assert not User.objects.exists()


def test_inside_another_transaction_that_one_decides():
    with transaction.atomic():
        assert in_light_transaction(flushes)() == FULL


def _pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _kill(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only a server closes connections")
async def test_a_connection_that_the_server_closed_costs_one_unit_at_most(monkeypatch):
    worker, other = DbThreads("a", 1), DbThreads("b", 1)
    try:
        first = await worker.run(_pid)
        await other.run(_kill, first)
        with pytest.raises(Unavailable):  # used a moment ago: not asked whether it still works
            await worker.run(_pid)
        second = await worker.run(_pid)
        await other.run(_kill, second)
        monkeypatch.setattr(db, "IDLE", 0.0)
        assert await worker.run(_pid) not in (first, second)
    finally:
        worker.close()
        other.close()
