"""The suite never touches the home of whoever runs it."""

from pathlib import Path
from weakref import WeakSet

import pytest
from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from halo_site.lib import db
from halo_site.lib.db import DbThreads


def test_the_settings_were_read_with_a_temporary_home():
    assert Path(settings.HALO.home).name.startswith("halo-test-")
    assert settings.HALO.home != Path.home() / ".halo"


@pytest.mark.django_db(transaction=True)
async def test_a_row_written_here_is_seen_by_a_database_thread():
    from django.contrib.auth.models import User

    threads = DbThreads("test")
    try:
        made = await threads.run(User.objects.create_user, "ada")
        found = await DbThreads("other").run(User.objects.get, pk=made.pk)
        assert found.username == "ada"
    finally:
        threads.close()
    assert connection.settings_dict["NAME"]


@pytest.mark.django_db(transaction=True)
async def test_the_end_of_all_threads_closes_their_connections_also_of_those_nobody_holds(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(db, "_all", WeakSet())  # those of a server in this process live on
    monkeypatch.setattr(db, "_engine", None)

    def mine() -> BaseDatabaseWrapper:
        connection.ensure_connection()
        return connections["default"]

    db.close_all()
    opened = await db.engine_threads().run(mine)
    assert opened.connection is not None
    db.close_all()
    assert opened.connection is None
