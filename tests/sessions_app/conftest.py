"""A workspace with an owner and an agent, as rows and as folders."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from halo_site.lib.access_level import Access
from sessions_app import actions
from sessions_app.actions import Accepted
from workspaces_app.models import Membership, Workspace


@pytest.fixture
def agent_folder() -> Path:
    folder = Path(settings.HALO.global_dir, "agents", "default")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.yaml").write_text(
        "name: Default\nmodel: {provider: demo, id: demo, endpoint: 'demo:'}\ntools: [file_read, file_list]\n"
    )
    return folder


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("owner")


@pytest.fixture
def workspace(owner: User, agent_folder: Path, tmp_path: Path) -> Workspace:
    folder = tmp_path / "work space"
    folder.mkdir()
    row = Workspace.objects.create(path=str(folder.resolve()), name=folder.name)
    Membership.objects.create(workspace=row, user=owner, level=Access.FULL.value)
    return row


Say = Callable[..., Accepted]


@pytest.fixture
def say(workspace: Workspace, owner: User) -> Say:
    """Accept a message of the owner: `say("hello", sid="s1", client_msg_id="m1")`."""

    def send(text: str, sid: str = "sid_one", **more: object) -> Accepted:
        defaults = {"workspace": workspace, "user_id": owner.pk, "level": Access.FULL}
        return actions.accept(sid=sid, text=text, **(defaults | more))

    return send
