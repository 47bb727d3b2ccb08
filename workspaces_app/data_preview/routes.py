"""Routes of data previews: the file is opened through the jail, everything else happens in a child process."""

import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Field, Query, Router

from halo_site.lib.errors import BadRequest, NotFound
from halo_site.lib.schema import ApiSchema
from workspaces_app.access import CallerRequest, open_workspace
from workspaces_app.files.download import disposition
from workspaces_app.jail import Jail, Version

from .page import Ask
from .run import export_of, page_of

router = Router(by_alias=True, tags=["data preview"])
MOST_ROWS = 1_000
FURTHEST = 2**53 - 1
JSON = "application/json; charset=utf-8"
CSV = {"responses": {200: {"description": "The rows", "content": {"text/csv": {"schema": {"type": "string"}}}}}}


class Asked(ApiSchema):
    """Nonsense in `offset` and `limit` counts as not given (spec files-git-terminal 24)."""

    path: str = ""
    project_id: str = ""
    offset: str = ""
    limit: str = ""

    def part(self) -> str:
        return ""

    def window(self) -> tuple[int, int]:
        return number(self.offset, 0, 0, FURTHEST), number(self.limit, 100, 1, MOST_ROWS)


class ViewAsked(Asked):
    """sort: a column, `-` before it for descending. filter: column, `= != < <= > >= ~` (holds), value; all must fit."""

    sort: str = ""
    filter: list[str] = Field(default_factory=list)


class TextAsked(ViewAsked):
    """encoding: how the text is to be read; found out when it is not given."""

    encoding: str = ""


class TableAsked(ViewAsked):
    table: str = ""

    def part(self) -> str:
        return self.table


class SheetAsked(ViewAsked):
    sheet: str = ""

    def part(self) -> str:
        return self.sheet


class ExportAsked(TextAsked):
    """format: of the file. scope: the page that `offset` and `limit` tell, or all rows that fit."""

    format: Literal["csv", "jsonl", "parquet", "xlsx", "sqlite"]
    scope: Literal["page", "all"] = "all"
    table: str = ""
    sheet: str = ""

    def part(self) -> str:
        return self.table if self.format == "sqlite" else self.sheet


class ColumnOut(ApiSchema):
    name: str
    type: str


class PageOut(ApiSchema):
    """`rows`: JSON scalars. `hasMore` true = `totalRows` is a lower bound."""

    columns: list[ColumnOut]
    rows: list[list[Any]]
    total_rows: int
    offset: int
    limit: int
    has_more: bool | None = None


class TextPageOut(PageOut):
    encoding: str  # as it was read


class TablePageOut(PageOut):
    table: str


class SheetPageOut(PageOut):
    sheets: list[str]
    sheet: str


class TableOut(ApiSchema):
    name: str
    row_count: int | None  # null: counting took too long, or it is a view
    view: bool | None = None


class TablesOut(ApiSchema):
    tables: list[TableOut]


@router.get("/data-preview/csv", response=TextPageOut, summary="A page of a csv or tsv file")
async def csv_page(request: CallerRequest, asked: Query[TextAsked]) -> HttpResponse:
    return await answer(request, asked, "csv")


@router.get("/data-preview/jsonl", response=TextPageOut, summary="A page of a file of JSON lines")
async def json_lines_page(request: CallerRequest, asked: Query[TextAsked]) -> HttpResponse:
    return await answer(request, asked, "jsonl")


@router.get("/data-preview/parquet", response=PageOut, summary="A page of a parquet file")
async def parquet_page(request: CallerRequest, asked: Query[ViewAsked]) -> HttpResponse:
    return await answer(request, asked, "parquet")


@router.get("/data-preview/xlsx", response=SheetPageOut, summary="A page of a sheet of a workbook")
async def sheet_page(request: CallerRequest, asked: Query[SheetAsked]) -> HttpResponse:
    return await answer(request, asked, "xlsx")


@router.get("/data-preview/sqlite/tables", response=TablesOut, summary="Tables of an SQLite file")
async def sqlite_tables(request: CallerRequest, asked: Query[Asked]) -> HttpResponse:
    return await answer(request, asked, "sqlite-tables")


@router.get("/data-preview/sqlite/rows", response=TablePageOut, summary="A page of a table of an SQLite file")
async def sqlite_rows(request: CallerRequest, asked: Query[TableAsked]) -> HttpResponse:
    return await answer(request, asked, "sqlite-rows")


@router.get("/data-preview/export", openapi_extra=CSV, summary="A table as csv: a page, or all rows")
async def export(request: CallerRequest, asked: Query[ExportAsked]) -> HttpResponseBase:
    """One that fails on the way breaks the connection off, so that nobody takes a part for the whole."""
    handle = await sync_to_async(open_for_preview)(request, asked)
    response: HttpResponseBase
    try:
        ask = replace(_ask(asked, "sqlite-rows" if asked.format == "sqlite" else asked.format), export=asked.scope)
        if asked.scope == "page":
            status, body = await page_of(handle, Version.of(os.fstat(handle)), ask)
        else:
            sent = await export_of(handle, ask)
            status = sent.status
            body = b"" if status == 200 else b"".join([piece async for piece in sent])
    finally:
        os.close(handle)
    if status != 200:
        return HttpResponse(body, status=status, content_type=JSON)
    response = HttpResponse(body) if asked.scope == "page" else StreamingHttpResponse(sent)
    name = os.path.splitext(ask.name)[0] + (f"-{ask.part}" if ask.part else "")
    response["Content-Type"] = "text/csv; charset=utf-8"
    response["Content-Disposition"] = disposition(f"{name.replace('/', '_')}.csv", inline=False)
    response["Cache-Control"] = "private, no-cache"
    return response


async def answer(request: CallerRequest, asked: Asked, format: str) -> HttpResponse:
    """The child's bytes as they are: a page may be large, and this is the event loop."""
    handle = await sync_to_async(open_for_preview)(request, asked)
    try:
        status, body = await page_of(handle, Version.of(os.fstat(handle)), _ask(asked, format))
    finally:
        os.close(handle)
    return HttpResponse(body, status=status, content_type=JSON)


def _ask(asked: Asked, format: str) -> Ask:
    if format == "sqlite-rows" and not asked.part():
        raise BadRequest("table is required")
    offset, limit = asked.window()
    ask = Ask(format=format, name=os.path.basename(asked.path), offset=offset, limit=limit, part=asked.part())
    if isinstance(asked, ViewAsked):
        ask = replace(ask, sort=asked.sort, filters=tuple(asked.filter))
    return replace(ask, encoding=asked.encoding) if isinstance(asked, TextAsked) else ask


def open_for_preview(request: CallerRequest, asked: Asked) -> int:
    """A handle of the file; the caller closes it. Raises BadRequest, Forbidden, NotFound with the spec's texts."""
    if not asked.path or not asked.project_id:
        raise BadRequest("path and projectId are required")
    workspace, level = open_workspace(request.caller, asked.project_id)
    jail = Jail(Path(workspace.path), level=level, confined=True)
    try:
        if stat.S_ISDIR(jail.stat(asked.path).st_mode):
            raise BadRequest("Path is a directory")
        return jail.open_file(asked.path)
    except NotFound as error:
        raise NotFound("File not found") from error


def number(text: str, default: int, least: int, most: int) -> int:
    """A whole number within bounds; the default for what is none."""
    with suppress(ValueError):
        if text.isascii() and len(text) <= 20:
            return max(least, min(most, int(text)))
    return default
