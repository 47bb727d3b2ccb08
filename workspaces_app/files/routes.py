"""Routes of files (spec http-api, Files). Everything here runs in threads; bodies and answers stream."""

import os
import stat
from collections.abc import Iterator
from typing import Annotated, Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from ninja import Router
from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, TooLarge
from halo_site.lib.etag import json_with_etag
from halo_site.lib.schema import ApiSchema

from ..access import CallerRequest
from ..audit import audit
from ..jail import Jail, as_halo_error
from . import remove, search, text, trash, tree, upload, write
from .door import enter, required, texts
from .download import as_download, open_for_download
from .version import Baseline, created, hash_of, milliseconds, tags_of, version_of

router = Router(by_alias=True, tags=["files"])

TEXT_LIMIT = 10 * 1024 * 1024
PIECE = 1024 * 1024
MOST_MATCHES = 1000

_SENT = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
BYTES = {"responses": {200: {"description": "All of it", **_SENT}, 206: {"description": "A part", **_SENT}}}

Mtime = Annotated[float | None, Field(ge=-1e16, le=1e16, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1)]

# Bodies that a route reads itself, as its description has them.
_BYTES = {"type": "string", "format": "binary"}
BYTES_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}}}
}
_FORM = {
    "type": "object",
    "required": ["projectId", "files"],
    "properties": {
        "projectId": {"type": "string"},
        "files": {"type": "array", "items": _BYTES},
        "targetDir": {"type": "string"},
    },
}
FORM_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class NodeOut(ApiSchema):
    name: str
    path: str
    type: str  # directory, file
    has_children: bool | None = None  # of a directory


class TreeOut(ApiSchema):
    project_id: str
    root: str
    path: str
    tree: list[NodeOut]


class MatchOut(ApiSchema):
    name: str
    path: str


class MatchesOut(ApiSchema):
    matches: list[MatchOut]
    truncated: bool


class StatOut(ApiSchema):
    """Times are Unix milliseconds with fractions: `modifiedAt` is the `expectMtime` of a later save."""

    path: str
    modified_at: float
    created_at: float
    size: int
    version: str  # of the content; also the `ETag`, for `If-Match`


class FileOut(StatOut):
    content: str
    encoding: str  # utf-8, utf-8-bom, utf-16le, utf-16be, gb18030, latin-1


class SaveIn(ApiSchema):
    """`force`: replace whatever is there; noted in the audit trail."""

    project_id: str | None = None
    path: str | None = None
    content: str
    encoding: str | None = None
    expect_mtime: Mtime = None
    force: bool = False


class FileSavedOut(ApiSchema):
    ok: bool = True
    path: str
    modified_at: float
    version: str


class RawSavedOut(ApiSchema):
    ok: bool = True
    path: str
    mtime: float
    size: int


class PlaceIn(ApiSchema):
    project_id: str | None = None
    path: str | None = None


class FileRenameIn(ApiSchema):
    project_id: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    expect_mtime: Mtime = None


class FileDoneOut(ApiSchema):
    ok: bool = True
    path: str


class FileDeletedOut(FileDoneOut):
    trash_id: int | None = None  # to put it back; without one it is gone


class RenamedOut(ApiSchema):
    ok: bool = True
    old_path: str
    new_path: str


class UploadedFileOut(ApiSchema):
    name: str
    path: str
    size: int
    renamed_from: str | None = None


class UploadedOut(ApiSchema):
    uploaded: list[UploadedFileOut]
    count: int


@router.get("/files/tree", response=TreeOut, summary="One level of the file tree")
def get_tree(request: CallerRequest, projectId: str | None = None, path: str = "") -> HttpResponse:
    workspace, jail = enter(request.caller, projectId)
    with texts("Directory not found"):
        try:
            nodes = tree.level(jail, path)
        except BadRequest as error:
            if isinstance(error.__cause__, NotADirectoryError):
                raise BadRequest("Path is not a directory") from error
            raise
    listed: list[dict[str, Any]] = [
        {"name": node.name, "path": node.path, "type": "directory", "hasChildren": node.has_children}
        if node.is_dir
        else {"name": node.name, "path": node.path, "type": "file"}
        for node in nodes
    ]
    document = {"projectId": workspace.path, "root": workspace.path, "path": path, "tree": listed}
    return json_with_etag(request, document)


