"""The one place that decides who may do what. Routes, frames and tools ask here and nowhere else.

Superusers act with full access everywhere. Staff administer in the admin; in the app they are members like anyone.
A foreign workspace answers exactly like a missing one.
"""

import os
from dataclasses import dataclass
from typing import Self

from django.contrib.auth.models import AbstractBaseUser, User
from django.http import HttpRequest

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Forbidden, NotFound
from halo_site.lib.prepared import Param, Select

from .models import Membership, Workspace


@dataclass(frozen=True, slots=True)
class Caller:
    """A logged-in person, as of the moment of the check."""

    user_id: int
    username: str
    is_superuser: bool
    is_staff: bool

    @classmethod
    def of(cls, user: AbstractBaseUser) -> Self:
        assert isinstance(user, User)
        return cls(user.pk, user.username, user.is_superuser, user.is_staff)


class CallerRequest(HttpRequest):
    """A request that passed the login gate: what routes take as `request`."""

    caller: Caller


_LEVEL = Select(
    lambda: Membership.objects.filter(workspace=Param("workspace"), user=Param("user")).values_list("level")
)
_EXISTS = Select(lambda: Workspace.objects.filter(pk=Param("key")).values_list("pk"))
_BY_PATH = Select(lambda: Workspace.objects.filter(path=Param("path")).only(*(f.name for f in Workspace._meta.fields)))


def level_in(caller: Caller, workspace_key: int) -> Access | None:
    """What the caller may do in a workspace; None = it does not exist for them."""
    if caller.is_superuser:
        return Access.FULL if _EXISTS.rows(key=workspace_key) else None
    stored = _LEVEL.first(workspace=workspace_key, user=caller.user_id)
    return Access.stored(stored[0]) if stored else None


def open_workspace(caller: Caller, project_id: str | None, need: Access = Access.READONLY) -> tuple[Workspace, Access]:
    """The workspace that `projectId` names, and the caller's level in it.

    Raises BadRequest (absent), NotFound (unknown, foreign, relative or gone from disk), Forbidden (level too low).
    """
    if not project_id:
        raise BadRequest("projectId is required")
    if not os.path.isabs(project_id) or "\0" in project_id:
        raise NotFound("Project not found")
    found = _BY_PATH.objects(path=os.path.realpath(project_id))
    if not found:
        raise NotFound("Project not found")
    workspace = found[0]
    level = Access.FULL if caller.is_superuser else level_in(caller, workspace.pk)
    if level is None or not os.path.isdir(workspace.path):
        raise NotFound("Project not found")
    check_level(level, need)
    return workspace, level


def check_level(level: Access, need: Access) -> None:
    """Raises Forbidden when `level` does not cover `need`."""
    if not level.covers(need):
        raise Forbidden(f"This needs {need} access; you have {level} access here")


def check_superuser(caller: Caller) -> None:
    """For acts with the server's own rights, such as opening any folder of the machine."""
    if not caller.is_superuser:
        raise Forbidden("Only the owner of this server may do this")
