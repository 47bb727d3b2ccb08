"""An answer to "the repository changed" is a status; it must not be the next change."""

import os

import pytest

from halo_site.lib.access_level import Access
from workspaces_app import sandbox
from workspaces_app.git import read
from workspaces_app.git.run import Place
from workspaces_app.sandbox import Status

from .conftest import Watched
from .test_watcher import git

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("held", [True, False], ids=["in the sandbox", "without one"])
async def test_looking_at_a_repository_is_no_event_and_git_status_by_hand_is_one(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, held: bool
):
    """The index is stale, which git likes to write down when it looks."""
    if not held:
        monkeypatch.setattr(sandbox, "status", lambda: Status(reason="bubblewrap (bwrap) is not installed"))
    file = watched.root / "a"
    file.write_text("1")
    git(watched.root, "init", "-q")
    git(watched.root, "add", "a")
    git(watched.root, "commit", "-qm", "x")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    watched.start()
    place = Place(watched.root, Access.FULL)
    found = await read.status(place)
    assert found is not None
    assert found.head
    assert await read.ignored(place) == []
    assert await read.log(place, 10)
    assert watched.settled() == []
    git(watched.root, "status")
    watched.told(".git", "change")