@router.get("/files/search", response=MatchesOut, summary="Files and folders by a part of their path")
def search_files(
    request: CallerRequest, projectId: str | None = None, q: str = "", limit: Limit = 200, dirsOnly: str = ""
) -> search.Found:
    _, jail = enter(request.caller, projectId)
    return search.search(jail, q, limit=min(limit, MOST_MATCHES), dirs_only=dirsOnly == "1")


@router.get("/files", response=FileOut, summary="A text file of at most 10 MiB")
def read_file(
    request: CallerRequest,
    response: HttpResponse,
    projectId: str | None = None,
    path: str | None = None,
    encoding: str | None = None,
) -> dict[str, Any]:
    _, jail = enter(request.caller, projectId)
    path = required(path)
    with texts():
        found = _regular(jail.stat(path))
        try:
            data, _ = jail.read(path, limit=TEXT_LIMIT)
        except TooLarge as error:
            raise TooLarge("File too large (max 10MB)", size=found.st_size) from error
    shown = text.to_text(data, encoding)
    version = hash_of(data)
    _tag(response, version)
    return {
        "path": path,
        "content": shown.content,
        "encoding": shown.encoding,
        "size": len(data),
        "modifiedAt": milliseconds(found),
        "createdAt": created(found),
        "version": version,
    }


@router.get("/files/stat", response=StatOut, summary="Size, times and version of a file or folder")
def stat_file(
    request: CallerRequest, response: HttpResponse, projectId: str | None = None, path: str | None = None
) -> dict[str, Any]:
    _, jail = enter(request.caller, projectId)
    path = required(path)
    with texts():
        found = jail.stat(path)
        version = _version(jail, path) if stat.S_ISREG(found.st_mode) else ""
    if version:
        _tag(response, version)
    return {
        "path": path,
        "modifiedAt": milliseconds(found),
        "createdAt": created(found),
        "size": found.st_size,
        "version": version,
    }


@router.get("/files/download", openapi_extra=BYTES, summary="The bytes of a file; `Range` and `inline=1`")
def download(
    request: CallerRequest, projectId: str | None = None, path: str | None = None, inline: str = ""
) -> HttpResponseBase:
    _, jail = enter(request.caller, projectId)
    with texts():
        file = open_for_download(jail, required(path))
    return as_download(request, file, inline=inline == "1")


@router.put("/files", response=FileSavedOut, summary="Save a text file")
def save_text(request: CallerRequest, response: HttpResponse, body: SaveIn) -> dict[str, Any]:
    """With `expectMtime` or `If-Match` only over that state: else 409 `{error: "conflict", mtime, size, version}`."""
    workspace, jail = enter(request.caller, body.project_id, Access.WORKSPACE)
    path = required(body.path)
    data = text.to_bytes(body.content, body.encoding)
    if len(data) > TEXT_LIMIT:
        raise TooLarge("File too large (max 10MB)", size=len(data))
    base = Baseline() if body.force else Baseline(body.expect_mtime, tags_of(request.headers.get("If-Match")))
    with texts():
        saved = write.save(jail, path, [data], base)
    action = "file.force" if body.force else "file.write"
    audit(action, actor=request.caller, target=path, workspace=workspace, request=request)
    version = hash_of(data)
    _tag(response, version)
    return {"ok": True, "path": path, "modifiedAt": saved.mtime, "version": version}


@router.put(
    "/files/raw", response=RawSavedOut, summary="Replace the bytes of an existing file", openapi_extra=BYTES_BODY
)
def save_raw(
    request: CallerRequest, projectId: str | None = None, path: str | None = None, expectMtime: Mtime = None
) -> dict[str, Any]:
    """The body is the file. With `expectMtime` or `If-Match` only over that state, as `PUT /files`."""
    if not projectId or not path:
        raise BadRequest("path and projectId are required")
    workspace, jail = enter(request.caller, projectId, Access.WORKSPACE)
    base = Baseline(expectMtime, tags_of(request.headers.get("If-Match")))
    with texts():
        saved = write.save(jail, path, _body(request), base, must_exist=True)
    audit("file.write", actor=request.caller, target=path, workspace=workspace, request=request)
    return {"ok": True, "path": path, "mtime": saved.mtime, "size": saved.size}


