"""Schema changes at a start (CASES X9). The kills in the middle are in tests/crash."""

import pytest
from django.db import connection

from halo_site.lib.migrating import NewerSchema, applied, ensure_schema, on_disk


@pytest.mark.django_db
def test_a_database_that_is_up_to_date_needs_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        assert ensure_schema() is False
    assert on_disk() <= applied()


@pytest.mark.django_db
def test_X9_an_older_program_refuses_a_newer_schema_with_a_sentence():
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('sessions_app', '0999_later', '2030-01-01')"
        )
    with pytest.raises(NewerSchema, match=r"newer version of Halo \(it knows sessions_app\.0999_later"):
        ensure_schema()


@pytest.mark.django_db
def test_rows_of_packages_that_are_gone_do_not_matter():
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('old_pkg', '0001', '2030-01-01')")
    assert ensure_schema() is False
