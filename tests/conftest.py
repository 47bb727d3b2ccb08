"""Every test process gets a home of its own before Django reads its settings; real parts, no shared state.

`DATABASE_URL` and `REDIS_URL` of the caller are kept (the suite runs on PostgreSQL and Redis too); every other `HALO_`
variable is dropped, except those that steer the tests themselves.
"""

import atexit
import os
import shutil
import tempfile

KEPT = {"HALO_CRASH_REPEAT", "HALO_FUZZ_EXAMPLES", "HALO_HISTORIES", "HALO_TEST_KEEP", "HALO_REAL_MODEL"}

for _name in [name for name in os.environ if name.startswith("HALO_") and name not in KEPT]:
    del os.environ[_name]
_home = tempfile.mkdtemp(prefix="halo-test-")
os.environ["HALO_HOME"] = _home
os.environ["HALO_JWT_SECRET"] = "dGVzdHMgb25seTogMzIgYnl0ZXMgYXJlIGVub3VnaCE="
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_site.settings"
if "HALO_TEST_KEEP" not in os.environ:
    atexit.register(shutil.rmtree, _home, ignore_errors=True)
for _folder in ("global", "secrets"):
    os.mkdir(os.path.join(_home, _folder), 0o700)

import hypothesis  # noqa: E402
import pytest  # noqa: E402
from django.conf import settings  # noqa: E402

# An example has no deadline: on a busy machine any of them may take longer than the 200 ms that are the default.
hypothesis.settings.register_profile("halo", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("halo")

settings.DATABASES  # noqa: B018 - reads them now, with the home above
# Not left in the environment: xdist workers inherit it and would read the settings before this file ran.
del os.environ["DJANGO_SETTINGS_MODULE"]

# One file, not memory: units of work run in threads with connections of their own.
if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    settings.DATABASES["default"]["TEST"] = {"NAME": os.path.join(_home, "test.sqlite3")}
# Redis pub/sub knows no database numbers: keep parallel test processes apart by the prefix.
if "CONFIG" in settings.CHANNEL_LAYERS["default"]:
    settings.CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"halo-test-{os.getpid()}"
# Hashing is slow on purpose; tests make many users.
settings.PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    *settings.PASSWORD_HASHERS,
]

import django  # noqa: E402

django.setup()  # conftests further down import rows


@pytest.fixture(scope="session", autouse=True)
def no_open_connections(django_db_setup: None):  # type: ignore[no-untyped-def]
    """The test database can only be dropped once the threads of the product let go of it."""
    yield
    from halo_site.lib import db

    db.close_all()


SERVICES = {"db", "transactional_db"}  # fixtures of tests that use the database
MARKS = ("django_db", "server", "browser", "crash", "redis")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL and Redis only what could notice: code without a database gives the answer it gave on SQLite."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return
    notice = [
        item
        for item in items
        if SERVICES & set(getattr(item, "fixturenames", ())) or any(map(item.get_closest_marker, MARKS))
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(notice)])
    items[:] = notice


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Captured output may hold what UTF-8 cannot carry (tests feed lone surrogates); xdist would die of it."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
