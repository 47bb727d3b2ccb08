"""Pages that agents write, shown in a cage (spec/README 21, SECURITY-BAR D5).

A page runs in an opaque origin, so nothing it loads carries the login cookie. Instead the address holds a token: bound
to a user, a workspace and the folder of the page, 24 h long, ended early by a new password or a lost membership. By
it the page and what lies in its folder can be read, and nothing else; its scripts reach no other address.
"""

import hashlib
import hmac
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from halo_site import tokens
from halo_site.lib.errors import BadRequest, HaloError, NotFound, Unauthorized
from halo_site.tokens import BadToken, Kind

from ..access import Caller, level_in
from ..jail import Jail
from ..models import Workspace
from .download import open_for_download, send
from .types import part_of_page, suffix_of

LIFE = tokens.DAY
PAGES = frozenset({"html", "htm", "svg"})
LONGEST_FOLDER = 2000  # bytes; a token has at most 4096 characters


@dataclass(frozen=True, slots=True)
class Issued:
    url: str  # path on this server
    expires_at: int  # Unix milliseconds


def issue(caller: Caller, workspace: Workspace, jail: Jail, path: str) -> Issued:
    """An address for the page at `path`. Raises NotFound, BadRequest (no page, folder), Forbidden."""
    with jail.errors(path), jail.spot(path) as spot:
        page = (spot.where / spot.name).relative_to(jail.root)
    if suffix_of(page.name) not in PAGES:
        raise BadRequest("Only html and svg files are shown as pages")
    if any(part.startswith(".") for part in page.parts):
        raise BadRequest("What lies in a hidden folder is not shown as a page")
    if len(str(page.parent).encode()) > LONGEST_FOLDER:
        raise BadRequest("The path of this page is too long to be shown")
    jail.stat(path)
    folder = "" if page.parent == Path() else page.parent.as_posix()
    now = time.time()
    claims = {
        "user": caller.user_id,
        "ws": workspace.pk,
        "dir": folder,
        "fp": _mark(User.objects.get(pk=caller.user_id)),
    }
    token = tokens.issue(Kind.PREVIEW, claims, life=LIFE, now=now)
    return Issued(f"/api/preview/{token}/{quote(page.name)}", int((now + LIFE) * 1000))


def serve(request: HttpRequest, token: str, path: str) -> HttpResponseBase:
    """A file in the folder of the token, caged. Raises Unauthorized (token), NotFound (anything else)."""
    jail, folder = _door(token)
    parts = path.split("/")
    hidden = any(part in ("", ".", "..") or part.startswith(".") or "\\" in part for part in parts)
    if hidden or "Service-Worker" in request.headers:  # such a script would outlive its page
        raise NotFound("File not found")
    try:
        file = open_for_download(jail, "/".join((folder, *parts)) if folder else path)
    except HaloError as error:
        raise NotFound("File not found") from error
    response = send(request, file, part_of_page(parts[-1]))
    response["Content-Security-Policy"] = policy(f"{request.scheme}://{request.get_host()}/api/preview/{token}/")
    response["Access-Control-Allow-Origin"] = "*"  # an opaque origin loads modules and fonts as a stranger
    return response


def policy(base: str) -> str:
    """What a page may do: run its own scripts and load from its own folder."""
    return (
        f"sandbox allow-scripts; default-src 'none'; script-src {base} 'unsafe-inline' 'unsafe-eval'; "
        f"style-src {base} 'unsafe-inline'; img-src {base} data: blob:; media-src {base} data: blob:; "
        f"font-src {base} data:; connect-src {base}; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )


def _door(token: str) -> tuple[Jail, str]:
    try:
        claims = tokens.read(Kind.PREVIEW, token)
    except BadToken as error:
        raise Unauthorized from error
    user_id, key, folder, mark = (claims.get(name) for name in ("user", "ws", "dir", "fp"))
    if not (type(user_id) is int and type(key) is int and isinstance(folder, str) and isinstance(mark, str)):
        raise Unauthorized
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not hmac.compare_digest(mark, _mark(user)):
        raise Unauthorized
    workspace = Workspace.objects.filter(pk=key).first()
    level = level_in(Caller.of(user), key)
    if workspace is None or level is None:
        raise Unauthorized
    return Jail(Path(workspace.path), level=level, confined=True), folder


def _mark(user: User) -> str:
    """Changes with the password."""
    key = tokens.derived_key("preview password")
    return hmac.new(key, user.get_session_auth_hash().encode(), hashlib.sha256).hexdigest()[:32]
