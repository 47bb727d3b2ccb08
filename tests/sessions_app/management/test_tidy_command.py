"""`manage.py tidy`: what piles up goes by age and by quota, and nothing else does."""

import io
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from sessions_app.models import Session, Tombstone
from sessions_app.tidy import Found, Rules, too_many
from workspaces_app.models import Workspace

from ..search.test_search import made

pytestmark = pytest.mark.django_db
DAY = 86_400


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return Path(workspace.path)


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("tidy", *words, stdout=out)
    return out.getvalue()


def put(root: Path, name: str, days: int = 0, size: int = 10) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - days * DAY - 60,) * 2)
    return path


def test_old_temporary_files_go_and_pictures_stay(root: Path) -> None:
    old, new = put(root, ".halo/tmp/share/a.zip", 31), put(root, ".halo/tmp/b", 29)
    picture, work = put(root, ".halo/assets/web/a.png", 400), put(root, "tmp/mine", 400)
    assert "1 files removed" in run()
    assert [path.exists() for path in (old, new, picture, work)] == [False, True, True, True]


def test_uploads_and_pictures_go_by_an_age_of_their_own(root: Path) -> None:
    old, new = put(root, ".halo/uploads/a.pdf", 91), put(root, ".halo/assets/web/a.png", 89)
    run("--media-days", "90")
    assert [path.exists() for path in (old, new)] == [False, True]


def test_over_the_quota_the_oldest_go_first(root: Path) -> None:
    mib = 2**20
    files = [put(root, f".halo/assets/{days}", days, mib) for days in (3, 2, 1)]
    run("--quota-mb", "2")
    assert [path.exists() for path in files] == [False, True, True]


def test_a_dry_run_only_tells(root: Path) -> None:
    old = put(root, ".halo/tmp/a", 31, 2**20)
    assert "1.0 MiB in 1 files would go" in run("--dry-run")
    assert old.exists()


def test_links_lead_nowhere(root: Path, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/precious", 400)
    (root / ".halo/tmp").mkdir(parents=True)
    (root / ".halo/tmp/folder").symlink_to(outside.parent)
    (root / ".halo/tmp/file").symlink_to(outside)
    (root / ".halo/uploads").symlink_to(outside.parent)
    run("--days", "0", "--media-days", "0", "--quota-mb", "0")
    assert outside.exists()


def test_internal_sessions_go_after_their_time_unless_they_are_at_work(workspace: Workspace) -> None:
    now = timezone.now()
    for sid, source, days, lease in (
        ("old", "internal", 31, None),
        ("busy", "internal", 31, now + timedelta(seconds=30)),
        ("fresh", "internal", 29, None),
        ("talk", "explorer", 400, None),
    ):
        session = made(workspace, sid)
        Session.objects.filter(pk=session.pk).update(
            source=source, updated_at=now - timedelta(days=days), lease_until=lease
        )
    assert "internal sessions: 1 would go" in run("--dry-run")
    assert "internal sessions: 1 removed" in run()
    assert set(Session.objects.values_list("sid", flat=True)) == {"busy", "fresh", "talk"}
    assert Tombstone.objects.get().sid == "old"


def test_a_workspace_whose_folder_is_away_is_passed_over(workspace: Workspace, root: Path) -> None:
    root.rename(root.with_name("away"))
    assert run() == "internal sessions: 0 removed\n"
    assert not root.exists()


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(CommandError):
        call_command("tidy", "--days", "-1")


def test_what_is_too_old_does_not_count_against_the_quota() -> None:
    old, newer, newest = (Found(name, 10, at, True) for name, at in (("a", 0.0), ("b", 50 * DAY), ("c", 51 * DAY)))
    assert too_many([newest, newer, old], Rules(30, quota=20), 60 * DAY) == [old]
    assert too_many([newest, newer, old], Rules(30, quota=10), 60 * DAY) == [old, newer]
    assert too_many([newest], Rules(30), 60 * DAY) == []
