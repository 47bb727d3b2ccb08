"""Verbs of the ground layer: open a folder as a workspace, make a folder."""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from halo_site.lib.access_level import Access
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import BadRequest, NotFound

from .access import Caller, level_in, open_workspace
from .audit import audit
from .files.door import texts
from .jail import Jail
from .models import Membership, Workspace
from .sample import make_sample

NewWorkspace = Callable[[Workspace, Caller, Access], None]
_on_new: list[NewWorkspace] = []
_on_open: list[Callable[[Workspace], None]] = []


def on_new_workspace(act: NewWorkspace) -> None:
    """A slot: what upper apps do with a folder when it becomes a workspace. Must not raise for what lies in it."""
    _on_new.append(act)


def on_open_workspace(act: Callable[[Workspace], None]) -> None:
    """A slot: what upper apps put in order whenever somebody opens a folder. Quick, and raises nothing."""
    _on_open.append(act)


def open_folder(caller: Caller, path: str | None, *, request: HttpRequest | None = None) -> tuple[Workspace, Access]:
    """Open `path` as a workspace: make its row and its `.halo/` when needed.

    A folder nobody opened yet may be opened by a superuser only, who thereby becomes its first member. For anyone
    else "not there", "not a workspace" and "not yours" are one answer, so the disk cannot be searched this way.
    Raises BadRequest or NotFound with the texts of the spec.
    """
    if not path or not path.strip():
        raise BadRequest("path required")
    real = _real(path)
    known = _known(real) if real else None
    if not caller.is_superuser and (known is None or level_in(caller, known.pk) is None):
        raise NotFound("path not found")
    if real is None or not os.path.exists(real):
        raise NotFound("path not found")
    if not os.path.isdir(real):
        raise BadRequest("not a directory")
    if os.path.dirname(real) == real:
        raise BadRequest("filesystem root cannot be a workspace")
    check_not_ours(Path(real))
    scaffold(Path(real))
    workspace, level = _store(caller, known, real, request)
    if known is None:
        for act in _on_new:
            act(workspace, caller, level)
    for put_in_order in _on_open:
        put_in_order(workspace)
    return workspace, level


@in_transaction
def _store(caller: Caller, known: Workspace | None, real: str, request: HttpRequest | None) -> tuple[Workspace, Access]:
    name = {"name": os.path.basename(real)[:255]}
    workspace, created = (known, False) if known else Workspace.objects.get_or_create(path=real, defaults=name)
    if created:
        Membership.objects.create(workspace=workspace, user_id=caller.user_id, level=Access.FULL.value)
    workspace.opened_at = timezone.now()
    workspace.save(update_fields=["opened_at"])
    action = "workspace.create" if created else "workspace.open"
    audit(action, actor=caller, target=real, workspace=workspace, request=request)
    level = level_in(caller, workspace.pk)
    if level is None:  # removed as a member since the check above
        raise NotFound("path not found")
    return workspace, level


def make_folder(caller: Caller, project_id: str | None, path: str | None, request: HttpRequest) -> None:
    """Make a folder in a workspace (needs workspace access), or for a superuser below any folder of the server."""
    if not path:
        raise BadRequest("path is required")
    jail, workspace = _place(caller, project_id)
    with texts("Directory not found"):
        jail.make_folder(path)
    audit("folder.create", actor=caller, target=jail.root / path, workspace=workspace, request=request)


def _place(caller: Caller, project_id: str | None) -> tuple[Jail, Workspace | None]:
    try:
        workspace, level = open_workspace(caller, project_id, Access.WORKSPACE)
    except NotFound:
        # The folder picker makes folders where nothing is a workspace yet.
        real = _real(project_id or "")
        if not caller.is_superuser or real is None or not os.path.isdir(real):
            raise
        return Jail(Path(real), confined=True), None
    return Jail(Path(workspace.path), level=level, confined=True), workspace


def open_sample(caller: Caller, *, request: HttpRequest | None = None) -> tuple[Workspace, Access]:
    """Make the sample project in the home folder, if it is not there, and open it."""
    return open_folder(caller, str(make_sample(settings.HALO.home)), request=request)


def scaffold(root: Path) -> None:
    """Make `.halo/` and what belongs in it. Raises BadRequest when the folder cannot be written."""
    try:
        _scaffolder()(root)
    except PermissionError as error:
        raise BadRequest("this folder cannot be written by the server") from error


@cache
def _scaffolder() -> Any:
    name = f"{__package__}.scaffold"
    return import_module(name).scaffold if find_spec(name) else _plain_scaffold


def _plain_scaffold(root: Path) -> None:
    (root / ".halo").mkdir(exist_ok=True)


def _real(path: str) -> str | None:
    """The real path, or None for one that cannot name a folder (relative, NUL, not UTF-8 on disk)."""
    if not os.path.isabs(path) or "\0" in path:
        return None
    real = os.path.realpath(path)
    try:
        real.encode()
    except UnicodeEncodeError:
        return None
    return real


def _known(real: str) -> Workspace | None:
    """The row of this folder; on a file system that ignores case also under another spelling."""
    exact = Workspace.objects.filter(path=real).first()
    if exact is not None:
        return exact
    for other in Workspace.objects.filter(path__iexact=real)[:20]:
        if os.path.exists(other.path) and os.path.samefile(other.path, real):
            return other
    return None


def check_not_ours(real: Path) -> None:
    """The server's own folders hold every secret and everybody's agents; nobody works in there."""
    home = Path(os.path.realpath(settings.HALO.home))
    for private in (home / "secrets", home / "global"):
        if real == private or private in real.parents:
            raise BadRequest("this folder belongs to Halo itself and cannot be a workspace")
    if real == home:
        raise BadRequest("this folder belongs to Halo itself and cannot be a workspace")
