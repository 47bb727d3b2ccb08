"""From a request to the jail of its workspace, and from the jail's refusals to the texts of the routes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest, Forbidden, NotFound

from ..access import Caller, open_workspace
from ..jail import Jail, Outside
from ..models import Workspace

TRAVERSAL = "Path traversal not allowed"


def enter(caller: Caller, project_id: str | None, need: Access = Access.READONLY) -> tuple[Workspace, Jail]:
    """The workspace and a door to its files: confined, whatever the level. Raises as `open_workspace`."""
    workspace, level = open_workspace(caller, project_id, need)
    return workspace, Jail(Path(workspace.path), level=level, confined=True)


def required(path: str | None, name: str = "path") -> str:
    """Raises BadRequest that names the missing parameter."""
    if not path:
        raise BadRequest(f"{name} is required")
    return path


@contextmanager
def texts(missing: str = "File not found") -> Iterator[None]:
    """The sentences of the API instead of those for agents."""
    try:
        yield
    except Outside as error:
        raise Forbidden(TRAVERSAL) from error
    except NotFound as error:
        raise NotFound(missing) from error
