"""Which workspaces an agent's relay reaches: those that every person behind it may enter (spec relay R1.7, R3)."""

import os
from pathlib import Path

from django.contrib.auth.models import User

from halo_site.lib import settings_store
from halo_site.lib.access_level import Access, lowest
from halo_site.lib.errors import Forbidden, NotFound
from sessions_app.delegation.handed_on import handed_on
from sessions_app.models import Session
from workspaces_app.access import Caller, level_in
from workspaces_app.models import Workspace


def people_behind(session_key: int) -> list[int]:
    """Keys of the users for whom the running turn works: who opened the session, and who sent what it reads."""
    creator = Session.objects.filter(pk=session_key).values_list("created_by", flat=True).first()
    return sorted({*handed_on(session_key)["people"], *([creator] if creator else ())})


def reach(path: str, people: list[int], *, own: str, need: Access = Access.READONLY) -> tuple[Workspace, Access]:
    """A workspace and the level of all these people in it. own: path of the caller's.

    Raises NotFound, with the same words for missing, foreign and not allowed; Forbidden for a level below `need`.
    """
    missing = NotFound(f'workspace "{path}" not found (no .halo directory)')
    if not os.path.isabs(path) or "\0" in path:
        raise missing
    real = os.path.realpath(path)
    if not Path(real, ".halo").is_dir() or not (real == own or _allowed(real)):
        raise missing
    workspace = Workspace.objects.filter(path=real).first()
    level = level_of(people, workspace.pk) if workspace else None
    if workspace is None or level is None:
        raise missing
    if not level.covers(need):
        raise Forbidden(f'your access to workspace "{path}" is {level}; this needs {need}')
    return workspace, level


def level_of(people: list[int], workspace_key: int) -> Access | None:
    """The lowest level of these users in a workspace; None when one of them may not enter it, or nobody is there."""
    users = list(User.objects.filter(pk__in=people, is_active=True))
    levels = [level_in(Caller.of(user), workspace_key) for user in users]
    if not users or len(users) < len(people):
        return None
    known = [level for level in levels if level is not None]
    return lowest(*known) if len(known) == len(levels) else None


def _allowed(real: str) -> bool:
    listed = settings_store.general("relay.allowed_workspaces")
    return not isinstance(listed, list) or not listed or real in {os.path.realpath(each) for each in listed}