@router.post("/files/new", response=FileDoneOut, summary="Make an empty file")
def new_file(request: CallerRequest, body: PlaceIn) -> dict[str, Any]:
    workspace, jail = enter(request.caller, body.project_id, Access.WORKSPACE)
    path = required(body.path)
    with texts():
        jail.create(path)
    audit("file.create", actor=request.caller, target=path, workspace=workspace, request=request)
    return {"ok": True, "path": path}


@router.post("/files/rename", response=RenamedOut, summary="Rename or move a file or folder")
def rename(request: CallerRequest, body: FileRenameIn) -> dict[str, Any]:
    """Never onto something that is there: 409. With `expectMtime` or `If-Match` only that state, as `PUT /files`."""
    workspace, jail = enter(request.caller, body.project_id, Access.WORKSPACE)
    old, new = required(body.old_path, "oldPath"), required(body.new_path, "newPath")
    base = Baseline(body.expect_mtime, tags_of(request.headers.get("If-Match")))
    with texts():
        remove.move(jail, old, new, base)
    detail: dict[str, object] = {"to": new}
    audit("file.rename", actor=request.caller, target=old, workspace=workspace, request=request, detail=detail)
    return {"ok": True, "oldPath": old, "newPath": new}


@router.post(
    "/files/upload",
    response=UploadedOut,
    exclude_none=True,
    summary="Store files; none is replaced",
    openapi_extra=FORM_BODY,
)
def upload_files(request: CallerRequest) -> dict[str, Any]:
    """Multipart: `projectId`, `files` (also `files[]`), `targetDir` (else `.halo/uploads/`)."""
    fields, files = _form(request)
    project = request.GET.get("projectId") or fields.get("projectId")
    workspace, jail = enter(request.caller, project, Access.WORKSPACE)
    incoming = [*files.getlist("files"), *files.getlist("files[]")]
    if not incoming:
        raise BadRequest("No files provided")
    with texts("Directory not found"):
        stored = upload.store(jail, incoming, fields.get("targetDir") or upload.FOLDER)
    for one in stored:
        audit("file.upload", actor=request.caller, target=one.path, workspace=workspace, request=request)
    uploaded = [
        {"name": one.name, "path": one.path, "size": one.size}
        | ({"renamedFrom": one.said} if one.said != one.name else {})
        for one in stored
    ]
    return {"uploaded": uploaded, "count": len(uploaded)}


@router.delete(
    "/files",
    response=FileDeletedOut,
    exclude_none=True,
    summary="Delete a file, or a folder with all that is in it",
)
def delete(
    request: CallerRequest,
    projectId: str | None = None,
    path: str | None = None,
    expectMtime: Mtime = None,
    permanent: str = "",
) -> dict[str, Any]:
    """Into the trash for a week, or with `permanent=1` for good. Fine when it is gone already.

    With `expectMtime` or `If-Match` only that state, as `PUT /files`.
    """
    workspace, jail = enter(request.caller, projectId, Access.WORKSPACE)
    path = required(path)
    base = Baseline(expectMtime, tags_of(request.headers.get("If-Match")))
    with texts():
        if permanent == "1":
            number = 0 if remove.remove(jail, path, base) else None
        else:
            number = trash.discard(jail, path, base, by=request.caller.username)
    if number is not None:
        detail: dict[str, object] = {"trash": number} if number else {"permanent": True}
        audit("file.delete", actor=request.caller, target=path, workspace=workspace, request=request, detail=detail)
    return {"ok": True, "path": path, "trashId": number or None}


def _regular(found: os.stat_result) -> os.stat_result:
    if stat.S_ISDIR(found.st_mode):
        raise BadRequest("Path is a directory")
    return found


def _tag(response: HttpResponse, version: str) -> None:
    """What a later save may send as `If-Match`."""
    response["ETag"] = f'"{version}"'
    response["Cache-Control"] = "private, no-cache"


def _version(jail: Jail, path: str) -> str:
    handle = jail.open_file(path)
    try:
        return version_of(handle, os.fstat(handle))
    finally:
        os.close(handle)


def _body(request: HttpRequest) -> Iterator[bytes]:
    while piece := request.read(PIECE):
        yield piece


def _form(request: HttpRequest) -> tuple[Any, Any]:
    """Fields and files of a multipart body; large files are temporary files by now, on disk."""
    try:
        return request.POST, request.FILES
    except (MultiPartParserError, SuspiciousOperation) as error:
        raise BadRequest(f"This form cannot be read: {error}") from error
    except OSError as error:
        raise as_halo_error(error, "the upload") from error
