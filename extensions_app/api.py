"""Routes of extensions. Their files are answered before Django, by `assets.py`."""

import time
from typing import Annotated, Any, Literal

from ninja import File, Path, Router
from ninja.decorators import decorate_view
from ninja.files import UploadedFile
from pydantic import StringConstraints

from halo_site.lib.errors import BadRequest, Forbidden, NotFound
from halo_site.lib.etag import answers_etag
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest

from . import actions, registry
from .asset_token import LIFE, issue_for
from .isolation import Isolation, isolation

router = Router(by_alias=True, tags=["extensions"])
Folder = Annotated[str, StringConstraints(max_length=255)]


class ExtensionOut(ApiSchema):
    id: str
    name: str
    version: str
    extensions: list[str]
    entry: str
    priority: Literal["default", "option"]
    capabilities: list[str]
    description: str | None
    homepage: str | None
    license: str | None
    installed_at: int  # Unix milliseconds


class BrokenOut(ApiSchema):
    id: str
    error: str


class SnapshotOut(ApiSchema):
    extensions: list[ExtensionOut]
    errors: list[BrokenOut]
    isolation: Isolation


class InstalledOut(ApiSchema):
    ok: bool = True
    id: str
    version: str


class RemovedOut(ApiSchema):
    ok: bool = True


class TokenOut(ApiSchema):
    token: str
    expires_at: int  # Unix milliseconds


@router.get("/extensions", response=SnapshotOut, summary="Installed extensions, and what is wrong with the others")
@decorate_view(answers_etag)
def list_extensions(request: CallerRequest) -> dict[str, Any]:
    return {**registry.snapshot().as_dict(), "isolation": isolation()}


@router.post("/extensions/install", response=InstalledOut, summary="Install or replace an extension from a zip")
def install(request: CallerRequest, file: File[UploadedFile], older: str = "") -> dict[str, Any]:
    """Over a newer version only with `older=1`, else 409 `{error, id, version, installed}`."""
    installed = actions.do_install(request.caller, file, request, older=older == "1")
    return {"id": installed.manifest.id, "version": installed.manifest.version}


@router.get("/extensions/token", response=TokenOut, summary="A token for the files of an extension")
def token(request: CallerRequest, id: str = "", version: str = "", mode: Literal["", "compat"] = "") -> dict[str, Any]:
    """With `id` and `version` it is good for these alone. `mode=compat`: without the cage, where staff allow it."""
    if bool(id) != bool(version):
        raise BadRequest("id and version belong together")
    if id:
        found = registry.snapshot().find(id)
        if found is None or found.manifest.version != version:
            raise NotFound("Extension not installed in this version")
    if mode and isolation() is Isolation.STRICT:
        raise Forbidden("Compatibility mode is switched off on this server (extensions.isolation is strict)")
    now = int(time.time())
    return {"token": issue_for(id, version, compat=bool(mode), now=now), "expiresAt": (now + LIFE) * 1000}


@router.delete("/extensions/{id}", response=RemovedOut, summary="Remove an extension, a broken one too")
def remove(request: CallerRequest, id: Path[Folder]) -> dict[str, Any]:
    if id in (".", ".."):
        raise BadRequest("Invalid id")
    actions.do_remove(request.caller, id, request)
    return {"ok": True}
