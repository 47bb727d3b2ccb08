"""Routes of the ground layer: workspaces, and the server's disk for whoever may look at it."""

import os
from pathlib import Path
from typing import Any

from ninja import Router
from ninja.decorators import decorate_view

from halo_site.lib.access_level import Access
from halo_site.lib.etag import answers_etag
from halo_site.lib.schema import ApiSchema

from . import actions, folders
from .access import CallerRequest, check_superuser
from .data_preview.routes import router as data_preview_router
from .files.preview_routes import router as preview_router
from .files.routes import router as files_router
from .files.trash_routes import router as trash_router
from .models import Membership, Workspace

router = Router(by_alias=True, tags=["workspaces"])


class WorkspaceOut(ApiSchema):
    id: int
    path: str  # real path; `projectId` everywhere
    name: str
    level: Access


class ListedWorkspace(WorkspaceOut):
    opened_at: int | None  # Unix milliseconds
    missing: bool  # the folder is gone from the disk


class WorkspacesOut(ApiSchema):
    workspaces: list[ListedWorkspace]


class PathIn(ApiSchema):
    path: str | None = None


class FolderIn(ApiSchema):
    project_id: str | None = None
    path: str | None = None


class MadeOut(ApiSchema):
    ok: bool = True
    path: str


class HomeOut(ApiSchema):
    home: str


class ExistsOut(ApiSchema):
    exists: bool
    is_directory: bool | None = None
    reason: str | None = None


class FolderEntry(ApiSchema):
    name: str
    path: str
    readable: bool = True
    branch: str | None = None  # of the git work tree that begins here


class FolderOut(ApiSchema):
    path: str
    parent: str | None
    entries: list[FolderEntry]
    truncated: bool = False  # there are more than 2000


@router.get("/workspaces", response=WorkspacesOut, summary="Workspaces you may open, newest first")
@decorate_view(answers_etag)
def list_workspaces(request: CallerRequest) -> dict[str, Any]:
    caller = request.caller
    levels = dict(Membership.objects.filter(user=caller.user_id).values_list("workspace", "level"))
    rows = Workspace.objects.order_by("-opened_at", "pk")
    if not caller.is_superuser:
        rows = rows.filter(pk__in=levels)
    listed = []
    for row in rows:
        opened = int(row.opened_at.timestamp() * 1000) if row.opened_at else None
        level = Access.FULL if caller.is_superuser else Access.stored(levels[row.pk])
        listed.append(
            {
                "id": row.pk,
                "path": row.path,
                "name": row.name,
                "level": level,
                "openedAt": opened,
                "missing": not os.path.isdir(row.path),
            }
        )
    return {"workspaces": listed}


@router.post("/fs/workspace/resolve", response=WorkspaceOut, summary="Open a folder as a workspace")
def resolve(request: CallerRequest, body: PathIn) -> dict[str, Any]:
    workspace, level = actions.open_folder(request.caller, body.path, request=request)
    return {"id": workspace.pk, "path": workspace.path, "name": workspace.name, "level": level}


@router.post("/fs/sample", response=WorkspaceOut, summary="Make and open a small project to try things on")
def sample(request: CallerRequest) -> dict[str, Any]:
    check_superuser(request.caller)
    workspace, level = actions.open_sample(request.caller, request=request)
    return {"id": workspace.pk, "path": workspace.path, "name": workspace.name, "level": level}


@router.get("/fs/home", response=HomeOut, summary="Home folder of the server's user")
def home(request: CallerRequest) -> dict[str, str]:
    check_superuser(request.caller)
    return {"home": str(Path.home())}


@router.get("/fs/exists", response=ExistsOut, exclude_none=True, summary="Is there such a folder")
def exists(request: CallerRequest, path: str = "") -> dict[str, Any]:
    """Others than the owner learn about their own workspaces only; anything else is not there."""
    if not os.path.isabs(path) or "\0" in path:
        return {"exists": False, "reason": "absolute path required"}
    real = os.path.realpath(path)
    if not request.caller.is_superuser:
        mine = Workspace.objects.filter(path=real, memberships__user=request.caller.user_id)
        found = mine.exists() and os.path.isdir(real)
        return {"exists": True, "isDirectory": True} if found else {"exists": False}
    if not os.path.exists(real):
        return {"exists": False}
    return {"exists": True, "isDirectory": os.path.isdir(real)}


@router.get("/fs/browse", response=FolderOut, summary="Folders in a folder of the server")
def browse(request: CallerRequest, path: str | None = None) -> folders.Folder:
    check_superuser(request.caller)
    return folders.browse(path)


@router.post("/files/mkdir", response=MadeOut, summary="Make a folder")
def mkdir(request: CallerRequest, body: FolderIn) -> dict[str, Any]:
    actions.make_folder(request.caller, body.project_id, body.path, request)
    return {"ok": True, "path": body.path}


router.add_router("", data_preview_router)


router.add_router("", files_router)
router.add_router("", trash_router)
router.add_router("", preview_router)
