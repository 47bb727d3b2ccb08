"""Many processes write to one SQLite file (CASES X8)."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import ROOT, environment, prepared_home

PROCESSES, MESSAGES = 8, 40
WRITER = """
import django, sys
django.setup()
from django.contrib.auth.models import User
from halo_site.lib.access_level import Access
from sessions_app import actions
from workspaces_app.models import Workspace
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
workspace, _ = Workspace.objects.get_or_create(path=folder, defaults={"name": "work"})
user = User.objects.get(username="admin")
for number in range(count):
    sid = f"sid_{name if number % 2 else 'shared'}"
    actions.accept(workspace=workspace, sid=sid, text=f"{name}-{number}", user_id=user.pk, level=Access.FULL)
"""


@pytest.mark.server
@pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="about the locks of SQLite")
def test_X8_eight_processes_write_at_once_and_nobody_sees_an_error(tmp_path: Path):
    home = prepared_home(tmp_path / "home")
    folder = tmp_path / "work"
    folder.mkdir()
    env = {**environment(home), "DJANGO_SETTINGS_MODULE": "halo_site.settings"}
    command = [sys.executable, "-c", WRITER, str(folder)]
    writers = [
        subprocess.Popen([*command, f"p{at}", str(MESSAGES)], cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
        for at in range(PROCESSES)
    ]
    complaints = [writer.communicate(timeout=120)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * PROCESSES, complaints
    with closing(sqlite3.connect(home / "secrets" / "halo.sqlite3")) as db:
        texts = [row[0] for row in db.execute("SELECT text FROM sessions_app_entry WHERE kind = 'user' ORDER BY id")]
        shared = db.execute("SELECT exchange_count FROM sessions_app_session WHERE sid = 'sid_shared'").fetchone()
    assert sorted(texts) == sorted(f"p{at}-{number}" for at in range(PROCESSES) for number in range(MESSAGES))
    assert shared == (PROCESSES * MESSAGES // 2,)
