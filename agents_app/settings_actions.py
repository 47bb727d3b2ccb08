"""Changing settings: who may, what is acceptable, and who is told."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.http import HttpRequest

from halo_site.lib import settings_store, settings_write
from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from halo_site.lib.publish import SITE, publish, workspace_topic
from halo_site.lib.settings_store import Scope
from workspaces_app.access import Caller, check_superuser, open_workspace
from workspaces_app.audit import audit
from workspaces_app.models import Workspace

from .events import SettingsChanged
from .settings_sections import declared

log = logging.getLogger(__name__)


def place_to_read(caller: Caller, project_id: str | None) -> Path | None:
    """The workspace whose values are shown, None = global only. Raises NotFound for one that is not yours."""
    if not project_id:
        return None
    return Path(open_workspace(caller, project_id)[0].path)


def check_scope(scope: str) -> Scope:
    if scope == "global":
        return "global"
    if scope == "workspace":
        return "workspace"
    raise BadRequest("scope must be global or workspace")


def place_to_write(caller: Caller, scope: Scope, project_id: str | None) -> Workspace | None:
    """Global settings belong to the server's owner, those of a workspace to its members with full access."""
    if scope == "global":
        check_superuser(caller)
        return None
    if not project_id:
        raise BadRequest("projectId required for workspace settings")
    return open_workspace(caller, project_id, Access.FULL)[0]


def set_one(caller: Caller, scope: Scope, project_id: str | None, key: str, value: Any, request: HttpRequest) -> None:
    """PATCH: one leaf. A masked secret that comes back changes nothing."""
    workspace = place_to_write(caller, scope, project_id)
    folder = _folder(workspace)
    settings_write.check_key(key)
    stored = settings_store.at(settings_store.layer(settings_store.file_of(scope, folder)).values, key)
    part = declared(folder).get(key)
    value = settings_write.check_value(key, value, part, scope)
    if settings_store.is_mask_of(value, stored):
        return
    settings_write.write(scope, folder, key, value, secret=bool(part and part.secret))
    _told(caller, scope, workspace, "settings.change", key, request)


def unset(caller: Caller, scope: Scope, project_id: str | None, key: str, request: HttpRequest) -> None:
    """DELETE: one leaf or branch of params or secrets; an undeclared one (an orphan) too."""
    workspace = place_to_write(caller, scope, project_id)
    parts = key.split(".")
    if len(parts) < 2 or any(not name or settings_write.is_refused(name) for name in parts) or len(key) > 1000:
        raise BadRequest("Invalid key")
    settings_write.delete(scope, _folder(workspace), key)
    _told(caller, scope, workspace, "settings.reset", key, request)


def versions(folder: Path | None) -> dict[str, str]:
    """The state of the file of each scope that counts here."""
    found = {"global": settings_write.version_of("global", None)}
    return found | {"workspace": settings_write.version_of("workspace", folder)} if folder else found


def put_all(
    caller: Caller,
    scope: Scope,
    project_id: str | None,
    tree: Mapping[str, Any],
    version: str | None,
    request: HttpRequest,
) -> str:
    """PUT: one file as a whole; its new version. Every leaf is checked first; masked secrets keep what is stored.

    version: of the file the caller has seen. Raises Conflict when it is another by now.
    """
    workspace = place_to_write(caller, scope, project_id)
    folder = _folder(workspace)
    known = declared(folder)
    old = settings_store.layer(settings_store.file_of(scope, folder)).values
    new: settings_store.Tree = {}
    for key, value in settings_store.leaves(tree):
        settings_write.check_key(key)
        stored = settings_store.at(old, key)
        checked = settings_write.check_value(key, value, known.get(key), scope)
        if checked in (None, ""):
            continue
        settings_store.put(new, key, stored if settings_store.is_mask_of(checked, stored) else checked)
    secret = {key for key, part in known.items() if part.secret}
    settings_write.replace_all(scope, folder, new, version, secret=secret)
    _told(caller, scope, workspace, "settings.replace", "", request)
    return settings_write.version_of(scope, folder)


def _folder(workspace: Workspace | None) -> Path | None:
    return Path(workspace.path) if workspace else None


def _told(
    caller: Caller, scope: Scope, workspace: Workspace | None, action: str, key: str, request: HttpRequest
) -> None:
    audit(action, actor=caller, target=key, workspace=workspace, request=request, detail={"scope": scope})
    announce(scope, workspace)


def announce(scope: Scope, workspace: Workspace | None) -> None:
    """`settings:changed` to those who may see the scope."""
    event = SettingsChanged(scope=scope, project_id=workspace.path if workspace else None)
    publish(workspace_topic(workspace.pk) if workspace else SITE, event)
