"""Folders of agents and skills as people reach them: found, allowed, read and written (routes only).

What belongs to the home belongs to the server's owner; what belongs to a workspace to its members with full access.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.http import HttpRequest

from halo_site.lib.access_level import Access
from halo_site.lib.atomic_file import locked_folder, write_atomic
from halo_site.lib.errors import BadRequest, Conflict, Forbidden, NotFound, StorageFull, TooLarge
from halo_site.lib.text import clean
from halo_site.lib.yaml_files import MAX_BYTES
from workspaces_app.access import Caller, check_superuser, open_workspace
from workspaces_app.audit import audit
from workspaces_app.jail import Jail
from workspaces_app.models import Workspace

from .item_id import is_item_id
from .item_news import Kind, announce_item

Scope = Literal["workspace", "global"]
_NOT_IN_ID = re.compile(r"[^a-z0-9\u4e00-\u9fff]+")
MAX_ID = 64


@dataclass(frozen=True, slots=True)
class Place:
    """One folder, found and allowed. `workspace` None = it belongs to the home."""

    kind: Kind
    scope: Scope
    item_id: str
    workspace: Workspace | None

    @property
    def root(self) -> Path | None:
        return Path(self.workspace.path) if self.workspace else None

    @property
    def base(self) -> Path:
        """What `inside` is relative to."""
        return self.root or Path(settings.HALO.global_dir)

    @property
    def inside(self) -> str:
        return f"{'.halo/' if self.workspace else ''}{self.kind}s/{self.item_id}"

    @property
    def folder(self) -> Path:
        return self.base / self.inside


def find_place(
    caller: Caller, kind: Kind, item_id: str, scope: str | None, project_id: str | None, *, writing: bool = False
) -> Place:
    """scope: "" or None = the folder that serves the id. Raises BadRequest, NotFound, Forbidden."""
    check_item_id(kind, item_id)
    for one, workspace in _scopes(caller, scope, project_id):
        place = Place(kind, one, item_id, workspace)
        if place.folder.is_dir():
            if writing:
                check_may_write(caller, place)
            return place
    raise NotFound(f"{kind.title()} not found")


def check_item_id(kind: Kind, item_id: str) -> None:
    """Of a route, before anything is looked up. Raises BadRequest."""
    if not is_item_id(item_id):
        raise BadRequest(f"Invalid {kind} id")


def new_place(caller: Caller, kind: Kind, name: str, scope: str | None, project_id: str | None) -> Place:
    """Where a new agent or skill of this name goes; nothing is made yet. Raises BadRequest, Conflict, Forbidden."""
    item_id = _NOT_IN_ID.sub("-", name.strip().lower()).strip("-")[:MAX_ID].strip("-")
    if not item_id:
        raise BadRequest(f"Invalid {kind} name")
    ((one, workspace), *_) = _scopes(caller, scope or "global", project_id)
    place = Place(kind, one, item_id, workspace)
    check_may_write(caller, place)
    if os.path.lexists(place.folder):
        raise Conflict(f"{kind.title()} already exists")
    return place


def other_scope(place: Place, project_id: str | None) -> Scope | None:
    """The other scope, when the same id is there too: one of the two hides the other."""
    if place.workspace is not None:
        twin = Place(place.kind, "global", place.item_id, None).folder
        return "global" if twin.is_dir() else None
    if project_id and (Path(project_id) / ".halo" / f"{place.kind}s" / place.item_id).is_dir():
        return "workspace"
    return None


def _scopes(caller: Caller, scope: str | None, project_id: str | None) -> list[tuple[Scope, Workspace | None]]:
    if scope not in (None, "", "global", "workspace"):
        raise BadRequest("scope must be global or workspace")
    if scope == "workspace" and not project_id:
        raise BadRequest("projectId is required")
    workspace = open_workspace(caller, project_id)[0] if project_id else None
    found: list[tuple[Scope, Workspace | None]] = []
    if workspace is not None and scope != "global":
        found.append(("workspace", workspace))
    if scope != "workspace":
        found.append(("global", None))
    return found


def check_may_write(caller: Caller, place: Place) -> None:
    if place.workspace is None:
        check_superuser(caller)
    else:
        open_workspace(caller, place.workspace.path, Access.FULL)


def read_file(place: Place, name: str) -> str | None:
    """A text file of the folder; None when there is none."""
    return read_below(place.base, f"{place.inside}/{name}", in_workspace=place.workspace is not None)


def write_file(place: Place, name: str, text: str) -> None:
    """Replace a file of the folder. Raises Conflict (the folder is gone), StorageFull, Forbidden (a link leads out)."""
    write_below(place.base, f"{place.inside}/{name}", text, in_workspace=place.workspace is not None)


def read_below(base: Path, inside: str, *, in_workspace: bool) -> str | None:
    try:
        if in_workspace:
            return Jail(base, confined=True).read(inside, limit=4 * MAX_BYTES)[0].decode("utf-8", "replace")
        return (base / inside).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotFound):
        return None


def write_below(base: Path, inside: str, text: str, *, in_workspace: bool) -> None:
    text = clean(text)
    if len(text.encode()) > MAX_BYTES:
        raise TooLarge(f"{Path(inside).name} has at most {MAX_BYTES // 1024} KiB")
    file = base / inside
    try:
        if in_workspace:
            Jail(base, confined=True).write(inside, text.encode())
        else:
            with locked_folder(file.parent):
                write_atomic(file, text.encode())
    except FileNotFoundError:
        raise Conflict("The folder is gone") from None
    except OSError as error:
        raise StorageFull(f"{file.name} was not written: {error.strerror}") from error


def make(place: Place, files: dict[str, str]) -> None:
    """The folder with its files. Raises Conflict when somebody was quicker."""
    if place.workspace is not None:
        Jail(place.base, confined=True).make_folder(place.inside)
    else:
        try:
            place.folder.parent.mkdir(parents=True, exist_ok=True)
            place.folder.mkdir(mode=0o755)
        except FileExistsError:
            raise Conflict(f"{place.kind.title()} already exists") from None
        except OSError as error:
            raise StorageFull(f"{place.folder} was not made: {error.strerror}") from error
    for name, text in files.items():
        write_file(place, name, text)


def remove(place: Place) -> None:
    """Delete the folder with all in it. Of a link only the link goes. Raises NotFound, Forbidden."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    handle = os.open(place.base, flags)
    try:
        *above, name = place.inside.split("/")
        for part in above:
            # In a workspace no folder on the way may be a link: it could lead to somebody else's agents.
            inner = os.open(part, flags | (os.O_NOFOLLOW if place.workspace else 0), dir_fd=handle)
            os.close(handle)
            handle = inner
        if place.folder.is_symlink():
            os.unlink(name, dir_fd=handle)
        else:
            shutil.rmtree(name, dir_fd=handle)
    except FileNotFoundError:
        raise NotFound(f"{place.kind.title()} not found") from None
    except OSError as error:
        raise Forbidden(f"{place.folder} was not deleted: {error.strerror}") from error
    finally:
        os.close(handle)


def told(caller: Caller, place: Place, verb: str, request: HttpRequest | None, address: str = "") -> None:
    """One line of the audit trail, such as `agent.create`, and the news of it to open pages.

    address: of a caller without a request.
    """
    audit(
        f"{place.kind}.{verb}",
        actor=caller,
        target=place.item_id,
        workspace=place.workspace,
        request=request,
        address=address,
        detail={"scope": place.scope},
    )
    announce_item(place.kind, place.scope, place.workspace)
