"""Routes of pages that agents wrote: an address for one, and what is served there (spec http-api, Files)."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router

from halo_site.lib.schema import ApiSchema

from ..access import CallerRequest
from . import preview
from .door import enter, required, texts
from .routes import BYTES, PlaceIn

router = Router(by_alias=True, tags=["files"])


class PreviewOut(ApiSchema):
    url: str
    expires_at: int  # Unix milliseconds


@router.post("/files/preview", response=PreviewOut, summary="An address that shows a page in a cage, for 24 h")
def make_preview(request: CallerRequest, body: PlaceIn) -> preview.Issued:
    workspace, jail = enter(request.caller, body.project_id)
    with texts():
        return preview.issue(request.caller, workspace, jail, required(body.path))


@router.get(
    "/preview/{token}/{path:path}", openapi_extra=BYTES, summary="A page, or what lies in its folder, by its token"
)
def show_preview(request: HttpRequest, token: str, path: str) -> HttpResponseBase:
    return preview.serve(request, token, path)
