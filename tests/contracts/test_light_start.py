"""What is large and seldom used is imported when it is needed, not when the server starts (ARCHITECTURE 10)."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("PIL", "botocore", "duckdb", "lark_oapi", "mcp", "opentelemetry", "psycopg", "python_calamine", "telegram")


def test_a_server_on_sqlite_starts_without_the_heavy_libraries(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HALO_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "halo_site.settings"}
    look = (
        "import sys, django, manage; manage._leave_out_unused_driver(); django.setup();"
        "import halo_site.management.commands.serve;"
        "from django.urls import get_resolver; get_resolver().url_patterns;"
        f"print(*(name for name in {HEAVY!r} if sys.modules.get(name)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
